#include "mpi/process/watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/text.hpp"
#include "mpi/process/library.hpp"
#include "mpi/process/service_thread.hpp"
#include "watch/diagnosis.hpp"
#include "watch/lookout.hpp"

namespace espalier::mpi {
namespace {

/// Of the standstill's ranks on this host that wait, and can speak, the lowest; or null.
const watch::RankStand* find_speaker(const watch::Standstill& standstill) {
  const auto first = std::find_if(standstill.ranks.begin(), standstill.ranks.end(), [](const watch::RankStand& it) {
    const bool is_able = it.life != watch::Life::stopped && it.life != watch::Life::dead;
    return is_able && (it.stand == watch::Stand::waits || it.stand == watch::Stand::differs);
  });
  return first != standstill.ranks.end() ? &*first : nullptr;
}

class Watchdog {
 public:
  explicit Watchdog(Library& library) : library_(library), patience_(library.settings().watchdog) {}

  [[noreturn]] void work() noexcept {
    // A wait is told of when it has lasted for a quarter longer at most.
    const auto nap_ns = static_cast<std::int64_t>(patience_ * 0.25e9);
    const timespec nap{nap_ns / 1'000'000'000, nap_ns % 1'000'000'000};
    for (;;) {
      clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
      try {
        look();
      } catch (const std::exception&) {
        // out of memory, or nothing can be looked at: it goes on in silence
      }
    }
  }

 private:
  void look() {
    const auto seen = lookout_.look(watch::find_ranks(*library_.home_arena()), watch::read_coarse_clock());
    if (std::ranges::none_of(seen, [&](const watch::Sighting& it) { return is_mine(it) && waits_long(it); })) return;
    for (const watch::Standstill& it : watch::find_standstills(seen, watch::probe_lives(seen), patience_)) {
      const watch::RankStand* const speaker = find_speaker(it);
      const bool waits_here = std::ranges::any_of(
          it.ranks, [&](const watch::RankStand& rank) { return is_mine(rank.seen) && waits_long(rank.seen); });
      if (speaker == nullptr || !waits_here || !is_new(it)) continue;
      if (speaker->pid == getpid()) say(it);
    }
  }

  static bool is_mine(const watch::Sighting& seen) { return seen.pid == getpid(); }
  bool waits_long(const watch::Sighting& seen) const {
    return (seen.waits() ? seen.seconds : seen.left_seconds) >= patience_;
  }
  /// Each call is told of once, whoever's turn it is when it has been waited for long enough.
  bool is_new(const watch::Standstill& it) { return told_.emplace(it.community, it.front.maker, it.front.call).second; }

  void say(const watch::Standstill& it) const {
    const std::string text = watch::to_text(it);
    for (const std::string_view line : split_lines(text)) library_.say(std::string(line));
  }

  Library& library_;
  double patience_;
  watch::Lookout lookout_;
  std::set<std::tuple<std::uint32_t, watch::Maker, std::uint64_t>> told_;
};

void* run(void* library) noexcept { Watchdog(*static_cast<Library*>(library)).work(); }

}  // namespace

void start_watchdog() noexcept {
  static ServiceThread thread;
  Library& library = Library::get();
  if (library.settings().watchdog > 0 && library.world().has_met()) thread.start("espalier-watch", &run, &library);
}

}  // namespace espalier::mpi
