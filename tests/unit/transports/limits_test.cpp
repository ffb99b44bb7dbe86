#include "transports/limits.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "transports/arena.hpp"

namespace espalier::transports {
namespace {

constexpr Bytes one_mebibyte = 1 << 20;

/// A made-up system: files under a folder of its own.
class System {
 public:
  System() : root_(std::filesystem::temp_directory_path() / ("espalier-limits-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
    write("proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 100 kB\nMemAvailable: 8000000 kB\n");
  }
  ~System() { std::filesystem::remove_all(root_); }
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  Bytes room() const { return probe_memory_room(root_.string()); }

 private:
  std::filesystem::path root_;
};

TEST(MemoryRoom, IsTheMachinesWithoutControlGroups) { EXPECT_EQ(System().room(), Bytes{8000000} * 1024); }

TEST(MemoryRoom, IsTheLeastThatAnyGroupAboveHasLeft) {
  const System system;
  system.write("proc/self/cgroup", "0::/job/step\n");
  system.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  system.write("sys/fs/cgroup/job/memory.max", std::to_string(300 * one_mebibyte));
  system.write("sys/fs/cgroup/job/memory.current", std::to_string(250 * one_mebibyte));
  EXPECT_EQ(system.room(), 50 * one_mebibyte);
  system.write("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file " + std::to_string(30 * one_mebibyte) + "\n");
  EXPECT_EQ(system.room(), 80 * one_mebibyte) << "files that nobody uses are dropped when memory is short";
}

TEST(MemoryRoom, ReadsTheFirstVersionToo) {
  const System system;
  system.write("proc/self/cgroup", "3:cpu:/x\n2:memory:/job\n");
  system.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  system.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(64 * one_mebibyte));
  system.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(60 * one_mebibyte));
  EXPECT_EQ(system.room(), 4 * one_mebibyte);
}

/// In a process of its own, whose limits nobody else has.
template <class Body>
int exit_code_of(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void lower(__rlimit_resource which, Bytes bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(which, &limit);
}

TEST(Arena, StaysWithinTheLongestFileThatTheProcessMayWrite) {
  EXPECT_EQ(exit_code_of([] {
              lower(RLIMIT_FSIZE, 4 * one_mebibyte);  // beyond, the system would end the process with SIGXFSZ
              const auto arena = Arena::create(Bytes{1} << 30);
              Bytes got = 0;
              while (const auto block = arena->allocate(one_mebibyte / 4, 1)) {
                if (!arena->populate(*block, one_mebibyte / 4)) break;
                got += one_mebibyte / 4;
              }
              return got >= 2 * one_mebibyte && got <= 4 * one_mebibyte;
            }),
            0);
}

TEST(Arena, TakesPartOfTheAddressSpaceOnlyWhereThatIsShort) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer needs more of the address space than is left then";
#endif
  EXPECT_EQ(exit_code_of([] {
              lower(RLIMIT_AS, Bytes{512} << 20);
              const auto arena = Arena::create(Bytes{1} << 30);
              return arena->allocate(one_mebibyte, 1).has_value() && probe_address_room() > 300 * one_mebibyte;
            }),
            0);
}

/// A control group of 64 MiB, of whichever version this system has; empty where none can be made.
std::filesystem::path make_group() {
  const std::string name = "espalier-test-" + std::to_string(getpid());
  std::error_code trouble;
  for (const auto& [top, limit] :
       {std::pair{"/sys/fs/cgroup/memory/", "memory.limit_in_bytes"}, std::pair{"/sys/fs/cgroup/", "memory.max"}}) {
    const std::filesystem::path group = std::filesystem::path(top) / name;
    if (!std::filesystem::create_directory(group, trouble)) continue;
    if (std::filesystem::exists(group / limit) && std::ofstream(group / limit) << 64 * one_mebibyte << std::flush)
      return group;
    std::filesystem::remove(group, trouble);
  }
  return {};
}

TEST(Arena, TakesNoMemoryThatItsControlGroupWouldBeKilledFor) {
  const std::filesystem::path group = make_group();
  if (group.empty()) GTEST_SKIP() << "no control groups to make here";
  std::error_code trouble;
  const int code = exit_code_of([&] {
    std::ofstream(group / "cgroup.procs") << getpid();
    const auto arena = Arena::create(Bytes{1} << 30);
    Bytes got = 0;
    while (const auto block = arena->allocate(one_mebibyte, 1)) {
      if (!arena->populate(*block, one_mebibyte)) break;
      got += one_mebibyte;
    }
    return got >= 16 * one_mebibyte && got < 64 * one_mebibyte;
  });
  std::filesystem::remove(group, trouble);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace espalier::transports
