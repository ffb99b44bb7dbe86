#pragma once
// Single copy between processes through the kernel (cross-memory attach: process_vm_readv, process_vm_writev).

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "execute/seams.hpp"

namespace espalier::transports {

class CrossMemory final : public execute::SingleCopy {
 public:
  explicit CrossMemory(std::vector<pid_t> pid_of_local_rank) : pids_(std::move(pid_of_local_rank)) {}

  bool read(LocalRank owner, const std::byte* theirs, std::byte* mine, Bytes bytes) noexcept override;
  bool write(LocalRank owner, std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept override;

  /// Whether the system lets this process read and write another's memory: `word` is an address there that holds
  /// `expected`. Tried for real, because seccomp, Yama and namespaces all have a say.
  static bool is_allowed(pid_t pid, std::uint64_t* word, std::uint64_t expected) noexcept;

 private:
  std::vector<pid_t> pids_;
};

}  // namespace espalier::transports
