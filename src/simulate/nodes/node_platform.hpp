#pragma once
// The inside of a node: cores by the cache they share, the NUMA domain and the socket they sit on, and what it takes to
// hand a line over between them. docs/ideas/nodes.md has the source of every number.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/rank_facts.hpp"

namespace espalier::simulate {

/// Times in microseconds, rates in bytes per microsecond (1000 = 1 GB/s), as everywhere. Cores are physical ones,
/// numbered cache by cache, caches domain by domain, domains socket by socket.
struct NodePlatform {
  /// Cores that share the last level of cache that cores share at all.
  struct Cache {
    int cores = 1;
    int numa = 0;    ///< domain of memory
    int socket = 0;  ///< of that domain
  };
  /// A network card and the domain that it hangs off.
  struct Card {
    int numa = 0;
    double rate = 10000;
    /// What it reaches of that in another domain's memory, where it writes what arrives (Goglin and Moreaud, section
    /// 2.2: receiving suffers, sending does not).
    double far_share = 1;
  };

  std::string name;
  std::string what;  ///< for people
  std::vector<Cache> caches;
  /// By pair of caches: a line's way from a core below one to a core below the other. The diagonal: two cores below the
  /// same one.
  std::vector<std::vector<double>> handover;
  double memory_latency = 0.1;       ///< of a line that is in no cache
  double lines = 16;                 ///< that a core has under way at once, each 64 bytes
  double service = 0.01;             ///< a line that many ask for at once goes to one after the other
  double private_bytes = 1;          ///< of the cache that a core has for itself
  double cache_bytes = 1;            ///< of a shared one
  double cache_rate = 1;             ///< of a shared one, for all its cores together
  double port_in = 1, port_out = 1;  ///< of a shared one, from and to all others
  double socket_rate = 1;            ///< from one socket to another
  double memory_rate = 1;            ///< of one domain
  std::vector<Card> cards;

  int cores() const { return static_cast<int>(cache_of_core.size()); }
  int numas() const { return caches.back().numa + 1; }
  int socket_of(int numa) const { return std::ranges::find(caches, numa, &Cache::numa)->socket; }
  int sockets() const { return caches.back().socket + 1; }
  const Cache& cache_of(int core) const {
    return caches[static_cast<std::size_t>(cache_of_core[static_cast<std::size_t>(core)])];
  }

  std::vector<int> cache_of_core;  ///< derived
};

/// Reads a platform file (JSON; python/espalier/simulation/nodes has some). Throws Error that names what is missing or
/// makes no sense.
NodePlatform parse_node_platform(std::string_view json);

/// Which core each of so many ranks of a node sits on: "packed", one after the other; "spread", as far apart as they
/// fit, as ranks that are bound socket by socket. Throws Error when ranks are more than cores.
std::vector<int> place_on_cores(const NodePlatform& platform, std::string_view how, int ranks);

/// What a rank on this core would tell the others (machine/rank_facts.hpp).
machine::RankFacts facts_of_core(const NodePlatform& platform, int core);

}  // namespace espalier::simulate
