#include "base/program_patterns.hpp"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(ProgramPatterns, ThisProcessKnowsItsProgram) {
  EXPECT_NE(probe_program().find("/test_base"), std::string::npos) << probe_program();
}

TEST(ProgramPatterns, AStarStandsForFoldersToo) {
  EXPECT_TRUE(fits_any("/opt/apps/*", "/opt/apps/vasp/6.4/bin/vasp_std"));
  EXPECT_FALSE(fits_any("/opt/apps/*", "/home/opt/apps/vasp"));
}

TEST(ProgramPatterns, APatternWithoutASlashIsHeldAgainstTheName) {
  EXPECT_TRUE(fits_any("vasp_*", "/opt/vasp/bin/vasp_gam"));
  EXPECT_FALSE(fits_any("vasp", "/opt/vasp/bin/vasp_gam"));
  EXPECT_TRUE(fits_any("vasp", "vasp"));
}

TEST(ProgramPatterns, ColonsAndCommasSeparateAndEmptyPatternsFitNothing) {
  EXPECT_TRUE(fits_any("cp2k:vasp,lmp", "/bin/lmp"));
  EXPECT_TRUE(fits_any("::lmp", "/bin/lmp"));
  EXPECT_FALSE(fits_any("::,", "/bin/lmp"));
  EXPECT_FALSE(fits_any("", "/bin/lmp"));
}

TEST(ProgramPatterns, WithoutPatternsEveryProgramIsServed) {
  EXPECT_EQ(why_not_served("", "", "/bin/lmp"), "");
  EXPECT_EQ(why_not_served(":", "", "/bin/lmp"), "");
  EXPECT_EQ(why_not_served("nothing", "*", ""), "") << "whose path nobody knows is served";
}

TEST(ProgramPatterns, OnlyServesWhatItNamesAndNotHasTheLastWord) {
  EXPECT_EQ(why_not_served("lmp", "", "/bin/lmp"), "");
  EXPECT_EQ(why_not_served("lmp", "", "/bin/ls"), "ESPALIER_ONLY does not name /bin/ls");
  EXPECT_EQ(why_not_served("lmp", "/bin/*", "/bin/lmp"), "ESPALIER_NOT excludes /bin/lmp");
}

}  // namespace
}  // namespace espalier
