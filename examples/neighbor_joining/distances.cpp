#include "distances.hpp"

#include <cctype>
#include <cmath>
#include <istream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

/// Sequences that differ in three of four letters and more are as far apart as can be said.
constexpr double farthest = 5.0;

Distances read_phylip(std::istream& input) {
  std::string line;
  std::getline(input, line);
  const int taxa = std::atoi(line.c_str());
  if (taxa < 3) throw std::runtime_error("the first line of a PHYLIP matrix is the number of taxa, three or more");
  Distances distances;
  const auto width = static_cast<std::size_t>(taxa);
  try {
    distances.values.assign(width * width, 0.0);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("there is no memory for " + std::to_string(taxa) + " taxa");
  }
  const auto at = [&](int a, int b) -> double& {
    return distances.values[static_cast<std::size_t>(a) * width + static_cast<std::size_t>(b)];
  };
  for (int row = 0; row < taxa; ++row) {
    if (!std::getline(input, line)) throw std::runtime_error("the matrix ends before its last row");
    std::istringstream words(line);
    std::string name;
    words >> name;
    distances.names.push_back(name);
    double value = 0;
    int column = 0;
    for (; column < taxa && words >> value; ++column) at(row, column) = at(column, row) = value;
    if (column < row) throw std::runtime_error("row " + name + " is too short");
  }
  return distances;
}

std::vector<std::string> read_sequences(std::istream& input, std::vector<std::string>& names) {
  std::vector<std::string> sequences;
  for (std::string line; std::getline(input, line);) {
    if (line.empty()) continue;
    if (line[0] == '>') {
      std::istringstream words(line.substr(1));
      names.emplace_back();
      words >> names.back();
      sequences.emplace_back();
    } else {
      for (const char letter : line)
        if (!std::isspace(static_cast<unsigned char>(letter)))
          sequences.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
  }
  return sequences;
}

double jukes_cantor(const std::string& a, const std::string& b) {
  int compared = 0, different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(a[i])) == 0 || std::isalpha(static_cast<unsigned char>(b[i])) == 0)
      continue;
    ++compared;
    different += a[i] != b[i];
  }
  const double inside = 1 - 4.0 / 3.0 * different / (compared == 0 ? 1 : compared);
  return compared == 0 || inside <= std::exp(-4.0 / 3.0 * farthest) ? farthest : -0.75 * std::log(inside);
}

Distances read_fasta(std::istream& input) {
  Distances distances;
  const std::vector<std::string> sequences = read_sequences(input, distances.names);
  if (sequences.size() < 3) throw std::runtime_error("three sequences or more are needed");
  for (const std::string& sequence : sequences)
    if (sequence.size() != sequences[0].size()) throw std::runtime_error("sequences are not aligned: lengths differ");
  for (const std::string& a : sequences)
    for (const std::string& b : sequences) distances.values.push_back(&a == &b ? 0 : jukes_cantor(a, b));
  return distances;
}

}  // namespace

Distances read_distances(std::istream& input) { return input.peek() == '>' ? read_fasta(input) : read_phylip(input); }
