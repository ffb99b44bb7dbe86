#pragma once
// What the built-in choice compares inside nodes, whatever happens between them.

#include <vector>

#include "algorithms/words.hpp"
#include "cost/parameters.hpp"

namespace espalier::algorithms {

/// Collects choices: to each that says what happens between nodes the ways of doing it inside them.
class NodeCandidates {
 public:
  NodeCandidates(const topology::Topology& topology, const Problem& problem, const cost::Parameters& parameters);

  /// Through cells of several sizes, and by single copy where that is worth it.
  void add(Choice choice);
  void add_cells(Choice choice);
  /// Cells as long as the window allows, one or four of them.
  void add_long_cells(Choice choice);
  /// As many cells of 32K as the window holds, for who lays out whole rounds in them.
  void add_whole_window(Choice choice);

  std::vector<Choice> take() && { return std::move(all_); }

 private:
  bool is_single_copy_worth_it() const;
  bool is_slower_by_the_kernel() const;
  bool all_write_on_shared_cores() const;
  bool folds_on_many_cores() const;
  bool shares_cores_of_one_node() const;
  bool writes_past_caches() const;
  bool is_scan() const;
  void add_cells_for_edges(Choice choice);
  int cells_in_one_stage(const Choice& choice) const;

  const topology::Topology& topology_;
  const Problem& problem_;
  Bytes passed_;
  Bytes window_;
  int cores_;            ///< that the ranks of a node share, where they are fewer
  double fills_;         ///< all ranks' buffers, in last-level caches
  plan::Stores stores_;  ///< of results that are taken out of cells
  std::vector<Choice> all_;
};

}  // namespace espalier::algorithms
