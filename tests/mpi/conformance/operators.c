#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "reduce.h"
#include "themes.h"

/* Operations of our own, whose result shows the order of operands, on types of our own, which may have gaps. */

/* The product of 2 x 2 matrices over integers modulo 2^32: associative, does not commute. */
struct matrix {
  uint32_t at[4];
};

static struct matrix product(struct matrix a, struct matrix b) {
  struct matrix c;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) c.at[2 * i + j] = a.at[2 * i] * b.at[j] + a.at[2 * i + 1] * b.at[2 + j];
  return c;
}

static struct matrix matrix_of(int rank, int index) {
  uint64_t state = (uint64_t)rank * 977 + (uint64_t)index;
  struct matrix made;
  for (int i = 0; i < 4; ++i) made.at[i] = (uint32_t)next_random(&state) | 1u;
  return made;
}

/* The same matrix with its numbers apart, in the wrong order and with a mark between that nobody may touch. */
struct scattered {
  uint32_t last;
  uint32_t mark;
  uint32_t first[3];
  uint32_t end_mark;
};
enum { mark = 0x6d61726b };

static MPI_Datatype plain_type, scattered_type;
static int wrong_types; /* calls of the operation with a type that is not the caller's */

static void multiply_plain(void* in, void* inout, int* length, MPI_Datatype* type) {
  wrong_types += *type != plain_type;
  struct matrix *left = in, *right = inout;
  for (int i = 0; i < *length; ++i) right[i] = product(left[i], right[i]);
}

static struct matrix gather_matrix(const struct scattered* s) {
  return (struct matrix){{s->first[0], s->first[1], s->first[2], s->last}};
}

static void scatter_matrix(struct scattered* s, struct matrix m) {
  memcpy(s->first, m.at, sizeof s->first);
  s->last = m.at[3];
}

static void multiply_scattered(void* in, void* inout, int* length, MPI_Datatype* type) {
  wrong_types += *type != scattered_type;
  struct scattered *left = in, *right = inout;
  for (int i = 0; i < *length; ++i)
    scatter_matrix(&right[i], product(gather_matrix(&left[i]), gather_matrix(&right[i])));
}

static void make_types(void) {
  const int lengths[2] = {3, 1};
  const MPI_Aint at[2] = {offsetof(struct scattered, first), offsetof(struct scattered, last)};
  const MPI_Datatype types[2] = {MPI_UINT32_T, MPI_UINT32_T};
  MPI_Datatype holes;
  MPI_Type_contiguous(4, MPI_UINT32_T, &plain_type);
  MPI_Type_commit(&plain_type);
  MPI_Type_create_struct(2, lengths, at, types, &holes);
  MPI_Type_create_resized(holes, 0, sizeof(struct scattered), &scattered_type);
  MPI_Type_commit(&scattered_type);
  MPI_Type_free(&holes);
}

static struct matrix expected_at(const struct reduction_call* call, int me, int ranks, int index) {
  int first = 0;
  if (call->reduction == reduce_scatter_block) first = call->count * me;
  if (call->reduction == reduce_scatter)
    for (int r = 0; r < me; ++r) first += elements_of(call, r, ranks);
  const int last = last_operand(call, me, ranks);
  struct matrix sum = matrix_of(0, first + index);
  for (int r = 1; r <= last; ++r) sum = product(sum, matrix_of(r, first + index));
  return sum;
}

