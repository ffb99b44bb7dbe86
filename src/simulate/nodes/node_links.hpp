#pragma once
// What streams of bytes inside a node share, as links of the solver (fluid.hpp).

#include <string>
#include <vector>

#include "simulate/network.hpp"
#include "simulate/nodes/node_platform.hpp"

namespace espalier::simulate {

/// Numbers the links of so many equal nodes. None has a latency: who moves bytes waits for that himself.
class NodeLinks {
 public:
  NodeLinks(const NodePlatform& platform, int nodes) : platform_(platform) {
    for (int node = 0; node < nodes; ++node) add_node(node);
    per_node_ = static_cast<int>(links_.size()) / nodes;
  }

  const std::vector<Link>& all() const { return links_; }

  /// Of a shared cache: among its own cores, and from and to others.
  int inside(int node, int cache) const { return at(node, 3 * cache); }
  int into(int node, int cache) const { return at(node, 3 * cache + 1); }
  int out_of(int node, int cache) const { return at(node, 3 * cache + 2); }
  int memory(int node, int numa) const { return at(node, first_memory_ + numa); }
  int between(int node, int from, int to) const { return at(node, first_socket_ + from * platform_.sockets() + to); }
  int sends(int node, int card) const { return at(node, first_card_ + 3 * card); }
  int receives(int node, int card) const { return at(node, first_card_ + 3 * card + 1); }
  /// A card's way into memory of other domains.
  int reaches(int node, int card) const { return at(node, first_card_ + 3 * card + 2); }

 private:
  int at(int node, int link) const { return node * per_node_ + link; }

  void add(int node, const std::string& name, double rate) {
    links_.push_back({{rate, 0}, (node > 0 ? "node " + std::to_string(node) + ": " : "") + name});
  }

  void add_node(int node) {
    const auto begin = links_.size();
    const auto here = [&] { return static_cast<int>(links_.size() - begin); };
    for (std::size_t i = 0; i < platform_.caches.size(); ++i) {
      const std::string cache = "cache " + std::to_string(i);
      add(node, cache, platform_.cache_rate);
      add(node, cache + " in", platform_.port_in);
      add(node, cache + " out", platform_.port_out);
    }
    first_memory_ = here();
    for (int i = 0; i < platform_.numas(); ++i) add(node, "memory " + std::to_string(i), platform_.memory_rate);
    first_socket_ = here();
    for (int i = 0; i < platform_.sockets(); ++i)
      for (int j = 0; j < platform_.sockets(); ++j)
        add(node, "socket " + std::to_string(i) + " to " + std::to_string(j), platform_.socket_rate);
    first_card_ = here();
    for (std::size_t i = 0; i < platform_.cards.size(); ++i) {
      const NodePlatform::Card& card = platform_.cards[i];
      const std::string name = "card " + std::to_string(i);
      add(node, name + " out", card.rate);
      add(node, name + " in", card.rate);
      add(node, name + " to far memory", card.rate * card.far_share);
    }
  }

  const NodePlatform& platform_;
  std::vector<Link> links_;
  int per_node_ = 0, first_memory_ = 0, first_socket_ = 0, first_card_ = 0;
};

}  // namespace espalier::simulate
