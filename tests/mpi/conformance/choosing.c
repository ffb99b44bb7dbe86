#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "exchange.h"
#include "themes.h"

/* Espalier_Choose and Espalier_Describe, found at run time. Each selection must show in the description, and the calls
 * that follow must be right. Every communicator has selections of its own. */

static int (*choose)(const char*, const char*, MPI_Comm);
static int (*describe)(const char*, MPI_Aint, int, MPI_Comm, char*, int);

static void expect(const char* selection, int bytes, const char* described, MPI_Comm comm) {
  char text[512] = "";
  check(choose("broadcast", selection, comm) == MPI_SUCCESS, "'%s' is refused", selection);
  check_broadcast(selection, plain_bytes(bytes), 0, comm);
  check(describe("broadcast", bytes, 0, comm, text, sizeof text) == MPI_SUCCESS && strstr(text, described) != NULL,
        "'%s' for %d bytes: described as '%s', not '%s'", selection, bytes, text, described);
}

static void wrong_texts(MPI_Comm comm) {
  char text[16];
  check(choose("broadcast", "telepathy", comm) == MPI_ERR_ARG, "an unknown algorithm is accepted");
  check(choose("broadcast", "chain,segment=many", comm) == MPI_ERR_ARG, "a segment of 'many' is accepted");
  check(choose("dance", "native", comm) == MPI_ERR_ARG, "an unknown operation is accepted");
  check(choose("broadcast", NULL, comm) == MPI_ERR_ARG, "no text is accepted");
  check(describe("broadcast", -1, 0, comm, text, sizeof text) == MPI_ERR_ARG, "a negative size is described");
}

/* By their own names, of blocks of half and one and a half times the size. */
static void describe_uneven(MPI_Comm comm) {
  static const char* const forms[] = {"scatterv", "gatherv", "allgatherv", "alltoallv", "reduce_scatterv"};
  char text[512] = "";
  for (int i = 0; i < (int)(sizeof forms / sizeof *forms); ++i)
    check(describe(forms[i], 50000, 0, comm, text, sizeof text) == MPI_SUCCESS && *text != 0, "no %s", forms[i]);
  check(choose("gatherv", "native", comm) == MPI_SUCCESS, "gatherv is refused");
  check(describe("gatherv", 50000, 0, comm, text, sizeof text) == MPI_SUCCESS && strstr(text, "native: ") == text,
        "gatherv is native, and described as '%s'", text);
  check(choose("gather", "", comm) == MPI_SUCCESS, "gather is refused");
}

void theme_choosing(void) {
  MPI_Comm one, other;
  char text[512];
  *(void**)&choose = dlsym(RTLD_DEFAULT, "Espalier_Choose");
  *(void**)&describe = dlsym(RTLD_DEFAULT, "Espalier_Describe");
  check(choose != NULL && describe != NULL, "the library does not export Espalier_Choose and Espalier_Describe");
  if (choose == NULL || describe == NULL) return;
  MPI_Comm_dup(MPI_COMM_WORLD, &one);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int turn = 0; turn < 3; ++turn) {
    expect("knomial,radix=3,cell=4K,cells=2", 100, "radix=3", one);
    expect("chain,segment=8K", 50000, "chain", one);
    expect("native", 100, "native: ", one);
    expect("tiny", 100, "Espalier_Choose", one); /* native on several nodes */
    expect("tiny", 50000, "native: ", one);      /* too long for it */
    expect("chain,cell=64M,cells=4", 100, "window", one);
    expect("", 50000, ",", one);
    check(describe("broadcast", 50000, 0, one, text, sizeof text) == MPI_SUCCESS && !strstr(text, "Espalier_Choose"),
          "taken back, but described as '%s'", text);
    expect("chain", 100, "chain", other);
  }
  wrong_texts(one);
  describe_uneven(one);
  check_communicator("chosen", one);
  MPI_Comm_free(&one);
  MPI_Comm_free(&other);
}
