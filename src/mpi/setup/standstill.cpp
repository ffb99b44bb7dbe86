#include "mpi/setup/standstill.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "mpi/process/library.hpp"
#include "watch/diagnosis.hpp"

namespace espalier::mpi {
namespace {

bool is_my_turn(const watch::Standstill& standstill) {
  const auto first = std::find_if(standstill.ranks.begin(), standstill.ranks.end(), [](const watch::RankStand& it) {
    const bool is_able = it.life != watch::Life::stopped && it.life != watch::Life::dead;
    return is_able && (it.stand == watch::Stand::waits || it.stand == watch::Stand::differs);
  });
  return first != standstill.ranks.end() && first->pid == getpid();
}

}  // namespace

void tell_of_standstill(std::uint32_t community, const Situation& at) {
  Library& library = Library::get();
  const auto seen = watch::find_ranks(*library.home_arena());
  for (const watch::Standstill& it : watch::find_standstills(seen, watch::probe_lives(seen), 0)) {
    if (it.community != community || it.call != at.call || !is_my_turn(it)) continue;
    const std::string text = watch::to_text(it);
    for (const std::string_view line : split_lines(text)) library.say(std::string(line));
  }
}

}  // namespace espalier::mpi
