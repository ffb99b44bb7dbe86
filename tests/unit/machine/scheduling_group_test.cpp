#include "machine/scheduling_group.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace espalier::machine {
namespace {

// A system of files below a folder of its own.
class SchedulingGroup : public testing::Test {
 protected:
  SchedulingGroup() : root_(testing::TempDir() + "espalier-scheduling-" + std::to_string(getpid())) {
    write("/proc/sys/kernel/sched_autogroup_enabled", "1");
    write("/proc/self/autogroup", "/autogroup-6594 nice 0");
    write("/proc/self/cgroup", "0::/");
  }
  ~SchedulingGroup() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }

  std::string probe() const { return probe_scheduling_group(root_); }

  std::string root_;
};

TEST_F(SchedulingGroup, IsTheSessionsAutomaticOne) { EXPECT_EQ(probe(), "/autogroup-6594"); }

TEST_F(SchedulingGroup, IsEverybodysWithoutAutomaticOnes) {
  write("/proc/sys/kernel/sched_autogroup_enabled", "0");
  EXPECT_EQ(probe(), "");
}

TEST_F(SchedulingGroup, IsTheControlGroupThatSharesOutProcessorTime) {
  write("/proc/self/cgroup", "0::/system.slice/slurmstepd/job_7/step_0/task_3");
  write("/sys/fs/cgroup/system.slice/slurmstepd/job_7/cpu.weight", "100");
  write("/sys/fs/cgroup/system.slice/cpu.weight", "100");
  EXPECT_EQ(probe(), "/system.slice/slurmstepd/job_7");
}

TEST_F(SchedulingGroup, IsTheAutomaticOneWhereControlGroupsShareOutOtherThings) {
  write("/proc/self/cgroup", "0::/user.slice/session-4.scope");
  EXPECT_EQ(probe(), "/autogroup-6594");
}

TEST_F(SchedulingGroup, IsTheProcessorControlGroupOfVersion1) {
  write("/proc/self/cgroup", "5:memory:/somewhere\n4:cpuacct,cpu:/job_7/task_3\n0::/");
  EXPECT_EQ(probe(), "/job_7/task_3");
}

TEST_F(SchedulingGroup, IsTheAutomaticOneInTheRootOfVersion1) {
  write("/proc/self/cgroup", "5:memory:/somewhere\n2:cpuacct:/elsewhere\n1:cpu:/\n0::/");
  EXPECT_EQ(probe(), "/autogroup-6594");
}

TEST_F(SchedulingGroup, IsEverybodysWhereNothingCanBeRead) { EXPECT_EQ(probe_scheduling_group("/nowhere"), ""); }

}  // namespace
}  // namespace espalier::machine
