#include "mpi/run/learning/experience.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "tune/store.hpp"

namespace espalier::mpi {

void Experience::add(std::span<const tune::Row> rows) {
  const std::lock_guard lock(mutex_);
  rows_ = tune::merge_rows(std::move(rows_), rows);
}

std::vector<tune::Row> Experience::rows() const {
  const std::lock_guard lock(mutex_);
  return rows_;
}

std::vector<tune::Row> Experience::rows_about(const topology::Topology& topology, Transport transport) const {
  std::vector<tune::Row> found = rows();
  std::erase_if(found, [&](const tune::Row& row) { return !row.is_about(topology, transport); });
  return found;
}

double Experience::offer_us() const {
  const std::lock_guard lock(mutex_);
  return left_us_ / 2;
}

void Experience::lend(double us) {
  const std::lock_guard lock(mutex_);
  left_us_ = std::max(0.0, left_us_ - us);
}

std::uint64_t hash_selections(std::span<const tune::Row> rows) {
  std::string said;
  for (const tune::Row& row : rows)
    said += std::string(plan::name(row.operation)) + " " + std::to_string(row.bytes.last) + " " + row.selection + "\n";
  return hash_text(said);
}

}  // namespace espalier::mpi
