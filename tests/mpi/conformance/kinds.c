#include "kinds.h"

#include <stddef.h>

static void add(struct kinds* list, const char* name, MPI_Datatype type, int count_limit) {
  MPI_Type_commit(&type);
  list->kind[list->count++] = (struct kind){name, type, 0, count_limit};
}

void make_named_kinds(struct kinds* list) {
  const struct {
    const char* name;
    MPI_Datatype type;
  } named[] = {
      {"char", MPI_CHAR},
      {"signed char", MPI_SIGNED_CHAR},
      {"unsigned char", MPI_UNSIGNED_CHAR},
      {"byte", MPI_BYTE},
      {"wchar", MPI_WCHAR},
      {"short", MPI_SHORT},
      {"unsigned short", MPI_UNSIGNED_SHORT},
      {"int", MPI_INT},
      {"unsigned", MPI_UNSIGNED},
      {"long", MPI_LONG},
      {"unsigned long", MPI_UNSIGNED_LONG},
      {"long long", MPI_LONG_LONG},
      {"unsigned long long", MPI_UNSIGNED_LONG_LONG},
      {"int8", MPI_INT8_T},
      {"int16", MPI_INT16_T},
      {"int32", MPI_INT32_T},
      {"int64", MPI_INT64_T},
      {"uint8", MPI_UINT8_T},
      {"uint16", MPI_UINT16_T},
      {"uint32", MPI_UINT32_T},
      {"uint64", MPI_UINT64_T},
      {"bool", MPI_C_BOOL},
      {"float", MPI_FLOAT},
      {"double", MPI_DOUBLE},
      {"long double", MPI_LONG_DOUBLE},
      {"float complex", MPI_C_FLOAT_COMPLEX},
      {"double complex", MPI_C_DOUBLE_COMPLEX},
      {"aint", MPI_AINT},
      {"offset", MPI_OFFSET},
      {"count", MPI_COUNT},
      {"float-int pair", MPI_FLOAT_INT},
      {"double-int pair", MPI_DOUBLE_INT},
      {"long-int pair", MPI_LONG_INT},
      {"int-int pair", MPI_2INT},
      {"short-int pair", MPI_SHORT_INT},
      {"long double-int pair", MPI_LONG_DOUBLE_INT},
  };
  list->count = 0;
  for (size_t i = 0; i < sizeof named / sizeof named[0]; ++i)
    list->kind[list->count++] = (struct kind){named[i].name, named[i].type, 1, 0};
}

/* ---- twelve integers -----------------------------------------------------------------------------------------------
 */

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype made;
  MPI_Type_create_resized(type, lower, extent, &made);
  MPI_Type_free(&type);
  return made;
}

static MPI_Datatype vector(int blocks, int length, int stride) {
  MPI_Datatype made;
  MPI_Type_vector(blocks, length, stride, MPI_INT, &made);
  return made;
}

static MPI_Datatype subarray(int order) {
  const int sizes[3] = {4, 5, 6}, part[3] = {2, 3, 2}, start[3] = {1, 1, 3};
  MPI_Datatype made;
  MPI_Type_create_subarray(3, sizes, part, start, order, MPI_INT, &made);
  return made;
}

static MPI_Datatype nested(void) {
  MPI_Datatype pair = vector(2, 1, 3), made; /* 2 integers in 4; six of them, 5 apart */
  MPI_Type_create_hvector(6, 1, 5 * (MPI_Aint)sizeof(int), pair, &made);
  MPI_Type_free(&pair);
  return made;
}

/* Blocks whose displacements go down and up again: the type map's order is not the order of addresses. */
static void add_scattered(struct kinds* list) {
  const int length[4] = {2, 5, 1, 4}, displacement[4] = {30, 7, 0, 16}, start[4] = {21, 3, 11, 40};
  const MPI_Aint bytes[4] = {124, 8, 0, 60};
  const MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
  MPI_Datatype made;
  MPI_Type_indexed(4, length, displacement, MPI_INT, &made);
  add(list, "indexed", made, 0);
  MPI_Type_create_hindexed(4, length, bytes, MPI_INT, &made);
  add(list, "hindexed", made, 0);
  MPI_Type_create_indexed_block(4, 3, start, MPI_INT, &made);
  add(list, "indexed block", made, 0);
  MPI_Type_create_struct(4, length, bytes, types, &made);
  add(list, "struct", made, 0);
}

void make_twelve_int_kinds(struct kinds* list) {
  const MPI_Aint unit = sizeof(int);
  MPI_Datatype made;
  list->count = 0;
  MPI_Type_contiguous(12, MPI_INT, &made);
  add(list, "contiguous", made, 0);
  add(list, "vector", vector(4, 3, 5), 0);
  add(list, "vector without holes", vector(4, 3, 3), 0);
  add(list, "vector backwards", vector(6, 2, -3), 0);
  add(list, "nested vectors", nested(), 0);
  add_scattered(list);
  add(list, "negative lower bound", resized(vector(3, 4, 6), -24, 96), 0);
  add(list, "positive lower bound", resized(vector(3, 4, 6), 8, 64), 0);
  add(list, "column of a matrix", resized(vector(12, 1, 8), 0, unit), 8);
  add(list, "subarray", subarray(MPI_ORDER_C), 0);
  add(list, "subarray, Fortran order", subarray(MPI_ORDER_FORTRAN), 0);
  MPI_Type_dup(list->kind[1].type, &made);
  add(list, "duplicate", made, 0);
}

/* ---- records
 * ----------------------------------------------------------------------------------------------------------- */

struct record {
  char mark;
  double value;
  int index[3];
  short last;
};

static MPI_Datatype record_type(void) {
  const int length[4] = {3, 1, 1, 1};
  const MPI_Aint at[4] = {offsetof(struct record, index), offsetof(struct record, last), offsetof(struct record, mark),
                          offsetof(struct record, value)};
  const MPI_Datatype types[4] = {MPI_INT, MPI_SHORT, MPI_CHAR, MPI_DOUBLE};
  MPI_Datatype made;
  MPI_Type_create_struct(4, length, at, types, &made);
  return made;
}

void make_record_kinds(struct kinds* list) {
  const int length[3] = {1, 2, 1};
  const MPI_Aint at[3] = {80, 0, -16};
  MPI_Datatype record = resized(record_type(), 0, sizeof(struct record)), made;
  list->count = 0;
  MPI_Type_vector(2, 1, 2, record, &made);
  add(list, "vector of records", made, 0);
  const MPI_Datatype types[3] = {MPI_DOUBLE_INT, record, MPI_BYTE};
  MPI_Type_create_struct(3, length, at, types, &made);
  add(list, "record of records, from below", made, 0);
  add(list, "record", record, 0);
}

void make_empty_kinds(struct kinds* list) {
  const int length[2] = {0, 0}, displacement[2] = {5, 1};
  MPI_Datatype made;
  list->count = 0;
  MPI_Type_contiguous(0, MPI_INT, &made);
  add(list, "contiguous of nothing", made, 0);
  MPI_Type_indexed(2, length, displacement, MPI_DOUBLE, &made);
  add(list, "indexed blocks of nothing", made, 0);
  MPI_Type_contiguous(0, MPI_INT, &made);
  add(list, "nothing with an extent", resized(made, 0, 16), 0);
}

void free_kinds(struct kinds* list) {
  for (int i = 0; i < list->count; ++i)
    if (!list->kind[i].predefined) MPI_Type_free(&list->kind[i].type);
  list->count = 0;
}
