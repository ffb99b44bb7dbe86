#pragma once
// Who is to do an operation's calls, as a setting, a tuned table or a program says it.

#include <string_view>

#include "plan/choice.hpp"
#include "plan/problem.hpp"
#include "tune/dedicated.hpp"

namespace espalier::mpi {

struct Selection {
  enum class Kind {
    native,  ///< the MPI underneath
    tiny,    ///< the dedicated path of short messages
    plan,    ///< `choice`
  };
  Kind kind = Kind::native;
  plan::Choice choice = {};
  tune::Dedicated dedicated = {};  ///< of the dedicated path

  bool operator==(const Selection&) const = default;
};

/// Reads "native", "tiny" with or without a knob (tune/dedicated.hpp), or a choice as choice::parse_choice does.
/// Throws Error saying what is wrong.
Selection parse_selection(plan::Operation operation, std::string_view text);

}  // namespace espalier::mpi
