#include "mpi/process/statistics.hpp"

#include <cstdio>

#include "base/text.hpp"

namespace espalier::mpi {
namespace {

std::string to_json_object(const std::map<std::string, std::uint64_t>& counts) {
  std::string out;
  for (const auto& [text, count] : counts) {
    if (!out.empty()) out += ", ";
    out += json_string(text) + ": " + std::to_string(count);
  }
  return "{" + out + "}";
}

std::string listed(const std::map<std::string, std::uint64_t>& counts) {
  std::string out;
  for (const auto& [text, count] : counts)
    out += (out.empty() ? " (" : "; ") + std::to_string(count) + "x " + printable(text);
  return out.empty() ? out : out + ")";
}

std::string to_json_object(const std::array<std::uint64_t, call_forms>& forms) {
  std::string out;
  for (int f = 0; f < call_forms; ++f)
    out +=
        std::string(f == 0 ? "" : ", ") + json_string(name(static_cast<CallForm>(f))) + ": " + std::to_string(forms[f]);
  return "{" + out + "}";
}

/// " of which 3 nonblocking, 5 persistent", or nothing where all were blocking.
std::string listed(const std::array<std::uint64_t, call_forms>& forms) {
  std::string out;
  for (int f = 1; f < call_forms; ++f)
    if (forms[f] > 0)
      out += (out.empty() ? " of which " : ", ") + std::to_string(forms[f]) + " " + name(static_cast<CallForm>(f));
  return out;
}

plan::Operation operation_at(std::size_t index) { return static_cast<plan::Operation>(index); }

}  // namespace

void Statistics::add_handled(plan::Operation operation, const std::string& choice, std::uint64_t calls, CallForm form) {
  if (calls == 0) return;
  const std::lock_guard lock(mutex_);
  Counts& counts = counts_[static_cast<std::size_t>(operation)];
  counts.handled += calls;
  counts.forms[static_cast<std::size_t>(form)] += calls;
  counts.choices[choice] += calls;
}

void Statistics::add_native(plan::Operation operation, const std::string& reason, std::uint64_t calls) {
  if (calls == 0) return;
  const std::lock_guard lock(mutex_);
  Counts& counts = counts_[static_cast<std::size_t>(operation)];
  counts.native += calls;
  counts.reasons[reason] += calls;
}

void Statistics::add_learned(const LearnedAbout& learned) {
  const std::lock_guard lock(mutex_);
  learned_.kinds += learned.kinds;
  learned_.settled += learned.settled;
  learned_.spent_us += learned.spent_us;
}

std::string Statistics::to_json() const {
  const std::lock_guard lock(mutex_);
  std::string out = "{";
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const Counts& counts = counts_[i];
    out += std::string(i == 0 ? "" : ",") + "\n  " + json_string(mpi_name(operation_at(i))) +
           ": {\"handled\": " + std::to_string(counts.handled) + ", \"native\": " + std::to_string(counts.native) +
           ", \"forms\": " + to_json_object(counts.forms) + ", \"reasons\": " + to_json_object(counts.reasons) +
           ", \"choices\": " + to_json_object(counts.choices) + "}";
  }
  char learned[96] = "";
  if (learned_.kinds > 0)
    std::snprintf(learned, sizeof learned, ",\n  \"learning\": {\"kinds\": %d, \"settled\": %d, \"spent_us\": %.0f}",
                  learned_.kinds, learned_.settled, learned_.spent_us);
  return out + learned + "\n}\n";
}

std::string Statistics::to_text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const Counts& counts = counts_[i];
    if (counts.handled + counts.native == 0) continue;
    out += std::string("espalier: ") + mpi_name(operation_at(i)) + ": handled " + std::to_string(counts.handled) +
           listed(counts.forms) + listed(counts.choices) + ", native " + std::to_string(counts.native) +
           listed(counts.reasons) + "\n";
  }
  char learned[128] = "";
  if (learned_.kinds > 0)
    std::snprintf(learned, sizeof learned,
                  "espalier: learned about %d kinds of calls, %d of them settled; trials took %.3g ms longer\n",
                  learned_.kinds, learned_.settled, learned_.spent_us * 1e-3);
  out += learned;
  return out;
}

}  // namespace espalier::mpi
