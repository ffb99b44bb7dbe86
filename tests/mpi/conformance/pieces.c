/* Alltoallw: a type for each rank on either side, displacements in bytes. */
#define _GNU_SOURCE
#include "check.h"
#include "form.h"
#include "themes.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int size, rank;

static int value(int from, int to, int at) { return 1000000 * from + 10000 * to + at; }

/* Between a pair of ranks: as many numbers as both know. */
static int count_of(int from, int to, int scale) { return (3 * from + to) % 4 * scale; }

/* A rank tells the other's type by itself: packed one behind the other, with gaps, reversed, or of single bytes. */
static MPI_Datatype make_type(int kind, int count, int* elements) {
  MPI_Datatype type = MPI_INT;
  *elements = count;
  if (kind == 1) {
    MPI_Type_vector(count, 1, 2, MPI_INT, &type);
    *elements = 1;
  } else if (kind == 2) {
    int* lengths = malloc((size_t)(2 * count + 1) * sizeof *lengths);
    int* at = lengths + count;
    for (int i = 0; i < count; ++i) lengths[i] = 1, at[i] = count - 1 - i;
    MPI_Type_indexed(count, lengths, at, MPI_INT, &type);
    free(lengths);
    *elements = 1;
  } else if (kind == 3) {
    type = MPI_BYTE;
    *elements = 4 * count;
  }
  if (type != MPI_INT && type != MPI_BYTE) MPI_Type_commit(&type);
  return type;
}

static int place(int kind, int count, int i) { return kind == 1 ? 2 * i : kind == 2 ? count - 1 - i : i; }

struct side {
  int *counts, *at;
  MPI_Datatype* types;
  int* kinds;
  int* data;
};

/* Room for twice the largest block of each rank; displacements that go down, so that blocks are not in order. */
static struct side make_side(int turn, int scale, int sends) {
  const size_t ranks = (size_t)size, room = (size_t)(6 * scale + 2);
  struct side made = {malloc(ranks * sizeof(int)), malloc(ranks * sizeof(int)), malloc(ranks * sizeof(MPI_Datatype)),
                      malloc(ranks * sizeof(int)), malloc(ranks * room * sizeof(int))};
  for (int r = 0; r < size; ++r) {
    const int count = sends ? count_of(rank, r, scale) : count_of(r, rank, scale);
    made.kinds[r] = (turn + r + (sends ? 0 : rank)) % 4;
    made.at[r] = (int)((ranks - 1 - (size_t)r) * room * sizeof(int));
    made.types[r] = make_type(made.kinds[r], count, &made.counts[r]);
    for (size_t i = 0; i < room; ++i) made.data[(size_t)made.at[r] / sizeof(int) + i] = -1;
    for (int i = 0; sends && i < count; ++i)
      made.data[made.at[r] / (int)sizeof(int) + place(made.kinds[r], count, i)] = value(rank, r, i);
  }
  return made;
}

static void free_side(struct side* side) {
  for (int r = 0; r < size; ++r)
    if (side->types[r] != MPI_INT && side->types[r] != MPI_BYTE) MPI_Type_free(&side->types[r]);
  free(side->counts), free(side->at), free(side->types), free(side->kinds), free(side->data);
}

static void check_pieces(MPI_Comm comm, int turn, int scale) {
  struct side out = make_side(turn, scale, 1), in = make_side(turn, scale, 0);
  const int code = MPI_Alltoallw(out.data, out.counts, out.at, out.types, in.data, in.counts, in.at, in.types, comm);
  check(code == MPI_SUCCESS, "alltoallw gave %d", code);
  for (int r = 0; r < size; ++r) {
    const int count = count_of(r, rank, scale), *block = in.data + in.at[r] / (int)sizeof(int);
    int wrong = 0, touched = 0;
    for (int i = 0; i < count; ++i) wrong += block[place(in.kinds[r], count, i)] != value(r, rank, i);
    for (int i = 0; i < 6 * scale + 2; ++i) touched += block[i] != -1;
    check(wrong == 0, "alltoallw from %d: %d of %d are wrong (turn %d)", r, wrong, count, turn);
    check(touched == count, "alltoallw from %d touched %d of %d", r, touched, count);
  }
  free_side(&out), free_side(&in);
}

