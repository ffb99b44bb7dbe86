#include "smp/reduce/domains.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

Bytes half_cell(const Grain& grain, const plan::Choice& choice) {
  return std::max(grain.bytes(), grain.round_down(choice.cell / 2));
}

Cells cells_of_two(Bytes half, plan::Choice choice) {
  choice.cell = 2 * half;
  return Cells(choice);
}

Domains domains_for(const plan::Builder& builder, bool is_commutative, int levels) {
  const Domains domains = levels > 2 ? Domains::of_caches(builder.topology(), builder.node()).in_parts()
                                     : Domains(builder.topology(), builder.node());
  return is_commutative || domains.are_consecutive() ? domains : Domains::one(builder.node_size());
}

/// First ranks of all domains, then second ones: of equal domains, the shares of those that have the same slice of
/// theirs make up that slice.
std::vector<LocalRank> order_by_place(const Domains& domains) {
  std::vector<LocalRank> order;
  for (std::size_t place = 0, most = 1; place < most; ++place)
    for (int domain = 0; domain < domains.count(); ++domain) {
      const auto members = domains.members(domain);
      most = std::max(most, members.size());
      if (place < members.size()) order.push_back(members[place]);
    }
  return order;
}

}  // namespace

DomainReduction::DomainReduction(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice,
                                 LocalRank leader, Buffer result, Bytes scratch)
    : builder_(builder),
      grain_(problem),
      half_(half_cell(grain_, choice)),
      cells_(cells_of_two(half_, choice)),
      lag_(choice.cells > 1 ? 1 : 0),
      is_cut_twice_(choice.levels > 2),
      ticks_(is_cut_twice_ ? 3 : 2),
      leader_(leader),
      result_(result),
      scratch_(scratch),
      domains_(domains_for(builder, problem.is_commutative, choice.levels)),
      own_domain_(domains_.of(builder.local())) {
  const auto members = domains_.members(own_domain_);
  place_ = static_cast<int>(std::find(members.begin(), members.end(), builder.local()) - members.begin());
  if (!is_cut_twice_) return;
  final_order_ = order_by_place(domains_);
  final_place_ = static_cast<int>(std::ranges::find(final_order_, builder.local()) - final_order_.begin());
}

Bytes DomainReduction::scratch_bytes(const plan::Problem& problem, const plan::Choice& choice) {
  return half_cell(Grain(problem), choice);
}

void DomainReduction::reduce(Bytes offset, Bytes to, Bytes bytes) {
  if (builder_.node_size() == 1) return builder_.copy(Buffer::input, offset, result_, to, bytes);
  const int count = static_cast<int>((bytes + half_ - 1) / half_);
  const auto piece_at = [&](int i) {
    const Bytes begin = static_cast<Bytes>(i) * half_;
    return Piece{pieces_ + i, rounds_ + i, offset + begin, to + begin, std::min(half_, bytes - begin)};
  };
  for (int i = 0; i < count + lag_; ++i) {
    if (i < count) stage(piece_at(i));
    if (i < count) fold(piece_at(i));
    if (i < lag_) continue;
    is_cut_twice_ ? cross_twice(piece_at(i - lag_)) : cross(piece_at(i - lag_));
    collect(piece_at(i - lag_));
  }
  pieces_ += count;
  rounds_ += count + lag_;
}

Slices DomainReduction::slices_of(int domain, const Piece& piece) const {
  return Slices(grain_, piece.bytes, static_cast<int>(domains_.members(domain).size()));
}

DomainReduction::Share DomainReduction::own_share(const Piece& piece) const {
  const Slices slices = slices_of(own_domain_, piece);
  return {builder_.local(), slices.begin(place_), slices.bytes(place_)};
}

/// Who of a domain has folded which part of a stretch.
std::vector<DomainReduction::Share> DomainReduction::shares_of(int domain, const Piece& piece,
                                                               const Share& stretch) const {
  const Slices slices = slices_of(domain, piece);
  const Bytes end = stretch.offset + stretch.bytes;
  std::vector<Share> shares;
  int slice = 0;
  for (const LocalRank owner : domains_.members(domain)) {
    const Bytes from = std::max(stretch.offset, slices.begin(slice));
    const Bytes to = std::min(end, slices.begin(slice) + slices.bytes(slice));
    if (from < to) shares.push_back({owner, from, to - from});
    ++slice;
  }
  return shares;
}

DomainReduction::Share DomainReduction::final_share(const Piece& piece) const {
  const Slices slices(grain_, piece.bytes, static_cast<int>(final_order_.size()));
  return {builder_.local(), slices.begin(final_place_), slices.bytes(final_place_)};
}

/// Whose final shares a stretch is made of. Only those it touches are looked at.
std::vector<DomainReduction::Share> DomainReduction::final_shares_of(const Piece& piece, const Share& stretch) const {
  const Slices slices(grain_, piece.bytes, static_cast<int>(final_order_.size()));
  const Bytes end = stretch.offset + stretch.bytes;
  std::vector<Share> shares;
  for (auto i = static_cast<int>(stretch.offset / slices.bytes(0)); slices.begin(i) < end; ++i) {
    const Bytes from = std::max(stretch.offset, slices.begin(i)), to = std::min(end, slices.begin(i + 1));
    if (from < to) shares.push_back({final_order_[static_cast<std::size_t>(i)], from, to - from});
  }
  return shares;
}

/// Where a share's sum comes to lie: where it is wanted, if it is.
Range DomainReduction::sum_of(const Piece& piece, const Share& share) const {
  return wants(builder_.local()) ? Range{result_, piece.to + share.offset, share.bytes}
                                 : Range{Buffer::scratch, scratch_, share.bytes};
}

