#pragma once
// Orders of nodes that have been derived from one set of distances before.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace espalier::topology {

/// Deriving an order is pure, so remembering it changes nothing but time: a broadcast from one root in several sizes,
/// or the programs of all ranks of one plan, derive each order once. The oldest go first. Thread safe.
class OrderMemo {
 public:
  /// What the order depends on besides the distances, as numbers.
  using Key = std::array<std::uint64_t, 3>;
  using Order = std::shared_ptr<const std::vector<int>>;

  /// The order of this key; `derive()` gives it the first time. Two threads that ask at once may both derive it.
  template <class Derive>
  Order get(const Key& key, Derive derive) {
    if (Order known = find(key)) return known;
    auto order = std::make_shared<const std::vector<int>>(derive());
    const std::lock_guard lock(mutex_);
    if (orders_.size() == most) orders_.pop_front();
    orders_.emplace_back(key, order);
    return order;
  }

 private:
  static constexpr std::size_t most = 64;

  Order find(const Key& key) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, order] : orders_)
      if (known == key) return order;
    return nullptr;
  }

  std::mutex mutex_;
  std::deque<std::pair<Key, Order>> orders_;
};

}  // namespace espalier::topology
