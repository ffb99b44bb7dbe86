#include "machine/devices.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace espalier::machine {
namespace {

// As a compiler for devices would mark it; the section is in this test's own file.
[[gnu::section(".hip_fatbin"), gnu::used]] const char device_code[] = "code";

TEST(Device, CodeInTheProgramIsFound) {
  EXPECT_TRUE(carries_device_code("/proc/self/exe"));
  EXPECT_TRUE(may_use_devices());
}

TEST(Device, RuntimesAreKnownByTheirNames) {
  for (const char* path : {"/usr/lib/libcuda.so.1", "/opt/cuda/lib64/libcudart.so.12.4.99", "libamdhip64.so.6",
                           "/usr/lib/x86_64-linux-gnu/libze_loader.so.1", "libsycl.so.7"})
    EXPECT_TRUE(uses_devices(path)) << path;
  EXPECT_FALSE(uses_devices("/opt/cuda/lib64/libcufft.so.11"));
  EXPECT_FALSE(uses_devices("/home/libcuda.so/libm.so.6")) << "a folder of that name";
}

TEST(Device, OrdinaryProgramsCarryNone) { EXPECT_FALSE(carries_device_code("/bin/sh")); }

TEST(Device, WhatIsNoElfFileCarriesNone) {
  EXPECT_FALSE(carries_device_code("/nonexistent"));
  EXPECT_FALSE(carries_device_code("/etc/passwd"));
  EXPECT_FALSE(carries_device_code("/dev/null"));
}

TEST(Device, ADamagedFileCarriesNone) {
  std::ifstream good("/bin/sh", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(good)), {});
  const std::string path = testing::TempDir() + "espalier_device_" + std::to_string(getpid());
  for (std::size_t length : {10u, 64u, 1000u}) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, length);
    EXPECT_FALSE(carries_device_code(path)) << length;
  }
  for (std::size_t i = 16; i < 64; ++i) bytes[i] = '\xff';
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_FALSE(carries_device_code(path));
  unlink(path.c_str());
}

}  // namespace
}  // namespace espalier::machine
