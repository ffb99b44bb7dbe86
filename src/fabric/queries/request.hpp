#pragma once
// The line protocol's requests (docs/reference/protocol.md). Pure.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fabric/delays.hpp"

namespace espalier::fabric {

/// The protocol's version: grows when a request changes its meaning or a reply its form.
constexpr int kProtocolVersion = 1;
/// A longer request is refused, with its end included.
constexpr std::size_t kLongestRequest = std::size_t{128} << 10;
/// Hosts of one matrix or of one set of classes: 16 million delays.
constexpr std::size_t kMostMatrixHosts = 4096;

enum class Command : std::uint8_t { query, route, hops, matrix, classes, hosts, version, stats, help, quit };
constexpr std::size_t kCommands = 10;
std::string_view name_of(Command command);

/// One line, understood. Views into it.
struct Request {
  Command command = Command::help;
  std::string_view arguments;  ///< without blanks at either end
};

/// "error CODE text" in the making.
class ProtocolError : public Error {
 public:
  ProtocolError(std::string_view code, const std::string& text) : Error(text), code_(code) {}
  /// One of the protocol's codes; a literal.
  std::string_view code() const { return code_; }

 private:
  std::string_view code_;
};

/// Reads a line without its end. Throws ProtocolError.
Request parse_request(std::string_view line);

/// The words of a text.
std::vector<std::string_view> split_words(std::string_view text);

/// The ways to read a pair of hosts: "A B", or "A:B", at every colon, because names may contain some. Throws
/// ProtocolError when there is none.
std::vector<std::pair<std::string_view, std::string_view>> parse_pair(std::string_view text);

/// The metric of a matrix: "hops", "combined:65536".
std::string format_metric(const Question& question);
/// Reads that back. Throws ProtocolError when it is none.
Question parse_metric_word(std::string_view text);

/// What a reply may quote of a request: printable, and no longer than a line on a screen.
std::string quote(std::string_view text);

}  // namespace espalier::fabric
