#include "transports/arena.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "transports/blocks.hpp"
#include "transports/limits.hpp"

namespace espalier::transports {
namespace {

constexpr std::uint64_t magic = 0x45535041'4c494552;  // "ESPALIER"

/// Short blocks are cut out of slabs, long blocks whose pages are all there.
constexpr Pages largest_slab = 64;

/// Lies at the start of the file; behind it the table of blocks, of as many entries as the arena has pages.
struct Header {
  std::uint64_t magic;
  std::uint64_t id;
  Bytes limit;
  Bytes span;    ///< of the whole file, were it full
  Bytes in_use;  ///< by blocks
  Bytes held;    ///< by long blocks, slabs among them: what the limit is for
  pthread_mutex_t mutex;
  BlockList long_blocks;
  BlockList short_blocks;  ///< within the slab at hand
  Pages table_pages;       ///< of the table, those that are there
};

constexpr Bytes round_up(Bytes bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }
constexpr Bytes header_bytes = round_up(sizeof(Header));

/// Holds the header's lock. A process that died inside leaves it to the next one: every change below is ordered so that
/// the list is valid after each store.
class Lock {
 public:
  explicit Lock(Header& header) : mutex_(header.mutex) {
    if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error("shared memory: cannot " + what + ": " + std::strerror(error));
}

void init_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

std::uint64_t random_id() {
  std::uint64_t id = 0;
  if (getrandom(&id, sizeof(id), 0) != sizeof(id)) fail("draw a random number", errno);
  return id;
}

class MemfdArena final : public Arena {
 public:
  /// Takes over the descriptor. Address space is reserved for all that the arena may grow to; memory only as blocks
  /// need it.
  MemfdArena(int fd, pid_t owner, int owner_fd, Bytes span, int access = PROT_READ | PROT_WRITE)
      : fd_(fd), span_(span) {
    void* base = mmap(nullptr, span_, access, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
      const int error = errno;
      ::close(fd);
      fail("map an arena of " + std::to_string(span_) + " bytes", error);
    }
    base_ = static_cast<std::byte*>(base);
    name_ = {owner, owner_fd, 0};
  }

  ~MemfdArena() override {
    munmap(base_, span_);
    ::close(fd_);
  }

  MemfdArena(const MemfdArena&) = delete;
  MemfdArena& operator=(const MemfdArena&) = delete;

  Header& header() const { return *reinterpret_cast<Header*>(base_); }
  Block* table() const { return reinterpret_cast<Block*>(base_ + header_bytes); }

  ArenaName name() const override { return {name_.pid, name_.fd, header().id}; }

  std::optional<Bytes> allocate(Bytes bytes, int users) override {
    const Pages pages = pages_for(std::max<Bytes>(bytes, 1));
    if (bytes > header().limit) return std::nullopt;
    const Lock lock(header());
    const Pages first = is_long(bytes) ? take_long(pages) : take_short(pages);
    if (first == 0) return std::nullopt;
    Block& block = table()[first];
    block.users = users;
    header().in_use += block.pages * page_bytes;
    if (!is_long(bytes)) std::memset(base_ + first * page_bytes, 0, block.pages * page_bytes);
    return first * page_bytes;
  }

  // The system takes pages from the calling process's node, as for a first touch, but says so when there are none. It
  // does not say so before it kills somebody for it, nor before the signal for files that are too long.
  bool populate(Bytes offset, Bytes bytes) noexcept override {
    constexpr Bytes spare = Bytes{16} << 20;  // others ask at the same time
    const Bytes room = probe_memory_room();
    if (offset + bytes > probe_longest_file() || (room != unlimited && bytes + spare > room)) return false;
    return fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
  }

  void release(Bytes offset) noexcept override {
    Header& h = header();
    const auto first = static_cast<Pages>(offset / page_bytes);
    const Lock lock(h);
    Block& block = table()[first];
    if (--block.users != 0) return;
    const Bytes bytes = block.pages * page_bytes;
    h.in_use -= bytes;
    if (!is_long(block.pages * page_bytes)) return h.short_blocks.give_back(table(), first);
    return_pages(offset, bytes);
    h.held -= bytes;
    h.long_blocks.give_back(table(), first);
  }

  // Every block begins on a page of its own, and entries of pages that never were a block's first are zero. The last
  // block may reach beyond the file's end: nobody has populated what is left of it, or not yet.
  std::vector<Extent> blocks() const override {
    std::vector<Extent> found;
    const Pages begin = pages_for(header_bytes) + table_end(header().span);
    const auto there = static_cast<Pages>(probe_length() / page_bytes);
    const Pages end = std::min({header().long_blocks.top(), static_cast<Pages>(span_ / page_bytes), there});
    for (Pages page = begin; page < end; ++page) {
      const Block block = table()[page];
      if (block.users > 0 && block.pages > 0)
        found.push_back({page * page_bytes, std::min(block.pages, end - page) * page_bytes});
    }
    return found;
  }

  std::byte* base() const noexcept override { return base_; }
  Bytes in_use() const noexcept override { return header().in_use; }

 private:
  Pages take_long(Pages pages) {
    Header& h = header();
    pages = BlockList::rounded(pages);
    if (h.held + pages * page_bytes > h.limit || !has_table_for(h.long_blocks.top() + pages)) return 0;
    const Pages first = h.long_blocks.take(table(), pages);
    if (first != 0) h.held += table()[first].pages * page_bytes;
    return first;
  }

