// The network that a simulated job runs on, for SimGrid's loader: the same networks as the plan-level simulation's
// (simulate/network.hpp), in its unit of time, a microsecond.

#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cost/parameters.hpp"
#include "mpi/simulated/network.hpp"

namespace espalier::mpi {
namespace {

namespace s4u = simgrid::s4u;

/// What MPI's own messages between ranks of a host cost: one copy by the kernel, however many there are at once. No MPI
/// library does better.
void add_loopback(s4u::NetZone& zone, s4u::Host& host) {
  const cost::Parameters is;
  s4u::Link* link = zone.create_link(host.get_name() + " itself", is.single_copy.rate)
                        ->set_latency(is.flag + is.single_copy.fixed)
                        ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)
                        ->seal();
  zone.add_route(host.get_netpoint(), host.get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(link)}, false);
}

void build_zone() {
  const auto [network, host_of_node] = read_job();
  s4u::NetZone* zone = s4u::create_full_zone("network");
  std::vector<s4u::Host*> host;
  std::vector<s4u::Link*> links;
  for (std::size_t n = 0; n < host_of_node.size(); ++n) host.push_back(zone->create_host(name_of_node(n), 1)->seal());
  for (const simulate::Link& link : network->links())
    links.push_back(zone->create_link(link.name, link.rate)->set_latency(link.latency)->seal());
  for (std::size_t from = 0; from < host.size(); ++from) {
    add_loopback(*zone, *host[from]);
    for (std::size_t to = 0; to < host.size(); ++to) {
      if (from == to) continue;
      std::vector<s4u::LinkInRoute> route;
      for (const int link : network->route(host_of_node[from], host_of_node[to]))
        route.emplace_back(links[static_cast<std::size_t>(link)]);
      zone->add_route(host[from]->get_netpoint(), host[to]->get_netpoint(), nullptr, nullptr, route, false);
    }
  }
  zone->seal();
}

}  // namespace
}  // namespace espalier::mpi

extern "C" __attribute__((visibility("default"))) void load_platform(const simgrid::s4u::Engine&) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // smpirun, a script, ends with who started it; so does what it has started
  try {
    espalier::mpi::build_zone();
  } catch (const espalier::Error& error) {
    std::fprintf(stderr, "%s\n", espalier::printable(error.what()).c_str());
    std::_Exit(2);
  }
}
