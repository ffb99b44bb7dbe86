#pragma once
// How far a core runs ahead of what it waits for.

#include <algorithm>
#include <deque>
#include <limits>

namespace espalier::simulate {

/// A core out of order: while lines that one step needs are on their way, it asks for those of the next ones, as far as
/// its window of instructions reaches and until a flag that is not there yet makes it turn back. Times in microseconds.
class Ahead {
 public:
  /// Instructions in flight: 224 (Zen 2, Skylake) to 352 (Ice Lake), and what they are for.
  static constexpr int window = 250, per_step = 60, per_line = 25, per_look = 8;

  /// When a step that begins at `when`, once all before it are over, can have asked for its lines; not sooner than
  /// `gap` after the one before. `most`: lines under way at once.
  double ask(double when, double gap, int instructions, std::size_t most) {
    if (when > last_ + one_row) forget();
    double asked = asked_ < 0 ? when : asked_ + gap;
    while (!under_way_.empty() && (instructions_ + instructions > window || under_way_.size() >= most)) {
      asked = std::max(asked, under_way_.front().done);
      instructions_ -= under_way_.front().instructions;
      under_way_.pop_front();
    }
    return asked;
  }
  /// What came of it. `has_waited`: for something that was not there when asked for.
  void note(double asked, double done, int instructions, bool has_waited) {
    last_ = std::max(last_, done);
    if (has_waited) {
      under_way_.clear();
      instructions_ = 0;
      asked_ = done;
      return;
    }
    asked_ = asked;
    instructions_ += instructions;
    under_way_.push_back({done, instructions});
  }
  /// A long copy has the core for itself.
  void forget() {
    under_way_.clear();
    instructions_ = 0;
    asked_ = -1;
  }

 private:
  /// What comes later than this after the last step has waited for something in between.
  static constexpr double one_row = 0.06;
  struct Step {
    double done;
    int instructions;
  };

  double asked_ = -1, last_ = -std::numeric_limits<double>::infinity();
  int instructions_ = 0;
  std::deque<Step> under_way_;
};

}  // namespace espalier::simulate
