#pragma once
// One rank's data to its whole node, piece by piece: the node's half of a pipelined broadcast.

#include "plan/builder.hpp"
#include "smp/domains.hpp"
#include "smp/operations.hpp"
#include "smp/placement.hpp"

namespace espalier::smp {

/// Writer and readers feed it the same ranges in the same order. Through cells it is the paper's Sender_put,
/// Group_sync, Group_get, pipelined (table 1, row 1). Under single copy the readers pull straight out of the writer's
/// buffer while the writer, whose hands are free, pushes the last p-th of every piece to each of its p - 1 readers: all
/// p cores copy an equal share. With two levels (domains.hpp) relays do the same once more for their domains, a piece
/// behind.
class Spread {
 public:
  /// `source` is the writer's buffer that holds the data; readers get them into `output` as `placement` says.
  Spread(plan::Builder& builder, const plan::Choice& choice, LocalRank writer, plan::Buffer source,
         const Placement& placement);

  /// Passes on one stretch of the source, which the writer has at this point of its program.
  void pass(Bytes offset, Bytes bytes);

  /// Under single copy nobody may end before its readers have left its buffer.
  void end();

 private:
  bool is_writer() const { return builder_.local() == writer_; }
  void post_ready(int piece);
  void await_ready(int piece);
  void put_piece(Bytes offset, Bytes bytes);
  void get_piece(Bytes offset, Bytes bytes);
  void push_share(Bytes offset, Bytes bytes);
  void pull_share(Bytes offset, Bytes bytes);

  plan::Builder& builder_;
  Cells cells_;
  bool is_single_copy_;
  LocalRank writer_;
  plan::Buffer source_;
  Placement placement_;
  Hop hop_;
  int pieces_ = 0;
  bool are_readers_open_ = false;
};

}  // namespace espalier::smp
