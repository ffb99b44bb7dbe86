#include "watch/diagnosis.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::watch {
namespace {

using Doing = execute::LeftToMpi::Doing;

constexpr std::uint32_t world = 11, other = 20;  // an odd number is MPI_COMM_WORLD

Sighting at(int rank, std::uint64_t finished, std::uint64_t call = 0, std::uint32_t community = world) {
  Sighting seen;
  seen.community = community;
  seen.pid = 100 + rank;
  seen.world_rank = seen.rank = rank;
  seen.ranks = 4;
  seen.finished = finished;
  seen.call = call;
  seen.what.number = static_cast<std::uint32_t>(call);
  seen.what.operation = plan::Operation::broadcast;
  seen.what.bytes = 64;
  seen.seconds = call == 0 ? 0 : 3;
  return seen;
}

/// In that, for three seconds, after as many calls that were left to the MPI.
Sighting left(int rank, Doing doing, std::uint32_t calls, plan::Operation operation = plan::Operation::allreduce) {
  Sighting seen = at(rank, 7);
  seen.left = {doing, operation, plan::BlockSizes::equal, calls};
  seen.what.number = calls + 7;
  seen.what.bytes.reset();
  seen.left_seconds = doing == Doing::nothing ? 0 : 3;
  return seen;
}

/// The same of a communicator without desks, of every second rank of a world of eight.
Sighting unserved(int rank, Doing doing, std::uint32_t calls, plan::Operation operation = plan::Operation::allreduce) {
  Sighting seen = left(rank, doing, calls, operation);
  seen.community = other;
  seen.world_rank = 2 * rank;
  seen.pid = 100 + seen.world_rank;
  seen.finished = 0;
  seen.what.number = calls;
  seen.job = world;
  seen.members = {{0, 2, 4}};
  return seen;
}

/// All of that world, in code of their own.
std::vector<Sighting> world_of_eight() {
  std::vector<Sighting> seen;
  for (int rank = 0; rank < 8; ++rank) {
    seen.push_back(at(rank, 7));
    seen.back().ranks = 8;
  }
  return seen;
}

std::vector<Sighting> operator+(std::vector<Sighting> seen, const std::vector<Sighting>& more) {
  seen.insert(seen.end(), more.begin(), more.end());
  return seen;
}

std::string culprit_of(const std::vector<Sighting>& seen, const Lives& lives = {}) {
  const std::vector<Standstill> found = find_standstills(seen, lives, 1);
  return found.empty() ? "" : found.front().culprit;
}

TEST(Diagnosis, FindsNothingWhereNobodyWaits) {
  EXPECT_TRUE(find_standstills(std::vector{at(0, 7), at(1, 6), at(2, 7), at(3, 7)}, {}, 0).empty());
}

TEST(Diagnosis, WhoWaitsForLessThanAskedForDoesNotStandStill) {
  EXPECT_TRUE(find_standstills(std::vector{at(0, 7, 8), at(1, 7), at(2, 7), at(3, 7)}, {}, 5).empty());
}

TEST(Diagnosis, NamesTheRankThatHasNotCome) {
  EXPECT_EQ(
      culprit_of({at(0, 8), at(1, 7, 8), at(2, 7), at(3, 7, 8)}, {{{"", 102}, Life::running}}),
      "Rank 2 (process 102) has not come; it is running: in code of the program's own, or in another call of MPI.");
}

TEST(Diagnosis, TellsRanksThatHaveComeThroughFromThoseThatHaveNotCome) {
  const auto found = find_standstills(std::vector{at(0, 9), at(1, 7, 8), at(2, 7), at(3, 8, 9)}, {}, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].front.call, 8u) << "the first that is not over";
  EXPECT_EQ(found[0].ranks[0].stand, Stand::has_finished);
  EXPECT_EQ(found[0].ranks[1].stand, Stand::waits);
  EXPECT_EQ(found[0].ranks[2].stand, Stand::not_come);
  EXPECT_EQ(found[0].ranks[3].stand, Stand::has_finished) << "it waits in a later call";
}

TEST(Diagnosis, NamesTheRankThatCameWithAnotherOperation) {
  std::vector<Sighting> seen{at(0, 7, 8), at(1, 7, 8), at(2, 7, 8), at(3, 7, 8)};
  seen[2].what.operation = plan::Operation::barrier;
  EXPECT_EQ(culprit_of(seen),
            "Rank 2 (process 102) came with MPI_Barrier, call 8, where ranks 0, 1, 3 came with MPI_Bcast of 64 bytes, "
            "root 0, call 8.");
}

