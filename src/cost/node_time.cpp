#include "cost/node_time.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::cost {
namespace {

/// As src/smp has them: the least share that a writer pushes, by rank of the node, the most that a rank folds at once
/// under single copy, the least slice that is worth handing round, unless all ranks together have so much to combine,
/// and the least that they pull together rather than a leader alone.
constexpr double least_pushed_per_rank = 8 << 10;
constexpr double single_copy_slice = 128 << 10;
constexpr double least_slice = 4 << 10;
constexpr double least_shared_sum = 256 << 10;
constexpr double least_shared_pull = 160 << 10;

}  // namespace

NodeTime::NodeTime(const Parameters& parameters, const plan::Choice& choice, int ranks, bool is_oversubscribed)
    : is_(parameters),
      ranks_(ranks),
      others_(ranks - 1),
      is_single_copy_(choice.within == plan::Within::single_copy || ranks == 1),
      is_oversubscribed_(is_oversubscribed),
      cell_(static_cast<double>(choice.cell)),
      cells_(choice.cells),
      flag_(is_.flag + 2 * is_.step + (is_oversubscribed ? is_.yield * ranks / is_.cores : 0)) {}

NodeTime::Pieces NodeTime::cut(double bytes, double limit) const {
  const double count = std::max(1.0, std::ceil(bytes / limit));
  return {count, bytes / count};
}

double NodeTime::pulled_at_once() const { return std::min(single_copy_slice, 4 * single_copy_slice / others_); }

double NodeTime::on_cores(double path, double work) const {
  return is_oversubscribed_ ? std::max(path, work / is_.cores) : path;
}

/// Pieces that one rank writes and each of `readers` reads. Few cells make the writer wait until one was read.
double NodeTime::pipeline(const Pieces& pieces, double write, double read, double readers) const {
  const double around = pieces.count > cells_ ? (write + read + 2 * flag_) / cells_ : 0;
  const double period = std::max({write, read, around});
  return on_cores(write + (pieces.count - 1) * period + flag_ + read, pieces.count * (write + readers * read));
}

double NodeTime::pushed_share(double bytes) const {
  return bytes / ranks_ >= least_pushed_per_rank * ranks_ ? bytes / ranks_ : 0;
}

double NodeTime::spread(double bytes) const {
  if (ranks_ == 1 || bytes <= 0) return 0;
  if (!is_single_copy_) {
    const Pieces pieces = cut(bytes, cell_);
    return pipeline(pieces, put(pieces.bytes), get(pieces.bytes), others_);
  }
  const double share = pushed_share(bytes);
  const double pulled = flag_ + rooted_copy(bytes - share) + (share > 0 ? is_.together : 0);
  const double pushed = others_ * single_copies(share);
  return on_cores(std::max(pulled, pushed) + flag_, others_ * single_copy(bytes));
}

double NodeTime::spread_writer(double bytes) const {
  if (ranks_ == 1 || bytes <= 0) return 0;
  if (!is_single_copy_) {
    const Pieces pieces = cut(bytes, cell_);
    return pipeline(pieces, put(pieces.bytes), get(pieces.bytes), others_) - flag_ - get(pieces.bytes);
  }
  return others_ * single_copies(pushed_share(bytes));
}

double NodeTime::spread_reader(double bytes) const {
  if (ranks_ == 1 || bytes <= 0) return 0;
  if (is_single_copy_) return rooted_copy(bytes);
  const Pieces pieces = cut(bytes, cell_);
  return pieces.count * get(pieces.bytes);
}

double NodeTime::collect(double block) const {
  if (ranks_ == 1 || block <= 0) return copy(block);
  if (is_single_copy_)
    return on_cores(std::max(copy(block), 2 * flag_ + rooted_copy(block)), others_ * single_copy(block));
  const Pieces pieces = cut(block, cell_);
  const double write = put(pieces.bytes), read = others_ * get(pieces.bytes);
  const double around = pieces.count > cells_ ? (write + read + 2 * flag_) / cells_ : 0;
  const double path =
      std::max(copy(block), write + flag_) + read + (pieces.count - 1) * std::max({write, read, around});
  return on_cores(path, pieces.count * (others_ * write + read) + copy(block));
}

