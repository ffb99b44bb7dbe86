/* Espalier: fast MPI collectives over shared memory and any MPI library.
 *
 * Programs need none of this: a preloaded Espalier already stands in front of MPI_Bcast, MPI_Allgather and MPI_Barrier.
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

/* Sends `count` elements of `type` at `root` into the buffers of all other ranks. Counts and types may differ between
 * ranks as long as their signatures are equal, also where the types' maps differ. */
int Espalier_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

/* Every rank contributes `send_count` elements and receives all contributions in rank order, `receive_count` elements
 * each. MPI_IN_PLACE as send buffer: the contribution lies at its place in the receive buffer already. */
int Espalier_Allgather(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                       int receive_count, MPI_Datatype receive_type, MPI_Comm comm);

/* Returns when all ranks have entered it. */
int Espalier_Barrier(MPI_Comm comm);

/* What a collective would be on this communicator, as text for a person: "tiny", the algorithm and its knobs as
 * `espalier explain` prints them, or "native: " and the reason. `operation` is "broadcast", "allgather" or "barrier"
 * (or MPI's short form "bcast"), `bytes` the message, or one rank's block, and `root` that of a broadcast, else 0. At
 * most `length` bytes are written to `text`, the final null included; a longer text is cut. Local, but known only once
 * the communicator has seen its first collective. Returns MPI_SUCCESS, or MPI_ERR_ARG without calling an error handler.
 */
int Espalier_Describe(const char* operation, MPI_Aint bytes, int root, MPI_Comm comm, char* text, int length);

#ifdef __cplusplus
}
#endif

#endif
