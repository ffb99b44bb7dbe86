// Reductions of numbers, by threads: the doubles that a loop over the ranks gives, bit by bit, on all ranks and by
// every way of cutting the vector; and products of matrices, which do not commute, in rank order.

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "execute/arithmetic/kernels.hpp"
#include "placements.hpp"
#include "transports/threads.hpp"
#include "verify/verify.hpp"

namespace espalier::algorithms {
namespace {

using plan::Operation;
using plan::Problem;
using topology::Topology;

class AddDoubles final : public execute::Reducer {
 public:
  void combine(const std::byte* left, std::byte* into, Bytes bytes) const noexcept override {
    execute::find_kernel(execute::Element::float64, execute::Combine::sum)(left, into, bytes);
  }
};

using Matrix = std::array<std::uint32_t, 4>;

/// Products of 2 x 2 matrices modulo 2^32.
class Multiply final : public execute::Reducer {
 public:
  void combine(const std::byte* left, std::byte* into, Bytes bytes) const noexcept override {
    for (Bytes at = 0; at < bytes; at += sizeof(Matrix)) {
      Matrix a, b;
      std::memcpy(&a, left + at, sizeof(Matrix));
      std::memcpy(&b, into + at, sizeof(Matrix));
      const Matrix c{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                     a[2] * b[1] + a[3] * b[3]};
      std::memcpy(into + at, &c, sizeof(Matrix));
    }
  }
};

template <class T>
std::vector<T> brought(int rank, std::size_t count);

template <>
std::vector<double> brought(int rank, std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = 1.0 / static_cast<double>(3 + rank * 7 + static_cast<int>(i % 13));
  return values;
}

template <>
std::vector<Matrix> brought(int rank, std::size_t count) {
  std::vector<Matrix> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<std::uint32_t>(rank * 5 + static_cast<int>(i % 11));
    values[i] = {x + 1, x * x + 2, 3 * x + 1, x + 7};
  }
  return values;
}

/// Runs an allreduce of `count` values and returns what each rank has got.
template <class T, class Reducer>
std::vector<std::vector<T>> allreduce(const Topology& topology, const Problem& problem, const plan::Choice& choice,
                                      const Reducer& reducer) {
  transports::ThreadWorld world(topology, topology.capabilities().window_bytes);
  std::vector<std::vector<T>> results(static_cast<std::size_t>(topology.ranks()));
  transports::for_each_rank(topology.ranks(), [&](Rank me) {
    std::vector<T> input = brought<T>(me.value, problem.bytes / sizeof(T)), output(input.size());
    EXPECT_TRUE(world.run(me, build_program(topology, problem, choice, me), reinterpret_cast<std::byte*>(input.data()),
                          reinterpret_cast<std::byte*>(output.data()), &reducer));
    results[static_cast<std::size_t>(me.value)] = output;
  });
  return results;
}

/// v(0) o (v(1) o (… o v(last)))
template <class T, class Reducer>
std::vector<T> fold(int ranks, std::size_t count, const Reducer& reducer) {
  std::vector<T> result = brought<T>(ranks - 1, count);
  for (int rank = ranks - 2; rank >= 0; --rank) {
    const std::vector<T> left = brought<T>(rank, count);
    reducer.combine(reinterpret_cast<const std::byte*>(left.data()), reinterpret_cast<std::byte*>(result.data()),
                    count * sizeof(T));
  }
  return result;
}

constexpr topology::Capabilities roomy{true, false, 64 << 10};

TEST(Reductions, OneNodeAddsDoublesFromTheLastRankToTheFirstHoweverVectorsAreCut) {
  const AddDoubles reducer;
  for (const int ranks : {1, 2, 3, 7}) {
    const Topology topology = Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks), 0), roomy);
    const Problem problem{Operation::allreduce, 5003 * sizeof(double), Rank(0), sizeof(double)};
    const std::vector<double> expected = fold<double>(ranks, 5003, reducer);
    for (const char* text :
         {"gather_reduce,cell=1K,cells=3", "gather_reduce,within=single_copy", "rabenseifner,cell=4K,cells=1",
          "rabenseifner,cell=1000,cells=5", "recursive_doubling,within=single_copy", "ring,cell=16K,cells=2"})
      for (const auto& result :
           allreduce<double>(topology, problem, choice::parse_choice(problem.operation, text), reducer))
        EXPECT_TRUE(result == expected) << text << ", " << ranks << " ranks";
  }
}

TEST(Reductions, AllRanksGetTheSameBitsOnEveryPlacement) {
  const AddDoubles reducer;
  for (const testing::Placement& placement : testing::placements()) {
    const Topology topology = Topology::from_nodes(placement.node_of, roomy);
    const Problem problem{Operation::allreduce, 2001 * sizeof(double), Rank(0), sizeof(double)};
    for (const char* text : {"gather_reduce", "rabenseifner", "recursive_doubling,segment=2K", "ring"}) {
      const auto results = allreduce<double>(
          topology, problem, choice::parse_choice(problem.operation, std::string(text) + ",cell=1K"), reducer);
      for (const auto& result : results) EXPECT_TRUE(result == results.front()) << text << " on " << placement.name;
    }
  }
}

TEST(Reductions, MatricesAreMultipliedInRankOrderOnEveryPlacement) {
  const Multiply reducer;
  for (const testing::Placement& placement : testing::placements()) {
    const Topology topology = Topology::from_nodes(placement.node_of, roomy);
    const Problem problem{Operation::allreduce, 301 * sizeof(Matrix), Rank(0), sizeof(Matrix), false};
    const std::vector<Matrix> expected = fold<Matrix>(topology.ranks(), 301, reducer);
    int applied = 0;
    for (const char* text : {"gather_reduce", "gather_reduce,segment=1K", "rabenseifner", "recursive_doubling"}) {
      const plan::Choice choice = choice::parse_choice(problem.operation, std::string(text) + ",cell=512,cells=3");
      if (!why_invalid(topology, problem, choice).empty()) continue;
      ++applied;
      for (const auto& result : allreduce<Matrix>(topology, problem, choice, reducer))
        EXPECT_TRUE(result == expected) << text << " on " << placement.name;
    }
    EXPECT_GE(applied, 2) << placement.name;
  }
}

TEST(Reductions, TheBuiltInChoiceIsCorrectAtEverySizeAndElement) {
  for (const testing::Placement& placement : testing::placements())
    for (const bool single_copy : {false, true})
      for (const Operation operation :
           {Operation::reduce, Operation::allreduce, Operation::reduce_scatter, Operation::scan, Operation::exscan})
        for (const Bytes element : {Bytes{1}, Bytes{8}, Bytes{12}, Bytes{1000}})
          for (const Bytes bytes : {Bytes{0}, Bytes{1} << 10, Bytes{70} << 10, Bytes{600} << 10})
            for (const bool is_commutative : {true, false}) {
              const Topology topology = Topology::from_nodes(placement.node_of, {single_copy, false, 64 << 10});
              Problem problem{operation, (bytes + element - 1) / element * element, Rank(0), element, is_commutative};
              const plan::Choice choice = choice::choose(topology, problem);
              const std::string why = why_invalid(topology, problem, choice);
              EXPECT_EQ(why, "");
              if (!why.empty() || bytes > (Bytes{70} << 10)) continue;
              const auto found = verify::verify(build_plan(topology, problem, choice));
              EXPECT_TRUE(found.empty()) << name(operation) << " " << problem.bytes << " on " << placement.name << ": "
                                         << verify::to_string(found.front());
            }
}

}  // namespace
}  // namespace espalier::algorithms
