#include "execute/lines/uneven_blocks.hpp"

#include <algorithm>
#include <bitset>

#include "execute/lines/block_call.hpp"
#include "execute/lines/root_share.hpp"

namespace espalier::execute {
namespace {

using plan::Operation;

/// Of the ranks' blocks, that of one.
const Block& block_of(const MaybeBlocks& blocks, int rank) { return (*blocks)[static_cast<std::size_t>(rank)]; }

/// Whether a block came, and notes how much of it.
bool take(const UnevenCall& it, int block, const MaybeBytes& came) {
  if (came && !it.taken.empty()) it.taken[static_cast<std::size_t>(block)] = *came;
  return came.has_value();
}

/// For every other rank, beginning behind this one: not all at the same rank at once.
template <class Each>
void for_each_other(const BlockCall& call, Each each) {
  const int me = call.me().value;
  for (int r = me + 1; r < call.ranks(); ++r) each(r);
  for (int r = 0; r < me; ++r) each(r);
}

/// Who still copies between this rank's memory and its own.
using Busy = std::bitset<most_uneven_ranks>;

/// Waits until those are done, having said that this rank is.
void wait_for(BlockCall& call, const Busy& others) {
  if (others.none()) return;
  call.finish();
  for_each_other(call, [&](int r) {
    if (others[static_cast<std::size_t>(r)]) call.wait_for_finish(LocalRank(r));
  });
}

/// From this size on, together, leaves of a gather push their blocks and both ends of a block copy it.
constexpr Bytes most_by_one = 48 << 10;

/// How the long blocks of a scatter or gather are shared between the root and the other ends, as the root decides: all
/// ranks copy for as long, if the root's own block leaves it time for others'.
class Shares {
 public:
  /// All to the other ends.
  Shares() = default;
  /// `own`: bytes of its own block that the root has to copy.
  Shares(const BlockCall& call, const MaybeBlocks& blocks, Bytes own) {
    if (!call.root_copies() || !blocks || !has_long(*blocks)) return;
    Bytes others = 0;
    for_each_other(call, [&](int r) { others += block_of(blocks, r).bytes; });
    of_root_ = root_share(call.ranks(), own, others);
  }
  /// What the other end copies of a block, from its front. The root's part is whole pages, and none that is not worth a
  /// call of the system.
  Bytes part(const BlockCall& call, Bytes bytes) const {
    if (of_root_ == 0 || !call.is_straight(bytes) || bytes <= most_by_one) return bytes;
    const Bytes rest = static_cast<Bytes>(of_root_ * static_cast<double>(bytes)) / page * page;
    return rest < least_rest ? bytes : bytes - rest;
  }

 private:
  /// Short blocks wait for no division.
  static bool has_long(std::span<const Block> blocks) {
    return std::any_of(blocks.begin(), blocks.end(), [](const Block& it) { return it.bytes > most_by_one; });
  }

