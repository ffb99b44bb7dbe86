#pragma once
// Copies of what a call refers to, for calls that are not over when their entry point returns.

#include <memory>
#include <new>
#include <tuple>
#include <vector>

#include "mpi/native/native.hpp"
#include "mpi/setup/neighbors.hpp"

namespace espalier::mpi {

/// Whether it has one group, and all about it is known: calls on others are native's from the start.
inline bool is_intra(MPI_Comm comm) noexcept {
  const Native* mpi = find_native();
  int is_inter = 0;
  return mpi != nullptr && comm != mpi->comm_null && mpi->Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && !is_inter;
}

inline bool is_rank(MPI_Comm comm, int root) noexcept {
  int rank = 0;
  return is_intra(comm) && native().Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

/// Copies of arrays with a number for each rank. MPI wants the caller's to stay until the call is over; mpi4py's, where
/// it narrows large counts, do not, and no library minds.
class Arrays {
 public:
  /// The pointers are to the copies from now on, but for those that are null.
  template <class... Numbers>
  static Arrays keep(MPI_Comm comm, const Numbers*&... arrays) noexcept {
    Arrays kept;
    int size = 0;
    if (is_intra(comm) && native().Comm_size(comm, &size) == MPI_SUCCESS) kept.add(size, arrays...);
    return kept;
  }
  /// The same with a number for each neighbour.
  template <class Received, class Sent>
  static Arrays keep_neighbors(MPI_Comm comm, const Received& received, const Sent& sent) noexcept {
    Arrays kept;
    if (!is_intra(comm)) return kept;
    const Degrees degrees = degrees_of(comm);
    std::apply([&](auto&... arrays) { kept.add(degrees.in, arrays...); }, received);
    std::apply([&](auto&... arrays) { kept.add(degrees.out, arrays...); }, sent);
    return kept;
  }

 private:
  template <class... Numbers>
  void add([[maybe_unused]] int size, const Numbers*&... arrays) noexcept {
    try {
      (copy(arrays, static_cast<std::size_t>(size)), ...);
    } catch (const std::bad_alloc&) {
      // then they are the caller's
    }
  }
  /// An array that is given twice stays one: MPICH tells aliases by that.
  template <class Number>
  void copy(const Number*& array, std::size_t size) {
    if (array == nullptr) return;
    for (const Copy& known : copies_)
      if (known.original == array) {
        array = static_cast<const Number*>(known.copied);
        return;
      }
    const auto copied = std::make_shared<std::vector<Number>>(array, array + size);
    copies_.push_back({array, copied->data(), copied});
    array = copied->data();
  }

  struct Copy {
    const void* original;
    const void* copied;
    std::shared_ptr<const void> owner;
  };
  std::vector<Copy> copies_;
};

/// Of a call that refers to none.
struct NoArrays {};

}  // namespace espalier::mpi

// ---- arrays of counts that outlive the call, by what the entry point takes; kept by whoever has `kept` ----

#define KEEP_BCAST constexpr NoArrays kept
#define KEEP_BARRIER constexpr NoArrays kept
#define KEEP_EXCHANGE constexpr NoArrays kept
#define KEEP_ROOTED constexpr NoArrays kept
#define KEEP_REDUCE constexpr NoArrays kept
#define KEEP_REDUCE_TO_ALL constexpr NoArrays kept
#define KEEP_REDUCE_SCATTER const Arrays kept = Arrays::keep(comm, counts)
#define KEEP_ALLGATHERV const Arrays kept = Arrays::keep(comm, receive_counts, receive_displacements)
#define KEEP_SCATTERV \
  const Arrays kept = is_rank(comm, root) ? Arrays::keep(comm, send_counts, send_displacements) : Arrays()
#define KEEP_GATHERV \
  const Arrays kept = is_rank(comm, root) ? Arrays::keep(comm, receive_counts, receive_displacements) : Arrays()
#define KEEP_ALLTOALLV                                                                \
  const Arrays kept = send_buffer == MPI_IN_PLACE                                     \
                          ? Arrays::keep(comm, receive_counts, receive_displacements) \
                          : Arrays::keep(comm, receive_counts, receive_displacements, send_counts, send_displacements)
#define KEEP_ALLTOALLW                                                                                            \
  const Arrays kept = send_buffer == MPI_IN_PLACE                                                                 \
                          ? Arrays::keep(comm, receive_counts, receive_displacements, receive_types)              \
                          : Arrays::keep(comm, receive_counts, receive_displacements, receive_types, send_counts, \
                                         send_displacements, send_types)
#define KEEP_NEIGHBOR_ALLGATHERV \
  const Arrays kept = Arrays::keep_neighbors(comm, std::tie(receive_counts, receive_displacements), std::tie())
#define KEEP_NEIGHBOR_ALLTOALLV                                                                     \
  const Arrays kept = Arrays::keep_neighbors(comm, std::tie(receive_counts, receive_displacements), \
                                             std::tie(send_counts, send_displacements))
#define KEEP_NEIGHBOR_ALLTOALLW                                                                                    \
  const Arrays kept = Arrays::keep_neighbors(comm, std::tie(receive_counts, receive_displacements, receive_types), \
                                             std::tie(send_counts, send_displacements, send_types))
