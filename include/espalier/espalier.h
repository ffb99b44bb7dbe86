/* Espalier: fast MPI collectives over shared memory and any MPI library.
 *
 * Programs need none of this: a preloaded Espalier already stands in front of MPI's blocking collectives.
 * These functions are for programs that would rather call it by name, and for comparing it with the MPI library inside
 * one process. Link with the library built for your MPI's ABI (libespalier-mpich.so, libespalier-openmpi.so or
 * libespalier-abi.so), before libmpi or behind it.
 *
 * Each function has the arguments, the meaning, the return codes and the error handling of the MPI function of that
 * name, and like it is called by all ranks of the communicator. All of them, preloaded or called by name, are one
 * sequence of collectives: some ranks may call MPI_Bcast and others Espalier_Bcast for the same broadcast if Espalier
 * is preloaded, and must not otherwise. What Espalier does not handle (intercommunicators, results above 1 GiB,
 * settings that differ between ranks ...) goes to the PMPI function, on all ranks alike. The first call on a
 * communicator agrees on how to serve it and is therefore slower; MPI must be initialised. */
#ifndef ESPALIER_H
#define ESPALIER_H

#ifndef MPI_VERSION
#error "include <mpi.h> before <espalier/espalier.h>: the handles belong to your MPI"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the collectives ------------------------------------------------------------------------------------------------
 * As MPI's function of the same name, MPI_IN_PLACE, derived datatypes and user-defined operations included. Counts and
 * types may differ between ranks as MPI allows. */

int Espalier_Barrier(MPI_Comm comm);

int Espalier_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

int Espalier_Scatter(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                     int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm);
int Espalier_Gather(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                    int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm);
int Espalier_Allgather(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                       int receive_count, MPI_Datatype receive_type, MPI_Comm comm);
int Espalier_Alltoall(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                      int receive_count, MPI_Datatype receive_type, MPI_Comm comm);

/* Sizes that only some ranks know (scatterv, gatherv: the root; alltoallv: each rank its own) are exchanged first, up
 * to 512 ranks; beyond that these three are native. A rank whose own size is not what the others were told gets
 * MPI_ERR_TRUNCATE and no data. */
int Espalier_Scatterv(const void* send_buffer, const int send_counts[], const int send_displacements[],
                      MPI_Datatype send_type, void* receive_buffer, int receive_count, MPI_Datatype receive_type,
                      int root, MPI_Comm comm);
int Espalier_Gatherv(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                     const int receive_counts[], const int receive_displacements[], MPI_Datatype receive_type, int root,
                     MPI_Comm comm);
int Espalier_Allgatherv(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                        const int receive_counts[], const int receive_displacements[], MPI_Datatype receive_type,
                        MPI_Comm comm);
int Espalier_Alltoallv(const void* send_buffer, const int send_counts[], const int send_displacements[],
                       MPI_Datatype send_type, void* receive_buffer, const int receive_counts[],
                       const int receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm);
int Espalier_Alltoallw(const void* send_buffer, const int send_counts[], const int send_displacements[],
                       const MPI_Datatype send_types[], void* receive_buffer, const int receive_counts[],
                       const int receive_displacements[], const MPI_Datatype receive_types[], MPI_Comm comm);

/* Neighbourhood collectives, on communicators with a process topology. Several edges between two ranks are told apart
 * as MPI 4.1, section 8.6 has it, whatever the MPI library underneath does. */
int Espalier_Neighbor_allgather(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                                int receive_count, MPI_Datatype receive_type, MPI_Comm comm);
int Espalier_Neighbor_allgatherv(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                                 const int receive_counts[], const int receive_displacements[],
                                 MPI_Datatype receive_type, MPI_Comm comm);
int Espalier_Neighbor_alltoall(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                               int receive_count, MPI_Datatype receive_type, MPI_Comm comm);
int Espalier_Neighbor_alltoallv(const void* send_buffer, const int send_counts[], const int send_displacements[],
                                MPI_Datatype send_type, void* receive_buffer, const int receive_counts[],
                                const int receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm);
