/* The playing half of `espalier replay`: a recorded program's collectives, natively and by Espalier in turns.
 *
 *   espalier_replay_<abi> SCRIPT ROUNDS
 *
 * Espalier must be preloaded: its arm calls MPI_..., native calls PMPI_.... Both arms play the script once before any
 * is timed. Before a call a rank computes for as long as the script says, less as many microseconds as it came early.
 * Rank 0 prints a line of JSON for each round: how long each arm took for all, computation included, and the median of
 * each piece's calls, in microseconds. A call lasts from the last entry to the last exit: what was no waiting, as in a
 * profile. (With more ranks than cores who waits may keep others from coming; that is in the time for all.) Between
 * machines, whose clocks differ, it lasts as long as the rank that is in it for longest, waiting included. A last line
 * says what Espalier chose.
 */

#include "../common/job.h"
#include "part.h"
#include "script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <espalier/espalier.h>

static struct script script;
static struct part* parts;

/* Of every call, as this rank saw it; of a call that is not its own, times before all others. */
struct times {
  double *entry, *exit;
};

static struct times make_times(void) {
  const size_t bytes = (size_t)script.call_count * sizeof(double);
  return (struct times){allocate(bytes), allocate(bytes)};
}

/* All calls once; the rank's time for it, in microseconds. */
static double play(int library, struct times* times) {
  PMPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_us();
  double free_at = begin;
  for (int i = 0; i < script.call_count; ++i) {
    const struct call* call = &script.calls[i];
    struct part* part = &parts[call->piece];
    times->entry[i] = times->exit[i] = -INFINITY;
    if (part->me < 0) continue;
    const double early = part->me == call->last ? 0 : part->piece->early_us[part->me];
    while (now_us() < free_at + part->piece->gap_us - early)
      ;
    times->entry[i] = now_us();
    times->exit[i] = times->entry[i] + play_part(part, library, call->root);
    free_at = now_us();
  }
  return now_us() - begin;
}

/* ---- what came of it ------------------------------------------------------------------------------------------------
 */

static void reduce_in_place(double* values, MPI_Op op) {
  const void* in = job.rank == 0 ? MPI_IN_PLACE : values;
  PMPI_Reduce(in, values, script.call_count, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
}

/* On rank 0 `exit` becomes how long calls took. */
static void join(struct times* times) {
  for (int i = 0; job.machines > 1 && i < script.call_count; ++i)
    if (isfinite(times->exit[i])) times->exit[i] -= times->entry[i], times->entry[i] = 0;
  reduce_in_place(times->exit, MPI_MAX);
  reduce_in_place(times->entry, MPI_MAX);
  for (int i = 0; job.rank == 0 && i < script.call_count; ++i) times->exit[i] -= times->entry[i];
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median_of(int piece, const double* took) {
  static double* some;
  int count = 0;
  if (some == NULL) some = allocate((size_t)script.call_count * sizeof(double));
  for (int i = 0; i < script.call_count; ++i)
    if (script.calls[i].piece == piece) some[count++] = took[i];
  if (count == 0) return 0;
  qsort(some, (size_t)count, sizeof(double), ascending);
  const double median = (some[(count - 1) / 2] + some[count / 2]) / 2;
  return median > 0 ? median : 0;
}

static void print_arm(const char* name, double all_us, const double* took) {
  printf("\"%s_us\": %.3f, \"%s\": [", name, all_us, name);
  for (int i = 0; i < script.piece_count; ++i) printf("%s%.3f", i == 0 ? "" : ", ", median_of(i, took));
  printf("]");
}

static void play_round(int round, struct times times[LIBRARIES]) {
  static const char* const names[] = {"native", "espalier"};
  double all_us[LIBRARIES];
  for (int i = 0; i < LIBRARIES; ++i) {
    const int library = round % 2 == 0 ? i : ESPALIER - i;
    double mine = play(library, &times[library]);
    PMPI_Reduce(&mine, &all_us[library], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    join(&times[library]);
  }
  if (round < 0 || job.rank != 0) return;
  printf("{\"round\": %d, ", round);
  for (int library = NATIVE; library < LIBRARIES; ++library) {
    print_arm(names[library], all_us[library], times[library].exit);
    printf(library == NATIVE ? ", " : "}\n");
  }
  fflush(stdout);
}

/* By the piece's first member, whose words go to rank 0. */
static void describe_choice(int number, char* choice, int room) {
  const struct piece* piece = &script.pieces[number];
  const struct part* part = &parts[number];
  const char* prefix = part->form == NONBLOCKING ? "i" : "";
  char name[64];
  snprintf(name, sizeof name, "%s%s", prefix, piece->operation);
  if (strcmp(piece->operation, "bcast") == 0) snprintf(name, sizeof name, "%sbroadcast", prefix);
  if (strcmp(piece->operation, "reduce_scatter") == 0) snprintf(name, sizeof name, "%sreduce_scatterv", prefix);
  if (strcmp(piece->operation, "reduce_scatter_block") == 0) snprintf(name, sizeof name, "%sreduce_scatter", prefix);
  const int is_neighborly = strncmp(piece->operation, "neighbor", 8) == 0; /* whose choice hangs on the graph */
  memset(choice, 0, (size_t)room);
  if (part->me == 0 && is_neighborly)
    snprintf(choice, (size_t)room, "by edges");
  else if (part->me == 0 &&
           Espalier_Describe(name, piece->blocks[0], piece->root, part->comm, choice, room) != MPI_SUCCESS)
    snprintf(choice, (size_t)room, "unknown");
  PMPI_Bcast(choice, room, MPI_CHAR, piece->members[0], MPI_COMM_WORLD);
}

static void print_choices(void) {
  enum { ROOM = 256 };
  char choice[ROOM];
  if (job.rank == 0) printf("{\"machines\": %d, \"cores\": %d, \"choices\": [", job.machines, job.cores);
  for (int i = 0; i < script.piece_count; ++i) {
    describe_choice(i, choice, ROOM);
    if (job.rank == 0) printf("%s\"%s\"", i == 0 ? "" : ", ", choice);
  }
  if (job.rank == 0) printf("]}\n");
}

/* Espalier sets communicators up at their eleventh call (HACKING.md). */
static void set_up(void) {
  enum { CALLS = 12 };
  for (int i = 0; i < script.piece_count; ++i)
    for (int call = 0; parts[i].me >= 0 && call < CALLS; ++call) MPI_Barrier(parts[i].comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  learn_job("espalier_replay");
  if (argc != 3) fail("wants a script and a number of rounds", "");
  read_script(argv[1], &script);
  parts = calloc((size_t)script.piece_count + 1, sizeof *parts);
  for (int i = 0; i < script.piece_count; ++i) make_part(&script.pieces[i], &parts[i]);
  set_up();
  struct times times[LIBRARIES] = {make_times(), make_times()};
  for (int round = -1; round < atoi(argv[2]); ++round) play_round(round, times);
  print_choices();
  for (int i = 0; i < script.piece_count; ++i) release_part(&parts[i]);
  MPI_Finalize();
  return 0;
}
