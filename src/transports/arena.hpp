#pragma once
// Shared memory of a node. One file without a name (memfd): when its last process is gone, so is it, whatever killed
// them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace espalier::transports {

/// How a neighbour finds an arena: through its owner's open files. Valid while the owner lives.
struct ArenaName {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t id = 0;  ///< told apart from any other file that later gets the same number

  bool operator==(const ArenaName&) const = default;
};

/// Memory for all communicators of one job on one node. Thread safe, and safe across processes. Grows as it is used, in
/// pieces, and never beyond what the process's limits allow (transports/limits.hpp).
class Arena {
 public:
  /// An empty arena that will never hold more than `limit` bytes. Throws Error with the system's reason.
  static std::shared_ptr<Arena> create(Bytes limit);
  /// The least limit with which create() makes one that holds a block so long.
  static Bytes least_limit(Bytes block);
  /// Maps a neighbour's arena. Throws Error when it is gone or may not be opened.
  static std::shared_ptr<Arena> open(const ArenaName& name);

  /// The same for somebody who only looks, in this process or outside the job: `path` is the file. Throws Error when it
  /// is none, or may not be opened.
  static std::shared_ptr<const Arena> observe(const std::string& path);

  virtual ~Arena() = default;
  virtual ArenaName name() const = 0;

  /// A zero-filled, page-aligned block that `users` processes will release. Empty when limits do not allow it. Any
  /// process may call it. Of a short block the pages are there; of a long one only its place is reserved, and
  /// populate() comes before anything is touched.
  virtual std::optional<Bytes> allocate(Bytes bytes, int users) = 0;
  static constexpr bool is_long(Bytes bytes) { return bytes > longest_short; }
  /// Makes the pages of a part of a long block really there (no later SIGBUS), those that are not yet on the NUMA node
  /// of the caller: each rank does it for what it will write. False: the system's memory does not allow it.
  virtual bool populate(Bytes offset, Bytes bytes) noexcept = 0;
  /// Called once by each user; the last one gives a long block's memory back to the system.
  virtual void release(Bytes offset) noexcept = 0;

  /// The beginning of what it holds, in this process: blocks lie at their offsets.
  virtual std::byte* base() const noexcept = 0;
  std::byte* at(Bytes offset) const noexcept { return base() + offset; }
  /// The blocks that have users. Without a lock: those that come and go meanwhile may be missing, or there.
  struct Extent {
    Bytes offset;
    Bytes bytes;
  };
  virtual std::vector<Extent> blocks() const = 0;
  /// Bytes now held by blocks.
  virtual Bytes in_use() const noexcept = 0;

 protected:
  static constexpr Bytes longest_short = 15 * 4096;  ///< whole pages, as blocks are
};

}  // namespace espalier::transports
