#pragma once
// What others are told of a call that is left to the MPI (src/watch).

#include <concepts>
#include <cstdint>
#include <optional>

#include "execute/watch_line.hpp"
#include "mpi/buffers/datatype.hpp"
#include "mpi/decide/passed.hpp"

namespace espalier::mpi {

/// `me`: the caller's rank; -1 where that is not known yet, and with it which of a scatter's or gather's arguments
/// count. Bytes are those of a message or block; of calls with counts none are told, for to add them up takes as long
/// as to make the call on some ranks.
template <class Call>
execute::LeftCall told_of(const Call& call, int me) {
  constexpr bool is_sided = std::same_as<Call, Scatter> || std::same_as<Call, Gather>;
  const Form form = form_of(call);
  execute::LeftCall told{form.operation, form.block_sizes()};
  if constexpr (requires { call.root; }) told.root = call.root;
  if constexpr (is_plain_call<Call> && !std::same_as<Call, Barrier>) {
    const std::optional<Gist> gist = is_sided && me < 0 ? std::nullopt : gist_of(call, me);
    const bool has_size = gist && gist->count > 0 && gist->type != native().datatype_null;
    if (has_size) told.bytes = static_cast<std::uint64_t>(gist->count * size_of(gist->type));
  }
  return told;
}

}  // namespace espalier::mpi
