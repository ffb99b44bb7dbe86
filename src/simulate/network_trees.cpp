// Fat trees of two and three levels.

#include "base/error.hpp"
#include "simulate/network.hpp"

namespace espalier::simulate {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw Error(std::string("a fat tree needs ") + what);
}

/// The links that Network::add_cables has made.
struct Mesh {
  int first = 0;  ///< link from lower 0 to upper 0; its way back is the next one
  int uppers = 0;

  int up(int lower, int upper) const { return first + 2 * (lower * uppers + upper); }
  int down(int upper, int lower) const { return up(lower, upper) + 1; }
};

class FatTree final : public Network {
 public:
  FatTree(int leaves, int down, int spines, double oversubscription, const Wiring& wiring)
      : Network(leaves * down, wiring), leaves_(leaves), down_(down), spines_(spines) {
    mesh_ = {static_cast<int>(links().size()), spines};
    add_cables("leaf", leaves, spines, wiring.rate * down / spines / oversubscription, wiring.latency_at(1));
  }

  std::vector<int> route(int from, int to) const override {
    const int here = from / down_, there = to / down_, spine = to % spines_;
    if (here == there) return {up_from(from), down_to(to)};
    return {up_from(from), mesh_.up(here, spine), mesh_.down(spine, there), down_to(to)};
  }

  int rack_of(int host) const override { return host / down_; }
  double trunk_rate(int rack) const override { return spines_ * rate_of(mesh_.up(rack, 0)); }

  std::string describe() const override {
    return "two-level fat tree: " + std::to_string(leaves_) + " leaves x " + std::to_string(down_) + " hosts, " +
           std::to_string(spines_) + " spines";
  }

 private:
  int leaves_, down_, spines_;
  Mesh mesh_;
};

/// Spine s of every pod leads to cores s * spines … s * spines + spines - 1.
class ThreeLevelTree final : public Network {
 public:
  ThreeLevelTree(int pods, int leaves, int down, int spines, double oversubscription, const Wiring& wiring)
      : Network(pods * leaves * down, wiring), pods_(pods), leaves_(leaves), down_(down), spines_(spines) {
    const double leaf_rate = wiring.rate * down / spines / oversubscription;
    const double spine_rate = leaf_rate * leaves / spines / oversubscription;
    for (int p = 0; p < pods; ++p) {
      to_spines_.push_back({static_cast<int>(links().size()), spines});
      add_cables("pod" + std::to_string(p) + ".leaf", leaves, spines, leaf_rate, wiring.latency_at(1));
      to_cores_.push_back({static_cast<int>(links().size()), spines});
      add_cables("pod" + std::to_string(p) + ".spine", spines, spines, spine_rate, wiring.latency_at(2));
    }
  }

  std::vector<int> route(int from, int to) const override {
    const int per_pod = leaves_ * down_;
    const int here = from / per_pod, there = to / per_pod;
    const int leaf = from % per_pod / down_, target = to % per_pod / down_;
    const int spine = to % spines_, core = to / spines_ % spines_;
    if (here == there && leaf == target) return {up_from(from), down_to(to)};
    const Mesh &up = to_spines_[at(here)], &down = to_spines_[at(there)];
    if (here == there) return {up_from(from), up.up(leaf, spine), down.down(spine, target), down_to(to)};
    return {up_from(from),
            up.up(leaf, spine),
            to_cores_[at(here)].up(spine, core),
            to_cores_[at(there)].down(core, spine),
            down.down(spine, target),
            down_to(to)};
  }

  int rack_of(int host) const override { return host / down_; }
  double trunk_rate(int rack) const override {
    return spines_ * rate_of(to_spines_[at(rack / leaves_)].up(rack % leaves_, 0));
  }

  std::string describe() const override {
    return "three-level fat tree: " + std::to_string(pods_) + " pods of " + std::to_string(leaves_) + " leaves x " +
           std::to_string(down_) + " hosts, " + std::to_string(spines_) + " spines each";
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  int pods_, leaves_, down_, spines_;
  std::vector<Mesh> to_spines_, to_cores_;  ///< by pod
};

}  // namespace

std::unique_ptr<Network> make_fat_tree(int leaves, int down, int spines, double oversubscription,
                                       const Wiring& wiring) {
  require(leaves >= 1 && down >= 1 && spines >= 1 && oversubscription > 0,
          "leaves, down and spines of 1 or more, and an oversubscription above 0");
  return std::make_unique<FatTree>(leaves, down, spines, oversubscription, wiring);
}

std::unique_ptr<Network> make_three_level_tree(int pods, int leaves, int down, int spines, double oversubscription,
                                               const Wiring& wiring) {
  require(pods >= 1 && leaves >= 1 && down >= 1 && spines >= 1 && oversubscription > 0,
          "pods, leaves, down and spines of 1 or more, and an oversubscription above 0");
  return std::make_unique<ThreeLevelTree>(pods, leaves, down, spines, oversubscription, wiring);
}

}  // namespace espalier::simulate
