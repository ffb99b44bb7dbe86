#pragma once
// How vectors are cut for reductions: into whole elements, at offsets that suit any predefined type.

#include <algorithm>
#include <numeric>

#include "plan/choice.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// The unit of all cuts: whole elements, and a multiple of what operands in a window must be aligned to.
class Grain {
 public:
  explicit Grain(const plan::Problem& problem)
      : bytes_(std::lcm(std::max<Bytes>(problem.element, 1), plan::reduce_alignment)) {}

  Bytes bytes() const { return bytes_; }
  Bytes round_down(Bytes bytes) const { return bytes / bytes_ * bytes_; }
  Bytes round_up(Bytes bytes) const { return (bytes + bytes_ - 1) / bytes_ * bytes_; }

 private:
  Bytes bytes_;
};

/// The choice's cells, as far as they hold whole grains.
inline Cells cells_of(const Grain& grain, plan::Choice choice) {
  choice.cell = std::max(grain.bytes(), grain.round_down(choice.cell));
  return Cells(choice);
}

/// A stretch cut into one part per rank, as equal as the grain allows; the last ones may be shorter or empty.
class Slices {
 public:
  Slices(const Grain& grain, Bytes bytes, int count)
      : bytes_(bytes), slice_(grain.round_up((bytes + static_cast<Bytes>(count) - 1) / static_cast<Bytes>(count))) {}

  Bytes begin(int slice) const { return std::min(bytes_, static_cast<Bytes>(slice) * slice_); }
  Bytes bytes(int slice) const { return begin(slice + 1) - begin(slice); }

 private:
  Bytes bytes_;
  Bytes slice_;
};

}  // namespace espalier::smp
