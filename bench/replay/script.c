#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/job.h"

/* The whole file on all ranks, with a 0 behind it. */
static char* share_file(const char* path) {
  long bytes = -1;
  FILE* file = job.rank == 0 ? fopen(path, "rb") : NULL;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) bytes = ftell(file);
  PMPI_Bcast(&bytes, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  if (bytes < 0) fail("cannot read ", path);
  char* text = allocate((size_t)bytes + 1);
  if (file != NULL) {
    rewind(file);
    if (fread(text, 1, (size_t)bytes, file) != (size_t)bytes) fail("cannot read ", path);
    fclose(file);
  }
  PMPI_Bcast(text, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  text[bytes] = '\0';
  return text;
}

static const char* next_line(const char* text) {
  const char* end = strchr(text, '\n');
  if (end == NULL) fail("the script ends too early", "");
  return end + 1;
}

/* A number and as many members, in front of `*text`, which goes on behind them. */
static int read_members(const char** text, const struct piece* piece, int** members) {
  char* end = NULL;
  const long count = strtol(*text, &end, 10);
  if (end == *text || count < 0 || count > piece->size * (long)piece->size) fail("no neighbours: ", *text);
  *members = allocate(((size_t)count + 1) * sizeof(int));
  for (long i = 0; i < count; ++i) {
    const char* begin = end;
    (*members)[i] = (int)strtol(begin, &end, 10);
    if (end == begin || (*members)[i] < 0 || (*members)[i] >= piece->size) fail("no neighbour: ", begin);
  }
  *text = end;
  return (int)count;
}

static const char* read_piece(const char* text, struct piece* piece) {
  if (sscanf(text, "piece %31s %15s %d %d %lf %lf", piece->operation, piece->form, &piece->size, &piece->root,
             &piece->gap_us, &piece->between_us) != 6)
    fail("no piece: ", text);
  if (piece->size < 1 || piece->size > job.ranks) fail("a piece for more ranks than there are", "");
  piece->members = allocate((size_t)piece->size * sizeof(int));
  piece->blocks = allocate((size_t)piece->size * sizeof(int));
  piece->early_us = allocate((size_t)piece->size * sizeof(double));
  piece->neighbors = allocate((size_t)piece->size * sizeof(struct neighbors));
  for (int i = 0; i < piece->size; ++i) {
    text = next_line(text);
    int read = 0;
    if (sscanf(text, "%d %d %lf%n", &piece->members[i], &piece->blocks[i], &piece->early_us[i], &read) != 3 ||
        piece->members[i] < 0 || piece->members[i] >= job.ranks)
      fail("no member: ", text);
    text += read;
    struct neighbors* const neighbors = &piece->neighbors[i];
    neighbors->in = read_members(&text, piece, &neighbors->from);
    neighbors->out = read_members(&text, piece, &neighbors->to);
  }
  return next_line(text);
}

static const char* read_call(const char* text, const struct script* script, struct call* call) {
  if (sscanf(text, "%d %d %d", &call->piece, &call->root, &call->last) != 3 || call->piece < 0 ||
      call->piece >= script->piece_count)
    fail("no call: ", text);
  return next_line(text);
}

void read_script(const char* path, struct script* script) {
  const char* text = share_file(path);
  if (sscanf(text, "replay 2 %d %d %d", &script->ranks, &script->piece_count, &script->call_count) != 3)
    fail("no script: ", path);
  if (script->ranks != job.ranks) fail("the script is for another number of ranks", "");
  script->pieces = allocate((size_t)script->piece_count * sizeof(struct piece));
  script->calls = allocate((size_t)script->call_count * sizeof(struct call));
  text = next_line(text);
  for (int i = 0; i < script->piece_count; ++i) text = read_piece(text, &script->pieces[i]);
  for (int i = 0; i < script->call_count; ++i) text = read_call(text, script, &script->calls[i]);
}

int place_in(const struct piece* piece) {
  for (int i = 0; i < piece->size; ++i)
    if (piece->members[i] == job.rank) return i;
  return -1;
}
