#pragma once
// Requests about the inside of nodes: those with a `node_platform`, the text of a platform file.

#include <nlohmann/json.hpp>

namespace espalier::simulate {

/// `operation`, `bytes`, `root`; `ranks` on each of `nodes` (1), bound as `cores` says (packed|spread), or
/// each to its own of `core_of_rank`. `way`: "" for
/// what a job would do, "plan" for the choice in any case (`choice`, else the built-in one), "lines" for the dedicated
/// path of short messages, or a peer (peers.hpp). Throws Error for what makes no sense.
nlohmann::json answer_about_node(const nlohmann::json& request);

}  // namespace espalier::simulate
