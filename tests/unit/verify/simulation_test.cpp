// The verifier against real bytes in random schedules: what it accepts must never go wrong.

#include "faults.hpp"
#include "simulator.hpp"

namespace espalier::verify {
namespace {

constexpr int calls = plan::window_banks + 1;

bool goes_wrong(const Plan& plan, int schedules, Random& random) {
  for (int i = 0; i < schedules; ++i)
    if (!Simulator(plan, calls, random).run()) return true;
  return false;
}

/// A small plan with few cells, so that they are used again and again.
Specimen draw_small(Random& random) {
  for (;;) {
    Specimen specimen = draw_specimen(random, 6);
    // The operation that does not commute takes bytes in pairs: no element may end between two.
    if (!specimen.problem.is_commutative && specimen.problem.element % 2 != 0) continue;
    specimen.choice.cell = 64;
    specimen.choice.cells = random.between(1, 3);
    if (specimen.choice.segment > 0) specimen.choice.segment = 1024;
    const Bytes most = Bytes{64} * 12 / specimen.problem.element * specimen.problem.element;
    // An edge says how long it is beside the problem, and cannot be shortened alone.
    if (std::ranges::any_of(specimen.problem.edges, [&](const plan::Edge& edge) { return edge.bytes > most; }))
      continue;
    specimen.problem.bytes = std::min(specimen.problem.bytes, most);
    for (Bytes& count : specimen.problem.counts) count = std::min(count, most);
    if (algorithms::why_invalid(specimen.topology, specimen.problem, specimen.choice).empty()) return specimen;
  }
}

/// Spoils one step of one rank: leaves it out, puts it off, or waits for less.
void mutate(Plan& plan, Random& random) {
  const int rank = random.between(0, plan.topology.ranks() - 1);
  std::vector<Step>& steps = steps_of(plan, rank);
  if (steps.size() < 2) return;
  const int at = random.between(0, static_cast<int>(steps.size()) - 2);
  const Step step = step_at(plan, rank, at);
  if (step.op() == Op::await && step.tick() > 1 && random.one_in(2))
    step_at(plan, rank, at) = Step::await(step.neighbour(), step.flag(), step.tick() - 1, step.calls_back());
  else if (random.one_in(2))
    std::swap(step_at(plan, rank, at), step_at(plan, rank, at + 1));
  else
    drop(plan, rank, at);
}

TEST(Simulation, AcceptedPlansRunCorrectlyInAllSchedules) {
  Random random(11, 0);
  for (int i = 0; i < 150; ++i) {
    const Specimen specimen = draw_small(random);
    const Plan plan = algorithms::build_plan(specimen.topology, specimen.problem, specimen.choice);
    EXPECT_FALSE(goes_wrong(plan, 5, random)) << reproducer(specimen);
  }
}

TEST(Simulation, AcceptedMutantsRunCorrectlyToo) {
  Random random(12, 0);
  int accepted = 0, rejected = 0, seen_wrong = 0;
  for (int i = 0; i < 800; ++i) {
    const Specimen specimen = draw_small(random);
    Plan mutant = algorithms::build_plan(specimen.topology, specimen.problem, specimen.choice);
    mutate(mutant, random);
    const std::vector<Violation> found = verify(mutant);
    if (found.empty()) {
      ++accepted;
      EXPECT_FALSE(goes_wrong(mutant, 10, random)) << reproducer(specimen) << ", mutant " << i;
    } else {
      ++rejected;
      // Kinds up to this one break rules without which a plan cannot be run at all.
      const Kind kind = found.front().kind;
      const bool can_run = kind >= Kind::deadlock;
      seen_wrong += can_run && goes_wrong(mutant, 10, random);
    }
  }
  // Enough of each for the test to mean something.
  EXPECT_GT(accepted, 200);
  EXPECT_GT(rejected, 300);
  EXPECT_GT(seen_wrong, 150);
}

}  // namespace
}  // namespace espalier::verify
