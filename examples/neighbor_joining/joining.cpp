#include "joining.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>

namespace {

/// A cluster's distance to an older one.
struct Pair {
  double distance;
  int other;  ///< number of the cluster
  bool operator<(const Pair& than) const {
    return distance != than.distance ? distance < than.distance : other < than.other;
  }
};

/// What ranks compare: the least one wins, of equal ones that of the oldest clusters.
struct Candidate {
  double score = std::numeric_limits<double>::infinity();
  double younger = 0, older = 0;  ///< numbers of clusters; as doubles, so that three equal values travel
  bool operator<(const Candidate& than) const {
    if (score != than.score) return score < than.score;
    return younger != than.younger ? younger < than.younger : older < than.older;
  }
};

void take_least(void* in, void* inout, int* length, MPI_Datatype*) {
  const auto* theirs = static_cast<const Candidate*>(in);
  auto* ours = static_cast<Candidate*>(inout);
  for (int i = 0; i < *length; ++i) ours[i] = std::min(theirs[i], ours[i]);
}

/// A cluster sits in a slot, which is a row and a column of the matrix; rank s % ranks owns slot s. A new cluster takes
/// over the slot of one of the two it is made of.
class Joining {
 public:
  Joining(const Distances& distances, MPI_Comm comm) : comm_(comm), taxa_(distances.taxa()) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    MPI_Type_contiguous(3, MPI_DOUBLE, &candidate_);
    MPI_Type_commit(&candidate_);
    MPI_Op_create(take_least, 1, &least_);
    rows_.resize(count(taxa_));
    sorted_.resize(count(taxa_));
    cluster_in_.resize(count(taxa_));
    std::iota(cluster_in_.begin(), cluster_in_.end(), 0);
    slot_of_ = cluster_in_;
    alive_ = cluster_in_;
    for (int slot = 0; slot < taxa_; ++slot) {
      const auto row = distances.values.begin() + static_cast<std::ptrdiff_t>(slot) * taxa_;
      sums_.push_back(std::accumulate(row, row + taxa_, 0.0));
      if (owner(slot) != rank_) continue;
      rows_[count(slot)].assign(row, row + taxa_);
      for (int older = 0; older < slot; ++older) sorted_[count(slot)].push_back({row[older], older});
      std::sort(sorted_[count(slot)].begin(), sorted_[count(slot)].end());
    }
  }
  ~Joining() {
    MPI_Op_free(&least_);
    MPI_Type_free(&candidate_);
  }
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;

  std::vector<Joint> run() {
    std::vector<Joint> joints;
    while (alive_.size() > 2) joints.push_back(join(find_pair()));
    const std::vector<double> row = share_row(alive_[0]);
    joints.push_back({cluster_in_[count(alive_[0])], cluster_in_[count(alive_[1])], row[count(alive_[1])], 0});
    return joints;
  }

 private:
  static std::size_t count(int i) { return static_cast<std::size_t>(i); }
  int owner(int slot) const { return slot % ranks_; }
  double rest() const { return static_cast<double>(alive_.size()) - 2; }

  Candidate find_pair() {
    double largest = -std::numeric_limits<double>::infinity();
    for (const int slot : alive_) largest = std::max(largest, sums_[count(slot)]);
    Candidate best;
    for (const int slot : alive_)
      if (owner(slot) == rank_) search(slot, largest, best);
    Candidate least;
    MPI_Allreduce(&best, &least, 1, candidate_, least_, comm_);
    return least;
  }

