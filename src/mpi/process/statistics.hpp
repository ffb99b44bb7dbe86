#pragma once
// How many calls were handled and how, how many were left to the native library and why.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "plan/calls.hpp"

namespace espalier::mpi {

using plan::call_forms;
using plan::CallForm;
using plan::mpi_name;

/// What contests have come to, and what trials took longer than the best did (learn/purse.hpp).
struct LearnedAbout {
  int kinds = 0;  ///< of calls
  int settled = 0;
  double spent_us = 0;
};

/// The calls of this process. Thread safe and not fast: communicators count for themselves (one plain increment per
/// call) and hand their sums in when they are freed, drop a program, or at the end.
class Statistics {
 public:
  void add_handled(plan::Operation operation, const std::string& choice, std::uint64_t calls,
                   CallForm form = CallForm::blocking);
  void add_native(plan::Operation operation, const std::string& reason, std::uint64_t calls);

  /// Of one communicator, for this process.
  void add_learned(const LearnedAbout& learned);

  /// {"MPI_Bcast": {"handled": n, "native": n, "forms": {"blocking": n, …}, "reasons": {text: n},
  /// "choices": {text: n}}, …}, with a line end; "forms" are of what was handled. And where jobs
  /// learn, "learning": {"kinds": n, "settled": n, "spent_us": n}.
  std::string to_json() const;
  /// One line per operation that was called, for a person; empty when none was.
  std::string to_text() const;

 private:
  struct Counts {
    std::uint64_t handled = 0;
    std::uint64_t native = 0;
    std::array<std::uint64_t, call_forms> forms{};
    std::map<std::string, std::uint64_t> reasons;
    std::map<std::string, std::uint64_t> choices;
  };

  mutable std::mutex mutex_;
  std::array<Counts, plan::operation_count> counts_;
  LearnedAbout learned_;
};

}  // namespace espalier::mpi
