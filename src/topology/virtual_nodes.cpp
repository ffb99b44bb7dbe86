#include "topology/virtual_nodes.hpp"

#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "base/text.hpp"

namespace espalier::topology {
namespace {

int parse_positive(std::string_view number, std::string_view whole) {
  const int value = parse_number<int>(number).value_or(0);
  if (value < 1)
    throw Error("'" + std::string(whole) +
                "' does not say how to split ranks into virtual nodes: write 4, 3,1,4 or cyclic:4");
  return value;
}

}  // namespace

VirtualNodes VirtualNodes::parse(std::string_view text) {
  VirtualNodes split;
  constexpr std::string_view cyclic = "cyclic:";
  if (text.empty()) return split;
  if (text.starts_with(cyclic)) {
    split.form_ = Form::cyclic;
    split.count_ = parse_positive(text.substr(cyclic.size()), text);
    return split;
  }
  if (text.find(',') == std::string_view::npos) {
    split.count_ = parse_positive(text, text);
    return split;
  }
  split.form_ = Form::sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    split.sizes_.push_back(parse_positive(text.substr(begin, comma - begin), text));
    begin = comma + 1;
  }
  if (std::accumulate(split.sizes_.begin(), split.sizes_.end(), 0LL) > std::numeric_limits<int>::max())
    throw Error("'" + std::string(text) + "': these are more ranks than there can be");
  return split;
}

int VirtualNodes::node_of(int index, int count) const {
  if (form_ == Form::cyclic) return index % count_;
  // Blocks whose sizes differ by at most one: the same rounding for every index, whatever the count.
  if (form_ == Form::blocks) return static_cast<int>(static_cast<long long>(index) * count_ / count);
  const int period = std::accumulate(sizes_.begin(), sizes_.end(), 0);
  int node = (index / period) * static_cast<int>(sizes_.size());
  for (int left = index % period; left >= sizes_[static_cast<std::size_t>(node) % sizes_.size()]; ++node)
    left -= sizes_[static_cast<std::size_t>(node) % sizes_.size()];
  return node;
}

int VirtualNodes::index_on_node(int index, int count) const {
  int before = 0;
  for (int other = 0; other < index; ++other) before += node_of(other, count) == node_of(index, count) ? 1 : 0;
  return before;
}

}  // namespace espalier::topology
