#include "tune/signature.hpp"

#include <gtest/gtest.h>

using namespace espalier::tune;

TEST(Signature, shortens_what_each_mpi_says_of_itself_to_name_and_version) {
  EXPECT_EQ(shorten_version("MPICH Version:      5.0.2\nMPICH Release date: today\n"), "MPICH Version: 5.0.2");
  EXPECT_EQ(shorten_version("Open MPI v5.0.11, package: Open MPI user@host"), "Open MPI v5.0.11");
  EXPECT_EQ(shorten_version("Intel(R) MPI Library 2021.18.1 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.18.1 for Linux* OS");
  EXPECT_EQ(shorten_version(""), "");
}

TEST(Signature, is_the_same_each_time_and_names_the_processors) {
  const Signature one = probe_signature("MPICH Version: 5.0.2");
  EXPECT_EQ(one, probe_signature("MPICH Version:  5.0.2\n"));
  EXPECT_NE(one.machine.find(" processor"), std::string::npos) << one.machine;
  EXPECT_EQ(one.machine.find('\n'), std::string::npos);
}
