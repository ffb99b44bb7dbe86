#include "verify/plans/random.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "plan/graphs.hpp"
#include "verify/plans/places.hpp"

namespace espalier::verify {

using plan::Choice;
using plan::Operation;
using plan::Problem;
using plan::Within;

namespace {

/// Bounds the steps of one plan, and with them the time to prove it. Pipelines show all they do within a few rounds.
constexpr Bytes most_pieces = 256;

int draw_ranks(Random& random, int most) {
  static constexpr int primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61};
  if (random.one_in(3)) return std::min(primes[random.below(std::size(primes))], most);
  // Small machines come first: their plans have most of the special cases.
  return random.one_in(2) ? random.between(1, std::min(most, 12)) : random.between(1, most);
}

void shuffle(std::vector<int>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

std::vector<int> draw_placement(Random& random, int ranks) {
  std::vector<int> node_of(static_cast<std::size_t>(ranks));
  const int nodes = random.between(1, ranks);
  const int form = random.between(0, 5);
  const int per_node = (ranks + nodes - 1) / nodes;
  for (int r = 0, unequal = 0; r < ranks; ++r) {
    int& node = node_of[static_cast<std::size_t>(r)];
    if (form == 0) node = 0;
    if (form == 1) node = r;
    if (form == 2) node = r % nodes;
    if (form == 3) node = r / per_node;
    if (form == 4) node = unequal += r > 0 && random.one_in(per_node);
    if (form == 5) node = random.between(0, nodes - 1);
  }
  if (form >= 3 && random.one_in(4)) shuffle(node_of, random);
  return node_of;
}

/// On some of those networks nodes share the cables of leaf switches.
topology::Trunks draw_trunks(Random& random, int nodes) {
  if (random.one_in(2)) return {};
  topology::Trunks trunks;
  for (int leaf = random.between(1, std::min(nodes, 4)); leaf > 0; --leaf)
    trunks.per_byte.push_back(static_cast<float>(random.between(0, 3)) * 1e-3F);
  const auto leaves = static_cast<int>(trunks.per_byte.size());
  for (int node = 0; node < nodes; ++node) trunks.leaf_of.push_back(random.between(0, leaves - 1));
  return trunks;
}

/// Half of the machines are on a network that is known: nodes on a few switches, some slow, some way round quite
/// irregular. Every algorithm takes it that these change nothing but the order of nodes.
topology::Distances draw_distances(Random& random, int nodes) {
  if (random.one_in(2)) return {};
  const bool is_irregular = random.one_in(4);
  const int classes = is_irregular ? nodes : random.between(1, std::min(nodes, 5));
  std::vector<int> class_of(static_cast<std::size_t>(nodes));
  for (int node = 0; node < nodes; ++node)
    class_of[static_cast<std::size_t>(node)] = is_irregular ? node : random.between(0, classes - 1);
  std::vector<topology::Way> ways(static_cast<std::size_t>(classes * classes));
  for (topology::Way& way : ways)
    way = {static_cast<float>(random.between(1, 8)), static_cast<float>(random.between(0, 3)) * 1e-3F};
  return topology::Distances::from_classes(std::move(class_of), std::move(ways))
      .with_trunks(draw_trunks(random, nodes));
}

Choice draw_choice(Random& random, const algorithms::Algorithm& algorithm, bool can_single_copy) {
  Choice choice;
  choice.between = algorithm.between;
  choice.within = can_single_copy && random.one_in(2) ? Within::single_copy : Within::cells;
  choice.radix = random.between(2, random.one_in(2) ? 4 : 16);
  if (random.one_in(2))
    choice.segment = (Bytes{1} << random.between(10, 16)) + (random.one_in(4) ? random.below(999) : 0);
  choice.cell = (Bytes{64} << random.between(0, 8)) + (random.one_in(4) ? random.below(63) : 0);
  choice.cells = random.between(1, 8);
  choice.groups = random.between(1, 6);
  choice.exchange = static_cast<plan::Exchange>(random.between(0, 3));
  choice.connections = random.one_in(2) ? 0 : random.between(1, 4);
  choice.staging = static_cast<plan::Staging>(random.between(0, 2));
  choice.leaders = random.one_in(3) ? plan::Leaders::spread : plan::Leaders::near;
  choice.order = static_cast<plan::Order>(random.between(0, 4));
  choice.stores = random.one_in(4) ? plan::Stores::streaming : plan::Stores::cached;
  choice.levels = random.between(1, 3);
  return choice;
}

/// A size near one of the edges at which builders decide something.
Bytes draw_bytes(Random& random, const Choice& choice, int largest_node) {
  constexpr Bytes line_payload = 56, least_share = 8 << 10;
  const Bytes edges[] = {0,
                         1,
                         line_payload,
                         choice.cell,
                         choice.cell * static_cast<Bytes>(choice.cells),
                         choice.segment,
                         least_share * static_cast<Bytes>(largest_node),
                         random.below(100000)};
  const Bytes bytes = edges[random.below(std::size(edges))] * static_cast<Bytes>(random.between(1, 3));
  const Bytes shifted = bytes + random.below(3);
  return shifted > 0 && random.one_in(2) ? shifted - 1 : shifted;
}

/// Each rank brings or takes one block for every rank.
bool has_blocks(Operation operation) {
  return operation == Operation::scatter || operation == Operation::gather || operation == Operation::allgather ||
         operation == Operation::alltoall || operation == Operation::reduce_scatter;
}

/// What one rank handles piece by piece.
Bytes limit_pieces(Bytes bytes, const Problem& problem, const Choice& choice, int ranks) {
  const Bytes unit = choice.within == Within::cells ? choice.cell : std::max<Bytes>(choice.segment, 1 << 10);
  const Bytes blocks = has_blocks(problem.operation) ? static_cast<Bytes>(ranks) : 1;
  return std::min(bytes, std::max<Bytes>(1, most_pieces * unit / blocks));
}

/// Counts that differ from rank to rank, about `bytes` each and some zero; none in most cases.
std::vector<Bytes> draw_counts(Random& random, const Problem& problem, int ranks) {
  if (!has_blocks(problem.operation) || !random.one_in(3)) return {};
  const bool is_pairwise = problem.operation == Operation::alltoall;
  std::vector<Bytes> counts(static_cast<std::size_t>(is_pairwise ? ranks * ranks : ranks));
  for (Bytes& count : counts)
    count = random.one_in(4) ? 0 : random.below(2 * problem.bytes / problem.element + 1) * problem.element;
  return counts;
}

/// A graph: sparse or dense, with several edges between two ranks and some to itself. Of one length, or each of its own
/// and then some without bytes; outputs with gaps between what comes.
Problem draw_edges(Random& random, Problem problem, const topology::Topology& topology) {
  const int ranks = topology.ranks();
  std::vector<plan::Edge> edges;
  const bool is_one_block = problem.operation == Operation::neighbor_allgather;
  const bool is_equal = random.one_in(2);
  const int most = random.between(0, std::min(ranks + 2, random.one_in(3) ? 24 : 5));
  std::vector<Bytes> output(static_cast<std::size_t>(ranks));
  for (int from = 0; from < ranks; ++from) {
    const int parts = is_one_block ? 1 : random.between(0, most);
    Bytes input = 0, bytes = is_equal ? problem.bytes : random.below(2 * problem.bytes + 1);
    for (int i = 0; i < (is_one_block ? random.between(0, most) : parts); ++i) {
      const Rank to(random.between(0, ranks - 1));
      if (!is_equal && !is_one_block) bytes = random.one_in(4) ? 0 : random.below(2 * problem.bytes + 1);
      Bytes& end = output[static_cast<std::size_t>(to.value)];
      if (random.one_in(3)) end += random.below(100);
      edges.push_back({Rank(from), to, bytes, input, end, is_one_block ? 0 : i, parts});
      end += bytes;
      if (!is_one_block) input += bytes;
    }
  }
  if (!is_equal) problem.bytes = 0;
  return plan::with_edges(std::move(problem), topology, std::move(edges));
}

/// Everything about the problem but the operation, which the algorithm gives.
Problem draw_problem(Random& random, Operation operation, const Choice& choice, const topology::Topology& topology) {
  Problem problem{operation};
  const int ranks = topology.ranks();
  if (operation != Operation::barrier)
    problem.bytes = limit_pieces(draw_bytes(random, choice, topology.largest_node()), problem, choice, ranks);
  if (is_reduction(operation)) {
    static constexpr Bytes elements[] = {1, 4, 8, 12, 16};
    problem.element = elements[random.below(std::size(elements))];
    problem.is_commutative = !random.one_in(3);
    problem.is_symmetric = random.one_in(2);
    problem.bytes = (problem.bytes + problem.element - 1) / problem.element * problem.element;
  }
  if (has_root(operation)) problem.root = Rank(random.between(0, ranks - 1));
  problem.counts = draw_counts(random, problem, ranks);
  if (has_edges(operation)) return draw_edges(random, std::move(problem), topology);
  return problem;
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  engine_.seed(words);
}

Specimen draw_specimen(Random& random, int most_ranks) {
  const int ranks = draw_ranks(random, most_ranks);
  const std::vector<int> node_of = draw_placement(random, ranks);
  const bool can_single_copy = random.one_in(2);
  const std::uint64_t places = random.one_in(2) ? 0 : random.between(1, 1 << 30);
  const topology::Capabilities can{.single_copy = can_single_copy, .turn = random.between(0, 5)};
  const topology::Topology plain = topology::Topology::from_nodes(node_of, can, draw_places(node_of, places));
  return draw_call(random, {plain.with_distances(draw_distances(random, plain.nodes())), {}, {}, places});
}

Specimen draw_call(Random& random, Specimen on) {
  const auto algorithms = algorithms::algorithms();
  do {  // some algorithms do not apply everywhere
    const algorithms::Algorithm& algorithm = algorithms[random.below(algorithms.size())];
    on.choice = draw_choice(random, algorithm, on.topology.capabilities().single_copy);
    on.problem = draw_problem(random, algorithm.operation, on.choice, on.topology);
  } while (!algorithms::why_invalid(on.topology, on.problem, on.choice).empty());
  return on;
}

Outcome verify_random(std::uint64_t count, std::uint64_t seed, const std::function<bool(std::uint64_t)>& progress) {
  Outcome outcome;
  while (outcome.checked < count && !outcome.is_hopeless()) {
    Random random(seed, outcome.checked);
    const Specimen specimen = draw_specimen(random);
    prove(specimen, outcome);
    if (random.one_in(8)) prove_in_turn(specimen, draw_call(random, specimen), outcome);
    ++outcome.checked;
    if (progress && !progress(outcome.checked)) break;
  }
  return outcome;
}

}  // namespace espalier::verify
