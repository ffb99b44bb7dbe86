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

namespace espalier::transports {
namespace {

constexpr Bytes page_bytes = 4096;
constexpr std::uint64_t magic = 0x45535041'4c494552;  // "ESPALIER"
constexpr int most_blocks = 4096;

constexpr Bytes round_up(Bytes bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

struct Block {
  Bytes offset;
  Bytes bytes;
  int users_left;
};

/// Lies at the start of the file. Blocks are kept sorted by offset; free memory is what lies between them.
struct Header {
  std::uint64_t magic;
  std::uint64_t id;
  Bytes limit;
  Bytes in_use;
  pthread_mutex_t mutex;
  int blocks;
  Block block[most_blocks];
};

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
  /// Takes over the descriptor. Address space is reserved for the whole limit; memory only as blocks need it.
  MemfdArena(int fd, pid_t owner, int owner_fd, Bytes limit) : fd_(fd), span_(header_bytes + round_up(limit)) {
    void* base = mmap(nullptr, span_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
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

  ArenaName name() const override { return {name_.pid, name_.fd, header().id}; }

  std::optional<Bytes> allocate(Bytes bytes, int users) override {
    bytes = round_up(std::max<Bytes>(bytes, 1));
    const Lock lock(header());
    const std::optional<int> place = find_gap(bytes);
    if (!place) return std::nullopt;
    const Bytes offset = gap_begin(*place);
    insert(*place, {offset, bytes, users});
    return offset;
  }

  // The system takes pages from the calling process's node, as for a first touch, but says so when there are none.
  bool populate(Bytes offset, Bytes bytes) noexcept override {
    return fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
  }

  void release(Bytes offset) noexcept override {
    Header& h = header();
    const Lock lock(h);
    Block* const end = h.block + h.blocks;
    Block* const block = std::find_if(h.block, end, [&](const Block& b) { return b.offset == offset; });
    if (block == end || --block->users_left > 0) return;
    give_back(block->offset, block->bytes);
    h.in_use -= block->bytes;
    std::move(block + 1, end, block);
    --h.blocks;
  }

  std::byte* at(Bytes offset) const noexcept override { return base_ + offset; }
  Bytes in_use() const noexcept override { return header().in_use; }

 private:
  Bytes gap_begin(int place) const {
    const Block* blocks = header().block;
    return place == 0 ? header_bytes : blocks[place - 1].offset + blocks[place - 1].bytes;
  }
  Bytes gap_end(int place) const {
    return place == header().blocks ? header_bytes + header().limit : header().block[place].offset;
  }

  // First fit: boards come in few sizes, so gaps are mostly filled exactly.
  std::optional<int> find_gap(Bytes bytes) const {
    if (header().blocks == most_blocks) return std::nullopt;
    for (int place = 0; place <= header().blocks; ++place)
      if (gap_begin(place) + bytes <= gap_end(place)) return place;
    return std::nullopt;
  }

  void insert(int place, const Block& block) {
    Header& h = header();
    std::move_backward(h.block + place, h.block + h.blocks, h.block + h.blocks + 1);
    h.block[place] = block;
    ++h.blocks;
    h.in_use += block.bytes;
  }

  // Punching a hole returns the pages and makes them read as zero for the next block.
  void give_back(Bytes offset, Bytes bytes) const noexcept {
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

std::shared_ptr<Arena> Arena::create(Bytes limit) {
  const int fd = memfd_create("espalier", MFD_CLOEXEC);
  if (fd < 0) fail("create an anonymous file", errno);
  if (ftruncate(fd, static_cast<off_t>(header_bytes + round_up(limit))) != 0 ||
      fallocate(fd, 0, 0, static_cast<off_t>(header_bytes)) != 0) {
    const int error = errno;
    ::close(fd);
    fail("reserve " + std::to_string(header_bytes) + " bytes", error);
  }
  auto arena = std::make_shared<MemfdArena>(fd, getpid(), fd, limit);
  Header& header = arena->header();
  header.id = random_id();
  header.limit = limit / page_bytes * page_bytes;
  init_mutex(header.mutex);
  header.magic = magic;
  return arena;
}

std::shared_ptr<Arena> Arena::open(const ArenaName& name) {
  const std::string path = "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) fail("open " + path, errno);
  const Header header = read_header(fd);
  if (header.magic != magic || header.id != name.id) {
    ::close(fd);
    throw Error("shared memory: " + path + " is not the arena it was said to be");
  }
  return std::make_shared<MemfdArena>(fd, name.pid, name.fd, header.limit);
}

}  // namespace espalier::transports