TEST(Diagnosis, NamesTheRankThatCameWithAnotherRoot) {
  std::vector<Sighting> seen{at(0, 8), at(1, 7, 8), at(2, 7, 8), at(3, 7, 8)};
  seen[3].what.root = 2;
  EXPECT_EQ(culprit_of(seen),
            "Rank 3 (process 103) came with MPI_Bcast of 64 bytes, root 2, call 8, where ranks 1, 2 came with "
            "MPI_Bcast of 64 bytes, "
            "root 0, call "
            "8.");
}

TEST(Diagnosis, NamesTheSizesOfRanksThatHaveAllCome) {
  std::vector<Sighting> seen{at(0, 7, 8), at(1, 7, 8), at(2, 7, 8), at(3, 7, 8)};
  EXPECT_EQ(culprit_of(seen), "All ranks have come, and wait for each other's data: please report this.");
  seen[2].what.bytes = 32;
  EXPECT_EQ(
      culprit_of(seen),
      "All have come, with sizes that may not fit: ranks 0, 1, 3 with MPI_Bcast of 64 bytes, root 0, call 8, rank 2 "
      "with MPI_Bcast of 32 bytes, root 0, call 8; ESPALIER_CHECK=1 says whether they do.");
}

TEST(Diagnosis, NamesTheCallOfAnotherCommunicatorThatARankWaitsIn) {
  const std::vector<Sighting> seen{at(0, 7, 8), at(1, 7, 8), at(2, 7), at(3, 7, 8), at(2, 1, 2, other)};
  EXPECT_EQ(culprit_of(seen),
            "Rank 2 (process 102) has not come: it waits in MPI_Bcast of 64 bytes, root 0, call 2, of communicator a "
            "(4 ranks).");
}

TEST(Diagnosis, SaysThatARankThatOthersHaveLeftBehindMadeAnotherCall) {
  std::vector<Sighting> seen{at(0, 8, 9), at(1, 8, 9), at(2, 7, 8), at(3, 8, 9)};
  seen[2].what.operation = plan::Operation::barrier;
  EXPECT_EQ(culprit_of(seen),
            "Rank 2 (process 102) waits in MPI_Barrier, call 8, which all others have left, so theirs was another one; "
            "ESPALIER_CHECK=1 says which.");
}

TEST(Diagnosis, NamesTheDeadAndTheStoppedFirst) {
  const std::vector<Sighting> seen{at(0, 7, 8), at(1, 7, 8), at(2, 7), at(3, 7)};
  const std::string text =
      culprit_of(seen, {{{"", 101}, Life::stopped}, {{"", 102}, Life::dead}, {{"", 103}, Life::asleep}});
  EXPECT_TRUE(text.starts_with("Rank 2 (process 102) is dead. Rank 1 (process 101) is stopped: ")) << text;
  EXPECT_NE(text.find("Rank 3 (process 103) has not come; it is asleep"), std::string::npos) << text;
}

TEST(Diagnosis, NamesWhoHasNotComeToACallThatIsLeftToTheMpi) {
  const std::vector<Sighting> seen{left(0, Doing::call, 5), left(1, Doing::nothing, 4), left(2, Doing::call, 5),
                                   left(3, Doing::nothing, 5)};
  const auto found = find_standstills(seen, {{{"", 101}, Life::asleep}}, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].front.maker, Maker::mpi);
  EXPECT_EQ(to_text(found[0]),
            "MPI_COMM_WORLD (4 ranks) has stood still for 3.0 s or longer at call 12, left to the MPI\n"
            "  ranks 0, 2: in MPI_Allreduce, call 12, which is left to the MPI\n"
            "  rank 1: not come; asleep in the system: in code of the program's own, or in another call of MPI\n"
            "  rank 3: through with it\n"
            "  Rank 1 (process 101) has not come; it is asleep in the system: in code of the program's own, or in "
            "another call of MPI.\n");
  EXPECT_TRUE(find_standstills(seen, {}, 5).empty()) << "nobody has looked for so long";
}

