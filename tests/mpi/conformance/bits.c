#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reduce.h"
#include "themes.h"

/* Whatever the operands are - NaNs with payloads, zeros of both signs, infinities, denormals, equal values - all ranks
 * find the same bits, and where no NaN takes part the values that the MPI underneath finds. */

enum class { whole, truth, floating, complex_number, pair };

/* One number inside an element. */
enum number { no_number, c_char, c_short, c_int, c_long, c_bool, c_float, c_double, c_long_double };

struct element {
  const char* name;
  MPI_Datatype type;
  enum class class;
  size_t extent;
  enum number first;
  enum number second; /* of complex numbers and pairs */
  size_t second_at;
};

struct float_int {
  float value;
  int index;
};
struct double_int {
  double value;
  int index;
};
struct long_int {
  long value;
  int index;
};
struct short_int {
  short value;
  int index;
};
struct long_double_int {
  long double value;
  int index;
};

enum { most_elements = 32 };

static int list_elements(struct element* list) {
#define PAIR(type, name, number) \
  { #name, type, pair, sizeof(struct name), number, c_int, offsetof(struct name, index) }
  const struct element all[] = {
      {"char", MPI_SIGNED_CHAR, whole, sizeof(char), c_char, no_number, 0},
      {"unsigned char", MPI_UNSIGNED_CHAR, whole, sizeof(char), c_char, no_number, 0},
      {"short", MPI_SHORT, whole, sizeof(short), c_short, no_number, 0},
      {"unsigned short", MPI_UNSIGNED_SHORT, whole, sizeof(short), c_short, no_number, 0},
      {"int", MPI_INT, whole, sizeof(int), c_int, no_number, 0},
      {"unsigned", MPI_UNSIGNED, whole, sizeof(int), c_int, no_number, 0},
      {"long", MPI_LONG, whole, sizeof(long), c_long, no_number, 0},
      {"unsigned long", MPI_UNSIGNED_LONG, whole, sizeof(long), c_long, no_number, 0},
      {"bool", MPI_C_BOOL, truth, sizeof(_Bool), c_bool, no_number, 0},
      {"float", MPI_FLOAT, floating, sizeof(float), c_float, no_number, 0},
      {"double", MPI_DOUBLE, floating, sizeof(double), c_double, no_number, 0},
      {"long double", MPI_LONG_DOUBLE, floating, sizeof(long double), c_long_double, no_number, 0},
      {"float complex", MPI_C_FLOAT_COMPLEX, complex_number, sizeof(float complex), c_float, c_float, sizeof(float)},
      {"double complex", MPI_C_DOUBLE_COMPLEX, complex_number, sizeof(double complex), c_double, c_double,
       sizeof(double)},
      {"long double complex", MPI_C_LONG_DOUBLE_COMPLEX, complex_number, sizeof(long double complex), c_long_double,
       c_long_double, sizeof(long double)},
      {"int_int", MPI_2INT, pair, 2 * sizeof(int), c_int, c_int, sizeof(int)},
      PAIR(MPI_FLOAT_INT, float_int, c_float),
      PAIR(MPI_DOUBLE_INT, double_int, c_double),
      PAIR(MPI_LONG_INT, long_int, c_long),
      PAIR(MPI_SHORT_INT, short_int, c_short),
      PAIR(MPI_LONG_DOUBLE_INT, long_double_int, c_long_double),
  };
  memcpy(list, all, sizeof all);
  return (int)(sizeof all / sizeof all[0]);
}

struct operation {
  MPI_Op op;
  const char* name;
  int is_order; /* its bits do not even depend on the brackets */
};

enum { op_count = 12 };

static int list_operations(enum class class, struct operation* list) {
  const struct operation all[op_count] = {{MPI_MAX, "max", 1},   {MPI_MIN, "min", 1},       {MPI_SUM, "sum", 0},
                                          {MPI_PROD, "prod", 0}, {MPI_BAND, "band", 1},     {MPI_BOR, "bor", 1},
                                          {MPI_BXOR, "bxor", 1}, {MPI_LAND, "land", 1},     {MPI_LOR, "lor", 1},
                                          {MPI_LXOR, "lxor", 1}, {MPI_MAXLOC, "maxloc", 1}, {MPI_MINLOC, "minloc", 1}};
  static const struct { int first, last; } range[] = {{0, 10}, {7, 10}, {0, 4}, {2, 4}, {10, 12}};
  const int first = range[class].first, last = range[class].last;
  memcpy(list, all + first, sizeof *all * (size_t)(last - first));
  return last - first;
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

enum flavour { any_bits, tame }; /* tame: nothing that makes a NaN, and every order of operations gives one value */

static double wild_double(uint64_t* state) {
  const uint64_t all = next_random(state), sign = all & (1ull << 63), exponent = 0x7ffull << 52;
  uint64_t bits = all;
  switch (next_random(state) % 8) {
    case 0: bits = sign; break;
    case 1: bits = sign | exponent; break;
    case 2: bits = sign | exponent | (all & 0xf) | 1ull << 51; break;
    case 3: bits = all & ~exponent; break;
    case 4: bits = all | exponent; break;
    case 5: return (double)(all % 5) - 2;
    default: break;
  }
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float wild_float(uint64_t* state) {
  const uint32_t all = (uint32_t)next_random(state), sign = all & 1u << 31, exponent = 0xffu << 23;
  uint32_t bits = all;
  switch (next_random(state) % 8) {
    case 0: bits = sign; break;
    case 1: bits = sign | exponent; break;
    case 2: bits = sign | exponent | (all & 0xf) | 1u << 22; break;
    case 3: bits = all & ~exponent; break;
    case 4: bits = all | exponent; break;
    case 5: return (float)(all % 5) - 2;
    default: break;
  }
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Sums: whole numbers, zeros and one infinity, or else denormals and zeros. Products: powers of two and zeros, or else
 * infinities. */
static double tame_double(uint64_t* state, MPI_Op op, int index, double denormal) {
  const int choice = (int)(next_random(state) % 6);
  if (op == MPI_PROD) {
    const double with_zeros[] = {1, -1, 2, 0.5, 0.0, -0.0}, with_infinities[] = {1, -1, 2, 0.5, HUGE_VAL, -HUGE_VAL};
    return (index % 2 ? with_zeros : with_infinities)[choice];
  }
  const double numbers[] = {0.0, -0.0, 1, 3, 7, op == MPI_SUM ? HUGE_VAL : -HUGE_VAL};
  const double small[] = {0.0, -0.0, denormal, 2 * denormal, -3 * denormal, 5 * denormal};
  return (index % 2 ? numbers : small)[choice];
}

static void store(enum number number, enum flavour flavour, MPI_Op op, int index, uint64_t* state, char* into) {
  const uint64_t all = next_random(state);
  const long value = flavour == any_bits && all % 3 == 0 ? (long)all : (long)(all / 3 % 3);
  const int is_small = flavour == tame;
  switch (number) {
    case no_number: return;
    case c_char: *(signed char*)into = (signed char)value; return;
    case c_short: *(short*)into = (short)value; return;
    case c_int: *(int*)into = (int)value; return;
    case c_long: *(long*)into = value; return;
    case c_bool: *(_Bool*)into = value % 3 != 0; return;
    case c_float: {
      const float x = is_small ? (float)tame_double(state, op, index, FLT_TRUE_MIN) : wild_float(state);
      memcpy(into, &x, sizeof x);
      return;
    }
    case c_double: {
      const double x = is_small ? tame_double(state, op, index, DBL_TRUE_MIN) : wild_double(state);
      memcpy(into, &x, sizeof x);
      return;
    }
    case c_long_double: {
      const long double x = is_small ? tame_double(state, op, index, DBL_TRUE_MIN) : wild_double(state);
      memcpy(into, &x, sizeof x);
      return;
    }
  }
}

static void fill(const struct element* element, enum flavour flavour, MPI_Op op, int count, char* into) {
  uint64_t state = (uint64_t)world_rank * 7919 + (uint64_t)count * 31 + element->extent;
  memset(into, 0, element->extent * (size_t)count);
  for (int i = 0; i < count; ++i, into += element->extent) {
    store(element->first, flavour, op, i, &state, into);
    store(element->second, flavour, op, i, &state, into + element->second_at);
    /* An infinity in one part of a complex number makes NaNs of the other. */
    if (element->class == complex_number && flavour == tame && op == MPI_PROD && i % 2 == 0)
      memset(into, 0, element->extent);
  }
}

/* ---- results --------------------------------------------------------------------------------------------------- */

static size_t bytes_of(enum number number) {
  static const size_t bytes[] = {0,
                                 1,
                                 sizeof(short),
                                 sizeof(int),
                                 sizeof(long),
                                 sizeof(_Bool),
                                 sizeof(float),
                                 sizeof(double),
                                 LDBL_MANT_DIG == 64 ? 10 : sizeof(long double)};
  return bytes[number];
}

/* FNV-1a of the numbers, without gaps. */
static uint64_t hash_of(const struct element* element, const char* data, int count) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < count; ++i, data += element->extent) {
    for (size_t b = 0; b < bytes_of(element->first); ++b) hash = (hash ^ (unsigned char)data[b]) * 0x100000001b3;
    for (size_t b = 0; b < bytes_of(element->second); ++b)
      hash = (hash ^ (unsigned char)data[element->second_at + b]) * 0x100000001b3;
  }
  return hash;
}

/* Zeros are equal whatever their sign. */
static int are_equal_numbers(enum number number, const char* left, const char* right) {
  if (number == c_float) return *(const float*)left == *(const float*)right;
  if (number == c_double) return *(const double*)left == *(const double*)right;
  if (number == c_long_double) return *(const long double*)left == *(const long double*)right;
  return memcmp(left, right, bytes_of(number)) == 0;
}

static int are_equal(const struct element* element, const char* left, const char* right, int count) {
  for (int i = 0; i < count; ++i, left += element->extent, right += element->extent)
    if (!are_equal_numbers(element->first, left, right) ||
        !are_equal_numbers(element->second, left + element->second_at, right + element->second_at))
      return 0;
  return 1;
}

/* ---- what is compared ------------------------------------------------------------------------------------------ */

/* Hashes of all results so far, to be compared with the other ranks' at the end: one message. */
enum { most_results = 8192 };
static uint64_t hashes[most_results];
static const char* names[most_results][2];
static int counts[most_results];
static int results;

static void note(const struct element* element, const char* operation, const char* data, int count) {
  if (results == most_results) return check(0, "bits: more results than places for them");
  names[results][0] = element->name;
  names[results][1] = operation;
  counts[results] = count;
  hashes[results++] = hash_of(element, data, count);
}

static void compare_with_other_ranks(void) {
  uint64_t* first = malloc(sizeof hashes);
  memcpy(first, hashes, sizeof hashes);
  PMPI_Bcast(first, results, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int i = 0; i < results; ++i)
    check(first[i] == hashes[i], "allreduce of %d %s, %s: other bits than on rank 0", counts[i], names[i][0],
          names[i][1]);
  free(first);
}

struct buffers {
  char *operand, *ours, *other;
};

static void all_ranks_have_the_same(const struct element* element, const struct operation* operation, int count,
                                    struct buffers b) {
  fill(element, any_bits, operation->op, count, b.operand);
  memset(b.ours, 0, element->extent * (size_t)count);
  MPI_Allreduce(b.operand, b.ours, count, element->type, operation->op, MPI_COMM_WORLD);
  note(element, operation->name, b.ours, count);
  if (!operation->is_order) return;
  /* The other ways to the same result. */
  const int block = count / world_size;
  memset(b.other, 0, element->extent * (size_t)count);
  MPI_Reduce_scatter_block(b.operand, b.other, block, element->type, operation->op, MPI_COMM_WORLD);
  check(hash_of(element, b.other, block) ==
            hash_of(element, b.ours + element->extent * (size_t)(block * world_rank), block),
        "reduce_scatter_block of %d %s, %s: other bits than allreduce", block, element->name, operation->name);
  MPI_Scan(b.operand, b.other, count, element->type, operation->op, MPI_COMM_WORLD);
  check(world_rank < world_size - 1 || hash_of(element, b.other, count) == hash_of(element, b.ours, count),
        "scan of %d %s, %s: other bits than allreduce", count, element->name, operation->name);
}

static void values_are_the_native_ones(const struct element* element, const struct operation* operation, int count,
                                       struct buffers b) {
  static const enum reduction ways[] = {allreduce, reduce_scatter_block, scan};
  fill(element, tame, operation->op, count, b.operand);
  for (int w = 0; w < 3; ++w) {
    struct reduction_call call = {"", ways[w], 0, element->type, operation->op, count, 0, MPI_COMM_WORLD};
    if (ways[w] == reduce_scatter_block) call.count = count / world_size;
    run_reduction(&call, 0, b.operand, b.ours);
    run_reduction(&call, 1, b.operand, b.other);
    check(are_equal(element, b.ours, b.other, call.count), "reduction %d of %d %s, %s: other values than native",
          (int)ways[w], call.count, element->name, operation->name);
  }
}

/* Commutes in value only: of NaN and a number it takes the second, of zeros, too. */
static void greater(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  const double* left = in;
  double* right = inout;
  for (int i = 0; i < *length; ++i) right[i] = left[i] > right[i] ? left[i] : right[i];
}

static void own_operations(const struct element* list, int elements, const int* sizes, int size_count,
                           struct buffers b) {
  MPI_Op own;
  MPI_Op_create(greater, 1, &own);
  for (int e = 0; e < elements; ++e)
    for (int i = 0; list[e].type == MPI_DOUBLE && i < size_count; ++i)
      all_ranks_have_the_same(&list[e], &(struct operation){own, "own maximum", 0}, sizes[i], b);
  MPI_Op_free(&own);
}

void theme_bits(void) {
  static const int sizes[] = {1, 2, 7, 512, 5000};
  enum { size_count = sizeof sizes / sizeof sizes[0], most = 5000 };
  struct element list[most_elements];
  struct operation operations[op_count];
  const int elements = list_elements(list);
  const size_t room = most * sizeof(struct long_double_int);
  const struct buffers b = {malloc(room), malloc(room), malloc(room)};
  results = 0;
  for (int e = 0; e < elements; ++e) {
    const int count = list_operations(list[e].class, operations);
    for (int o = 0; o < count; ++o) {
      for (int i = 0; i < size_count; ++i) all_ranks_have_the_same(&list[e], &operations[o], sizes[i], b);
      /* Whole numbers: theme reductions. */
      if (list[e].class == floating || list[e].class == complex_number || list[e].class == pair)
        for (int i = 2; i < 4; ++i) values_are_the_native_ones(&list[e], &operations[o], sizes[i], b);
    }
  }
  own_operations(list, elements, sizes, size_count, b);
  compare_with_other_ranks();
  free(b.operand), free(b.ours), free(b.other);
}
