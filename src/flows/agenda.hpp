#pragma once
// Who is due next among many, each of whom may be put off or brought forward at any time.

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace espalier::flows {

/// Numbers from 0 on, each with one time at most: the earliest is first, of equal times the lowest number. A heap of
/// four branches that knows where everybody stands: where shares change, all ends of a link's flows move by a little,
/// and a queue to which the new ones were added grew by hundreds of stale ones for each message.
class Agenda {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// When the first is due; `never` when there is none.
  double first_time() const { return heap_.empty() ? never : heap_.front().first; }
  /// Who that is; there must be one.
  int first() const { return heap_.front().second; }

  /// Adds a number or changes its time; `never` is a time, too. O(log count), mostly less.
  void set(int number, double when) {
    if (at(number) < 0) {
      place_[static_cast<std::size_t>(number)] = static_cast<int>(heap_.size());
      heap_.emplace_back();
    }
    settle(static_cast<std::size_t>(at(number)), {when, number});
  }

  /// Takes a number out that is in.
  void remove(int number) {
    const auto gap = static_cast<std::size_t>(at(number));
    place_[static_cast<std::size_t>(number)] = -1;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (gap < heap_.size()) settle(gap, last);
  }

 private:
  using Entry = std::pair<double, int>;
  static constexpr std::size_t branches = 4;

  int& at(int number) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= place_.size()) place_.resize(index + 1, -1);
    return place_[index];
  }

  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    place_[static_cast<std::size_t>(entry.second)] = static_cast<int>(place);
  }

  /// Finds the place of an entry, from a free one on: up, or else down.
  void settle(std::size_t place, const Entry& entry) {
    for (; place > 0 && entry < heap_[(place - 1) / branches]; place = (place - 1) / branches)
      put(place, heap_[(place - 1) / branches]);
    for (;;) {
      const std::size_t begin = place * branches + 1, end = std::min(begin + branches, heap_.size());
      std::size_t least = begin;
      for (std::size_t child = begin + 1; child < end; ++child)
        if (heap_[child] < heap_[least]) least = child;
      if (begin >= heap_.size() || !(heap_[least] < entry)) break;
      put(place, heap_[least]);
      place = least;
    }
    put(place, entry);
  }

  std::vector<Entry> heap_;
  std::vector<int> place_;  ///< by number; -1: not in
};

}  // namespace espalier::flows
