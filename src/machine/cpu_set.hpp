#pragma once
// A set of processors (hardware threads, by the system's numbers): a binding, a NUMA node, what is near a NIC.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::machine {

/// Equal sets compare equal, whatever was added in which order.
class CpuSet {
 public:
  CpuSet() = default;

  /// Reads the kernel's list format, "0-3,8,10-11"; the empty text is the empty set. Throws Error naming the text when
  /// it is none, or names a processor beyond `largest`.
  static CpuSet parse(std::string_view text);
  /// first, first + 1 … first + count - 1.
  static CpuSet range(int first, int count);
  /// The calling thread's: what the system lets it run on now. Empty when the system does not say.
  static CpuSet probe_binding();

  /// A bound on numbers, so that a damaged file can't make us allocate what it likes.
  static constexpr int largest = 65535;

  /// Needs 0 <= cpu <= largest.
  void add(int cpu);
  void add(const CpuSet& other);

  bool is_empty() const { return words_.empty(); }
  int count() const;
  bool contains(int cpu) const;
  bool intersects(const CpuSet& other) const;
  bool is_within(const CpuSet& other) const;
  /// Ascending.
  std::vector<int> list() const;
  /// What parse() reads.
  std::string text() const;

  bool operator==(const CpuSet&) const = default;

 private:
  std::vector<std::uint64_t> words_;  ///< the last one is not 0, so that equal sets have equal words
};

}  // namespace espalier::machine
