#pragma once
// XPMEM: a process's memory mapped into its neighbours. The kernel module and its library are optional: the library is
// loaded at run time (libxpmem.so.0), and where either is missing nothing here is used.

#include <cstddef>
#include <cstdint>

namespace espalier::transports {

/// What XPMEM calls a segment: a name for one process's whole memory. 0: none.
using XpmemSegment = std::int64_t;

/// XPMEM_PERMIT_MODE: who may, as a file's mode has it.
inline constexpr int permit_mode = 1;

/// The library's calls, with its own conventions (xpmem.h): -1 is failure.
struct Xpmem {
  /// Where in another process: the permission's number, and the address there.
  struct Address {
    std::int64_t permission;
    std::int64_t offset;
  };
  std::int64_t (*make)(void* begin, std::size_t bytes, int permit_type, void* permit_value);
  int (*remove)(std::int64_t segment);
  std::int64_t (*get)(std::int64_t segment, int flags, int permit_type, void* permit_value);
  int (*release)(std::int64_t permission);
  void* (*attach)(Address address, std::size_t bytes, void* wanted);
  int (*detach)(void* attached);

  /// Loads the library once per process and file; null when it, or one of the calls, is not there. Thread safe.
  static const Xpmem* load(const char* file = "libxpmem.so.0");
};

/// Opens this process's whole memory to the other processes of its user, until it ends, and returns the name that they
/// need; 0 when the system does not allow it. Asks the system once per process. Thread safe.
XpmemSegment offer_memory(const Xpmem& xpmem);

/// Whether the system really lets this process read and write a neighbour's memory so: `word` is an address there that
/// holds `expected`.
bool can_attach(const Xpmem& xpmem, XpmemSegment segment, const std::uint64_t* word, std::uint64_t expected) noexcept;

}  // namespace espalier::transports
