/* The smallest possible test harness for programs that are themselves MPI jobs.
 *
 * Every rank counts its own checks; `finish_theme` adds the counts of all ranks and rank 0 prints one line per theme.
 * The output holds no times, addresses or process numbers, so the output of a native run and that of a run with
 * Espalier can be compared byte for byte. */
#ifndef ESPALIER_TESTS_CHECK_H
#define ESPALIER_TESTS_CHECK_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "form.h"

/* Rank and size in MPI_COMM_WORLD; set by main before the first theme runs. */
extern int world_rank;
extern int world_size;

/* How many communicators the theme `many` creates, `--many N`. Set by main. */
extern int many_communicators;

/* Of their products of forms, sizes and types, themes go through one of so many parts, `--part K/N` with K from 0 on:
 * each has something of everything, and together they are the whole. Set by main; one part, if it says nothing. */
extern int part_taken;
extern int parts_in_all;

/* Whether the next point of a product is in this job's part. The ranks of a communicator ask as often as each other. */
int is_next_in_part(void);

/* Of a series of so many calls, which no part may leave gaps in, a part has its beginning. */
int share_of(int calls);

/* Counts one check. A failed one is described on stderr (printf style), at most a few per rank so that a systematic
 * failure stays readable. Safe to call from several threads at once. */
void check(int ok, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* Prints one line on rank 0's stdout; the other ranks print nothing. */
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Sums this theme's counts over MPI_COMM_WORLD, prints "name: N passed, N failed" on rank 0. Collective. */
void finish_theme(const char* name);

/* Prints "N passed, N failed" over all themes on rank 0. Collective; returns the number of failures on every rank. */
long finish_all(void);

/* A repeatable stream of numbers: the same on every rank for the same state. Advances `state`. */
uint64_t next_random(uint64_t* state);

/* Fills `bytes` with content that depends on `seed` and on the position. */
void fill_pattern(unsigned char* bytes, size_t count, uint64_t seed);

#endif
