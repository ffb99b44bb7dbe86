#include "transports/cross_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace espalier::transports {
namespace {

// Linux moves at most 2^31 - 4096 bytes per call; a round smaller number keeps every piece page aligned when its start
// is.
constexpr Bytes most_per_call = Bytes{1} << 30;

template <class Call>
bool transfer(Call call, pid_t pid, const std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept {
  while (bytes > 0) {
    const Bytes piece = std::min(bytes, most_per_call);
    iovec local{const_cast<std::byte*>(mine), piece};
    iovec remote{const_cast<std::byte*>(theirs), piece};
    const ssize_t moved = call(pid, &local, 1, &remote, 1, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    theirs += moved;
    mine += moved;
    bytes -= static_cast<Bytes>(moved);
  }
  return true;
}

}  // namespace

bool CrossMemory::read(LocalRank owner, const std::byte* theirs, std::byte* mine, Bytes bytes) noexcept {
  return transfer(process_vm_readv, pids_[static_cast<std::size_t>(owner.value)], theirs, mine, bytes);
}

bool CrossMemory::write(LocalRank owner, std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept {
  return transfer(process_vm_writev, pids_[static_cast<std::size_t>(owner.value)], theirs, mine, bytes);
}

bool CrossMemory::is_allowed(pid_t pid, std::uint64_t* word, std::uint64_t expected) noexcept {
  std::uint64_t seen = 0;
  const auto* theirs = reinterpret_cast<const std::byte*>(word);
  auto* mine = reinterpret_cast<std::byte*>(&seen);
  if (!transfer(process_vm_readv, pid, theirs, mine, sizeof(seen)) || seen != expected) return false;
  return transfer(process_vm_writev, pid, theirs, mine, sizeof(seen));  // writes back what is there already
}

}  // namespace espalier::transports
