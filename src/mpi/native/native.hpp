#pragma once
// The MPI underneath, as a table of its PMPI functions and handles, found when the first collective is called.

#include <atomic>
#include <string>

#include "mpi/native/abi.hpp"

// Every function of the native library that we use, once. Those that are persistent or large may be missing (MPI 3
// libraries). A list, not code.
// clang-format off
#define ESPALIER_NATIVE_COLLECTIVES(X) \
  X(Allgather) X(Allgatherv) X(Allreduce) X(Alltoall) X(Alltoallv) X(Alltoallw) X(Barrier) X(Bcast) X(Exscan) X(Gather) X(Gatherv) \
  X(Reduce) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Scatter) X(Scatterv)
#define ESPALIER_NATIVE_FUNCTIONS(X) \
  ESPALIER_NATIVE_COLLECTIVES(X) \
  X(Cancel) X(Comm_call_errhandler) X(Comm_create) X(Comm_create_keyval) X(Comm_disconnect) X(Comm_free) X(Comm_get_attr) \
  X(Comm_get_errhandler) X(Comm_group) X(Comm_rank) X(Comm_remote_group) X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_size) \
  X(Comm_test_inter) X(Errhandler_free) X(Error_class) X(Error_string) X(Finalize) X(Finalized) X(Get_count) X(Get_library_version) X(Group_free) X(Group_size) X(Group_translate_ranks) X(Iallgather) \
  X(Iallreduce) X(Ibarrier) X(Ibcast) X(Init) X(Init_thread) X(Initialized) X(Iprobe) X(Irecv) X(Isend) X(Op_commutative) X(Pack) X(Reduce_local) \
  X(Request_get_status) X(Test) X(Test_cancelled) X(Type_commit) X(Type_create_hindexed) X(Type_free) X(Type_get_contents) \
  X(Type_get_envelope) X(Type_get_extent) X(Type_get_true_extent) X(Type_size_x) X(Unpack) X(Wait)
// What nonblocking calls take, and what completes them or waits for something else meanwhile.
#if defined(ESPALIER_SIMULATED)
#define ESPALIER_NATIVE_NONBLOCKING_FUNCTIONS(X)
#else
#define ESPALIER_NATIVE_NONBLOCKING_FUNCTIONS(X) \
  X(Grequest_complete) X(Grequest_start) X(Iallgatherv) X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Iexscan) X(Igather) \
  X(Igatherv) X(Improbe) X(Ireduce) X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iscan) X(Iscatter) X(Iscatterv) \
  X(Issend) X(Mprobe) X(Op_free) X(Pack_size) X(Probe) X(Query_thread) X(Recv) X(Send) X(Sendrecv) X(Sendrecv_replace) X(Ssend) \
  X(Request_free) X(Send_init) X(Start) X(Startall) X(Status_set_cancelled) X(Status_set_elements) X(Testall) X(Testany) X(Testsome) X(Waitall) X(Waitany) X(Waitsome) \
  X(Win_allocate) X(Win_allocate_shared) X(Win_create) X(Win_create_dynamic)
#endif
// Neighbourhood collectives, and what tells a rank's neighbours.
#if defined(ESPALIER_SIMULATED)
#define ESPALIER_NATIVE_NEIGHBOR_FUNCTIONS(X)
#else
#define ESPALIER_NATIVE_NEIGHBOR_FUNCTIONS(X) \
  X(Cart_shift) X(Cartdim_get) X(Dist_graph_neighbors) X(Dist_graph_neighbors_count) X(Graph_neighbors) \
  X(Graph_neighbors_count) X(Ineighbor_allgather) X(Ineighbor_allgatherv) X(Ineighbor_alltoall) X(Ineighbor_alltoallv) \
  X(Ineighbor_alltoallw) X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) \
  X(Neighbor_alltoallw) X(Topo_test)
#endif
// Of MPI 4.
#if defined(ESPALIER_SIMULATED)
#define ESPALIER_NATIVE_PERSISTENT_FUNCTIONS(X)
#else
#define ESPALIER_NATIVE_PERSISTENT_FUNCTIONS(X) \
  X(Allgather_init) X(Allgatherv_init) X(Allreduce_init) X(Alltoall_init) X(Alltoallv_init) X(Alltoallw_init) X(Barrier_init) \
  X(Bcast_init) X(Exscan_init) X(Gather_init) X(Gatherv_init) X(Neighbor_allgather_init) X(Neighbor_allgatherv_init) \
  X(Neighbor_alltoall_init) X(Neighbor_alltoallv_init) X(Neighbor_alltoallw_init) X(Reduce_init) X(Reduce_scatter_block_init) \
  X(Reduce_scatter_init) X(Scan_init) X(Scatter_init) X(Scatterv_init)
