/* Conformance of the collectives.
 *
 *     conformance [--many N] [--part K/N] [theme ...]
 *
 * Runs the named themes, or all that need no special start. Prints one line per theme and "N passed, N failed" on rank
 * 0; exits non-zero when something failed. */
#include "check.h"
#include "exchange.h"
#include "themes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct theme {
  const char* name;
  void (*run)(void);
  int by_default;
  int needs_threads;
};

static const struct theme themes[] = {
    {"sizes", theme_sizes, 1, 0},
    {"datatypes", theme_datatypes, 1, 0},
    {"typemaps", theme_typemaps, 0, 0}, /* Open MPI and Intel MPI themselves fail it */
    {"bottom", theme_bottom, 1, 0},
    {"communicators", theme_communicators, 1, 0},
    {"many", theme_many, 0, 0}, /* takes seconds */
    {"barriers", theme_barriers, 1, 0},
    {"mixing", theme_mixing, 1, 0},
    {"pieces", theme_pieces, 1, 0},
    {"neighbors", theme_neighbors, 1, 0},
    {"nonblocking", theme_nonblocking, 1, 0},
    {"skew", theme_skew, 1, 0},
    {"movements", theme_movements, 1, 0},
    {"reductions", theme_reductions, 1, 0},
    {"bits", theme_bits, 0, 0}, /* libraries themselves fail it */
    {"operators", theme_operators, 1, 0},
    {"intercommunicators", theme_intercommunicators, 1, 0},
    {"large_counts", theme_large_counts, 1, 0},
    {"errors", theme_errors, 1, 0},
    {"lengths", theme_lengths, 0, 0}, /* erroneous, if harmless, as the next, which natively hangs */
    {"truncations", theme_truncations, 0, 0},
    {"threads", theme_threads, 0, 1},
    {"explicit", theme_explicit, 0, 0}, /* only with Espalier loaded, as the next */
    {"choosing", theme_choosing, 0, 0},
};
enum { theme_count = sizeof themes / sizeof themes[0] };

static int is_named(const struct theme* theme, int names, char** name) {
  for (int i = 0; i < names; ++i)
    if (strcmp(theme->name, name[i]) == 0) return 1;
  return names == 0 && theme->by_default;
}

static int is_known(const char* name) {
  for (int i = 0; i < theme_count; ++i)
    if (strcmp(themes[i].name, name) == 0) return 1;
  return 0;
}

static int needs_threads(int names, char** name) {
  for (int i = 0; i < theme_count; ++i)
    if (themes[i].needs_threads && is_named(&themes[i], names, name)) return 1;
  return 0;
}

int main(int argc, char** argv) {
  int first = 1;
  for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
    if (strcmp(argv[first], "--many") == 0)
      many_communicators = atoi(argv[first + 1]);
    else if (strcmp(argv[first], "--part") != 0 || sscanf(argv[first + 1], "%d/%d", &part_taken, &parts_in_all) != 2 ||
             parts_in_all < 1)
      return fprintf(stderr, "conformance: what is '%s %s'?\n", argv[first], argv[first + 1]), 2;
  }
  int names = argc - first;
  char** name = argv + first;
  for (int i = 0; i < names; ++i)
    if (!is_known(name[i])) return fprintf(stderr, "conformance: no theme is called '%s'\n", name[i]), 2;

  int provided = MPI_THREAD_SINGLE;
  if (needs_threads(names, name))
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else
    MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  for (int i = 0; i < theme_count; ++i) {
    if (!is_named(&themes[i], names, name)) continue;
    themes[i].run();
    finish_theme(themes[i].name);
  }
  long failed = finish_all();
  MPI_Finalize();
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
