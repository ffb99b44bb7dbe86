#pragma once
// What learning may cost: a share of the time that a communicator spends in the calls that are learned about, and what
// its job lends it, so that short calls are tried at once.

namespace espalier::learn {

/// All in microseconds. Ranks that count the same hold the same.
class Purse {
 public:
  /// `share`: 0.01 for a hundredth.
  explicit Purse(double share, double advance_us = 0) : share_(share), left_(advance_us) {}

  void lend(double us) { left_ += us; }
  /// Calls were made that took so long.
  void earn(double us) { left_ += share_ * us; }
  /// So much longer than with the best that is known.
  void spend(double us) {
    left_ -= us;
    spent_ += us;
  }

  /// For how many calls of `each` microseconds one has to wait until `cost` can be spent; 0: not at all.
  double calls_until(double cost, double each) const;

  double spent() const { return spent_; }

 private:
  double share_;
  double left_;
  double spent_ = 0;
};

}  // namespace espalier::learn
