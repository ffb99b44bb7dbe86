#pragma once
// Writes one rank's program: keeps the slots, the sizes and the rules that every program follows.

#include <cstdint>
#include <vector>

#include "plan/program.hpp"
#include "topology/topology.hpp"

namespace espalier::plan {

/// Sees the topology from one rank's place and collects that rank's steps. Cost is proportional to the steps emitted.
class Builder {
 public:
  Builder(const topology::Topology& topology, Rank me)
      : topology_(topology), me_(me), node_(topology.node_of(me)), local_(topology.local_rank(me)) {}

  const topology::Topology& topology() const { return topology_; }
  Rank me() const { return me_; }
  NodeId node() const { return node_; }
  LocalRank local() const { return local_; }
  int node_size() const { return topology_.size_of(node_); }

  /// Start a message; returns the slot to `finish` later. Slots are reused as they become free.
  std::uint32_t send(Rank to, Buffer from, Bytes offset, Bytes bytes);
  std::uint32_t recv(Rank from, Buffer into, Bytes offset, Bytes bytes);
  void finish(std::uint32_t slot);

  void put(Buffer from, Bytes offset, Bytes bytes, Bytes window_offset);
  void get(LocalRank owner, Bytes window_offset, Buffer into, Bytes offset, Bytes bytes);
  void pull(LocalRank owner, Buffer theirs, Bytes their_offset, Buffer into, Bytes offset, Bytes bytes);
  void push(LocalRank owner, Buffer theirs, Bytes their_offset, Buffer from, Bytes offset, Bytes bytes);
  void post(Flag flag, std::uint64_t tick) { emit(Step::post(flag, tick)); }
  void await(LocalRank owner, Flag flag, std::uint64_t tick) { emit(Step::await(owner, flag, tick)); }
  void copy(Buffer from, Bytes from_offset, Buffer into, Bytes into_offset, Bytes bytes);

  /// into = far o into: `far` a private buffer of this rank, or the window of `owner`.
  void reduce(Buffer far, Bytes far_offset, Buffer into, Bytes offset, Bytes bytes);
  void reduce(LocalRank owner, Bytes window_offset, Buffer into, Bytes offset, Bytes bytes);

  /// Waits until all node neighbours have posted `flag` up to `tick` in this call.
  void await_neighbours(Flag flag, std::uint64_t tick, Bytes calls_back = 0);

  /// Must come before the first write into the own window: waits until every neighbour has left the last call that used
  /// this bank. Asking twice costs nothing.
  void claim_window();

  /// Makes room for about this many further steps; a hint that saves growing step by step.
  void expect_steps(std::size_t steps) { program_.steps.reserve(program_.steps.size() + steps); }

  /// From here on steps belong to a phase; `name` must be static. Phases without steps vanish.
  void begin_phase(const char* name);

  /// Declares that neighbours reach into this rank's private buffers.
  void expose() { program_.is_exposed = true; }
  void set_stores(Stores stores) { program_.stores = stores; }
  void set_one_reader(bool has_one) { program_.has_one_reader = has_one; }
  void need_scratch(Bytes bytes) { program_.scratch_bytes = bytes; }

  /// The finished program; every rank that has node neighbours ends by posting `done`, which claim_window relies on.
  Program take() &&;

 private:
  void emit(const Step& step) { program_.steps.push_back(step); }
  std::uint32_t free_slot();
  void note_window(Bytes end);

  const topology::Topology& topology_;
  Rank me_;
  NodeId node_;
  LocalRank local_;
  Program program_;
  std::vector<std::uint32_t> free_slots_;
  bool has_window_ = false;
};

}  // namespace espalier::plan