/* The blocks of a matrix in columns become the blocks of its transpose: what FFTs do, by subarrays. */
static void check_transpose(MPI_Comm comm, int side) {
  const int rows = side * size, sizes[2] = {side, rows}, sub[2] = {side, side};
  int *mine = malloc((size_t)(side * rows) * sizeof *mine), *theirs = malloc((size_t)(side * rows) * sizeof *theirs);
  int* ones = malloc((size_t)(2 * size) * sizeof *ones);
  MPI_Datatype* types = malloc((size_t)(2 * size) * sizeof *types);
  for (int i = 0; i < side * rows; ++i) mine[i] = value(rank, i % rows, i / rows), theirs[i] = -1;
  for (int r = 0; r < size; ++r) {
    const int start[2] = {0, r * side};
    ones[r] = 1, ones[size + r] = 0;
    MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, MPI_INT, &types[r]);
    MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, MPI_INT, &types[size + r]);
    MPI_Type_commit(&types[r]), MPI_Type_commit(&types[size + r]);
  }
  MPI_Alltoallw(mine, ones, ones + size, types, theirs, ones, ones + size, types + size, comm);
  int wrong = 0;
  for (int i = 0; i < side * rows; ++i) wrong += theirs[i] != value(i % rows / side, rank * side + i % side, i / rows);
  check(wrong == 0, "alltoallw of subarrays of %d: %d are wrong", side, wrong);
  for (int r = 0; r < 2 * size; ++r) MPI_Type_free(&types[r]);
  free(mine), free(theirs), free(ones), free(types);
}

typedef int create_large(int, const MPI_Count*, const MPI_Count*, const MPI_Count*, int, MPI_Datatype, MPI_Datatype*);

/* What a rank receives in a row although it is told as part of an array: cut along the slowest axis, in either order.
 */
static MPI_Datatype make_slab(int order, int planes, int plane, int rows, int from, int taken, int columns) {
  const int is_c = order == MPI_ORDER_C;
  const int sizes[3] = {is_c ? planes : columns, rows, is_c ? columns : planes};
  const int part[3] = {is_c ? 1 : columns, taken, is_c ? columns : 1};
  const int start[3] = {is_c ? plane : 0, from, is_c ? 0 : plane};
  MPI_Datatype made;
  create_large* const create = (create_large*)dlsym(RTLD_DEFAULT, "MPI_Type_create_subarray_c");
  if (plane % 2 == 1 && create != NULL) { /* as mpi4py makes them, where the MPI can */
    MPI_Count large[9];
    for (int i = 0; i < 3; ++i) large[i] = sizes[i], large[3 + i] = part[i], large[6 + i] = start[i];
    create(3, large, large + 3, large + 6, order, MPI_INT, &made);
    MPI_Type_commit(&made);
    return made;
  }
  MPI_Type_create_subarray(3, sizes, part, start, order, MPI_INT, &made);
  MPI_Type_commit(&made);
  return made;
}

/* Columns of the sender's rows become rows of the receiver's, in the second of three planes: what slabs of FFTs do. */
static void check_slabs(MPI_Comm comm, int side, int order) {
  const int rows = side * size, planes = 3, plane = 1;
  const int sizes[2] = {side, rows}, sub[2] = {side, side};
  int* mine = malloc((size_t)(side * rows) * sizeof *mine);
  int* theirs = malloc((size_t)(planes * side * rows) * sizeof *theirs);
  int* ones = malloc((size_t)(2 * size) * sizeof *ones);
  MPI_Datatype* types = malloc((size_t)(2 * size) * sizeof *types);
  for (int i = 0; i < side * rows; ++i) mine[i] = value(rank, i % rows, i / rows);
  for (int i = 0; i < planes * side * rows; ++i) theirs[i] = -1;
  for (int r = 0; r < size; ++r) {
    const int start[2] = {0, r * side};
    ones[r] = 1, ones[size + r] = 0;
    MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, MPI_INT, &types[r]);
    MPI_Type_commit(&types[r]);
    types[size + r] = make_slab(order, planes, plane, rows, r * side, side, side);
  }
  MPI_Alltoallw(mine, ones, ones + size, types, theirs, ones, ones + size, types + size, comm);
  int wrong = 0, touched = 0;
  for (int i = 0; i < side * rows; ++i)
    wrong += theirs[plane * side * rows + i] != value(i / side / side, rank * side + i % side, i / side % side);
  for (int i = 0; i < planes * side * rows; ++i) touched += theirs[i] != -1;
  check(wrong == 0, "alltoallw into slabs of %d: %d are wrong", side, wrong);
  check(touched == side * rows, "alltoallw into slabs of %d touched %d", side, touched);
  for (int r = 0; r < 2 * size; ++r) MPI_Type_free(&types[r]);
  free(mine), free(theirs), free(ones), free(types);
}