TEST(Diagnosis, NamesWhoHasNotComeToTheEndOfMpi) {
  std::vector<Sighting> seen{left(0, Doing::finalization, 5), left(1, Doing::nothing, 4),
                             left(2, Doing::finalization, 5), left(3, Doing::finalization, 5)};
  const auto found = find_standstills(seen, {{{"", 101}, Life::running}}, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_text(found[0]),
            "MPI_COMM_WORLD (4 ranks) has stood still for 3.0 s or longer in MPI_Finalize\n"
            "  ranks 0, 2, 3: in MPI_Finalize\n"
            "  rank 1: not come; running: in code of the program's own, or in another call of MPI\n"
            "  Rank 1 (process 101) has not come; it is running: in code of the program's own, or in another call of "
            "MPI.\n");
  seen[1] = left(1, Doing::finalization, 5);
  EXPECT_TRUE(find_standstills(seen, {}, 0).empty()) << "all have ended MPI, and may go on for as long as they like";
}

TEST(Diagnosis, AJobThatIsBeingEndedDoesNotStandStill) {
  const std::vector<Sighting> seen{at(0, 7, 8), at(1, 7, 8), at(2, 7), at(3, 7, 8)};
  Lives lives;
  for (int r = 0; r < 4; ++r) lives[{"", 100 + r}] = Life::dead;
  EXPECT_TRUE(find_standstills(seen, lives, 1).empty());
  lives[{"", 102}] = Life::running;
  EXPECT_EQ(find_standstills(seen, lives, 1).size(), 1u);
}

TEST(Diagnosis, ARankThatHasBegunACallThatDoesNotBlockMayBeAnywhere) {
  const Sighting begun = left(2, Doing::run_preparation, 5);
  EXPECT_EQ(culprit_of({at(0, 7, 8), at(1, 7, 8), begun, at(3, 7, 8)}, {{{"", 102}, Life::asleep}}),
            "Rank 2 (process 102) has not come: it has begun a call that does not block, for which the ranks get "
            "memory first, and is asleep in the system: in code of the program's own, or in another "
            "call of MPI.");
  EXPECT_EQ(culprit_of({left(0, Doing::run_preparation, 5), left(1, Doing::run_preparation, 5), begun,
                        left(3, Doing::run_preparation, 5)},
                       {{{"", 102}, Life::asleep}}),
            "All ranks have begun it, and it goes on while they are in MPI; rank 2 (process 102) is asleep in the "
            "system: in code of the program's own, or in another call of MPI.");
}

TEST(Diagnosis, WhoHasMemoryForACallThatDoesNotBlockHasNotLeftOthersBehind) {
  EXPECT_EQ(culprit_of({left(0, Doing::run_preparation, 5), left(1, Doing::run_preparation, 5),
                        left(2, Doing::nothing, 5), left(3, Doing::nothing, 5)},
                       {{{"", 101}, Life::asleep}}),
            "All ranks have begun it, and it goes on while they are in MPI; rank 1 (process 101) is asleep in the "
            "system: in code of the program's own, or in another call of MPI.");
}

TEST(Diagnosis, WhoHasBegunACallThatDoesNotBlockIsNotSaidToBeMissing) {
  std::vector<Sighting> seen{at(0, 7, 8), at(1, 7, 8), at(2, 7), at(3, 7)};
  for (Sighting& it : seen) {
    it.what.form = plan::CallForm::nonblocking;
    it.what.number = 5;
  }
  const Lives lives{{{"", 102}, Life::running}, {{"", 103}, Life::asleep}};
  EXPECT_EQ(
      culprit_of(seen, lives),
      "Rank 3 (process 103) has begun it, and it goes on while it is in MPI; it is asleep in the system: in code of "
      "the program's own, or in another call of MPI.");
  seen[2].what.number = 4;
  EXPECT_EQ(
      culprit_of(seen, lives),
      "Rank 2 (process 102) has not come; it is running: in code of the program's own, or in another call of MPI.");
}

TEST(Diagnosis, TellsTheNumberInTheWorldWhereThatIsAnother) {
  std::vector<Sighting> seen{at(0, 7, 8, other), at(1, 7, 8, other), at(2, 7, 0, other), at(3, 7, 8, other)};
  for (Sighting& it : seen) it.world_rank = 3 - it.rank;
  EXPECT_TRUE(culprit_of(seen).starts_with("Rank 2 (process 102; in MPI_COMM_WORLD 1) has not come"))
      << culprit_of(seen);
}

