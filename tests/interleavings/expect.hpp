#pragma once
// What explorations are expected to end like.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "explorer/explorer.hpp"

namespace espalier::interleavings {

/// Everything was explored, and all of it is right. Says how much that was.
inline void expect_right(const Report& report, const std::string& what) {
  EXPECT_FALSE(report.violation) << what << ": " << report.violation->substr(0, 4000);
  EXPECT_TRUE(report.is_complete || report.violation) << what << " takes longer than that";
  EXPECT_EQ(report.repeated, 0u) << what << ": executions come up more than once";
  std::printf("[ explored ] %s: %llu executions, %llu abandoned, %llu accesses\n", what.c_str(),
              static_cast<unsigned long long>(report.executions), static_cast<unsigned long long>(report.abandoned),
              static_cast<unsigned long long>(report.accesses));
}

/// A fault was planted, and some execution shows it.
inline void expect_found(const Report& report, const std::string& fault) {
  EXPECT_TRUE(report.violation) << fault << " is not found in " << report.executions << " executions";
  if (report.violation)
    std::printf("[    found ] %s: %s\n", fault.c_str(),
                report.violation->substr(0, report.violation->find('\n')).c_str());
}

}  // namespace espalier::interleavings
