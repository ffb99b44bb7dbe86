#include "verify/plans/exhaustive.hpp"

#include <limits>
#include <set>
#include <utility>

#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "plan/graphs.hpp"
#include "plan/knobs.hpp"
#include "verify/plans/places.hpp"

namespace espalier::verify {

using plan::Choice;
using plan::Operation;
using plan::Problem;
using plan::Within;
using topology::Topology;

namespace {

struct SmallMachine {
  Topology topology;
  std::uint64_t places = 0;
};

/// Each placement with first ranks as leaders; blocks and unequal nodes also with leaders by invented facts.
std::vector<SmallMachine> machines(int ranks) {
  // Nodes of 4, 1, 2 and 3 ranks in turn.
  static constexpr int unequal[] = {0, 0, 0, 0, 1, 2, 2, 3, 3, 3};
  std::vector<std::vector<int>> forms(6);
  for (int r = 0; r < ranks; ++r) {
    forms[0].push_back(0);
    forms[1].push_back(r);
    forms[2].push_back(r / 4);
    forms[3].push_back(r % 2);
    forms[4].push_back(r % 5);
    forms[5].push_back(r / 10 * 4 + unequal[r % 10]);
  }
  std::vector<SmallMachine> all;
  for (const std::vector<int>& node_of : forms) all.push_back({Topology::from_nodes(node_of, {.single_copy = true})});
  for (const int form : {2, 5}) {
    const auto places = static_cast<std::uint64_t>(ranks);
    all.push_back({Topology::from_nodes(forms[form], {.single_copy = true}, draw_places(forms[form], places)), places});
  }
  return all;
}

/// Of so few ranks each is the root, and each knob has every value, whatever is turned; of more the first, one in the
/// middle and the last are roots where a knob is turned.
constexpr int few_ranks = 7;

constexpr int any_ranks = std::numeric_limits<int>::max();

/// Knobs with the values that are tried beside the usual one, each by itself. What an algorithm does not have, or not
/// with that value, is left out.
struct Variation {
  const char* knob;
  std::vector<const char*> values;
  int most_ranks = 9;  ///< of larger machines, which take longer to prove than all smaller ones, it is left out
};

const std::vector<Variation>& variations() {
  static const std::vector<Variation> all = {
      {"radix", {"3", "5"}, any_ranks},
      {"groups", {"1", "3"}},
      {"exchange", {"ring", "bruck", "recursive_doubling"}},
      {"connections", {"1"}},
      {"staging", {"copy", "zero_copy"}},
      {"leaders", {"spread"}},
      {"order", {"natural", "depth", "bine"}},
      {"stores", {"streaming"}},
      {"levels", {"2", "3"}, any_ranks},
  };
  return all;
}

Choice usual_choice(const plan::Between& between, Within within) { return {between, within, 2, 1024, 320, 3}; }

/// The usual choice, and those with one knob turned. Exchanges meet every number of groups and every radix, since both
/// say who exchanges with whom.
/// Of more than `few_ranks` one value of each knob.
std::vector<Choice> choices(const algorithms::Algorithm& algorithm, int ranks) {
  const bool has_few_ranks = ranks <= few_ranks;
  std::vector<Choice> all;
  const auto turn = [&](Choice choice, const char* knob, const char* value) {
    if (!algorithm.has_knob(knob)) return;
    plan::find_knob(knob).set(choice, value);
    all.push_back(choice);
  };
  for (const Within within : {Within::cells, Within::single_copy}) {
    const Choice usual = usual_choice(algorithm.between, within);
    all.push_back(usual);
    for (const Variation& variation : variations())
      for (std::size_t i = 0; ranks <= variation.most_ranks && i < (has_few_ranks ? variation.values.size() : 1); ++i)
        turn(usual, variation.knob, variation.values[i]);
    if (!has_few_ranks) continue;
    for (const char* exchange : {"ring", "bruck", "recursive_doubling"}) {
      Choice choice = usual;
      plan::find_knob("exchange").set(choice, exchange);
      for (const auto& [knob, value] : {std::pair{"groups", "1"}, {"groups", "3"}, {"radix", "3"}})
        if (algorithm.has_knob("exchange")) turn(choice, knob, value);
    }
  }
  return all;
}

/// More than a cell, than all cells, than a segment; and not a multiple of any of them. For operations with a block for
/// every rank, blocks that differ, one of them empty.
constexpr Bytes uneven_bytes = 2101;

std::vector<Bytes> uneven_counts(Operation operation, int ranks) {
  if (operation != Operation::scatter && operation != Operation::gather && operation != Operation::allgather &&
      operation != Operation::alltoall && operation != Operation::reduce_scatter)
    return {};
  std::vector<Bytes> counts(static_cast<std::size_t>(operation == Operation::alltoall ? ranks * ranks : ranks));
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = i % 3 * 707;
  return counts;
}

/// Every rank to those one, two and five to the right, twice to the last of them, and some to itself.
std::vector<plan::Edge> edges_of(Operation operation, int ranks, bool is_uneven) {
  std::vector<plan::Edge> edges;
  if (!has_edges(operation)) return edges;
  const bool is_one_block = operation == Operation::neighbor_allgather;
  std::vector<Bytes> output(static_cast<std::size_t>(ranks), 8);
  for (int from = 0; from < ranks; ++from) {
    const std::vector<int> distances = from % 3 == 0 ? std::vector{1, 2, 5, 5, 0} : std::vector{1, 2, 5, 5};
    Bytes input = 0;
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const int to = (from + distances[i]) % ranks;
      const std::size_t drawn = is_one_block ? 0 : i;
      const Bytes bytes = is_uneven ? (static_cast<std::size_t>(from) + drawn) % 3 * 707 : uneven_bytes;
      Bytes& end = output[static_cast<std::size_t>(to)];
      edges.push_back({Rank(from), Rank(to), bytes, input, end, static_cast<int>(drawn),
                       is_one_block ? 1 : static_cast<int>(distances.size())});
      end += bytes;
      if (!is_one_block) input += bytes;
    }
  }
  return edges;
}

void prove_along_edges(const SmallMachine& machine, Operation operation, const Choice& choice, Outcome& outcome);

void prove_if_valid(const Specimen& specimen, Outcome& outcome) {
  if (!outcome.is_hopeless() && algorithms::why_invalid(specimen.topology, specimen.problem, specimen.choice).empty()) {
    prove(specimen, outcome);
    ++outcome.checked;
  }
}

std::set<int> roots_of(Operation operation, int ranks, bool is_usual) {
  if (!has_root(operation)) return {0};
  if (!is_usual && ranks > few_ranks) return {0, ranks / 2, ranks - 1};
  std::set<int> all;
  for (int root = 0; root < ranks; ++root) all.insert(root);
  return all;
}

void prove_from_roots(const SmallMachine& machine, Operation operation, const Choice& choice, Outcome& outcome) {
  if (has_edges(operation)) return prove_along_edges(machine, operation, choice, outcome);
  const Topology& topology = machine.topology;
  const std::vector<Bytes> counts = uneven_counts(operation, topology.ranks());
  for (const int root : roots_of(operation, topology.ranks(), choice == usual_choice(choice.between, choice.within))) {
    Problem problem{operation, operation == Operation::barrier ? 0 : uneven_bytes, Rank(root)};
    prove_if_valid({topology, problem, choice, machine.places}, outcome);
    if (!counts.empty()) {
      problem.counts = counts;
      prove_if_valid({topology, problem, choice, machine.places}, outcome);
    }
    if (is_reduction(operation)) {
      problem.is_symmetric = false;
      prove_if_valid({topology, problem, choice, machine.places}, outcome);
      problem.is_commutative = false;
      prove_if_valid({topology, problem, choice, machine.places}, outcome);
    }
  }
}

void prove_along_edges(const SmallMachine& machine, Operation operation, const Choice& choice, Outcome& outcome) {
  for (const bool is_uneven : {false, true}) {
    const Problem problem = plan::with_edges({operation, is_uneven ? 0 : uneven_bytes}, machine.topology,
                                             edges_of(operation, machine.topology.ranks(), is_uneven));
    prove_if_valid({machine.topology, problem, choice, machine.places}, outcome);
  }
}

}  // namespace

Outcome verify_exhaustive(int first, int last, const std::function<bool(int)>& progress) {
  Outcome outcome;
  for (int ranks = first; ranks <= last; ++ranks) {
    for (const SmallMachine& machine : machines(ranks))
      for (const algorithms::Algorithm& algorithm : algorithms::algorithms())
        for (const Choice& choice : choices(algorithm, ranks))
          prove_from_roots(machine, algorithm.operation, choice, outcome);
    if (outcome.is_hopeless() || (progress && !progress(ranks))) break;
  }
  return outcome;
}

}  // namespace espalier::verify
