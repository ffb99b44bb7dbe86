#include "algorithms/allgather/group_exchange.hpp"

#include "algorithms/words.hpp"

namespace espalier::algorithms {

using groups::Nodes;
using groups::Round;

std::vector<Round> derive_rounds(plan::Exchange exchange, int node, int nodes) {
  switch (exchange) {
    case plan::Exchange::direct: return groups::derive_direct(node, nodes);
    case plan::Exchange::ring: return groups::derive_ring(node, nodes);
    case plan::Exchange::bruck: return groups::derive_bruck(node, nodes);
    case plan::Exchange::recursive_doubling: return groups::derive_recursive_doubling(node, nodes);
  }
  return {};
}

GroupExchange::GroupExchange(plan::Builder& builder, const GroupData& data, const GroupShares& group,
                             const plan::Choice& choice)
    : builder_(builder),
      data_(data),
      group_(group),
      segment_(choice.segment),
      receives_(builder),
      sends_(builder, choice) {}

void GroupExchange::receive(std::span<const Round> rounds) {
  for (const Round& round : rounds)
    for (const Nodes& nodes : round.incoming) {
      if (nodes.count == 0) continue;
      const Segments segments(group_.stretch(nodes), segment_);
      for (int i = 0; i < segments.count(); ++i) receive(round.from, segments.at(i));
    }
}

void GroupExchange::send(std::span<const Round> rounds) {
  for (const Round& round : rounds)
    for (const Nodes& nodes : round.outgoing) {
      if (nodes.count == 0) continue;
      const Segments segments(group_.stretch(nodes), segment_);
      for (int i = 0; i < segments.count(); ++i) send(round.to, segments.at(i));
    }
}

void GroupExchange::receive(int from, const GroupStretch& segment) {
  if (segment.bytes == 0) return;
  int messages = 0;
  data_.for_each_run(group_, segment, [&](Bytes, const smp::Range& into) {
    receives_.add(builder_.recv(group_.master(from), into.buffer, into.offset, into.bytes));
    ++messages;
  });
  messages_.push_back(messages);
}

void GroupExchange::send(int to, const GroupStretch& segment) {
  data_.for_each_run(group_, segment, [&](Bytes, const smp::Range& from) {
    sends_.make_room();
    sends_.add(builder_.send(group_.master(to), from.buffer, from.offset, from.bytes));
  });
}

void GroupExchange::finish_segment() {
  if (messages_.empty()) return;
  for (int i = 0; i < messages_.front(); ++i) receives_.finish_oldest();
  messages_.pop_front();
}

void GroupExchange::finish_receives() {
  while (!messages_.empty()) finish_segment();
}

int GroupSpread::turns() const {
  int most = 0;
  for (int r = 0; r < builder_.node_size(); ++r) {
    int count = 0;
    data_.for_each_group_of(LocalRank(r), [&](const GroupShares&) { ++count; });
    most = std::max(most, count);
  }
  return most;
}

void GroupSpread::pass_turn(const std::vector<GroupStretch>& stretches, int turn) {
  // Which group each rank writes.
  std::vector<const GroupShares*> written(static_cast<std::size_t>(builder_.node_size()), nullptr);
  for (int r = 0; r < builder_.node_size(); ++r) {
    int number = 0;
    data_.for_each_group_of(LocalRank(r), [&](const GroupShares& group) {
      if (number++ == turn) written[static_cast<std::size_t>(r)] = &group;
    });
  }
  const auto group_of = [&](LocalRank r) { return written[static_cast<std::size_t>(r.value)]; };
  const auto stretch_of = [&](LocalRank r) {
    return group_of(r) == nullptr ? GroupStretch{} : stretches[static_cast<std::size_t>(group_of(r)->group())];
  };
  const LocalRank me = builder_.local();
  phases_.run([&](LocalRank r) { return stretch_of(r).bytes; },
              [&](Bytes offset, Bytes bytes, auto put) {
                const Bytes first = stretch_of(me).offset + offset;
                data_.for_each_run(*group_of(me), {first, bytes},
                                   [&](Bytes at, const smp::Range& from) { put(from, at - first); });
              },
              [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
                if (writer != me || masters_read_)
                  take(*group_of(writer), {stretch_of(writer).offset + offset, bytes}, writer == me, get);
              });
}

void GroupSpread::take(const GroupShares& group, const GroupStretch& piece, bool is_own, auto get) {
  if (is_own && !data_.is_staged()) return;  // it is there
  data_.for_each_place(group, piece, [&](Bytes at, Bytes to, Bytes bytes) {
    const smp::Range from = data_.place_of(group, at, to, bytes);
    get(smp::Range{Buffer::output, to, bytes}, smp::Source{at - piece.offset, from.buffer, from.offset});
  });
}

}  // namespace espalier::algorithms