double NodeTime::deal(double block) const {
  if (ranks_ == 1 || block <= 0) return copy(block);
  if (is_single_copy_)
    return on_cores(std::max(copy(block), flag_ + rooted_copy(block)) + flag_, others_ * single_copy(block));
  const Pieces pieces = cut(others_ * block, cell_);
  const double part = std::min(block, pieces.bytes);
  const double write = put(pieces.bytes), read = get(part);
  const double around = pieces.count > cells_ ? (write + read + 2 * flag_) / cells_ : 0;
  const double reads = others_ * std::ceil(block / part) * read;
  const double path = write + (pieces.count - 1) * std::max(write, around) + std::max(copy(block), flag_ + read);
  return on_cores(path, pieces.count * write + reads + copy(block));
}

double NodeTime::deal_in_place(double block) const {
  return ranks_ == 1 ? get(block) : on_cores(flag_ + get(block), ranks_ * get(block));
}

double NodeTime::exchange(double block) const {
  if (ranks_ == 1 || block <= 0) return copy(block);
  if (is_single_copy_) {
    const double pulls = others_ * single_copies(block), all = pulls + copy(block);
    return on_cores(flag_ + std::max(all, pulls + flag_), ranks_ * all);
  }
  const Pieces pieces = cut(block, cell_);
  const double all = pieces.count * (put(pieces.bytes) + others_ * get(pieces.bytes)) + copy(block);
  const double waits = cells_ > 1 ? 1 : 2 * pieces.count - 1;
  return on_cores(waits * flag_ + all, ranks_ * all);
}

double NodeTime::swap(double block) const {
  if (ranks_ == 1 || block <= 0) return copy(block);
  if (is_single_copy_) return exchange(block);
  const double part = std::min(block, cell_), parts = std::ceil(block / part);
  const Pieces pieces = cut(others_ * block, std::max(part, std::floor(cell_ / part) * part));
  const double all = pieces.count * put(pieces.bytes) + others_ * parts * get(part) + copy(block);
  const double waits = cells_ > 1 ? 1 : 2 * pieces.count - 1;
  return on_cores(waits * flag_ + all, ranks_ * all);
}

double NodeTime::along_edges(double block, double edges, double parts) const {
  if (edges <= 0 || block <= 0) return 0;
  if (is_single_copy_) return on_cores(2 * flag_ + edges * single_copies(block), ranks_ * edges * single_copies(block));
  double part = std::max(std::floor(cell_ / parts), 1.0);
  if (part >= 64) part = std::floor(part / 64) * 64;
  const double rounds = std::ceil(block / part), stretch = block / rounds;
  const bool is_joined = rounds == 1 && part == block;
  const double written = is_joined || parts == 1 ? put(parts * stretch) : parts * put(stretch);
  const double all = rounds * (written + edges * get(stretch));
  const double waits = cells_ > 1 ? 1 : 2 * rounds - 1;
  return on_cores(waits * flag_ + all, ranks_ * all);
}

double NodeTime::pull_phase(const Phase& it) const {
  if (ranks_ == 1) return copy(it.stretch);
  const double runs = it.taken * std::ceil(it.stretch / it.run), bytes = it.taken * it.stretch / runs;
  const double together = it.readers / it.writers - 1 + (it.is_both ? 1 : 0);
  return runs * (single_copy(bytes) + std::max(0.0, together) * is_.together);
}

double NodeTime::phase_work(const Phase& it) const {
  if (it.stretch <= 0 || it.taken <= 0 || it.readers <= 0) return 0;
  if (is_single_copy_) return pull_phase(it);
  const Pieces pieces = cut(it.stretch, cell_);
  const double runs = std::ceil(pieces.bytes / it.run), write = put(pieces.bytes);
  const double read = it.taken * runs * get(pieces.bytes / runs);
  const double around = !it.is_both && pieces.count > cells_ ? (write + read + 2 * flag_) / cells_ : 0;
  return pieces.count * (it.is_both ? write + read : std::max({write, read, around}));
}

