#include "smp/move/edges.hpp"

#include <algorithm>
#include <set>

namespace espalier::smp {

using plan::Buffer;
using plan::Edge;

namespace {

constexpr Bytes line = 64;

}  // namespace

Part part_of(const Cells& cells, const Edge& edge) {
  Bytes bytes = cells.bytes / static_cast<Bytes>(edge.parts);
  if (bytes >= line) bytes = bytes / line * line;
  return {static_cast<Bytes>(edge.part) * bytes, bytes};
}

EdgeExchange::EdgeExchange(plan::Builder& builder, const plan::Choice& choice, const std::vector<Edge>& edges)
    : builder_(builder), cells_(choice), is_single_copy_(choice.within == plan::Within::single_copy) {
  const topology::Topology& topology = builder.topology();
  for (const Edge& edge : edges) {
    if (edge.bytes == 0 || topology.node_of(edge.from) != topology.node_of(edge.to)) continue;
    const bool sends = edge.from == builder.me(), gets = edge.to == builder.me();
    if (sends && gets)
      own_.push_back(edge);
    else if (sends)
      out_.push_back(edge);
    else if (gets)
      in_.push_back(edge);
  }
}

void EdgeExchange::run() { is_single_copy_ ? by_single_copy() : through_cells(); }

int EdgeExchange::rounds_of(const Edge& edge) const {
  const Bytes part = part_of(cells_, edge).bytes;
  return static_cast<int>((edge.bytes + part - 1) / part);
}

Range EdgeExchange::stretch_of(const Edge& edge, int round, Buffer buffer, Bytes begin) const {
  const Bytes part = part_of(cells_, edge).bytes, done = static_cast<Bytes>(round) * part;
  return {buffer, begin + done, std::min(part, edge.bytes - done)};
}

// A round is put before the one before it is taken, so that nobody waits for who takes; where there is a cell for it.
void EdgeExchange::through_cells() {
  int rounds = 0;
  for (const std::vector<Edge>* edges : {&out_, &in_})
    for (const Edge& edge : *edges) rounds = std::max(rounds, rounds_of(edge));
  const int ahead = cells_.count > 1 ? 1 : 0;
  if (!out_.empty()) builder_.claim_window();
  for (int round = 0; round < ahead; ++round) put_round(round);
  for (int round = 0; round < rounds; ++round) {
    put_round(round + ahead);
    if (round == 0) copy_own();
    get_round(round);
  }
  if (rounds == 0) copy_own();
}

void EdgeExchange::put_round(int round) {
  std::set<int> written;  // parts; edges of one part are of one stretch
  JoinedPuts puts(builder_, cells_);
  for (const Edge& edge : out_)
    if (round >= cells_.count && has_round(edge, round))
      await_taken(builder_, builder_.topology().local_rank(edge.to), round - cells_.count);
  for (const Edge& edge : out_)
    if (has_round(edge, round) && written.insert(edge.part).second)
      puts.add(round, stretch_of(edge, round, Buffer::input, edge.input_begin), part_of(cells_, edge).begin);
  puts.flush();
  if (!written.empty()) pair_sync(builder_, builder_.local(), round);
}

void EdgeExchange::get_round(int round) {
  LocalRank awaited{-1};
  bool is_waited_for = false;
  for (const Edge& edge : in_) {
    if (!has_round(edge, round)) continue;
    const LocalRank owner = builder_.topology().local_rank(edge.from);
    if (owner != awaited) pair_sync(builder_, owner, round);
    awaited = owner;
    receiver_get(builder_, cells_, owner, round, part_of(cells_, edge).begin,
                 stretch_of(edge, round, Buffer::output, edge.output_begin));
    is_waited_for = is_waited_for || has_round(edge, round + cells_.count);
  }
  if (is_waited_for) taken_post(builder_, round);
}

void EdgeExchange::by_single_copy() {
  if (!out_.empty()) {
    builder_.expose();
    pair_sync(builder_, builder_.local(), 0);
  }
  for (const Edge& edge : in_) {
    const LocalRank owner = builder_.topology().local_rank(edge.from);
    pair_sync(builder_, owner, 0);
    builder_.pull(owner, Buffer::input, edge.input_begin, Buffer::output, edge.output_begin, edge.bytes);
  }
  if (!in_.empty()) taken_post(builder_, 0);
  copy_own();  // while others are still reading
  for (const Edge& edge : out_) await_taken(builder_, builder_.topology().local_rank(edge.to), 0);
}

void EdgeExchange::copy_own() {
  for (const Edge& edge : own_)
    builder_.copy(Buffer::input, edge.input_begin, Buffer::output, edge.output_begin, edge.bytes);
}

}  // namespace espalier::smp