  Pages take_short(Pages pages) {
    Header& h = header();
    if (const Pages first = h.short_blocks.take(table(), pages)) return first;
    return open_slab(pages) ? h.short_blocks.take(table(), pages) : 0;
  }

  // What is left of the slab before is too short for this block, and lost.
  bool open_slab(Pages least) {
    Header& h = header();
    const Pages usual = std::clamp(pages_for(h.limit / 8), Pages{1}, largest_slab);
    const Pages pages = BlockList::rounded(std::max(least, usual));
    const Pages first = take_long(pages);
    if (first == 0) return false;
    if (!populate(first * page_bytes, pages * page_bytes)) {
      h.held -= table()[first].pages * page_bytes;
      h.long_blocks.give_back(table(), first);
      return false;
    }
    h.short_blocks.move_to(first, first + pages);
    return true;
  }

 public:
  /// Makes sure that the entries of pages below `end` are there; some more are, so that this is seldom asked for.
  bool has_table_for(Pages end) {
    constexpr Pages piece = 16;
    Header& h = header();
    const Pages wanted = std::min(pages_for(Bytes{end} * sizeof(Block)) / piece * piece + piece, table_end(h.span));
    if (wanted <= h.table_pages) return true;
    if (!populate(header_bytes, wanted * page_bytes)) return false;
    h.table_pages = wanted;
    return true;
  }
  static Pages table_end(Bytes span) { return pages_for(span / page_bytes * sizeof(Block)); }

 private:
  Bytes probe_length() const noexcept {
    struct stat file {};
    return fstat(fd_, &file) == 0 ? static_cast<Bytes>(file.st_size) : 0;
  }

  // Punching a hole returns the pages and makes them read as zero for the next block.
  void return_pages(Bytes offset, Bytes bytes) const noexcept {
    (void)fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(bytes));
  }

  int fd_;
  Bytes span_;
  std::byte* base_ = nullptr;
  ArenaName name_;
};

/// Reads the header of a candidate file before mapping all of it.
Header read_header(int fd) {
  Header header{};
  const ssize_t got = pread(fd, &header, offsetof(Header, mutex), 0);
  if (got != static_cast<ssize_t>(offsetof(Header, mutex))) header.magic = 0;
  return header;
}

}  // namespace

namespace {

/// Address space for an arena with such a limit. Freed blocks go to others of their size only, so there is room for
/// twice as much; where address space or files are limited, less, down to what the limit itself needs.
Bytes choose_span(Bytes limit) {
  const Bytes own = header_bytes + (Bytes{1} << 20);
  const Bytes wanted = round_up(own + 2 * limit + 2 * limit / 256);
  const Bytes most = std::min(probe_address_room() / 4, probe_longest_file()) / page_bytes * page_bytes;
  return std::min(wanted, most);
}

/// How much of such a span blocks may have.
Bytes limit_within(Bytes span, Bytes limit) {
  const Bytes own = header_bytes + MemfdArena::table_end(span) * page_bytes;
  return std::min(limit, span > own ? span - own : 0) / page_bytes * page_bytes;
}

}  // namespace

std::shared_ptr<Arena> Arena::create(Bytes limit) {
  const Bytes span = choose_span(std::min(limit, Bytes{1} << 40));
  if (span < 4 * header_bytes) fail("reserve address space for an arena", ENOMEM);
  const int fd = memfd_create("espalier", MFD_CLOEXEC);
  if (fd < 0) fail("create an anonymous file", errno);
  if (fallocate(fd, 0, 0, static_cast<off_t>(header_bytes)) != 0) {
    const int error = errno;
    ::close(fd);
    fail("reserve " + std::to_string(header_bytes) + " bytes", error);
  }
  auto arena = std::make_shared<MemfdArena>(fd, getpid(), fd, span);
  Header& header = arena->header();
  header.id = random_id();
  header.limit = limit_within(span, limit);
  header.span = span;
  const Pages first = pages_for(header_bytes) + MemfdArena::table_end(span);
  header.long_blocks.init(first, static_cast<Pages>(span / page_bytes));
  if (!arena->has_table_for(first)) fail("reserve the table of an arena's blocks", ENOMEM);
  init_mutex(header.mutex);
  header.magic = magic;
  return arena;
}

Bytes Arena::least_limit(Bytes block) { return Bytes{BlockList::rounded(pages_for(block))} * page_bytes; }

std::shared_ptr<Arena> Arena::open(const ArenaName& name) {
  const std::string path = "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) fail("open " + path, errno);
  const Header header = read_header(fd);
  if (header.magic != magic || header.id != name.id) {
    ::close(fd);
    throw Error("shared memory: " + path + " is not the arena it was said to be");
  }
  return std::make_shared<MemfdArena>(fd, name.pid, name.fd, header.span);
}

std::shared_ptr<const Arena> Arena::observe(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("open " + path, errno);
  const Header header = read_header(fd);
  if (header.magic != magic) {
    ::close(fd);
    throw Error("shared memory: " + path + " is no arena");
  }
  return std::make_shared<MemfdArena>(fd, 0, fd, header.span, PROT_READ);
}

}  // namespace espalier::transports