  /// One row, as far as it can hold anything better; entries of clusters that are gone leave it for good.
  void search(int slot, double largest, Candidate& best) {
    std::vector<Pair>& pairs = sorted_[count(slot)];
    const double own = sums_[count(slot)];
    std::size_t kept = 0, i = 0;
    for (; i < pairs.size(); ++i) {
      if (rest() * pairs[i].distance - own - largest > best.score) break;
      const int other = slot_of_[count(pairs[i].other)];
      if (other < 0) continue;
      const double score = rest() * pairs[i].distance - own - sums_[count(other)];
      best =
          std::min(best, {score, static_cast<double>(cluster_in_[count(slot)]), static_cast<double>(pairs[i].other)});
      pairs[kept++] = pairs[i];
    }
    pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(kept), pairs.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::vector<double> share_row(int slot) {
    std::vector<double> row(count(taxa_));
    if (owner(slot) == rank_) row = rows_[count(slot)];
    MPI_Bcast(row.data(), taxa_, MPI_DOUBLE, owner(slot), comm_);
    return row;
  }

  Joint join(const Candidate& pair) {
    const int left = slot_of_[count(static_cast<int>(pair.younger))];
    const int right = slot_of_[count(static_cast<int>(pair.older))];
    const std::vector<double> to_left = share_row(left), to_right = share_row(right);
    const double between = to_left[count(right)];
    const double left_length = between / 2 + (sums_[count(left)] - sums_[count(right)]) / (2 * rest());
    const Joint joint{cluster_in_[count(left)], cluster_in_[count(right)], left_length, between - left_length};
    replace(left, right, to_left, to_right);
    return joint;
  }

  /// The new cluster takes the slot `left`; `right` is gone.
  void replace(int left, int right, const std::vector<double>& to_left, const std::vector<double>& to_right) {
    slot_of_[count(cluster_in_[count(left)])] = slot_of_[count(cluster_in_[count(right)])] = -1;
    alive_.erase(std::find(alive_.begin(), alive_.end(), right));
    std::vector<double> row(count(taxa_));
    std::vector<Pair> pairs;
    sums_[count(left)] = 0;
    for (const int slot : alive_) {
      if (slot == left) continue;
      const double distance = (to_left[count(slot)] + to_right[count(slot)] - to_left[count(right)]) / 2;
      row[count(slot)] = distance;
      sums_[count(slot)] += distance - to_left[count(slot)] - to_right[count(slot)];
      sums_[count(left)] += distance;
      if (owner(slot) == rank_) rows_[count(slot)][count(left)] = distance;
      if (owner(left) == rank_) pairs.push_back({distance, cluster_in_[count(slot)]});
    }
    cluster_in_[count(left)] = static_cast<int>(slot_of_.size());
    slot_of_.push_back(left);
    if (owner(left) == rank_) {
      std::sort(pairs.begin(), pairs.end());
      rows_[count(left)] = std::move(row);
      sorted_[count(left)] = std::move(pairs);
    }
    rows_[count(right)] = {};
    sorted_[count(right)] = {};
  }

  MPI_Comm comm_;
  MPI_Datatype candidate_{};
  MPI_Op least_{};
  int taxa_;
  int rank_ = 0;
  int ranks_ = 1;
  std::vector<std::vector<double>> rows_;  ///< by slot; of own slots
  std::vector<std::vector<Pair>> sorted_;  ///< by slot, ascending; of own slots, to clusters older than the slot's
  std::vector<double> sums_;               ///< by slot: of distances to all that are alive
  std::vector<int> cluster_in_;            ///< by slot
  std::vector<int> slot_of_;               ///< by cluster; -1 when it is gone
  std::vector<int> alive_;                 ///< slots, ascending
};

std::string branch(const std::string& subtree, double length) {
  char text[40];
  std::snprintf(text, sizeof text, ":%.6f", length);
  return subtree + text;
}

}  // namespace

std::vector<Joint> join_neighbors(const Distances& distances, MPI_Comm comm) { return Joining(distances, comm).run(); }

std::string to_newick(const std::vector<std::string>& names, const std::vector<Joint>& joints) {
  std::vector<std::string> subtrees = names;
  for (std::size_t i = 0; i + 1 < joints.size(); ++i) {
    const Joint& joint = joints[i];
    subtrees.push_back("(" + branch(subtrees[static_cast<std::size_t>(joint.left)], joint.left_length) + "," +
                       branch(subtrees[static_cast<std::size_t>(joint.right)], joint.right_length) + ")");
  }
  // The younger of the last two is a joint; the other hangs from it.
  const Joint& last = joints.back();
  std::string root = subtrees[static_cast<std::size_t>(std::max(last.left, last.right))];
  root.back() = ',';
  return root + branch(subtrees[static_cast<std::size_t>(std::min(last.left, last.right))], last.left_length) + ");";
}
