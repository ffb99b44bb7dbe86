#include "mpi/setup/survey.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>

#include "base/error.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/process/library.hpp"
#include "mpi/setup/surroundings.hpp"

namespace espalier::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using topology::Distances;
using topology::Topology;
using topology::Way;

struct HostName {
  std::array<char, 64> text{};  ///< ended by a zero; node descriptions are no longer
};

// Empty where this rank has no name to give: then the service knows no such host, and nothing is known.
HostName own_name() {
  HostName name;
  try {
    const std::string text = probe_own_host(Library::get());
    text.copy(name.text.data(), name.text.size() - 1);
  } catch (const Error&) {
    // told below: rank 0 fails on the empty name
  }
  return name;
}

Hosts gather_hosts(MPI_Comm comm, const Topology& topology) {
  const auto names = gather_quietly(comm, topology.ranks(), own_name());
  Hosts hosts;
  for (int node = 0; node < topology.nodes(); ++node)
    hosts.emplace_back(names[static_cast<std::size_t>(topology.ranks_on(NodeId(node)).front().value)].text.data());
  return hosts;
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Distances find_out(const Hosts& hosts) {
  Library& library = Library::get();
  try {
    if (std::find(hosts.begin(), hosts.end(), "") != hosts.end())
      throw Error("a node has no name: has ESPALIER_FABRIC_HOSTS one for each of ESPALIER_VIRTUAL_NODES?");
    return ask_for_distances(library, hosts);
  } catch (const Error& error) {
    library.say_once("ESPALIER_FABRIC: nodes are told apart by their NICs alone: " + std::string(error.what()));
    return {};
  }
}

// Rank 0's distances to all.
Distances share(MPI_Comm comm, Rank me, const Topology& topology, const Distances& found) {
  std::vector<int> sizes = {found.classes(), static_cast<int>(found.trunks().per_byte.size()),
                            static_cast<int>(found.cables().per_byte.size()),
                            static_cast<int>(found.cables().begin.size()),
                            static_cast<int>(found.cables().taken.size())};
  broadcast_quietly(comm, sizes);
  const auto count = static_cast<std::size_t>(sizes[0]);
  if (count == 0) return {};
  std::vector<int> class_of = found.class_of();
  std::vector<Way> ways = found.ways();
  topology::Trunks trunks = found.trunks();
  topology::Cables cables = found.cables();
  if (me != Rank(0)) {
    class_of.resize(static_cast<std::size_t>(topology.nodes()));
    ways.resize(count * count);
    trunks.per_byte.resize(static_cast<std::size_t>(sizes[1]));
    trunks.leaf_of.resize(sizes[1] > 0 ? class_of.size() : 0);
    cables.per_byte.resize(static_cast<std::size_t>(sizes[2]));
    cables.begin.resize(static_cast<std::size_t>(sizes[3]));
    cables.taken.resize(static_cast<std::size_t>(sizes[4]));
  }
  broadcast_quietly(comm, class_of);
  broadcast_quietly(comm, ways);
  broadcast_quietly(comm, trunks.leaf_of);
  broadcast_quietly(comm, trunks.per_byte);
  broadcast_quietly(comm, cables.per_byte);
  broadcast_quietly(comm, cables.begin);
  broadcast_quietly(comm, cables.taken);
  return Distances::from_classes(std::move(class_of), std::move(ways))
      .with_trunks(std::move(trunks))
      .with_cables(std::move(cables));
}

Distances judge_by_nics(const Topology& topology) {
  std::vector<std::uint64_t> mbits;
  for (int node = 0; node < topology.nodes(); ++node) mbits.push_back(topology.nic_mbits(NodeId(node)));
  return Distances::from_rates(mbits);
}

void report(const Distances& distances, int nodes, double asked, double shared) {
  char text[160];
  std::snprintf(text, sizeof text,
                "the network between %d nodes: %d classes of nodes, found in %.2f ms, shared in %.2f ms", nodes,
                distances.classes(), asked, shared);
  Library::get().say(text);
}

}  // namespace

Distances agree_on_distances(MPI_Comm comm, Rank me, const Topology& topology) {
  Library& library = Library::get();
  if (library.settings().fabric.empty()) return judge_by_nics(topology);
  const Hosts hosts = gather_hosts(comm, topology);
  const auto begin = Clock::now();
  const Distances found = me == Rank(0) ? find_out(hosts) : Distances();
  const double asked = milliseconds_since(begin);
  const auto told = Clock::now();
  Distances agreed = share(comm, me, topology, found);
  agreed.classes() > 0 ? library.network_map().keep(hosts, agreed) : library.network_map().give_up();
  if (me == Rank(0) && library.settings().verbose >= 2)
    report(agreed, topology.nodes(), asked, milliseconds_since(told));
  return agreed.classes() > 0 ? agreed : judge_by_nics(topology);
}

}  // namespace espalier::mpi
