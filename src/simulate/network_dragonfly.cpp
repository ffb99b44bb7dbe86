#include "base/error.hpp"
#include "simulate/network.hpp"

namespace espalier::simulate {
namespace {

/// Group g reaches group h over its router (h - g - 1) mod groups, taken in turn over its routers, so that the cables
/// are spread evenly and both ends agree on them.
class Dragonfly final : public Network {
 public:
  Dragonfly(int groups, int routers, int down, double global_rate, const Wiring& wiring)
      : Network(groups * routers * down, wiring), groups_(groups), routers_(routers), down_(down) {
    local_ = static_cast<int>(links().size());
    for (int g = 0; g < groups; ++g)
      for (int a = 0; a < routers; ++a)
        for (int b = 0; b < routers; ++b)
          add("group" + std::to_string(g) + "." + std::to_string(a) + ">" + std::to_string(b), wiring.rate * down,
              wiring.latency_at(1));
    global_ = static_cast<int>(links().size());
    for (int g = 0; g < groups; ++g)
      for (int h = 0; h < groups; ++h)
        add("group" + std::to_string(g) + ">group" + std::to_string(h), global_rate, wiring.latency_at(2));
  }

  std::vector<int> route(int from, int to) const override {
    const int here = from / (routers_ * down_), there = to / (routers_ * down_);
    int router = from / down_ % routers_;
    const int target = to / down_ % routers_;
    std::vector<int> links = {up_from(from)};
    if (here != there) {
      hop(links, here, router, gate(here, there));
      links.push_back(global_ + here * groups_ + there);
      router = gate(there, here);
    }
    hop(links, there, router, target);
    links.push_back(down_to(to));
    return links;
  }

  int rack_of(int host) const override { return host / down_; }
  /// Those to all routers of the group, and to those groups whose gate this router is.
  double trunk_rate(int rack) const override {
    const int group = rack / routers_, router = rack % routers_;
    double sum = (routers_ - 1) * rate_of(local_);
    for (int other = 0; other < groups_; ++other)
      if (other != group && gate(group, other) == router) sum += rate_of(global_);
    return sum;
  }

  std::string describe() const override {
    return "dragonfly: " + std::to_string(groups_) + " groups of " + std::to_string(routers_) + " routers x " +
           std::to_string(down_) + " hosts";
  }

 private:
  /// The router of a group that has the cable to another one.
  int gate(int group, int other) const { return (other - group - 1 + groups_) % groups_ % routers_; }

  void hop(std::vector<int>& links, int group, int from, int to) const {
    if (from != to) links.push_back(local_ + (group * routers_ + from) * routers_ + to);
  }

  int groups_, routers_, down_;
  int local_ = 0, global_ = 0;
};

}  // namespace

std::unique_ptr<Network> make_dragonfly(int groups, int routers, int down, double global_rate, const Wiring& wiring) {
  if (groups < 1 || routers < 1 || down < 1 || global_rate <= 0)
    throw Error("a dragonfly needs groups, routers and down of 1 or more, and a global_rate above 0");
  return std::make_unique<Dragonfly>(groups, routers, down, global_rate, wiring);
}

}  // namespace espalier::simulate
