#pragma once
// Who has asked, how often and when last: for the page that an administrator looks at.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace espalier::service {

/// What is known of one address.
struct Asker {
  std::string address;  ///< as connections of one host have it in common; "user UID" for those of a Unix socket
  std::uint64_t requests = 0;
  std::chrono::system_clock::time_point last;
};

/// A bounded memory of them: who has been silent for longest is forgotten first. For several threads.
class Askers {
 public:
  static constexpr std::size_t most = 256;

  /// O(log askers), but where a new one takes another's place: O(askers).
  void note(const std::string& address) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(address);
    if (found == known_.end() && known_.size() == most) forget_one();
    Asker& asker = found == known_.end() ? known_[address] : found->second;
    asker.address = address;
    ++asker.requests;
    asker.last = std::chrono::system_clock::now();
  }

  /// Who asked last comes first.
  std::vector<Asker> list() const {
    std::vector<Asker> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [address, asker] : known_) all.push_back(asker);
    }
    std::stable_sort(all.begin(), all.end(), [](const Asker& a, const Asker& b) { return a.last > b.last; });
    return all;
  }

 private:
  void forget_one() {
    known_.erase(std::min_element(known_.begin(), known_.end(),
                                  [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
  }

  mutable std::mutex mutex_;
  std::map<std::string, Asker> known_;
};

}  // namespace espalier::service
