#pragma once
// Neighbour joining (Saitou and Nei 1987; in the form of Studier and Keppler 1988), the matrix distributed by rows.

#include <mpi.h>

#include <string>
#include <vector>

#include "distances.hpp"

/// Two clusters become one. Clusters are numbered: taxa first, then one per joint in order.
struct Joint {
  int left, right;
  double left_length, right_length;
};

/// All ranks call it, with equal distances; all return the same joints, whatever their number: the last joint of all
/// connects the two clusters that are left (its lengths add up to the distance between them).
///
/// An iteration finds the pair with the least (r - 2) d(i,j) - T(i) - T(j) among r clusters, T being sums of rows, and
/// puts one cluster in its place: a reduction to one pair, then two broadcasts of a whole row each, from the ranks that
/// own the two. Pairs are looked at by ascending distance, row by row, and no further than one could still be the least
/// with the largest T there is: the "d-filtering" of Wheeler 2009 (NINJA), section 3.
std::vector<Joint> join_neighbors(const Distances& distances, MPI_Comm comm);

/// The tree in Newick's format; the first joint of the last three clusters is the root, a trifurcation.
std::string to_newick(const std::vector<std::string>& names, const std::vector<Joint>& joints);