/// My input into my cell, but for the slice that I fold myself.
void DomainReduction::stage(const Piece& piece) {
  const Share own = own_share(piece);
  await_free_cell(builder_, cells_, piece.number);
  builder_.claim_window();
  const auto put = [&](Bytes begin, Bytes end) {
    if (begin < end) builder_.put(Buffer::input, piece.offset + begin, end - begin, partial_at(piece) + begin);
  };
  put(0, own.offset);
  put(own.offset + own.bytes, piece.bytes);
  if (own.bytes < piece.bytes) pair_sync(builder_, builder_.local(), piece.number);
}

/// From the last member down, because `reduce` puts the far operand on the left.
void DomainReduction::fold(const Piece& piece) {
  const Share own = own_share(piece);
  if (own.bytes == 0) return;
  const auto members = domains_.members(own_domain_);
  const Bytes cell = partial_at(piece) + own.offset;
  for (const LocalRank member : members)
    if (member != builder_.local()) pair_sync(builder_, member, piece.number);
  const bool is_last = members.back() == builder_.local();
  const Range sum = is_last ? Range{Buffer::window, cell, own.bytes} : Range{Buffer::scratch, scratch_, own.bytes};
  if (is_last)
    builder_.put(Buffer::input, piece.offset + own.offset, own.bytes, cell);
  else
    builder_.get(members.back(), cell, sum.buffer, sum.offset, sum.bytes);
  for (std::size_t i = members.size() - 1; i-- > 0;) {
    if (members[i] == builder_.local())
      builder_.reduce(Buffer::input, piece.offset + own.offset, sum.buffer, sum.offset, sum.bytes);
    else
      builder_.reduce(members[i], cell, sum.buffer, sum.offset, sum.bytes);
  }
  if (!is_last) builder_.put(sum.buffer, sum.offset, sum.bytes, cell);
  builder_.post(Flag::release, partial_tick(piece));
}

/// From the last domain down.
void DomainReduction::fold_all_domains(const Piece& piece, const Share& own, const Range& sum) {
  for (int domain = domains_.count(); domain-- > 0;)
    for (const Share& share : shares_of(domain, piece, own)) {
      const Bytes at = sum.offset + (share.offset - own.offset);
      const Bytes partial = partial_at(piece) + share.offset;
      if (share.owner != builder_.local()) builder_.await(share.owner, Flag::release, partial_tick(piece));
      if (domain == domains_.count() - 1)
        builder_.get(share.owner, partial, sum.buffer, at, share.bytes);
      else
        builder_.reduce(share.owner, partial, sum.buffer, at, share.bytes);
    }
}

/// My slice's result. My input there has been folded: it may be overwritten where the result belongs.
void DomainReduction::cross(const Piece& piece) {
  const Share own = own_share(piece);
  if (!crosses() || own.bytes == 0) return;
  const Range sum = sum_of(piece, own);
  fold_all_domains(piece, own, sum);
  if (builder_.local() == leader_ || domains_.members(own_domain_).size() == 1) return;  // nobody collects it
  builder_.put(sum.buffer, sum.offset, sum.bytes, result_at(piece) + own.offset);
  builder_.post(Flag::release, result_tick(piece));
}

/// My share of the whole, for those who have a slice that it belongs to. Everyone's input of the piece has been folded
/// by its domain where that is a partial result that I have awaited; mine by then is in my cell, or folded by me.
void DomainReduction::cross_twice(const Piece& piece) {
  const Share own = final_share(piece);
  if (own.bytes > 0) {
    const Range sum = sum_of(piece, own);
    fold_all_domains(piece, own, sum);
    builder_.put(sum.buffer, sum.offset, sum.bytes, result_at(piece) + own.offset);
    builder_.post(Flag::release, result_tick(piece));
  }
  if (crosses()) share(piece);
}

void DomainReduction::share(const Piece& piece) {
  const Share own = own_share(piece);
  if (own.bytes == 0) return;
  const bool is_collected = domains_.members(own_domain_).size() > 1 && builder_.local() != leader_;
  const Range sum = sum_of(piece, own);
  for (const Share& part : final_shares_of(piece, own)) {
    if (part.owner == builder_.local()) continue;
    const Bytes at = sum.offset + (part.offset - own.offset), in_cell = result_at(piece) + part.offset;
    builder_.await(part.owner, Flag::release, result_tick(piece));
    builder_.get(part.owner, in_cell, sum.buffer, at, part.bytes);
    if (is_collected) builder_.put(sum.buffer, at, part.bytes, in_cell);
  }
  if (is_collected) builder_.post(Flag::release, shared_tick(piece));
}

/// The other members' slices, for who wants them; then nobody's cell is needed any more.
void DomainReduction::collect(const Piece& piece) {
  const Slices slices = slices_of(own_domain_, piece);
  const auto members = domains_.members(own_domain_);
  for (std::size_t distance = 1; wants(builder_.local()) && distance < members.size(); ++distance) {
    const std::size_t i = (static_cast<std::size_t>(place_) + distance) % members.size();
    const Bytes begin = slices.begin(static_cast<int>(i)), bytes = slices.bytes(static_cast<int>(i));
    if (bytes == 0) continue;
    builder_.await(members[i], Flag::release, shared_tick(piece));
    builder_.get(members[i], result_at(piece) + begin, result_, piece.to + begin, bytes);
  }
  taken_post(builder_, piece.number);
}

}  // namespace espalier::smp