  static constexpr Bytes page = 4 << 10, least_rest = 8 << 10;
  double of_root_ = 0;  ///< of each block
};

/// Every rank's block into this rank's message, or, where they are not sent, that they do not come.
Busy write_blocks(BlockCall& call, bool are_sent, const MaybeBlocks& blocks, std::span<Bytes> sizes,
                  const Shares& shares = {}) {
  const Message mine = call.open(call.all_lines());
  Busy takers;
  for_each_other(call, [&](int r) {
    const Message to = call.block_of(mine, r);
    if (are_sent)
      takers[static_cast<std::size_t>(r)] =
          call.write_block(to, block_of(blocks, r), shares.part(call, block_of(blocks, r).bytes));
    else
      call.write_refusal(to, sizes);
  });
  return takers;
}

/// The root's parts.
bool push_rests(BlockCall& call, const MaybeBlocks& blocks, const Shares& shares) {
  bool is_fine = true;
  for_each_other(call, [&](int r) {
    const Block& block = block_of(blocks, r);
    const Bytes part = shares.part(call, block.bytes);
    if (part < block.bytes && is_fine) is_fine = call.push_rest(LocalRank(r), block, part);
  });
  return is_fine;
}

/// Of its own block, what the root has to copy.
Bytes own_bytes(const Block& from, const Block& into) { return from.data == into.data ? 0 : from.bytes; }

UnevenOutcome scatter_from(BlockCall& call, const UnevenCall& it) {
  const bool are_sent = call.may_send(it.input);
  const Shares shares(call, it.input,
                      it.input && it.output ? own_bytes(block_of(it.input, it.root.value), it.output->front()) : 0);
  const Busy takers = write_blocks(call, are_sent, it.input, it.sizes, shares);
  if (!are_sent) return call.refuse();
  const bool fits = it.output && take(it, 0, call.copy_own(block_of(it.input, it.root.value), it.output->front()));
  call.prefetch_blocks(*it.input);
  if (!push_rests(call, it.input, shares)) return call.outcome(false);
  wait_for(call, takers);
  return call.outcome(fits);
}

UnevenOutcome scatter_to(BlockCall& call, const UnevenCall& it) {
  Message from = call.block_of(call.place(it.root, call.all_lines()), call.me().value);
  if (!call.takes_any_size() && call.read_word(from) == not_sent) return call.take_refusal(from, it.sizes);
  if (it.output) return call.outcome(take(it, 0, call.read_shared_block(from, it.output->front())));
  call.answer(from, call.read_word(from), nullptr);
  return call.takes_any_size() ? call.refuse() : call.outcome(false);
}

/// Lines of the root's reply to one leaf of a gather: where its block is to be copied, or that none goes this way, and
/// maybe all sizes. There is room for one to each in a message.
std::uint32_t lines_per_reply(const UnevenCall& it) {
  return count_lines(sizeof(Word) + std::max(2 * sizeof(Bytes), it.sizes.size_bytes()));
}
std::uint32_t lines_of_replies(const BlockCall& call, const UnevenCall& it) {
  return lines_per_reply(it) * static_cast<std::uint32_t>(call.ranks());
}
Message reply_to(int leaf, const Message& replies, const UnevenCall& it) {
  return BlockCall::part_of(replies, static_cast<std::size_t>(leaf) * lines_per_reply(it));
}

/// Whether a leaf copies its block to the root: the longest do, all at a time. The root copies shorter ones out of the
/// leaves' memory, which the system does faster. Two ranks, native ÷ ours, pulled / pushed, on a busy machine: blocks
/// of 6K 1.29 / 1.16, 24K 1.23 / 1.13, 384K 1.03 / 1.20, 1.5M 0.99 / 1.55.
bool is_pushed(const BlockCall& call, Bytes bytes) {
  return call.is_straight(bytes) && bytes > most_by_one / static_cast<Bytes>(call.ranks() - 1);
}

/// Where blocks may be too long, a leaf does not know whether others' are when it sends its own; the root says so,
/// likely before it asks. One that is pushed waits in either case.
UnevenOutcome gather_to(BlockCall& call, const UnevenCall& it) {
  const bool is_sent = call.may_send(it.input);
  const Message mine = call.open(call.lines());
  bool is_read_here = false;  // by the root
  if (!is_sent)
    call.write_refusal(mine, {});
  else if (is_pushed(call, it.input->front().bytes))
    call.write_address(mine, it.input->front(), 0);
  else
    is_read_here = call.write_block(mine, it.input->front(), it.input->front().bytes);
  for_each_other(call, [&](int r) {
    if (LocalRank(r) != it.root) call.place(LocalRank(r), call.lines());
  });
  Message reply = reply_to(call.me().value, call.place(it.root, lines_of_replies(call, it)), it);
  if (!call.takes_any_size() && call.read_word(reply) == not_sent) return call.take_refusal(reply, it.sizes);
  if (!is_sent) return call.takes_any_size() ? call.refuse() : UnevenOutcome::truncated;
  const Block& block = it.input->front();
  call.prefetch_block(call.lines(), 0, block);
  if (is_pushed(call, block.bytes)) is_read_here = call.push_block(reply, block);
  if (is_read_here) {
    call.finish();
    call.wait_for_finish(it.root);
  }
  return call.outcome(true);
}

/// Tells all leaves that no block is taken, or those where it goes that push theirs. Those that have to know whether
/// all blocks may be sent, too.
void write_replies(BlockCall& call, const UnevenCall& it, const Message& replies, bool are_taken,
                   const Shares& shares) {
  for_each_other(call, [&](int r) {
    const Message reply = reply_to(r, replies, it);
    if (!are_taken)
      call.write_refusal(reply, it.sizes);
    else if (!call.takes_any_size() || is_pushed(call, block_of(it.output, r).bytes))
      call.write_address(reply, block_of(it.output, r), shares.part(call, block_of(it.output, r).bytes));
  });
}

/// Nothing where more was sent than there is room for. Whoever pushes a block waits for a reply even then.
MaybeBytes take_block(BlockCall& call, Message message, const Block& room, const Message& reply, const Shares& shares,
                      Busy& pushers) {
  const Word sent = call.read_word(message, room.bytes);
  const bool has_room = sent <= room.bytes;
  if (sent != not_sent && is_pushed(call, sent)) {
    pushers[static_cast<std::size_t>(message.owner.value)] = has_room;
    if (has_room) call.pull_rest(message, {room.data, sent}, std::min(shares.part(call, room.bytes), sent));
    if (call.takes_any_size() && !is_pushed(call, room.bytes)) call.write_refusal(reply, {});
  } else if (has_room) {
    call.read_sent(message, {room.data, sent});
  }
  return has_room ? MaybeBytes(sent) : std::nullopt;
}

UnevenOutcome gather_from(BlockCall& call, const UnevenCall& it) {
  const bool are_taken = call.may_send(it.output);
  const Message replies = call.open(lines_of_replies(call, it));
  const Shares shares(call, it.output,
                      it.input && it.output ? own_bytes(it.input->front(), block_of(it.output, it.root.value)) : 0);
  write_replies(call, it, replies, are_taken, shares);
  bool fits = are_taken && it.input &&
              take(it, it.root.value, call.copy_own(it.input->front(), block_of(it.output, it.root.value)));
  Busy pushers;
  for_each_other(call, [&](int r) {
    const Message message = call.place(LocalRank(r), call.lines());
    if (!are_taken) return;
    const Message reply = reply_to(r, replies, it);
    fits = take(it, r, take_block(call, message, block_of(it.output, r), reply, shares, pushers)) && fits;
  });
  if (!are_taken) return call.refuse();
  wait_for(call, pushers);
  return call.outcome(fits);
}

/// Where blocks may be too long, every rank reads what all others say before it takes anything.
UnevenOutcome exchange(BlockCall& call, const UnevenCall& it) {
  const int me = call.me().value;
  bool are_all_sent = call.may_send(it.input);
  const Busy takers = write_blocks(call, are_all_sent, it.input, {});
  Message from[most_uneven_ranks];
  for_each_other(call, [&](int r) {
    from[r] = call.block_of(call.place(LocalRank(r), call.all_lines()), me);
    if (!call.takes_any_size()) are_all_sent = call.read_word(from[r]) != not_sent && are_all_sent;
  });
  if (!are_all_sent) return call.refuse();
  bool fits = it.output && take(it, me, call.copy_own(block_of(it.input, me), block_of(it.output, me)));
  for_each_other(call, [&](int r) {
    if (it.output) fits = take(it, r, call.read_block(from[r], block_of(it.output, r))) && fits;
  });
  call.prefetch_blocks(*it.input);
  wait_for(call, takers);
  return call.outcome(fits);
}

}  // namespace

Bytes longest_in_lines(Operation operation, int ranks) {
  return ranks > most_uneven_ranks ? 0 : bytes_in(lines_per_block(operation, ranks));
}

bool tells_sizes(const UnevenKind& kind, int ranks) {
  return kind.operation != Operation::alltoall && kind.longest != any_size && ranks <= most_told_ranks;
}

UnevenOutcome run_uneven_blocks(Seat& seat, const UnevenKind& kind, const UnevenCall& it, SingleCopy* single_copy,
                                Waiter& waiter) noexcept {
  try {
    BlockCall call(seat, kind, single_copy, waiter);
    const bool is_root = call.me() == it.root;
    if (kind.operation == Operation::scatter) return is_root ? scatter_from(call, it) : scatter_to(call, it);
    if (kind.operation == Operation::gather) return is_root ? gather_from(call, it) : gather_to(call, it);
    return exchange(call, it);
  } catch (const GivenUp&) {
    return UnevenOutcome::broken;
  }
}

}  // namespace espalier::execute
