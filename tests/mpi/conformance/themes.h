/* Every theme of the conformance program: one function, one file of the same name.
 *
 * A theme is called by all ranks of MPI_COMM_WORLD and leaves nothing behind: no communicator, type, request or memory.
 */
#ifndef ESPALIER_TESTS_THEMES_H
#define ESPALIER_TESTS_THEMES_H

void theme_sizes(void);              /* every size at which an implementation changes its mind, every root */
void theme_datatypes(void);          /* every kind of datatype, counts from zero up */
void theme_typemaps(void);           /* ranks with different type maps of one signature in one call */
void theme_bottom(void);             /* MPI_BOTTOM and absolute addresses */
void theme_communicators(void);      /* dup, split, cartesian, merged, self, subsets; several alive at once */
void theme_many(void);               /* thousands made, used and freed: descriptors and mappings must not grow */
void theme_barriers(void);           /* nobody leaves before the last one came */
void theme_mixing(void);             /* collectives among point-to-point traffic that needs MPI's progress */
void theme_nonblocking(void);        /* nonblocking collectives in flight around blocking ones */
void theme_skew(void);               /* rotating roots, ranks that arrive late */
void theme_movements(void);          /* scatter, gather, allgather, alltoall: every form, size and kind of datatype */
void theme_pieces(void);             /* alltoallw: a type for each rank, displacements in bytes */
void theme_neighbors(void);          /* neighbourhood collectives: grids, graphs, several edges, some to itself */
void theme_reductions(void);         /* reductions: every predefined type and operation, size, form; the same bits */
void theme_bits(void);               /* reductions of NaNs, zeros of both signs, denormals: the same bits everywhere */
void theme_operators(void);          /* user-defined operations, operand order, types with gaps */
void theme_intercommunicators(void); /* two groups facing each other */
void theme_large_counts(void);       /* the _c entry points, where the MPI has them */
void theme_errors(void);             /* wrong arguments: prints the error classes, for comparison with native */
void theme_lengths(void);            /* more room than is sent: what was sent arrives */
void theme_truncations(void);        /* less room than is sent: an error says so, and nobody hangs */
void theme_threads(void);            /* several threads, each with its own communicator (MPI_THREAD_MULTIPLE) */
void theme_choosing(void);           /* Espalier_Choose and Espalier_Describe, found by name */
void theme_explicit(void);           /* Espalier_Bcast and its sisters, found by name */

#endif