TEST(Diagnosis, NamesWhoCameToTheMpiWithAnotherCall) {
  EXPECT_EQ(culprit_of({left(0, Doing::call, 5), left(1, Doing::call, 5, plan::Operation::scan),
                        left(2, Doing::call, 5), left(3, Doing::call, 5)}),
            "Rank 1 (process 101) came with MPI_Scan, call 12, which is left to the MPI, where ranks 0, 2, 3 came with "
            "MPI_Allreduce, call "
            "12, which is left to the MPI.");
}

TEST(Diagnosis, NamesWhoCameToTheMpiWithAnotherRoot) {
  std::vector<Sighting> seen;
  for (int rank = 0; rank < 4; ++rank) {
    seen.push_back(left(rank, Doing::call, 5, plan::Operation::broadcast));
    seen.back().what.bytes = 64;
    seen.back().what.root = rank == 1 ? 3 : 0;
  }
  EXPECT_EQ(culprit_of(seen),
            "Rank 1 (process 101) came with MPI_Bcast of 64 bytes, root 3, call 12, which is left to the MPI, where "
            "ranks 0, 2, 3 "
            "came with MPI_Bcast of 64 bytes, root 0, call 12, which is left to the MPI.");
}

TEST(Diagnosis, TellsAFormWithCountsFromTheOther) {
  Sighting with_counts = left(1, Doing::call, 5, plan::Operation::gather);
  with_counts.left.blocks = plan::BlockSizes::counts;
  EXPECT_EQ(
      culprit_of({left(0, Doing::call, 5, plan::Operation::gather), with_counts,
                  left(2, Doing::call, 5, plan::Operation::gather), left(3, Doing::call, 5, plan::Operation::gather)}),
      "Rank 1 (process 101) came with MPI_Gatherv, root 0, call 12, which is left to the MPI, where ranks 0, 2, 3 came "
      "with "
      "MPI_Gather, root 0, call 12, which is left to the MPI.");
}

TEST(Diagnosis, SaysThatAllHaveComeToACallOfTheMpi) {
  std::vector<Sighting> seen;
  for (int rank = 0; rank < 4; ++rank) seen.push_back(left(rank, Doing::call, 5));
  EXPECT_EQ(culprit_of(seen), "All ranks have come: the MPI is at it.");
}

TEST(Diagnosis, NamesTheCallOfTheMpiThatARankIsInWhileOthersWait) {
  const auto culprit = [](Doing doing) {
    return culprit_of({at(0, 7, 8), at(1, 7, 8), left(2, doing, 5), at(3, 7, 8)});
  };
  EXPECT_EQ(culprit(Doing::call),
            "Rank 2 (process 102) has not come: it waits in MPI_Allreduce, call 12, which is left to the MPI, of "
            "MPI_COMM_WORLD (4 "
            "ranks).");
  EXPECT_EQ(culprit(Doing::comparison),
            "Rank 2 (process 102) has not come: it waits in MPI_Allreduce, call 12, whose arguments ESPALIER_CHECK "
            "compares, of "
            "MPI_COMM_WORLD (4 ranks).");
  EXPECT_EQ(
      culprit(Doing::preparation),
      "Rank 2 (process 102) has not come: it waits in MPI_Allreduce, call 12, for which the ranks get memory first, of "
      "MPI_COMM_WORLD (4 ranks).");
  EXPECT_EQ(culprit(Doing::finalization), "Rank 2 (process 102) has not come: it has called MPI_Finalize.");
}

TEST(Diagnosis, ARankThatHasEndedMpiIsNotCalledDead) {
  const std::vector<Sighting> seen{at(0, 7, 8), at(1, 7, 8), left(2, Doing::finalization, 5), at(3, 7, 8)};
  EXPECT_EQ(culprit_of(seen, {{{"", 102}, Life::dead}}),
            "Rank 2 (process 102) has not come: it has called MPI_Finalize.");
}

