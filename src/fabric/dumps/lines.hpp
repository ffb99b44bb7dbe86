#pragma once
// Lines out of a stream of bytes, in bounded memory.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::fabric {

/// Cuts what is fed to it into lines. Of a line longer than twice `kept` bytes only both ends are kept, that many bytes
/// of each: what a record says stands before or after a node's description, and that is the only part without a bound.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t kept = 4096) : kept_(kept) {}

  /// Calls `take(line, number)` for every line that ends in `bytes`; without its end, carriage return included. Numbers
  /// count from 1. `line` lives until `take` returns.
  template <class Take>
  void feed(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      if (end == std::string_view::npos) return keep(bytes);
      ++number_;
      if (held_.empty() && end <= 2 * kept_) {
        take(trim(bytes.substr(0, end)), number_);
      } else {
        keep(bytes.substr(0, end));
        take(trim(held_), number_);
        held_.clear();
      }
      bytes.remove_prefix(end + 1);
    }
  }

  /// What follows the last line end: a line of its own, or, in dumps that were cut, the beginning of one.
  std::string_view rest() const { return trim(held_); }
  std::uint64_t number() const { return number_; }

 private:
  static std::string_view trim(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  void keep(std::string_view bytes) {
    // Of a large piece only the end can survive, once the beginning is there.
    const auto head = std::min(bytes.size(), kept_ - std::min(held_.size(), kept_));
    held_.append(bytes.substr(0, head));
    bytes.remove_prefix(head);
    if (bytes.size() > kept_) bytes.remove_prefix(bytes.size() - kept_);
    held_.append(bytes);
    if (held_.size() > 2 * kept_) held_.erase(kept_, held_.size() - 2 * kept_);
  }

  std::size_t kept_;
  std::string held_;
  std::uint64_t number_ = 0;
};

}  // namespace espalier::fabric
