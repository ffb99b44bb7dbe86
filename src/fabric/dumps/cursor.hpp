#pragma once
// Reads a line from left to right. Nothing here allocates.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier::fabric {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  std::string_view rest() const { return text_; }
  bool done() const { return text_.empty(); }

  Cursor& skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t')) text_.remove_prefix(1);
    return *this;
  }
  /// Takes `literal` if it stands here.
  bool take(std::string_view literal) {
    if (!text_.starts_with(literal)) return false;
    text_.remove_prefix(literal.size());
    return true;
  }
  /// The next word (up to a blank); empty at the end.
  std::string_view word() {
    skip_blanks();
    const auto found = text_.substr(0, text_.find_first_of(" \t"));
    text_.remove_prefix(found.size());
    return found;
  }
  /// Goes behind the next `literal`; false, and stays, when there is none.
  bool find(std::string_view literal) {
    const auto at = text_.find(literal);
    if (at == std::string_view::npos) return false;
    text_.remove_prefix(at + literal.size());
    return true;
  }
  /// What stands before the next `end`, which is taken too; nothing when there is none.
  std::optional<std::string_view> until(std::string_view end) {
    const auto at = text_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const auto found = text_.substr(0, at);
    text_.remove_prefix(at + end.size());
    return found;
  }
  /// A number in this base, without sign. Nothing when none stands here or it does not fit 64 bits.
  std::optional<std::uint64_t> number(int base = 10) {
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), value, base);
    if (status != std::errc{}) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  /// As number(), with "0x" before it.
  std::optional<std::uint64_t> hex() { return take("0x") ? number(16) : std::nullopt; }
  std::optional<double> decimal() {
    double value = 0;
    const auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (status != std::errc{}) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

 private:
  std::string_view text_;
};

}  // namespace espalier::fabric