TEST(Diagnosis, NamesTheMemberOfACommunicatorWithoutDesksThatHasNotCome) {
  const auto found =
      find_standstills(world_of_eight() + std::vector{unserved(0, Doing::call, 3), unserved(1, Doing::call, 3),
                                                      unserved(3, Doing::nothing, 3)},
                       {{{"", 104}, Life::asleep}}, 1);
  ASSERT_EQ(found.size(), 1u) << "and of those that are no members nothing is said";
  EXPECT_EQ(
      to_text(found[0]),
      "a communicator of ranks 0, 2, …, 6 of MPI_COMM_WORLD has stood still for 3.0 s or longer at call 3, left to "
      "the MPI\n"
      "  ranks 0, 1: in MPI_Allreduce, call 3, which is left to the MPI\n"
      "  rank 2: not come; asleep in the system: in code of the program's own, or in another call of MPI\n"
      "  rank 3: through with it\n"
      "  Rank 2 (process 104; in MPI_COMM_WORLD 4) has not come; it is asleep in the system: in code of the "
      "program's own, or in another call of MPI.\n");
}

TEST(Diagnosis, NamesTheCallOfACommunicatorWithoutDesksThatARankIsIn) {
  const auto seen = world_of_eight() + std::vector{unserved(0, Doing::call, 3)};
  std::vector<Sighting> waiting = seen;
  for (const std::size_t rank : {1, 3}) waiting[rank] = at(static_cast<int>(rank), 7, 8);
  const auto found = find_standstills(waiting, {}, 1);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(
      (found[0].culprit + found[1].culprit)
          .find("Rank 0 (process 100) has not come: it waits in MPI_Allreduce, call 3, which is left to the MPI, of a "
                "communicator of ranks 0, 2, …, 6 of MPI_COMM_WORLD."),
      std::string::npos)
      << found[0].culprit << found[1].culprit;
}

TEST(Diagnosis, NamesWhereAMemberIsInsteadOfInACommunicatorWithoutDesks) {
  auto seen = world_of_eight() +
              std::vector{unserved(0, Doing::call, 3), unserved(1, Doing::call, 3), unserved(3, Doing::call, 3)};
  seen[4] = at(4, 7, 8);
  seen[4].ranks = 8;
  const auto found = find_standstills(seen, {}, 1);
  const auto own = std::ranges::find_if(found, &Standstill::is_unserved);
  ASSERT_NE(own, found.end());
  EXPECT_EQ(
      own->culprit,
      "Rank 2 (process 104; in MPI_COMM_WORLD 4) has not come: it waits in MPI_Bcast of 64 bytes, root 0, call 8, of "
      "MPI_COMM_WORLD (8 ranks).");
}

TEST(Diagnosis, NamesWhoCameWithAnotherCallToACommunicatorWithoutDesks) {
  const auto found = find_standstills(
      world_of_eight() + std::vector{unserved(0, Doing::call, 3), unserved(1, Doing::call, 3, plan::Operation::barrier),
                                     unserved(2, Doing::call, 3), unserved(3, Doing::call, 3)},
      {}, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit,
            "Rank 1 (process 102; in MPI_COMM_WORLD 2) came with MPI_Barrier, call 3, which is left to the MPI, where "
            "ranks 0, 2, 3 came with "
            "MPI_Allreduce, call 3, which is left to the MPI.");
}

// Nothing that all ranks know by themselves tells communicators of the same ranks apart.
TEST(Diagnosis, AccusesNobodyWhereThreadsAreInSeveralCommunicatorsOfTheSameRanks) {
  const auto found = find_standstills(
      world_of_eight() + std::vector{unserved(0, Doing::call, 3), unserved(0, Doing::call, 4, plan::Operation::barrier),
                                     unserved(1, Doing::call, 3, plan::Operation::barrier)},
      {}, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ranks.size(), 5u) << "both threads are seen";
  EXPECT_TRUE(found[0].culprit.starts_with("Threads are in calls of several communicators of these ranks"))
      << found[0].culprit;
}

TEST(Diagnosis, SaysThatItDoesNotKnowTheMembersOfAnIrregularCommunicator) {
  std::vector<Sighting> seen{unserved(0, Doing::call, 3), unserved(2, Doing::call, 3)};
  for (Sighting& it : seen) it.members.clear();
  EXPECT_EQ(culprit_of(world_of_eight() + seen),
            "Ranks 1, 3 are not seen in it, and who they are is not known: this communicator's members are no regular "
            "part of MPI_COMM_WORLD.");
}

