#pragma once
// How long a node's ranks take for what src/smp builds: one closed form per builder, evaluated in nanoseconds.

#include <algorithm>

#include "cost/parameters.hpp"
#include "plan/choice.hpp"

namespace espalier::cost {

/// A phase in which some ranks of a node write a stretch each, and all or some take what they want of it
/// (smp/phases.hpp).
struct Phase {
  double stretch = 0;   ///< bytes of one writer
  double run = 0;       ///< bytes of it that are one run where a reader wants them
  double writers = 1;   ///< ranks that write
  double taken = 1;     ///< stretches that one reader takes
  double readers = 1;   ///< ranks that take something
  bool is_both = true;  ///< writers are readers, too
};

/// The largest node of a topology under a choice of cells or single copy. All times are microseconds from the common
/// start to the last rank's end; sizes are bytes, as doubles, since they only take part in times. Follows the play of
/// cost/estimate.hpp: ranks run side by side, a flag is seen one line's way after it was posted, a pipeline runs at the
/// pace of its slowest part. Oversubscribed nodes share their cores: the work of all ranks divided by the cores bounds
/// from below, and every wait hands over a core. Needs choice.cell >= 1.
class NodeTime {
 public:
  NodeTime(const Parameters& parameters, const plan::Choice& choice, int ranks, bool is_oversubscribed);

  int ranks() const { return ranks_; }

  /// One writer's bytes to all its neighbours (smp/move/spread.hpp).
  double spread(double bytes) const;
  /// What spread() keeps the writer from doing anything else.
  double spread_writer(double bytes) const;
  /// What it keeps one of the others busy: the pace of a node that is spread one segment after the other.
  double spread_reader(double bytes) const;
  /// Everyone's block to one leader (smp/move/collect.hpp).
  double collect(double block) const;
  /// One writer's blocks, to each its own (smp/move/deal.hpp); in_place: the network has written them into the cells.
  double deal(double block) const;
  double deal_in_place(double block) const;
  /// Everyone's block to everyone (smp/move/exchange.hpp), and a different one to each (smp/move/swap.hpp).
  double exchange(double block) const;
  double swap(double block) const;
  /// Everyone's vector combined (smp/reduce/node.hpp), for the leader, so many vectors one behind the other, or for
  /// all.
  double reduce_to_leader(double bytes, double vectors = 1) const { return reduce(bytes, vectors, false); }
  double reduce_to_all(double bytes) const { return reduce(bytes, 1, true); }
  /// What the leader has to everyone (the same file).
  double hand_out(double bytes) const;
  /// Everyone combines everybody's vector for itself, or those of the ranks below (smp/reduce/apart.hpp).
  double fold_all(double bytes) const;
  double fold_prefix(double bytes, bool is_exclusive) const;
  /// Everyone combines its own block of all vectors (reduce_blocks in the same file).
  double reduce_blocks(double block) const;

  /// A block along each of so many edges to neighbours and from them (smp/move/edges.hpp), in so many parts of a cell.
  double along_edges(double block, double edges, double parts) const;

  double phase(const Phase& phase) const;
  /// Until the next phase may begin: what a phase keeps its busiest rank from doing anything else.
  double phase_work(const Phase& phase) const;
  /// Each of `masters` ranks folds its slice of everyone's vector, all at once (algorithms/parts/masters_fold.hpp).
  double fold_slices(double slice, double groups, double masters) const;

  double copy(double bytes) const { return timed(is_.copy, bytes); }
  double put(double bytes) const { return timed(is_.put, bytes); }
  double get(double bytes) const { return timed(is_.get, bytes); }
  /// With an operand of one's own, or out of a neighbour's cell.
  double combine(double bytes) const { return timed(is_.reduce, bytes); }
  double combine_cell(double bytes) const { return std::max(get(bytes), combine(bytes)); }
  /// By one rank, or while others do the same.
  double single_copy(double bytes) const { return timed(is_.single_copy, bytes); }
  double single_copies(double bytes) const { return bytes > 0 ? single_copy(bytes) + is_.together : 0; }
  /// Posting a flag until all who wait for it run, or until one does.
  double flag() const { return flag_; }
  double flag_to_one() const { return is_.flag + 2 * is_.step + (is_oversubscribed_ ? is_.yield : 0); }

 private:
  /// Equal pieces that travel through cells, or that are folded at once.
  struct Pieces {
    double count;
    double bytes;  ///< of one
  };
  Pieces cut(double bytes, double limit) const;
  double timed(const Line& line, double bytes) const { return bytes > 0 ? line.of(bytes) + is_.step : 0; }
  double on_cores(double path, double work) const;
  double pipeline(const Pieces& pieces, double write, double read, double readers) const;
  double pull_phase(const Phase& phase) const;
  /// What the writer pushes to each reader of a spread under single copy.
  double pushed_share(double bytes) const;
  double reduce(double bytes, double vectors, bool for_all) const;
  double reduce_through_cells(double bytes, double vectors, bool for_all) const;
  double reduce_by_single_copy(double bytes, double vectors, bool for_all) const;
  double fold(double bytes) const;
  double fold_pulled(double bytes) const;
  /// Of one vector, when a rank pulls all its neighbours' into its cache.
  double pulled_at_once() const;
  /// When everyone copies from one rank, or to it.
  double rooted_copy(double bytes) const { return bytes > 0 ? single_copy(bytes) + (others_ - 1) * is_.together : 0; }

  const Parameters& is_;
  int ranks_;
  double others_;  ///< ranks - 1
  bool is_single_copy_;
  bool is_oversubscribed_;
  double cell_;
  double cells_;
  double flag_;
};

}  // namespace espalier::cost