double NodeTime::phase(const Phase& it) const {
  if (it.stretch <= 0 || it.taken <= 0 || it.readers <= 0) return 0;
  const double flag = ranks_ == 1 ? 0 : flag_;
  if (is_single_copy_) return on_cores(2 * flag + pull_phase(it), it.readers * pull_phase(it));
  const Pieces pieces = cut(it.stretch, cell_);
  const double runs = std::ceil(pieces.bytes / it.run), write = put(pieces.bytes);
  const double read = it.taken * runs * get(pieces.bytes / runs);
  const double waits = cells_ > 1 || !it.is_both ? 1 : 2 * pieces.count - 1;
  const double rest = it.is_both ? 0 : std::min(write, read);  // a pipeline is as long as its first piece
  return on_cores(waits * flag + phase_work(it) + rest, pieces.count * (it.writers * write + it.readers * read));
}

double NodeTime::fold_slices(double slice, double groups, double masters) const {
  if (ranks_ == 1 || slice <= 0) return groups * copy(slice);
  const double turns = std::ceil(groups / masters);
  const Pieces pieces = cut(slice, cell_ / groups);
  const double write = (groups - turns) * put(pieces.bytes), folded = turns * fold(pieces.bytes);
  const double waits = cells_ > 1 ? 1 : 2 * pieces.count - 1;
  const double others = (ranks_ - masters) * groups * put(pieces.bytes);
  return on_cores(waits * flag_ + pieces.count * (write + folded),
                  pieces.count * (masters * (write + folded) + others));
}

/// Everyone's stretch by one rank. The own operand of two is read where it is; of more, somebody's must be fetched
/// first, into scratch.
double NodeTime::fold(double bytes) const {
  return others_ * combine_cell(bytes) + (ranks_ > 2 ? get(bytes) + copy(bytes) : 0);
}
double NodeTime::fold_pulled(double bytes) const {
  return others_ * (rooted_copy(bytes) + is_.together + combine(bytes)) + (ranks_ > 2 ? copy(bytes) : 0);
}

double NodeTime::reduce(double bytes, double vectors, bool for_all) const {
  if (ranks_ == 1 || bytes <= 0) return vectors * copy(bytes);
  return is_single_copy_ ? reduce_by_single_copy(bytes, vectors, for_all)
                         : reduce_through_cells(bytes, vectors, for_all);
}

double NodeTime::reduce_through_cells(double bytes, double vectors, bool for_all) const {
  Pieces pieces = cut(bytes, cell_);
  pieces.count *= vectors;
  const bool is_much = !is_oversubscribed_ && pieces.bytes * ranks_ >= least_shared_sum;
  const bool is_sliced = for_all || is_much || pieces.bytes >= least_slice * ranks_;
  if (!is_sliced) return pipeline(pieces, put(pieces.bytes), fold(pieces.bytes), 1);
  const double slice = pieces.bytes / ranks_;
  const double stage = put(pieces.bytes - slice), folded = fold(slice) + (for_all ? put(slice) : 0);
  const double collect = others_ * get(slice);
  // Folding runs a piece behind staging, collecting another one, as far as there are cells.
  const double exposed = cells_ >= 3 ? 0 : cells_ >= 2 ? flag_ : 3 * flag_;
  const double busy = stage + folded + collect;
  const double work = (for_all ? ranks_ : 1) * collect + ranks_ * (stage + folded);
  return on_cores(pieces.count * busy + (pieces.count - 1) * exposed + 2 * flag_, pieces.count * work);
}

