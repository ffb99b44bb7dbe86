#pragma once
// Input: a distance matrix (PHYLIP) or aligned sequences (FASTA).

#include <iosfwd>
#include <string>
#include <vector>

/// Names of taxa, and the distances between them row by row: taxa x taxa, symmetric.
struct Distances {
  std::vector<std::string> names;
  std::vector<double> values;

  int taxa() const { return static_cast<int>(names.size()); }
};

/// Reads either format, told apart by the first character. A PHYLIP matrix may be square or lower triangular; of
/// sequences the distances are those of Jukes and Cantor 1969, over the positions at which both have a letter. Throws
/// std::runtime_error with the reason.
Distances read_distances(std::istream& input);
