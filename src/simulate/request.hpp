#pragma once
// What requests to espalier-simulator say, whatever is simulated, and what its replies have in common.

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "cost/play.hpp"
#include "plan/program.hpp"

namespace espalier::simulate {

/// The defaults (cost/parameters.hpp), but for those that the request names.
cost::Parameters read_parameters(const nlohmann::json& request);
/// By its full name. Throws Error where there is none of this name.
plan::Operation read_operation(const std::string& name);
nlohmann::json spans_of(const plan::Plan& plan, std::span<const cost::Span> all);

}  // namespace espalier::simulate
