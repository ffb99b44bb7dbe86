#include "plan/choice.hpp"

#include "base/bytes.hpp"

namespace espalier::plan {
namespace {

std::string group_knobs(const Choice& choice) {
  std::string text;
  const bool has_groups = choice.between == Between::multi_group || choice.between == Between::multi_group_lean ||
                          choice.between == Between::gather_based;
  if (has_groups) text += ",groups=" + std::to_string(choice.groups);
  if (choice.between == Between::multi_group || choice.between == Between::multi_group_lean)
    text += std::string(",exchange=") + name(choice.exchange);
  if (choice.between == Between::multi_group && choice.radix != Choice{}.radix)
    text += ",radix=" + std::to_string(choice.radix);
  const bool has_connections =
      has_groups || choice.between == Between::single_group_direct || choice.between == Between::pairwise;
  if (has_connections && choice.connections > 0) text += ",connections=" + std::to_string(choice.connections);
  if (choice.staging != Staging::auto_) text += std::string(",staging=") + name(choice.staging);
  return text;
}

}  // namespace

std::string to_string(const Choice& choice) {
  std::string text = name(choice.between);
  if (choice.between == Between::knomial || choice.between == Between::scatter_allgather)
    text += ",radix=" + std::to_string(choice.radix);
  if (choice.between == Between::scatter_allgather && choice.exchange == Exchange::bruck)
    text += std::string(",exchange=") + name(choice.exchange);
  if (choice.between == Between::flat && choice.exchange == Exchange::bruck)  // of an all-to-all
    text += std::string(",exchange=") + name(choice.exchange) + ",radix=" + std::to_string(choice.radix);
  if (choice.order != Order::auto_) text += std::string(",order=") + name(choice.order);
  text += group_knobs(choice);
  if (choice.segment > 0) text += ",segment=" + format_bytes(choice.segment);
  text += std::string(",within=") + name(choice.within);
  if (choice.within == Within::cells)
    text += ",cell=" + format_bytes(choice.cell) + ",cells=" + std::to_string(choice.cells);
  if (choice.leaders != Choice{}.leaders) text += std::string(",leaders=") + name(choice.leaders);
  if (choice.within == Within::cells && choice.stores != Stores::cached)
    text += std::string(",stores=") + name(choice.stores);
  if (choice.levels > 1) text += ",levels=" + std::to_string(choice.levels);
  return text;
}

}  // namespace espalier::plan
