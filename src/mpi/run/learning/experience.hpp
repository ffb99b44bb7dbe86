#pragma once
// What a process has found out in some of its communicators, for those that come later and are like them; and what
// finding out may cost all of them together. Thread safe.

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "topology/topology.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

class Experience {
 public:
  void add(std::span<const tune::Row> rows);
  std::vector<tune::Row> rows() const;
  /// What is known of communicators of this shape. Ranks that have learned the same hold the same, but for what was
  /// measured.
  std::vector<tune::Row> rows_about(const topology::Topology& topology, Transport transport) const;

  /// What another communicator may lose in any case, in microseconds: half of what is left.
  double offer_us() const;
  /// As much as all of its ranks can offer is lent to it.
  void lend(double us);

 private:
  mutable std::mutex mutex_;
  std::vector<tune::Row> rows_;
  double left_us_ = 200'000;
};

/// Of what they say, whatever was measured: equal hashes on all ranks mean that they would decide the same.
std::uint64_t hash_selections(std::span<const tune::Row> rows);

}  // namespace espalier::mpi
