#pragma once
// Which algorithm, with which knobs. Small, comparable, and spelled the same way everywhere (settings, tables,
// reports).

#include <algorithm>
#include <array>
#include <compare>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "plan/problem.hpp"

namespace espalier::plan {

/// How data travel inside a node.
enum class Within : std::uint8_t {
  cells,        ///< through shared-memory cells: one stage when they fit, pipelined when not
  single_copy,  ///< straight from buffer to buffer (needs Capabilities::single_copy)
};

/// How leaders exchange between nodes, by name. A small value, so that an algorithm brings its name along
/// (algorithms/algorithm.hpp) and nothing need know all of them; those that others speak of are constants.
class Between {
 public:
  template <std::size_t size>
  consteval Between(const char (&name)[size]) {
    static_assert(size <= longest);
    std::copy_n(name, size, name_.begin());
  }
  constexpr const char* name() const { return name_.data(); }
  constexpr auto operator<=>(const Between&) const = default;

  static const Between knomial, chain, binary, flat, scatter_allgather, pairwise, ring, recursive_doubling,
      rabenseifner, bruck, gather_reduce, single_group_ring, single_group_direct, multi_group, multi_group_lean,
      gather_based;

 private:
  static constexpr std::size_t longest = 24;
  std::array<char, longest> name_{};
};

inline constexpr Between Between::knomial{"knomial"};
inline constexpr Between Between::chain{"chain"};
inline constexpr Between Between::binary{"binary"};
inline constexpr Between Between::flat{"flat"};
inline constexpr Between Between::scatter_allgather{"scatter_allgather"};
inline constexpr Between Between::pairwise{"pairwise"};
inline constexpr Between Between::ring{"ring"};
inline constexpr Between Between::recursive_doubling{"recursive_doubling"};
inline constexpr Between Between::rabenseifner{"rabenseifner"};
inline constexpr Between Between::bruck{"bruck"};
inline constexpr Between Between::gather_reduce{"gather_reduce"};
inline constexpr Between Between::single_group_ring{"single_group_ring"};
inline constexpr Between Between::single_group_direct{"single_group_direct"};
inline constexpr Between Between::multi_group{"multi_group"};
inline constexpr Between Between::multi_group_lean{"multi_group_lean"};
inline constexpr Between Between::gather_based{"gather_based"};

/// How the masters of a group exchange (multi_group).
enum class Exchange : std::uint8_t { direct, ring, bruck, recursive_doubling };

/// What the masters of an allgather's groups send and receive (algorithms/allgather/group_data.hpp; Qian, Rashti,
/// Afsahi, section 7).
enum class Staging : std::uint8_t {
  auto_,      ///< by a rule: whichever takes fewer messages and copies
  copy,       ///< copies in scratch: one message for all that goes to one place
  zero_copy,  ///< the callers' buffers: a message for each stretch that is contiguous there
};

/// Which ranks speak on the network for their nodes (leaders/election.hpp).
enum class Leaders : std::uint8_t {
  natural,  ///< local ranks 0, 1, … whatever is near
  near,     ///< nearest to their NIC, on different L3 groups where there is a choice; natural where nothing is known
  spread,   ///< one per NUMA node in turn, the nearest NUMA node first: for memory bandwidth rather than for the NIC
};

/// Which node sits where in a tree or ring between nodes, where something is known of the network
/// (topology/distances.hpp, trees/order.hpp). Trees where nothing is known: all but `bine` are `natural`.
enum class Order : std::uint8_t {
  auto_,    ///< whichever of the next three promises to be quickest
  natural,  ///< from the root's node on, as nodes are numbered
  breadth,  ///< near and fast nodes first where most wait for them
  depth,    ///< whole subtrees close together; of an exchange that doubles: far partners first (groups/far_first.hpp)
  bine,     ///< as nodes are numbered, with few far messages whatever the network (trees/bine.hpp)
};

/// How ranks write what they take out of cells.
enum class Stores : std::uint8_t {
  cached,     ///< as usual: lines are read before they are written, and stay in the cache
  streaming,  ///< past the caches (execute/copy.hpp); pays for results beyond the last-level cache
};

struct Choice {
  Between between = Between::knomial;
  Within within = Within::cells;
  /// Radix k of the k-nomial tree; 2 is the binomial tree.
  int radix = 2;
  /// Unit of pipelining between nodes; 0 sends each message whole.
  Bytes segment = 0;
  /// Size and number of the cells a rank writes; cell * cells is the part of a window bank in use.
  Bytes cell = 32 << 10;
  int cells = 4;
  /// Groups of masters: how many ranks of a node speak on the network.
  int groups = 2;
  Exchange exchange = Exchange::direct;
  /// Messages that one rank has under way at most; 0 sets no bound.
  int connections = 0;
  Staging staging = Staging::auto_;
  Leaders leaders = Leaders::near;
  Order order = Order::auto_;
  /// Means nothing under single copy, where the kernel writes.
  Stores stores = Stores::cached;
  /// 2: within a node, data pass from domain to domain once, 3: from cache to cache (smp/domains.hpp).
  int levels = 1;

  bool operator==(const Choice&) const = default;
};

/// As the enumerators are called here (base/enumerators.hpp).
const char* name(Within within);
inline const char* name(const Between& between) { return between.name(); }
const char* name(Exchange exchange);
const char* name(Staging staging);
const char* name(Leaders leaders);
const char* name(Order order);
const char* name(Stores stores);

/// "knomial,radix=4,segment=64K,within=cells,cell=32K,cells=4": what parse_choice reads back.
std::string to_string(const Choice& choice);

}  // namespace espalier::plan
