#include "simulate/nodes/holdings.hpp"

#include <algorithm>

namespace espalier::simulate {

Holdings::Stretches::iterator Holdings::cut(Bytes at) {
  const auto next = stretches_.lower_bound(at);
  if (next != stretches_.end() && next->first == at) return next;
  return stretches_.emplace_hint(next, at, std::prev(next)->second);
}

Holdings::Source Holdings::read(Bytes begin, Bytes end, int cache, Mover mover) {
  Source source{cache, nobody};
  const auto last = cut(end);
  for (auto it = cut(begin); it != last; ++it) {
    auto& [writer, copies] = it->second;
    const auto own = std::ranges::find(copies, cache, &Source::cache);
    if (own != copies.end()) {
      if (source.cache == cache) source.brought_by = std::max(source.brought_by, own->brought_by);
      continue;
    }
    source = {writer, nobody};
    copies.push_back({cache, mover});
  }
  return source;
}

void Holdings::write(Bytes begin, Bytes end, int cache, std::vector<int>& had) {
  const auto last = cut(end), first = cut(begin);
  for (auto it = first; it != last; ++it)
    for (const Source& copy : it->second.copies)
      if (std::ranges::find(had, copy.cache) == had.end()) had.push_back(copy.cache);
  stretches_.erase(first, last);
  stretches_[begin] = {cache, {{cache, nobody}}};
}

}  // namespace espalier::simulate
