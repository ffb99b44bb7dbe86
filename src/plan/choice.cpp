#include "plan/choice.hpp"

#include "base/bytes.hpp"

namespace espalier::plan {
namespace {

/// Which knobs a person is told of even where they have their usual value, and in which order those between nodes come:
/// of exchanges whose name is known here. Of others, what is unusual.
struct Manner {
  explicit Manner(const Between& between)
      : is_tree(between == Between::knomial || between == Between::scatter_allgather),
        has_exchange(between == Between::multi_group || between == Between::multi_group_lean),
        has_groups(has_exchange || between == Between::gather_based) {}

  bool is_tree, has_exchange, has_groups;
};

void add(std::string& text, const char* knob, const std::string& value) {
  text += std::string(",") + knob + "=" + value;
}

void add_exchange(std::string& text, const Choice& choice, const Manner& manner) {
  if (manner.has_groups || choice.groups != Choice{}.groups) add(text, "groups", std::to_string(choice.groups));
  if (manner.has_exchange || choice.exchange != Choice{}.exchange) add(text, "exchange", name(choice.exchange));
}

}  // namespace

std::string to_string(const Choice& choice) {
  const Choice usual;
  const Manner manner(choice.between);
  std::string text = choice.between.name();
  if (manner.is_tree) add(text, "radix", std::to_string(choice.radix));
  if (!manner.has_groups) add_exchange(text, choice, manner);
  const bool has_radix = choice.radix != usual.radix || choice.exchange == Exchange::bruck;
  if (!manner.is_tree && !manner.has_groups && has_radix) add(text, "radix", std::to_string(choice.radix));
  if (choice.order != usual.order) add(text, "order", name(choice.order));
  if (manner.has_groups) add_exchange(text, choice, manner);
  if (manner.has_groups && choice.radix != usual.radix) add(text, "radix", std::to_string(choice.radix));
  if (choice.connections != usual.connections) add(text, "connections", std::to_string(choice.connections));
  if (choice.staging != usual.staging) add(text, "staging", name(choice.staging));
  if (choice.segment != usual.segment) add(text, "segment", format_bytes(choice.segment));
  add(text, "within", name(choice.within));
  if (choice.within == Within::cells) {
    add(text, "cell", format_bytes(choice.cell));
    add(text, "cells", std::to_string(choice.cells));
  }
  if (choice.leaders != usual.leaders) add(text, "leaders", name(choice.leaders));
  if (choice.within == Within::cells && choice.stores != usual.stores) add(text, "stores", name(choice.stores));
  if (choice.levels != usual.levels) add(text, "levels", std::to_string(choice.levels));
  return text;
}

}  // namespace espalier::plan
