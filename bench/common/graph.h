/* Process topologies for neighbourhood collectives to go along. No rank has several edges to another: libraries differ
 * in which of them brings which block. */
#ifndef ESPALIER_BENCH_GRAPH_H
#define ESPALIER_BENCH_GRAPH_H

#include <mpi.h>

/* A communicator with a process topology, and one rank's edges in the order in which MPI names them. */
struct graph {
  MPI_Comm comm; /* MPI_COMM_NULL: none was made */
  int sources, destinations;
  int *source, *destination; /* MPI_PROC_NULL: nobody */
};

/* Makes it of all ranks of `comm`, together, for as long as the job lasts:
 *
 *   grid       a Cartesian topology of two dimensions: a stencil of 5 points
 *   stencil    three dimensions and their diagonals: 27 points
 *   random:N   N edges from each rank to others, the same ones whoever draws them, or to all of fewer
 *
 * Grids are periodic where more than two ranks lie in a row. Returns 0 where the name is none of these. */
int make_graph(const char* name, MPI_Comm comm, struct graph* graph);

#endif
