#pragma once
// Which of a kind's calls are timed, where there are many short ones: looking at the clock takes as long as some of
// them do. Pure: a function of how many there were, hence the same on all ranks, so that arrivals can be compared.

#include <algorithm>
#include <cstdint>

namespace espalier::mpi {

/// The first 16 calls; then fewer and fewer, of many one of 1024: at places that follow no period of the program's.
/// What makes times of short calls differ most, long waits, is known of all calls: few tell the rest.
class Turns {
 public:
  static constexpr std::uint64_t all_until = 16;
  static constexpr std::uint64_t longest_stride = 1024;

  /// Whether the next call goes untimed: then pass() follows, else take().
  bool may_pass() const noexcept { return left_ != 1; }
  void pass() noexcept { --left_; }
  /// For how many calls the one at hand stands: for itself and those that went untimed before it.
  std::uint64_t take() noexcept {
    const std::uint64_t weight = stride_;
    stride_ = left_ = skip(weight);
    return weight;
  }
  /// The same of calls whose turns somebody else keeps: `weight` more, and the one that is timed next comes after so
  /// many.
  std::uint64_t skip(std::uint64_t weight) noexcept { return derive_stride(calls_ += weight); }
  /// Calls that went untimed since the last one that did not.
  std::uint64_t passed() const noexcept { return stride_ - left_; }

 private:
  /// Until the next: on average `mean`, from half of that to half as much again.
  static std::uint64_t derive_stride(std::uint64_t calls) noexcept {
    const std::uint64_t mean = std::clamp<std::uint64_t>(calls / all_until, 1, longest_stride);
    if (mean == 1) return 1;
    std::uint64_t mixed = calls * 0x9e37'79b9'7f4a'7c15;
    mixed = (mixed ^ mixed >> 32) * 0xd6e8'feb8'6659'fd93;
    return mean / 2 + (mixed >> 33) % (mean + 1);
  }

  std::uint64_t stride_ = 1, left_ = 1;
  std::uint64_t calls_ = 0;
};

}  // namespace espalier::mpi
