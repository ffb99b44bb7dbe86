#pragma once
// Whose request is next: fair between addresses, and what costs little first.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::service {

/// Jobs that wait for a worker, by self-clocked fair queueing (Golestani, "A self-clocked fair queueing scheme for
/// broadband applications", 1994) on two levels: addresses share the work, and the jobs of an address what it gets. A
/// job is tagged with the clock of its arrival and the work it is; the smallest tag goes first, and sets the clock. So
/// who asks for little overtakes any number of those that always ask for much, and nobody waits for ever, because every
/// job that goes moves the clock on which later ones are tagged.
///
/// For clients that wait for the answer before they ask again: what is served sets the clock to its tag, so nothing
/// about a client need be remembered between its jobs. O(jobs) for each one taken: thousands cost less than the least
/// of them. Not for several threads.
template <class Job>
class FairQueue {
 public:
  /// `work` is in any unit.
  void push(const std::string& address, std::uint64_t work, Job job) {
    const auto [at, is_new] = addresses_.try_emplace(address);
    auto& [jobs, finish, clock] = at->second;
    if (is_new) finish = clock = clock_;
    jobs.push_back({clock + work, work, std::move(job)});
  }

  /// The next job of at most so much work.
  std::optional<Job> pop(std::uint64_t most = ~std::uint64_t{0}) {
    Place best{addresses_.end(), 0, 0};
    for (auto it = addresses_.begin(); it != addresses_.end(); ++it) {
      const auto& [jobs, finish, clock] = it->second;
      const auto head = find_head(jobs, most);
      if (head == jobs.size()) continue;
      const auto tag = finish + jobs[head].work;
      if (best.address == addresses_.end() || tag < best.tag) best = {it, head, tag};
    }
    if (best.address == addresses_.end()) return std::nullopt;
    return take(best);
  }

 private:
  struct Entry {
    std::uint64_t tag;  ///< on the clock of its address
    std::uint64_t work;
    Job job;
  };
  struct Address {
    std::vector<Entry> jobs;   ///< in the order of their arrival
    std::uint64_t finish = 0;  ///< tag of what it was given last, on the clock of all
    std::uint64_t clock = 0;
  };
  using Addresses = std::map<std::string, Address>;
  struct Place {
    typename Addresses::iterator address;
    std::size_t job;
    std::uint64_t tag;
  };

  static std::size_t find_head(const std::vector<Entry>& jobs, std::uint64_t most) {
    auto head = jobs.size();
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (jobs[i].work <= most && (head == jobs.size() || jobs[i].tag < jobs[head].tag)) head = i;
    return head;
  }

  Job take(const Place& place) {
    auto& [jobs, finish, clock] = place.address->second;
    const auto at = jobs.begin() + static_cast<std::ptrdiff_t>(place.job);
    Job job = std::move(at->job);
    clock = std::max(clock, at->tag);
    finish = place.tag;
    clock_ = std::max(clock_, place.tag);
    jobs.erase(at);
    if (jobs.empty()) addresses_.erase(place.address);
    return job;
  }

  Addresses addresses_;
  std::uint64_t clock_ = 0;
};

}  // namespace espalier::service
