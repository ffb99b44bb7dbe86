#include "check.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { passed_index = 0, failed_index = 1, described_at_most = 8 };

int world_rank;
int world_size;
int many_communicators = 2000;
int part_taken = 0;
int parts_in_all = 1;

static atomic_long counts[2];
static long totals[2];
static atomic_int described;
static uint64_t points; /* of this theme's products, so far */

void check(int ok, const char* format, ...) {
  atomic_fetch_add(&counts[ok ? passed_index : failed_index], 1);
  if (ok || atomic_fetch_add(&described, 1) >= described_at_most) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "rank %d: failed: %s\n", world_rank, text);
}

void say(const char* format, ...) {
  if (world_rank != 0) return;
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
  fflush(stdout);
}

void finish_theme(const char* name) {
  long mine[2] = {atomic_exchange(&counts[0], 0), atomic_exchange(&counts[1], 0)};
  long all[2] = {0, 0};
  /* Not the operation under test, which could hide its own failures. */
  PMPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  totals[passed_index] += all[passed_index];
  totals[failed_index] += all[failed_index];
  atomic_store(&described, 0);
  points = 0;
  say("%s: %ld passed, %ld failed", name, all[passed_index], all[failed_index]);
}

long finish_all(void) {
  say("%ld passed, %ld failed", totals[passed_index], totals[failed_index]);
  return totals[failed_index];
}

/* SplitMix64 (Steele, Lea, Flood 2014): every 64-bit state gives a well mixed number. */
static inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static const uint64_t stride = 0x9e3779b97f4a7c15u;

uint64_t next_random(uint64_t* state) {
  *state += stride;
  return mix(*state);
}

/* Drawn, and not counted off: a product's innermost dimension would have the same few members in a part. */
int is_next_in_part(void) { return (int)(mix(++points * stride) % (unsigned)parts_in_all) == part_taken; }

int share_of(int calls) { return (calls + parts_in_all - 1) / parts_in_all; }

void fill_pattern(unsigned char* bytes, size_t count, uint64_t seed) {
  uint64_t state = seed, word = 0;
  size_t at = 0;
  /* It was a fifth of what a job takes: no call in here, and one length. */
  for (; at + sizeof word <= count; at += sizeof word) {
    word = mix(state += stride);
    memcpy(bytes + at, &word, sizeof word);
  }
  word = mix(state + stride);
  memcpy(bytes + at, &word, count - at);
}
