#include "fabric/queries/request.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace espalier::fabric {
namespace {

constexpr std::array<std::string_view, kCommands> kNames = {"query", "route",   "hops",  "matrix", "classes",
                                                            "hosts", "version", "stats", "help",   "quit"};
constexpr std::string_view kBlanks = " \t";
// Colons at which a pair is tried: real names have none or one.
constexpr std::size_t kMostColons = 16;

bool takes_arguments(Command command) { return command <= Command::classes; }

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

std::string_view name_of(Command command) { return kNames.at(static_cast<std::size_t>(command)); }

std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string quoted(text.substr(0, kLongest));
  for (auto& c : quoted)
    if (c < ' ' || c > '~') c = '?';
  return "'" + quoted + (text.size() > kLongest ? "...'" : "'");
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trim(text); !text.empty(); text = trim(text)) {
    words.push_back(text.substr(0, text.find_first_of(kBlanks)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

std::string format_metric(const Question& question) {
  auto text = std::string(name_of(question.metric));
  if (question.metric == Metric::combined) text += ":" + std::to_string(question.bytes);
  return text;
}

Question parse_metric_word(std::string_view text) {
  const auto colon = text.find(':');
  const auto digits = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  Question question;
  try {
    question.metric = parse_metric(text.substr(0, colon));
    const bool wants_size = question.metric == Metric::combined;
    const auto bytes = parse_number<decltype(question.bytes)>(digits);
    question.bytes = bytes.value_or(question.bytes);
    if (wants_size ? bytes.has_value() : colon == std::string_view::npos) return question;
  } catch (const Error&) {
    // One sentence for all.
  }
  throw ProtocolError("unknown-metric", quote(text) + " is no metric: hops latency speed adapter combined:BYTES");
}

Request parse_request(std::string_view line) {
  const auto text = trim(line);
  const auto word = text.substr(0, text.find_first_of(kBlanks));
  const auto found = std::find(kNames.begin(), kNames.end(), word);
  if (found == kNames.end()) throw ProtocolError("unknown-command", quote(word) + " is no request; 'help' lists them");
  const Request request{static_cast<Command>(found - kNames.begin()), trim(text.substr(word.size()))};
  if (!takes_arguments(request.command) && !request.arguments.empty())
    throw ProtocolError("bad-request", "'" + std::string(word) + "' stands alone");
  return request;
}

std::vector<std::pair<std::string_view, std::string_view>> parse_pair(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() == 2) return {{words[0], words[1]}};
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  if (words.size() == 1)
    for (auto at = text.find(':'); at != std::string_view::npos && pairs.size() < kMostColons;
         at = text.find(':', at + 1))
      pairs.emplace_back(text.substr(0, at), text.substr(at + 1));
  if (pairs.empty()) throw ProtocolError("bad-request", "write two hosts as A:B");
  return pairs;
}

}  // namespace espalier::fabric
