// Choices as text: what is told can be read back.

#include "choice/parse.hpp"

#include <gtest/gtest.h>

#include "verify/plans/random.hpp"

namespace espalier::choice {
namespace {

/// Without what means nothing under single copy, and is not told.
plan::Choice what_counts(plan::Choice choice) {
  if (choice.within == plan::Within::cells) return choice;
  const plan::Choice usual;
  choice.cell = usual.cell, choice.cells = usual.cells, choice.stores = usual.stores;
  return choice;
}

TEST(ParseChoice, ReadsBackWhatAnyChoiceSaysOfItself) {
  for (std::uint64_t stream = 0; stream < 500; ++stream) {
    verify::Random random(1, stream);
    const verify::Specimen specimen = verify::draw_specimen(random, 16);
    const std::string text = to_string(specimen.choice);
    plan::Choice expected = what_counts(specimen.choice);
    EXPECT_EQ(parse_choice(specimen.problem.operation, text), expected) << text;
  }
}

}  // namespace
}  // namespace espalier::choice
