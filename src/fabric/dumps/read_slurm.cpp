// Slurm's topology.conf and topology.yaml, of the tree and of the block kind. They say which hosts hang below which
// switch, and nothing of LIDs, ports or routes. GUIDs are made up: they only have to differ.

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "fabric/dumps/host_list.hpp"
#include "fabric/dumps/reader.hpp"

namespace espalier::fabric {
namespace {

struct Group {
  std::string name, switches, nodes;
};

// What both files say.
struct SlurmTopology {
  bool is_default = false;
  std::vector<Group> groups;  ///< switches or blocks
  std::vector<std::uint64_t> block_sizes;
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::vector<std::uint64_t> read_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  Cursor at(text);
  while (!at.done()) {
    if (const auto size = at.number()) {
      sizes.push_back(*size);
    } else {
      at.take(at.rest().substr(0, 1));
    }
  }
  return sizes;
}

// Turns groups into nodes and cables.
class TreeBuilder {
 public:
  explicit TreeBuilder(Draft& draft, const Place& place) : draft_(draft), place_(place) {}

  void build(const SlurmTopology& topology) {
    for (const auto& group : topology.groups) node(group.name, NodeKind::switch_);
    for (const auto& group : topology.groups) {
      const auto parent = node(group.name, NodeKind::switch_);
      for (const auto& child : expand(group.switches)) {
        // Slurm refuses it too. Its hosts would be missing.
        if (!switches_.contains(child))
          throw FabricError(
              Fault::truncated,
              "switch '" + group.name + "' has a child that is not described: '" + child.substr(0, kLongestName) + "'",
              place_.file);
        connect(parent, node(child, NodeKind::switch_));
      }
      for (const auto& host : expand(group.nodes)) connect(parent, node(host, NodeKind::adapter));
    }
    if (!topology.groups.empty() && hosts_.empty())
      throw FabricError(Fault::empty, "no switch or block with nodes", place_.file);
    if (!topology.block_sizes.empty()) join_blocks(topology);
  }

 private:
  // Block sizes 8,16,32 mean: two neighbouring blocks of 8 make one of 16, and so on. Above the last all are equally
  // far.
  void join_blocks(const SlurmTopology& topology) {
    std::vector<NodeIndex> level;
    for (const auto& group : topology.groups) level.push_back(node(group.name, NodeKind::switch_));
    auto size = topology.block_sizes.front();
    for (std::size_t i = 1; i <= topology.block_sizes.size() && level.size() > 1; ++i) {
      const bool is_last = i == topology.block_sizes.size();
      const auto next = is_last ? 0 : topology.block_sizes[i];
      const auto together = is_last || size == 0 ? level.size() : std::max<std::uint64_t>(1, next / size);
      if (together == 1) continue;
      level = join(level, together, i);
      size = next;
    }
  }

  std::vector<NodeIndex> join(const std::vector<NodeIndex>& level, std::uint64_t together, std::size_t height) {
    std::vector<NodeIndex> above;
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (i % together == 0)
        above.push_back(
            node("block-level-" + std::to_string(height) + "-" + std::to_string(i / together), NodeKind::switch_));
      connect(above.back(), level[i]);
    }
    return above;
  }

  std::vector<std::string> expand(const std::string& list) const {
    try {
      return expand_host_list(list, kMostNodes);
    } catch (const FabricError& error) {
      throw FabricError(error.fault(), error.reason(), place_.file, place_.line);
    }
  }

  NodeIndex node(const std::string& name, NodeKind kind) {
    auto& known = kind == NodeKind::switch_ ? switches_ : hosts_;
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    const auto high = kind == NodeKind::switch_ ? std::uint64_t{0x51} << 56 : std::uint64_t{0x52} << 56;
    const auto index = draft_.describe(Guid{high + known.size() + 1}, kind, name, place_);
    if (index == kNoNode)
      throw FabricError(Fault::bad_record, "more than one Slurm topology in one folder", place_.file);
    known.emplace(name, index);
    return index;
  }

  void connect(NodeIndex parent, NodeIndex child) {
    const auto down = next_port(parent), up = next_port(child);
    draft_.add_link({parent, down, draft_.at(child).guid, up, Rate{}});
    draft_.add_link({child, up, draft_.at(parent).guid, down, Rate{}});
  }

  PortNumber next_port(NodeIndex index) {
    const auto count = ++ports_[index];
    if (count > 60000) throw FabricError(Fault::too_large, "a switch with more than 60000 children", place_.file);
    return static_cast<PortNumber>(count);
  }

