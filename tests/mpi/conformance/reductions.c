#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "reduce.h"
#include "themes.h"

/* Every predefined type and operation against what MPI_Reduce_local makes of all ranks' operands, which every rank
 * knows. They are small whole numbers, with which every order of operations gives the same bits, also in floating
 * point. */

enum class { c_integer, fortran_integer, floating, logical, complex_number, raw_byte, pair };

struct number {
  const char* name;
  MPI_Datatype type;
  enum class class;
  /* Writes `value` as one element. */
  void (*store)(void* element, int value);
};

#define STORE(name, type) \
  static void store_##name(void* element, int value) { *(type*)element = (type)value; }
STORE(char, signed char)
STORE(short, short)
STORE(int, int)
STORE(long, long)
STORE(long_long, long long)
STORE(float, float)
STORE(double, double)
STORE(long_double, long double)
#define STORE_PAIR(name, type)                              \
  struct pair_##name {                                      \
    type value;                                             \
    int index;                                              \
  };                                                        \
  static void store_pair_##name(void* element, int value) { \
    struct pair_##name* pair = element;                     \
    pair->value = (type)(value % 3);                        \
    pair->index = value;                                    \
  }
STORE_PAIR(float, float)
STORE_PAIR(double, double)
STORE_PAIR(long, long)
STORE_PAIR(short, short)
STORE_PAIR(int, int)

static void store_complex(void* element, int value) {
  /* Multiples of 2 + i: no product of them has a zero, whose sign would show the order. */
  ((double*)element)[0] = value % 2 ? 2 : 4;
  ((double*)element)[1] = value % 2 ? 1 : 2;
}
static void store_truth(void* element, int value) { *(_Bool*)element = value % 3 != 0; }

static int is_allowed(MPI_Op op, enum class class) {
  const int integer = class == c_integer || class == fortran_integer;
  if (op == MPI_MAX || op == MPI_MIN) return integer || class == floating;
  if (op == MPI_SUM || op == MPI_PROD) return integer || class == floating || class == complex_number;
  if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR) return class == c_integer || class == logical;
  if (op == MPI_MAXLOC || op == MPI_MINLOC) return class == pair;
  return integer || class == raw_byte;
}

enum { op_count = 12 };