#endif
#if ESPALIER_HAS_LARGE_COUNTS
#define ESPALIER_NATIVE_LARGE_FUNCTIONS(X) \
  X(Allgather_c) X(Allgatherv_c) X(Allreduce_c) X(Alltoall_c) X(Alltoallv_c) X(Alltoallw_c) X(Bcast_c) X(Exscan_c) X(Gather_c) \
  X(Gatherv_c) X(Reduce_c) X(Reduce_scatter_block_c) X(Reduce_scatter_c) X(Scan_c) X(Scatter_c) X(Scatterv_c) \
  X(Type_get_envelope_c) X(Iallgather_c) X(Iallgatherv_c) X(Iallreduce_c) X(Ialltoall_c) X(Ialltoallv_c) X(Ialltoallw_c) X(Ibcast_c) \
  X(Iexscan_c) X(Igather_c) X(Igatherv_c) X(Ireduce_c) X(Ireduce_scatter_block_c) X(Ireduce_scatter_c) X(Iscan_c) \
  X(Iscatter_c) X(Iscatterv_c) X(Allgather_init_c) X(Allgatherv_init_c) X(Allreduce_init_c) X(Alltoall_init_c) \
  X(Alltoallv_init_c) X(Alltoallw_init_c) X(Bcast_init_c) X(Exscan_init_c) X(Gather_init_c) X(Gatherv_init_c) X(Reduce_init_c) \
  X(Reduce_scatter_block_init_c) X(Reduce_scatter_init_c) X(Scan_init_c) X(Scatter_init_c) X(Scatterv_init_c) \
  X(Neighbor_allgather_c) X(Neighbor_allgatherv_c) X(Neighbor_alltoall_c) X(Neighbor_alltoallv_c) X(Neighbor_alltoallw_c) \
  X(Ineighbor_allgather_c) X(Ineighbor_allgatherv_c) X(Ineighbor_alltoall_c) X(Ineighbor_alltoallv_c) \
  X(Ineighbor_alltoallw_c) X(Neighbor_allgather_init_c) X(Neighbor_allgatherv_init_c) X(Neighbor_alltoall_init_c) \
  X(Neighbor_alltoallv_init_c) X(Neighbor_alltoallw_init_c)
#else
#define ESPALIER_NATIVE_LARGE_FUNCTIONS(X)
#endif
// clang-format on
// Open MPI's Fortran handles are indices, translated by functions; elsewhere Fortran reaches the C symbols by itself.
#if defined(OPEN_MPI)
#define ESPALIER_NATIVE_FORTRAN_FUNCTIONS(X) \
  X(Comm_c2f) X(Comm_f2c) X(Info_f2c) X(Op_f2c) X(Request_c2f) X(Request_f2c) X(Type_f2c)
#else
#define ESPALIER_NATIVE_FORTRAN_FUNCTIONS(X)
#endif

namespace espalier::mpi {

/// `mpi.Bcast(...)` is PMPI_Bcast(...) of the library underneath. Immutable once found.
struct Native {
#define ESPALIER_MEMBER(name) decltype(&PMPI_##name) name = nullptr;
  ESPALIER_NATIVE_FUNCTIONS(ESPALIER_MEMBER)
  ESPALIER_NATIVE_NONBLOCKING_FUNCTIONS(ESPALIER_MEMBER)
  ESPALIER_NATIVE_NEIGHBOR_FUNCTIONS(ESPALIER_MEMBER)
  ESPALIER_NATIVE_PERSISTENT_FUNCTIONS(ESPALIER_MEMBER)
  ESPALIER_NATIVE_LARGE_FUNCTIONS(ESPALIER_MEMBER)
  ESPALIER_NATIVE_FORTRAN_FUNCTIONS(ESPALIER_MEMBER)
#undef ESPALIER_MEMBER

  MPI_Comm comm_null, comm_self, comm_world;
  MPI_Datatype byte, datatype_null, integer, packed;
  MPI_Errhandler errors_return;
  MPI_Op min, op_null;
  MPI_Request request_null;
};

namespace detail {
extern std::atomic<const Native*> native_table;   ///< null until it has been found
extern std::atomic<const Native*> foreign_table;  ///< null but where find_foreign() says so
extern std::atomic<const Native*> foreign_next;
const Native* search_native();
}  // namespace detail

/// The table, or null when no MPI can be found in this process: then one line on stderr says so, once. Thread safe;
/// after the first success one load.
inline const Native* find_native() {
  const Native* table = detail::native_table.load(std::memory_order_acquire);
  return table != nullptr ? table : detail::search_native();
}

/// The functions of an MPI whose binary interface is not this build's: then all calls are that MPI's, arguments
/// untouched, and one line on stderr has said so. Null: there is none. Known when the program begins or, of an MPI that
/// is opened later, when that is initialised.
inline const Native* find_foreign() { return detail::foreign_table.load(std::memory_order_relaxed); }

/// Who comes behind this build by MPI's names, then: other tools and builds see calls as if it were not there.
inline const Native* find_foreign_next() { return detail::foreign_next.load(std::memory_order_relaxed); }

/// The same table where it is known to exist: everywhere below an entry point.
inline const Native& native() { return *detail::native_table.load(std::memory_order_relaxed); }

/// Rank 0, as launchers tell it, or whoever is not told: before MPI runs.
bool speaks_for_all();

/// What MPI_Get_library_version says, at any time.
std::string read_native_version();

/// An object or function of the loaded MPI by name, for what has no declaration; null when there is none.
void* find_symbol(const char* name);

}  // namespace espalier::mpi