/* One such part alone, which others call a row of integers. */
static void check_slab_alone(MPI_Comm comm, int side, int order) {
  const int rows = 4 * side, root = size - 1, all = 3 * rows * side;
  int* data = malloc((size_t)all * sizeof *data);
  MPI_Datatype slab = make_slab(order, 3, 2, rows, side, side, side);
  const int begin = rank % 2 ? 0 : (2 * rows + side) * side;
  for (int i = 0; i < all; ++i) data[i] = -1;
  for (int i = 0; rank == root && i < side * side; ++i) data[begin + i] = value(root, 0, i);
  if (rank % 2)
    MPI_Bcast(data, side * side, MPI_INT, root, comm);
  else
    MPI_Bcast(data, 1, slab, root, comm);
  int wrong = 0, touched = 0;
  for (int i = 0; i < side * side; ++i) wrong += data[begin + i] != value(root, 0, i);
  for (int i = 0; i < all; ++i) touched += data[i] != -1;
  check(wrong == 0, "broadcast of a slab of %d: %d are wrong", side, wrong);
  check(touched == side * side, "broadcast of a slab of %d touched %d", side, touched);
  MPI_Type_free(&slab);
  free(data);
}

/* Everything is sent from where it is received. */
static void check_in_place(MPI_Comm comm, int count) {
  int* data = malloc((size_t)(size * count + 1) * sizeof *data);
  int* counts = malloc((size_t)(2 * size) * sizeof *counts);
  MPI_Datatype* types = malloc((size_t)size * sizeof *types);
  for (int r = 0; r < size; ++r) {
    counts[r] = (rank + r) % 2 ? count : 4 * count;
    types[r] = (rank + r) % 2 ? MPI_INT : MPI_BYTE;
    counts[size + r] = r * count * (int)sizeof *data;
    for (int i = 0; i < count; ++i) data[r * count + i] = value(rank, r, i);
  }
  MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, data, counts, counts + size, types, comm);
  int wrong = 0;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count; ++i) wrong += data[r * count + i] != value(r, rank, i);
  check(wrong == 0, "alltoallw in place of %d: %d are wrong", count, wrong);
  free(data), free(counts), free(types);
}

void theme_pieces(void) {
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  const MPI_Comm comms[] = {MPI_COMM_WORLD, reversed};
  for (int c = 0; c < 2; ++c) {
    MPI_Comm_size(comms[c], &size);
    MPI_Comm_rank(comms[c], &rank);
    for (int turn = 0; turn < 4; ++turn)
      for (int scale = 1; scale <= 4000; scale *= 20) check_pieces(comms[c], turn, scale);
    for (int side = 1; side <= 64; side *= 8) check_transpose(comms[c], side);
    for (int side = 1; side <= 40; side *= side < 8 ? 8 : 5) {
      check_slabs(comms[c], side, MPI_ORDER_C), check_slabs(comms[c], side, MPI_ORDER_FORTRAN);
      check_slab_alone(comms[c], side, MPI_ORDER_C), check_slab_alone(comms[c], side, MPI_ORDER_FORTRAN);
    }
    for (int count = 0; count <= 3000; count = 10 * count + 3) check_in_place(comms[c], count);
  }
  MPI_Comm_free(&reversed);
}