static MPI_Op op_at(int index) {
  const MPI_Op ops[op_count] = {MPI_MAX,  MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,   MPI_LOR,
                                MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  return ops[index];
}

static int index_of(MPI_Op op) {
  int index = 0;
  while (index < op_count && op_at(index) != op) ++index;
  return index;
}

/* Operands from -2 to 2 or so, different for every rank and element; products stay in range of a byte. */
static int operand_of(int rank, int index, MPI_Op op) {
  const int value = (rank * 5 + index * 3) % 7 - 2;
  /* Nothing that unsigned types would wrap: Open MPI's vector loops saturate sums, and Open MPI 4.1 and MPICH 4.0
   * compare some unsigned numbers as signed ones. */
  if (op == MPI_SUM || op == MPI_MAX || op == MPI_MIN) return value + 2;
  return op == MPI_PROD && value > 2 ? 1 : value;
}

/* Zeros in the gaps inside elements: some libraries write there, and we don't (theme operators); and in the bytes that
 * an x87 number leaves of a long double. */
static void clear_gaps(char* data, int elements, MPI_Datatype type, MPI_Aint extent) {
  int size = 0, begin = 0, end = 0;
  for (int i = 0; i < elements && type == MPI_LONG_DOUBLE && LDBL_MANT_DIG == 64; ++i)
    memset(data + i * extent + 10, 0, sizeof(long double) - 10);
  MPI_Type_size(type, &size);
  if (size == extent) return;
  char* packed = malloc((size_t)size * (size_t)elements + 1);
  PMPI_Pack(data, elements, type, packed, size * elements, &begin, MPI_COMM_SELF);
  memset(data, 0, (size_t)extent * (size_t)elements);
  PMPI_Unpack(packed, size * elements, &end, data, elements, type, MPI_COMM_SELF);
  free(packed);
}

/* What the rank `me` has to receive, at the beginning of `result`: all operands of its elements, combined here. */
static void combine(const struct number* number, const struct reduction_call* call, MPI_Aint extent, char* result) {
  int me = 0, ranks = 0, first = 0;
  MPI_Comm_rank(call->comm, &me);
  MPI_Comm_size(call->comm, &ranks);
  if (call->reduction == reduce_scatter_block) first = call->count * me;
  for (int r = 0; r < me && call->reduction == reduce_scatter; ++r) first += elements_of(call, r, ranks);
  const int elements = elements_of(call, me, ranks), last = last_operand(call, me, ranks);
  char* operand = calloc(1, (size_t)extent * (size_t)elements + 1);
  for (int r = 0; r <= last; ++r) {
    char* into = r == 0 ? result : operand;
    for (int i = 0; i < elements; ++i) number->store(into + i * extent, operand_of(r, first + i, call->op));
    if (r > 0) PMPI_Reduce_local(operand, result, elements, number->type, call->op);
  }
  free(operand);
}

static void check_reduction(const struct number* number, struct reduction_call call) {
  if (!is_next_in_part()) return;
  int me = 0, ranks = 0;
  MPI_Aint lower = 0, extent = 0;
  MPI_Comm_rank(call.comm, &me);
  MPI_Comm_size(call.comm, &ranks);
  MPI_Type_get_extent(number->type, &lower, &extent);
  const int elements = elements_brought(&call, ranks);
  const size_t bytes = (size_t)extent * (size_t)elements + 64;
  char *operand = calloc(1, bytes), *result = malloc(bytes), *expected = malloc(bytes);
  for (int i = 0; i < elements; ++i) number->store(operand + i * extent, operand_of(me, i, call.op));
  memset(result, 77, bytes);
  memset(expected, 77, bytes);
  if (call.in_place) memcpy(expected, operand, (size_t)extent * (size_t)elements);
  const int code = run_reduction(&call, 0, operand, result);
  combine(number, &call, extent, expected);
  clear_gaps(result, elements, number->type, extent);
  clear_gaps(expected, elements, number->type, extent);
  /* In place, what lies behind the own block of a scattered result is the library's to use. */
  const int is_scattered = call.reduction == reduce_scatter || call.reduction == reduce_scatter_block;
  const size_t compared = is_scattered && call.in_place ? (size_t)(extent * elements_of(&call, me, ranks)) : bytes;
  const int is_defined = !(call.reduction == exscan && me == 0) && !(call.reduction == reduce && me != call.root);
  size_t at = memcmp(result, expected, compared) == 0 ? compared : 0;
  while (is_defined && at < compared && result[at] == expected[at]) ++at;
  check(code == MPI_SUCCESS && (!is_defined || at == compared),
        "%s: operation %d, reduction %d%s of %d elements, root %d: code %d, other than it should be at byte %zu of %zu",
        call.what, index_of(call.op), call.reduction, call.in_place ? " in place" : "", call.count, call.root, code, at,
        compared);
  free(operand), free(result), free(expected);
}

static int list_numbers(struct number* list) {
  const struct number numbers[] = {
      {"signed char", MPI_SIGNED_CHAR, c_integer, store_char},
      {"unsigned char", MPI_UNSIGNED_CHAR, c_integer, store_char},
      {"short", MPI_SHORT, c_integer, store_short},
      {"unsigned short", MPI_UNSIGNED_SHORT, c_integer, store_short},
      {"int", MPI_INT, c_integer, store_int},
      {"unsigned", MPI_UNSIGNED, c_integer, store_int},
      {"long", MPI_LONG, c_integer, store_long},
      {"unsigned long", MPI_UNSIGNED_LONG, c_integer, store_long},
      {"long long", MPI_LONG_LONG, c_integer, store_long_long},
      {"unsigned long long", MPI_UNSIGNED_LONG_LONG, c_integer, store_long_long},
      {"int8", MPI_INT8_T, c_integer, store_char},
      {"uint16", MPI_UINT16_T, c_integer, store_short},
      {"int32", MPI_INT32_T, c_integer, store_int},
      {"uint64", MPI_UINT64_T, c_integer, store_long_long},
      {"aint", MPI_AINT, fortran_integer, store_long},
      {"float", MPI_FLOAT, floating, store_float},
      {"double", MPI_DOUBLE, floating, store_double},
      {"long double", MPI_LONG_DOUBLE, floating, store_long_double},
      {"bool", MPI_C_BOOL, logical, store_truth},
      {"double complex", MPI_C_DOUBLE_COMPLEX, complex_number, store_complex},
      {"byte", MPI_BYTE, raw_byte, store_char},
      {"float-int", MPI_FLOAT_INT, pair, store_pair_float},
      {"double-int", MPI_DOUBLE_INT, pair, store_pair_double},
      {"long-int", MPI_LONG_INT, pair, store_pair_long},
      {"short-int", MPI_SHORT_INT, pair, store_pair_short},
      {"int-int", MPI_2INT, pair, store_pair_int},
  };
  memcpy(list, numbers, sizeof numbers);
  return (int)(sizeof numbers / sizeof numbers[0]);
}

static void every_type_and_operation(MPI_Comm comm) {
  struct number list[40];
  const int numbers = list_numbers(list);
  int turn = 0;
  for (int n = 0; n < numbers; ++n)
    for (int o = 0; o < op_count; ++o) {
      const MPI_Op op = op_at(o);
      if (!is_allowed(op, list[n].class)) continue;
      for (int reduction = reduce; reduction < reduction_count; ++reduction, ++turn)
        check_reduction(&list[n], (struct reduction_call){list[n].name, (enum reduction)reduction,
                                                          (turn + turn / reduction_count) % 2, list[n].type, op,
                                                          1 + turn % 13, 0, comm});
    }
}

static void every_size_and_root(MPI_Comm comm, int size) {
  static const int edges[] = {0, 1, 2, 7, 8, 64, 500, 517, 519, 1000, 5000, 8192, 30011, 200003};
  struct number list[40];
  list_numbers(list);
  for (unsigned i = 0; i < sizeof edges / sizeof edges[0]; ++i)
    for (int reduction = reduce; reduction < reduction_count; ++reduction)
      for (int in_place = 0; in_place < 2; ++in_place) {
        const struct number* number = &list[i % 2 ? 16 : 4]; /* double, int */
        const int is_scattered = reduction == reduce_scatter || reduction == reduce_scatter_block;
        if (is_scattered && in_place && edges[i] > 520) continue; /* MPICH 5.0 itself copies overlapping memory there */
        const int count = edges[i] > 10000 && is_scattered ? edges[i] / size : edges[i];
        check_reduction(number, (struct reduction_call){number->name, (enum reduction)reduction, in_place, number->type,
                                                        MPI_SUM, count, (int)i % size, comm});
      }
}

/* Sums whose last bits depend on the order: whichever was taken, all ranks must have the same, now and in a repetition.
 */
static void same_bits(MPI_Comm comm) {
  enum { most = 30000 };
  static const int counts[] = {1, 7, 500, 3000, most};
  double *operand = malloc(most * sizeof(double)), *first = malloc(most * sizeof(double));
  double *again = malloc(most * sizeof(double)), *least = malloc(most * sizeof(double));
  for (int c = 0; c < 5; ++c) {
    const size_t bytes = (size_t)counts[c] * sizeof(double);
    for (int i = 0; i < counts[c]; ++i) operand[i] = 1.0 / (3 + world_rank * 17 + i % 1000);
    MPI_Allreduce(operand, first, counts[c], MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(operand, again, counts[c], MPI_DOUBLE, MPI_SUM, comm);
    check(memcmp(first, again, bytes) == 0, "allreduce of %d doubles: a repetition gives other bits", counts[c]);
    memcpy(least, first, bytes);
    PMPI_Bcast(least, counts[c], MPI_DOUBLE, 0, comm);
    check(memcmp(first, least, bytes) == 0, "allreduce of %d doubles: ranks have different bits", counts[c]);
  }
  free(operand), free(first), free(again), free(least);
}

void theme_reductions(void) {
  MPI_Comm part;
  int size = 0;
  every_type_and_operation(MPI_COMM_WORLD);
  every_size_and_root(MPI_COMM_WORLD, world_size);
  same_bits(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &part);
  MPI_Comm_size(part, &size);
  every_size_and_root(part, size);
  MPI_Comm_free(&part);
}
