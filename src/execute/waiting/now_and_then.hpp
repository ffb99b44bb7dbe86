#pragma once
// What those who look for something again and again do at some looks only, as it takes long, or others' cache lines.

#include <cstdint>

namespace espalier::execute {

/// Counts looks in vain.
class NowAndThen {
 public:
  /// At every 64th.
  bool is_due() noexcept { return ++looks_ % looks_between == 0; }
  /// What is looked for is another thing now.
  void begin_again() noexcept { looks_ = 0; }

 private:
  static constexpr std::uint32_t looks_between = 64;

  std::uint32_t looks_ = 0;
};

}  // namespace espalier::execute
