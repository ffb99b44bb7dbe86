// Single copy by XPMEM, against a stand-in for its library (xpmem/fake_xpmem.c): no kernel module is needed, and none
// was tested.

#include "transports/mapped_memory.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace espalier::transports {
namespace {

constexpr Bytes chunk = 64 << 10;

int ask_fake(const char* what) { return reinterpret_cast<int (*)()>(dlsym(dlopen(FAKE_XPMEM, RTLD_NOW), what))(); }

/// Memory that the stand-in can map a second time: the neighbour's, which here is this process itself.
class Shared {
 public:
  explicit Shared(Bytes bytes) : bytes_(bytes + chunk) {
    base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(base_);
    begin_ = static_cast<std::byte*>(base_) + (chunk - address % chunk) % chunk;
  }
  ~Shared() { munmap(base_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::byte* begin() const { return begin_; }

 private:
  Bytes bytes_;
  void* base_;
  std::byte* begin_;
};

class CountingCopy final : public execute::SingleCopy {
 public:
  explicit CountingCopy(Bytes& copied) : copied_(copied) {}
  bool read(LocalRank, const std::byte* theirs, std::byte* mine, Bytes bytes) noexcept override {
    std::memcpy(mine, theirs, bytes);
    copied_ += bytes;
    return true;
  }
  bool write(LocalRank, std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept override {
    std::memcpy(theirs, mine, bytes);
    copied_ += bytes;
    return true;
  }

 private:
  Bytes& copied_;
};

class MappedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("FAKE_XPMEM_REFUSE");
    xpmem = Xpmem::load(FAKE_XPMEM);
    ASSERT_NE(xpmem, nullptr);
  }
  void TearDown() override {
    unsetenv("FAKE_XPMEM_REFUSE");
    EXPECT_EQ(ask_fake("fake_xpmem_attachments"), 0) << "everything is detached in the end";
    EXPECT_EQ(ask_fake("fake_xpmem_permissions"), 0);
  }
  MappedMemory memory(Bytes worth, std::size_t most = 64, bool has_other = true) {
    return MappedMemory(*xpmem, {getpid()}, {chunk, worth, most},
                        has_other ? std::make_unique<CountingCopy>(copied_otherwise) : nullptr);
  }

  const Xpmem* xpmem = nullptr;
  Bytes copied_otherwise = 0;
  const LocalRank owner{0};
};

TEST_F(MappedMemoryTest, AttachesWhatIsCopiedAgainAndAgain) {
  const Shared theirs(2 * chunk);
  MappedMemory copies = memory(4 * chunk);
  std::vector<std::byte> mine(chunk);
  for (int call = 0; call < 10; ++call) {
    std::memset(theirs.begin(), call + 1, chunk);  // the owner's memory changes while it is attached
    ASSERT_TRUE(copies.read(owner, theirs.begin(), mine.data(), chunk));
    ASSERT_EQ(mine.back(), static_cast<std::byte>(call + 1));
    EXPECT_EQ(ask_fake("fake_xpmem_attachments"), call < 3 ? 0 : 1);
  }
  EXPECT_EQ(copied_otherwise, 3 * chunk);
}

TEST_F(MappedMemoryTest, NeverAttachesWhatIsCopiedOnce) {
  const Shared theirs(32 * chunk);
  MappedMemory copies = memory(2 * chunk);
  std::vector<std::byte> mine(32 * chunk);
  ASSERT_TRUE(copies.read(owner, theirs.begin(), mine.data(), mine.size()));
  EXPECT_EQ(ask_fake("fake_xpmem_attachments"), 0);
  EXPECT_EQ(copied_otherwise, mine.size());
}

TEST_F(MappedMemoryTest, CopiesAcrossChunksBothWays) {
  const Shared theirs(4 * chunk);
  MappedMemory copies = memory(0);
  std::vector<std::byte> mine(2 * chunk + 77), back(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<std::byte>(i * 31 % 251);
  std::byte* const place = theirs.begin() + chunk - 33;
  ASSERT_TRUE(copies.write(owner, place, mine.data(), mine.size()));
  EXPECT_TRUE(std::equal(mine.begin(), mine.end(), place));
  ASSERT_TRUE(copies.read(owner, place, back.data(), back.size()));
  EXPECT_EQ(mine, back);
  EXPECT_EQ(copied_otherwise, 0u);
  EXPECT_EQ(ask_fake("fake_xpmem_attachments"), 4);
}

TEST_F(MappedMemoryTest, LetsGoOfTheChunkUsedLeastRecently) {
  const Shared theirs(3 * chunk);
  NeighbourMemory neighbour(*xpmem, getpid(), {chunk, 0, 2});
  std::byte* const first = neighbour.find(theirs.begin(), 1);
  neighbour.find(theirs.begin() + chunk, 1);
  EXPECT_EQ(neighbour.find(theirs.begin() + 5, 1), first + 5) << "used again";
  neighbour.find(theirs.begin() + 2 * chunk, 1);
  EXPECT_EQ(neighbour.attached(), 2u);
  EXPECT_EQ(ask_fake("fake_xpmem_attachments"), 2);
  EXPECT_EQ(neighbour.find(theirs.begin(), 1), first) << "the second went";
}

TEST_F(MappedMemoryTest, CopiesOtherwiseWhatTheSystemRefuses) {
  const Shared theirs(chunk);
  std::vector<std::byte> mine(100);
  for (const char* call : {"attach", "get"}) {
    setenv("FAKE_XPMEM_REFUSE", call, 1);
    MappedMemory copies = memory(0);
    copied_otherwise = 0;
    EXPECT_TRUE(copies.read(owner, theirs.begin(), mine.data(), mine.size()));
    EXPECT_TRUE(copies.write(owner, theirs.begin(), mine.data(), mine.size()));
    EXPECT_EQ(copied_otherwise, 200u);
    MappedMemory alone = memory(0, 64, false);
    EXPECT_FALSE(alone.read(owner, theirs.begin(), mine.data(), mine.size()));
  }
}

TEST_F(MappedMemoryTest, IsOnlyBelievedInWhenTried) {
  static std::uint64_t word = 4711;
  EXPECT_TRUE(can_attach(*xpmem, getpid(), &word, 4711));
  EXPECT_FALSE(can_attach(*xpmem, getpid(), &word, 4712)) << "another process's memory, or another address";
  setenv("FAKE_XPMEM_REFUSE", "attach", 1);
  EXPECT_FALSE(can_attach(*xpmem, getpid(), &word, 4711));
}

TEST_F(MappedMemoryTest, OffersMemoryOncePerProcess) {
  EXPECT_EQ(offer_memory(*xpmem), getpid());
  setenv("FAKE_XPMEM_REFUSE", "make", 1);
  EXPECT_EQ(offer_memory(*xpmem), getpid()) << "not asked again";
  const Xpmem another = *xpmem;
  EXPECT_EQ(offer_memory(another), 0);
}

TEST(XpmemLibrary, IsAbsentWithoutAFileOrWithoutItsCalls) {
  EXPECT_EQ(Xpmem::load("libxpmem-that-nobody-has.so"), nullptr);
  EXPECT_EQ(Xpmem::load("libc.so.6"), nullptr);
}

}  // namespace
}  // namespace espalier::transports