// Whoever makes a communicator's memory shows who is to come; whoever is on the way hears last where that is.
TEST(Diagnosis, ARankThatIsOnItsWayToANewCommunicatorHasCome) {
  constexpr std::uint32_t group = 30;
  Sighting on_its_way = unserved(3, Doing::set_up, 1);
  on_its_way.community = group;
  on_its_way.pid = 103;
  on_its_way.world_rank = 3;
  on_its_way.members = {{0, 1, 4}};
  std::vector<Sighting> seen{at(0, 20),          at(1, 20),          at(2, 20),          at(3, 20), at(0, 0, 1, other),
                             at(1, 0, 1, other), at(2, 0, 0, other), at(3, 0, 0, other), on_its_way};
  const auto found = find_standstills(seen, {{{"", 102}, Life::asleep}}, 1);
  ASSERT_EQ(found.size(), 1u) << "and of the world nothing is said";
  EXPECT_EQ(to_text(found[0]),
            "communicator a (4 ranks) has stood still for 3.0 s at call 1\n"
            "  ranks 0, 1: in MPI_Bcast of 64 bytes, root 0, call 1\n"
            "  rank 2: not come; asleep in the system: in code of the program's own, or in another call of MPI\n"
            "  rank 3: in MPI_Allreduce, call 1, for which the ranks get memory first\n"
            "  Rank 2 (process 102) has not come; it is asleep in the system: in code of the program's own, or in "
            "another call of MPI.\n");
  // Over several nodes nobody can show all who are to come.
  seen.erase(seen.begin() + 6, seen.begin() + 8);
  const auto apart = find_standstills(seen, {}, 1);
  ASSERT_EQ(apart.size(), 1u);
  EXPECT_EQ(apart[0].ranks[3].stand, Stand::waits);
}

// Exchanges of ours count among what ranks do together, and the program knows nothing of them.
TEST(Diagnosis, NumbersCallsAsTheProgramDoes) {
  std::vector<Sighting> seen{at(0, 7), at(1, 7, 8), at(2, 7, 8), at(3, 7, 8)};
  for (int rank = 1; rank < 4; ++rank) seen[static_cast<std::size_t>(rank)].what.number = 5;
  const auto found = find_standstills(seen, {}, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].number, 5u);
  EXPECT_TRUE(to_text(found[0]).starts_with("MPI_COMM_WORLD (4 ranks) has stood still for 3.0 s at call 5\n"))
      << to_text(found[0]);
}

TEST(Diagnosis, SaysThatRanksOfOtherHostsAreNotSeen) {
  EXPECT_EQ(culprit_of({at(0, 7, 8), at(1, 7, 8)}),
            "Ranks 2, 3 are not seen here: on other hosts, where to ask, too, or through with the communicator.");
}

TEST(Diagnosis, SaysOneThingOnceForRanksInARow) {
  const auto found = find_standstills(std::vector{at(0, 7), at(1, 7), at(2, 7), at(3, 7, 8)}, {}, 1);
  const std::string text = to_text(found.at(0));
  EXPECT_NE(text.find("MPI_COMM_WORLD (4 ranks) has stood still for 3.0 s at call 8\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  ranks 0 to 2: not come; running"), std::string::npos) << text;
  EXPECT_NE(text.find("  rank 3: in MPI_Bcast of 64 bytes, root 0, call 8\n"), std::string::npos) << text;
}

TEST(Diagnosis, PutsWhatHasStoodLongestFirst) {
  std::vector<Sighting> seen{at(0, 7, 8), at(0, 1, 2, other)};
  seen[1].seconds = 9;
  const auto found = find_standstills(seen, {}, 1);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].community, other);
}

TEST(Diagnosis, ProcessesOfSeveralHostsAreToldApart) {
  std::vector<Sighting> seen{at(0, 7, 8), at(1, 7, 8), at(2, 7), at(3, 7, 8), at(0, 1, 2, other)};
  for (Sighting& it : seen) {
    it.host = it.rank < 2 ? "a" : "b";
    it.pid = 100 + it.rank % 2;
  }
  const Lives lives{{{"a", 100}, Life::running}, {{"b", 100}, Life::asleep}};
  EXPECT_EQ(find_standstills(seen, lives, 1).front().culprit,
            "Rank 2 (process 100 on b) has not come; it is asleep in the system: in code of the program's own, or in "
            "another call of MPI.");
}

}  // namespace
}  // namespace espalier::watch