static void check_products(struct reduction_call call, int is_scattered) {
  if (!is_next_in_part()) return;
  int me = 0, ranks = 0, wrong = 0, marks = 0;
  MPI_Comm_rank(call.comm, &me);
  MPI_Comm_size(call.comm, &ranks);
  const int brought = elements_brought(&call, ranks), mine = elements_of(&call, me, ranks);
  const size_t element = is_scattered ? sizeof(struct scattered) : sizeof(struct matrix);
  char *operand = malloc(element * (size_t)(brought + 1)), *result = malloc(element * (size_t)(brought + 1));
  for (int i = 0; i < brought; ++i) {
    struct scattered* s = (struct scattered*)operand + i;
    if (is_scattered) {
      s->mark = s->end_mark = 1;
      scatter_matrix(s, matrix_of(me, i));
    } else {
      ((struct matrix*)operand)[i] = matrix_of(me, i);
    }
  }
  for (int i = 0; i < brought && is_scattered; ++i)
    ((struct scattered*)result)[i].mark = ((struct scattered*)result)[i].end_mark = mark;
  const int code = run_reduction(&call, 0, operand, result);
  for (int i = 0; i < mine; ++i) {
    struct scattered* s = (struct scattered*)result + i;
    const struct matrix got = is_scattered ? gather_matrix(s) : ((struct matrix*)result)[i];
    const struct matrix expected = expected_at(&call, me, ranks, i);
    const uint32_t kept = call.in_place ? 1 : mark;
    wrong += memcmp(&got, &expected, sizeof got) != 0;
    marks += is_scattered && (s->mark != kept || s->end_mark != kept);
  }
  check(code == MPI_SUCCESS && wrong == 0 && marks == 0,
        "%s: reduction %d%s of %d: code %d, %d of %d products wrong, %d gaps overwritten", call.what, call.reduction,
        call.in_place ? " in place" : "", call.count, code, wrong, mine, marks);
  free(operand), free(result);
}

/* MPICH, up to 5.0, puts elements with gaps into the wrong places when reduce_scatter_block does not commute, and
 * writes beyond buffers; so does whoever leaves the call to it. */
static int is_fit(enum reduction reduction) {
#ifdef OPEN_MPI
  (void)reduction;
  return 1;
#else
  return reduction != reduce_scatter_block;
#endif
}

static void order_is_kept(MPI_Comm comm) {
  static const int counts[] = {0, 1, 3, 17, 300, 4000};
  int size = 0;
  MPI_Op plain, scattered;
  MPI_Comm_size(comm, &size);
  MPI_Op_create(multiply_plain, 0, &plain);
  MPI_Op_create(multiply_scattered, 0, &scattered);
  for (int c = 0; c < 6; ++c)
    for (int reduction = reduce; reduction < reduction_count; ++reduction)
      for (int in_place = 0; in_place < 2; ++in_place) {
        const int root = (c + reduction) % size;
        check_products((struct reduction_call){"matrices", (enum reduction)reduction, in_place, plain_type, plain,
                                               counts[c], root, comm},
                       0);
        if (!is_fit((enum reduction)reduction)) continue;
        check_products((struct reduction_call){"scattered matrices", (enum reduction)reduction, in_place,
                                               scattered_type, scattered, counts[c], root, comm},
                       1);
      }
  MPI_Op_free(&plain);
  MPI_Op_free(&scattered);
}

/* Handles of freed operations come back for others: what was known about one must not be believed of the next. */
static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
static void last_of_both(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)length, (void)type;
}

static void handles_come_back(void) {
  for (int turn = 0; turn < 12; ++turn) {
    int mine = world_rank + 1, all = 0;
    MPI_Op op;
    MPI_Op_create(turn % 2 ? last_of_both : add, turn % 2 == 0, &op);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    const int expected = turn % 2 ? world_size : world_size * (world_size + 1) / 2;
    check(all == expected, "operation %d: %d instead of %d", turn, all, expected);
  }
}

/* Pairs have gaps: those of the caller's memory stay as they are. */
static void pairs_keep_their_gaps(void) {
  struct {
    double value;
    int index;
    int gap;
  } own[5], best[5];
  for (int i = 0; i < 5; ++i) {
    own[i].value = (world_rank * 3 + i) % 4;
    own[i].index = world_rank;
    own[i].gap = 99;
    best[i].gap = 1234 + i;
  }
  MPI_Allreduce(own, best, 5, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  for (int i = 0; i < 5; ++i) {
    int value = -1, index = -1;
    for (int r = 0; r < world_size; ++r)
      if ((r * 3 + i) % 4 > value) value = (r * 3 + i) % 4, index = r;
    check(best[i].value == value && best[i].index == index && best[i].gap == 1234 + i,
          "MAXLOC %d: %g at %d, gap %d; expected %d at %d", i, best[i].value, best[i].index, best[i].gap, value, index);
  }
}

void theme_operators(void) {
  MPI_Comm part;
  make_types();
  order_is_kept(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &part);
  order_is_kept(part);
  MPI_Comm_free(&part);
  handles_come_back();
  pairs_keep_their_gaps();
  check(wrong_types == 0, "a user's operation was called %d times with another type", wrong_types);
  MPI_Type_free(&plain_type);
  MPI_Type_free(&scattered_type);
}
