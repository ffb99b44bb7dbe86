#include "groups/relays.hpp"

namespace espalier::groups {
namespace {

/// What has this digit at the position that counts `unit`s; arrivals come first, since distances ascend.
Relay derive_relay(std::span<const int> distances, int radix, int unit, int digit) {
  Relay relay{digit * unit, {}, 0};
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (distances[i] / unit % radix != digit) continue;
    relay.carried.push_back(static_cast<int>(i));
    relay.arriving += distances[i] / unit < radix;
  }
  return relay;
}

}  // namespace

std::vector<Phase> derive_relays(std::span<const int> distances, int radix) {
  std::vector<Phase> phases;
  for (int unit = 1; !distances.empty() && unit <= distances.back(); unit *= radix) {
    Phase& phase = phases.emplace_back();
    for (int digit = 1; digit < radix && digit * unit <= distances.back(); ++digit)
      if (Relay relay = derive_relay(distances, radix, unit, digit); !relay.carried.empty())
        phase.push_back(std::move(relay));
  }
  return phases;
}

std::vector<Phase> derive_straight(std::span<const int> distances) {
  Phase phase;
  for (std::size_t i = 0; i < distances.size(); ++i) phase.push_back({distances[i], {static_cast<int>(i)}, 1});
  return {phase};
}

}  // namespace espalier::groups