int Espalier_Neighbor_alltoallw(const void* send_buffer, const int send_counts[], const MPI_Aint send_displacements[],
                                const MPI_Datatype send_types[], void* receive_buffer, const int receive_counts[],
                                const MPI_Aint receive_displacements[], const MPI_Datatype receive_types[],
                                MPI_Comm comm);

/* Reductions keep the order of operands unless the operation commutes. Where the brackets stand is fixed by the
 * communicator's placement on nodes, the size and the selection (see Espalier_Choose): results are the same from run to
 * run, and allreduce gives all ranks the same bits, but they are not native's last digits. ESPALIER_STRICT=1 leaves to
 * native what depends on that. */
int Espalier_Reduce(const void* send_buffer, void* receive_buffer, int count, MPI_Datatype type, MPI_Op op, int root,
                    MPI_Comm comm);
int Espalier_Allreduce(const void* send_buffer, void* receive_buffer, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm);
int Espalier_Reduce_scatter(const void* send_buffer, void* receive_buffer, const int counts[], MPI_Datatype type,
                            MPI_Op op, MPI_Comm comm);
int Espalier_Reduce_scatter_block(const void* send_buffer, void* receive_buffer, int count, MPI_Datatype type,
                                  MPI_Op op, MPI_Comm comm);
int Espalier_Scan(const void* send_buffer, void* receive_buffer, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
int Espalier_Exscan(const void* send_buffer, void* receive_buffer, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm);

/* ---- looking at and deciding how they are done ----------------------------------------------------------------------
 */

/* What a collective would be on this communicator, as text for a person: "tiny", the algorithm and its knobs as
 * `espalier explain` prints them, or "native: " and the reason; behind it in parentheses who said so, unless that is
 * the built-in choice: Espalier_Choose, ESPALIER_CHOICE, or a row of the tuned table and what it measured. `operation`
 * is "broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "allreduce", "reduce_scatter", "scan",
 * "exscan", "barrier" (or MPI's short form "bcast"), "neighbor_allgather" or "neighbor_alltoall", `bytes` the message
 * or vector, or the block of one rank (alltoall: of a pair of ranks; neighbourhoods: of an edge), and `root` that of a
 * rooted one, else 0. Of "scatterv", "gatherv", "allgatherv", "alltoallv" and "reduce_scatterv" it is the mean of
 * blocks of half of it and one and a half in turn; "neighbor_allgatherv" and "neighbor_alltoallv" are done in one way
 * whatever their sizes. Neighbourhoods are known after their communicator's first such call. With an "i" in
 * front of them it is the nonblocking, and persistent, form. Reductions are taken to be of 8-byte numbers. At most
 * `length` bytes are written to `text`, the final null included; a longer text is cut. Local, but known only once the
 * communicator has seen its first collective. Returns MPI_SUCCESS, or MPI_ERR_ARG without calling an error handler. */
int Espalier_Describe(const char* operation, MPI_Aint bytes, int root, MPI_Comm comm, char* text, int length);

/* What carries this communicator's messages between nodes, at most `length` bytes with the final null: "mpi" or "ucx"
 * (ESPALIER_TRANSPORT), or an empty text where nothing needs carrying or everything is native. Local, but known only
 * once the communicator has seen its first collective. Returns MPI_SUCCESS, or MPI_ERR_ARG without calling an error
 * handler. */
int Espalier_Transport(MPI_Comm comm, char* text, int length);

/* From now on calls of `operation` (as above, the v-forms included) on `comm` are done as `selection` says: "native",
 * "tiny" (the dedicated path of short messages on one node; of scatterv, gatherv and alltoallv it takes any size where
 * processes may copy out of each other's memory), or algorithm and knobs as `espalier explain` prints them,
 * "ring,within=cells,cell=32K,cells=4". An empty text returns to settings, tuned table and built-in choice. Where a
 * selection does not apply to a call, that call is native, and Espalier_Describe says why. Collective over `comm`, with
 * equal texts on all ranks; between the same two collectives. Has no effect on communicators that are native
 * altogether. Returns MPI_SUCCESS, or MPI_ERR_ARG, without calling an error handler, when a text makes no sense. */
int Espalier_Choose(const char* operation, const char* selection, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
