#include "simulate/request.hpp"

#include "algorithms/catalogue.hpp"
#include "base/error.hpp"

namespace espalier::simulate {

using nlohmann::json;

cost::Parameters read_parameters(const json& request) {
  cost::Parameters is;
  const json given = request.value("parameters", json::object());
  const auto read_line = [&](const char* name, cost::Line& line) {
    if (given.contains(name)) line = {given.at(name).at(0).get<double>(), given.at(name).at(1).get<double>()};
  };
  const auto read = [&](const char* name, double& value) { value = given.value(name, value); };
  read("flag", is.flag), read("step", is.step), read("overhead", is.overhead), read("gap", is.gap);
  read("eager", is.eager), read("yield", is.yield);
  is.cores = given.value("cores", is.cores);
  read_line("put", is.put), read_line("get", is.get), read_line("copy", is.copy);
  read_line("reduce", is.reduce), read_line("single_copy", is.single_copy);
  return is;
}

plan::Operation read_operation(const std::string& name) {
  for (const algorithms::Algorithm& algorithm : algorithms::algorithms())
    if (name == plan::name(algorithm.operation)) return algorithm.operation;
  throw Error("unknown operation '" + name + "'");
}

json spans_of(const plan::Plan& plan, std::span<const cost::Span> all) {
  json spans = json::array();
  for (const cost::Span& span : all) {
    const plan::Step& step = plan.programs[static_cast<std::size_t>(span.rank.value)].steps[span.step];
    spans.push_back({{"rank", span.rank.value},
                     {"step", span.step},
                     {"op", plan::name(step.op())},
                     {"begin", span.begin},
                     {"end", span.end}});
  }
  return spans;
}

}  // namespace espalier::simulate