  Draft& draft_;
  Place place_;
  std::unordered_map<std::string, NodeIndex> switches_, hosts_;
  std::unordered_map<NodeIndex, int> ports_;
};

class SlurmConfReader final : public Reader {
 public:
  using Reader::Reader;

 protected:
  void read(std::string_view line) override {
    line = line.substr(0, line.find('#'));
    while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    held_ += line;
    if (held_.size() > kLongestSlurmLine) fail(Fault::too_large, "a line of more than 8 MiB");
    if (goes_on) return;
    read_words(held_);
    held_.clear();
  }

  void end() override {
    read_words(held_);
    TreeBuilder(draft_, place_).build(topology_);
  }

 private:
  void read_words(std::string_view line) {
    Group group;
    for (Cursor at(line); !at.skip_blanks().done();) {
      const auto word = at.word();
      const auto equals = word.find('=');
      if (equals == std::string_view::npos) return;  // a message, not a setting
      const auto key = lower(word.substr(0, equals));
      const auto value = word.substr(equals + 1);
      if (key == "switchname" || key == "blockname") group.name = value;
      if (key == "switches") group.switches = value;
      if (key == "nodes") group.nodes = value;
      if (key == "blocksizes") topology_.block_sizes = read_sizes(value);
    }
    if (!group.name.empty()) topology_.groups.push_back(std::move(group));
  }

  std::string held_;
  SlurmTopology topology_;
};

// The part of YAML that topology.yaml uses: "key: value" and "- key: value" by lines, and lists of numbers. The rest
// of YAML is refused, lest what it says be left out.
class SlurmYamlReader final : public Reader {
 public:
  using Reader::Reader;

 protected:
  void read(std::string_view line) override {
    if (line.size() >= kLongestSlurmLine) fail(Fault::too_large, "a line of more than 8 MiB");
    line = strip(without_comment(line));
    const bool is_item = line.starts_with("- ");
    if (is_item) line = strip(line.substr(2));
    if (is_flow(line)) fail_record(line);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (is_item && in_sizes_ && !topologies_.empty())
        for (const auto size : read_sizes(line)) topologies_.back().block_sizes.push_back(size);
      return;
    }
    const auto key = lower(line.substr(0, colon));
    const auto value = strip(line.substr(colon + 1));
    if (key != "block_sizes" && is_flow(value)) fail_record(line);
    take(key, unquote(value));
  }

  // Slurm takes the first topology that calls itself the default, or the first.
  void end() override {
    if (topologies_.empty()) return;
    const auto wanted =
        std::find_if(topologies_.begin(), topologies_.end(), [](const auto& t) { return t.is_default; });
    TreeBuilder(draft_, place_).build(wanted == topologies_.end() ? topologies_.front() : *wanted);
  }

 private:
  void take(const std::string& key, std::string_view value) {
    in_sizes_ = key == "block_sizes";
    if (key == "topology") topologies_.emplace_back();
    if (topologies_.empty()) return;
    auto& it = topologies_.back();
    if (key == "cluster_default") it.is_default = lower(value) == "true";
    if (key == "switch" || key == "block") {
      // "block:" alone opens the block topology; with a value it names one block.
      if (!value.empty()) it.groups.push_back({std::string(value), "", ""});
    }
    if (in_sizes_) it.block_sizes = read_sizes(value);
    if (it.groups.empty()) return;
    if (key == "children") it.groups.back().switches = value;
    if (key == "nodes") it.groups.back().nodes = value;
  }

  // Maps and lists in one line, texts of several lines, references.
  static bool is_flow(std::string_view text) {
    return !text.empty() && std::string_view("{[|>&*").find(text.front()) != std::string_view::npos;
  }
  static std::string_view without_comment(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
    return line;
  }
  static std::string_view strip(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
  }
  static std::string_view unquote(std::string_view text) {
    if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
      return text.substr(1, text.size() - 2);
    return text;
  }

  bool in_sizes_ = false;
  std::vector<SlurmTopology> topologies_;
};

}  // namespace

std::unique_ptr<Reader> make_slurm_conf_reader(Draft& draft, const std::string& file) {
  return std::make_unique<SlurmConfReader>(draft, file);
}

std::unique_ptr<Reader> make_slurm_yaml_reader(Draft& draft, const std::string& file) {
  return std::make_unique<SlurmYamlReader>(draft, file);
}

}  // namespace espalier::fabric