double NodeTime::reduce_by_single_copy(double bytes, double vectors, bool for_all) const {
  // Where one rank wants the result, it folds a longer slice, since the others push theirs.
  const double led = for_all ? 1 : 3 * others_, leading = for_all ? 1 : led + 2, all = leading + others_ * led;
  Pieces pieces = cut(bytes, single_copy_slice * all / leading);
  pieces.count *= vectors;
  const bool is_sliced = for_all || pieces.bytes * ranks_ >= least_shared_pull;
  const double slice = is_sliced ? pieces.bytes * led / all : pieces.bytes;
  const double alone = is_sliced ? 0 : others_ * others_ * is_.together;  // only the leader copies
  const double handed = !is_sliced ? 0 : for_all ? others_ * single_copies(slice) : single_copies(slice);
  const double work = pieces.count * (fold_pulled(slice) - alone + handed);
  return on_cores(work + (is_sliced ? 3 : 2) * flag_, (is_sliced ? ranks_ : 1) * work);
}

double NodeTime::hand_out(double bytes) const {
  if (ranks_ == 1 || bytes <= 0) return 0;
  if (is_single_copy_) return on_cores(2 * flag_ + single_copy(bytes), others_ * single_copy(bytes));
  const Pieces pieces = cut(bytes, cell_);
  return pipeline(pieces, put(pieces.bytes), get(pieces.bytes), others_);
}

double NodeTime::fold_all(double bytes) const {
  if (ranks_ == 1 || bytes <= 0) return copy(bytes);
  if (is_single_copy_) {
    const Pieces pieces = cut(bytes, pulled_at_once());
    const double all = pieces.count * fold_pulled(pieces.bytes);
    return on_cores(2 * flag_ + all, ranks_ * all);
  }
  const Pieces pieces = cut(bytes, cell_);
  const double all = pieces.count * (put(pieces.bytes) + fold(pieces.bytes));
  const double waits = cells_ > 1 ? 1 : 2 * pieces.count - 1;
  return on_cores(waits * flag_ + all, ranks_ * all);
}

/// The last rank has most to combine, and nothing to pass.
double NodeTime::fold_prefix(double bytes, bool is_exclusive) const {
  if (ranks_ == 1 || bytes <= 0) return is_exclusive ? 0 : copy(bytes);
  const double combined = is_exclusive ? others_ - 1 : others_;
  if (is_single_copy_) {
    const Pieces pieces = cut(bytes, pulled_at_once());
    const double pulls = others_ * rooted_copy(pieces.bytes);
    // The second of two ranks has no copy to make, but one core that reads and writes beyond its cache is as slow as if
    // it had (1M: 131 us, 4M: 564 us).
    const double all =
        pieces.count * (pulls + combined * combine(pieces.bytes) + (is_exclusive ? copy(pieces.bytes) : 0));
    return on_cores(2 * flag_ + all, ranks_ * all / 2);
  }
  const Pieces pieces = cut(bytes, cell_);
  const double write = put(pieces.bytes), fetch = is_exclusive ? get(pieces.bytes) + copy(pieces.bytes) : 0;
  const double last = combined * combine_cell(pieces.bytes) + fetch;
  const double before = write + (combined - 1) * combine_cell(pieces.bytes) + (ranks_ > 2 ? fetch : copy(pieces.bytes));
  const double wait = cells_ > 1 ? 0 : 2 * flag_ + write;
  const double path = write + flag_ + last + (pieces.count - 1) * (std::max(last, before) + wait);
  return on_cores(path, pieces.count * ranks_ * (write + last / 2));
}

double NodeTime::reduce_blocks(double block) const {
  if (ranks_ == 1 || block <= 0) return copy(block);
  if (is_single_copy_) {
    const Pieces pieces = cut(block, single_copy_slice);
    const double all = pieces.count * fold_pulled(pieces.bytes);
    return on_cores(2 * flag_ + all, ranks_ * all);
  }
  const Pieces pieces = cut(block, cell_ / ranks_);
  const double all = pieces.count * (others_ * put(pieces.bytes) + fold(pieces.bytes));
  const double waits = cells_ > 1 ? 1 : 2 * pieces.count - 1;
  return on_cores(waits * flag_ + all, ranks_ * all);
}

}  // namespace espalier::cost
