#pragma once
// The dedicated path of short messages (execute/lines/tiny.hpp, execute/lines/uneven_blocks.hpp) as a selection.

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "plan/problem.hpp"

namespace espalier::tune {

/// "tiny", or for uneven blocks of a scatter, gather or alltoall "tiny,window=32K".
struct Dedicated {
  /// Longest block that goes through its sender's window where lines have no room for it (UnevenKind); none: what is
  /// usual. One for all sizes: no rank knows other ranks' blocks.
  std::optional<Bytes> window = {};

  bool operator==(const Dedicated&) const = default;
};

/// Whether no rank knows all sizes of the operation's v-form: scatterv, gatherv and alltoallv.
bool hides_sizes(plan::Operation operation);

/// None where the text selects something else. Throws Error saying what is wrong with a knob.
std::optional<Dedicated> parse_dedicated(plan::Operation operation, std::string_view text);
/// What parse_dedicated() reads back.
std::string to_string(const Dedicated& selection);

}  // namespace espalier::tune
