/* A two-dimensional Fourier transform: rows are transformed where they lie, then the matrix is transposed by an
 * all-to-all of blocks, then what used to be columns is transformed.
 *
 *   mpiexec -n 4 fft [N]        N: rows and columns, a power of two (default 256)
 *
 * Ranks that do not divide N have uneven shares of rows; their transposition is MPI_Alltoallv. Standard output depends
 * on N alone, whatever the number of ranks: a checksum of the spectrum, and whether transforming it back gives the
 * input. */

#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;

static int rank, ranks, size; /* of the matrix: size × size */

static int first_row(int r) { return (int)((long)size * r / ranks); }
static int rows_of(int r) { return first_row(r + 1) - first_row(r); }

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes + 1);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

/* In place; sign -1 forward, +1 back, without scaling (Cooley and Tukey 1965). */
static void transform_row(number* row, int sign) {
  for (int i = 1, j = 0; i < size; ++i) { /* order of reversed bits */
    int bit = size >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      number keep = row[i];
      row[i] = row[j];
      row[j] = keep;
    }
  }
  for (int half = 1; half < size; half *= 2)
    for (int k = 0; k < half; ++k) {
      number turn = cexp(sign * I * M_PI * k / half);
      for (int i = k; i < size; i += 2 * half) {
        number even = row[i], odd = turn * row[i + half];
        row[i] = even + odd;
        row[i + half] = even - odd;
      }
    }
}

/* Block (r, c): the rows of rank r, the columns that rank c has as rows after the transposition. */
static void transpose(number* rows, number* buffer) {
  int *send = allocate(sizeof(int) * 4 * (size_t)ranks), *from = send + ranks, *receive = from + ranks,
      *into = receive + ranks, mine = rows_of(rank);
  number* block = buffer;
  for (int r = 0, at = 0; r < ranks; ++r) {
    send[r] = receive[r] = 2 * mine * rows_of(r); /* in doubles */
    from[r] = into[r] = at;
    at += send[r];
    for (int column = first_row(r); column < first_row(r + 1); ++column)
      for (int row = 0; row < mine; ++row) *block++ = rows[(size_t)row * (size_t)size + (size_t)column];
  }
  if (size % ranks == 0)
    MPI_Alltoall(buffer, send[0], MPI_DOUBLE, rows, send[0], MPI_DOUBLE, MPI_COMM_WORLD);
  else
    MPI_Alltoallv(buffer, send, from, MPI_DOUBLE, rows, receive, into, MPI_DOUBLE, MPI_COMM_WORLD);
  /* What came from rank r are pieces of my new rows. */
  for (int r = 0; r < ranks; ++r)
    for (int row = 0; row < mine; ++row)
      memcpy(buffer + (size_t)row * (size_t)size + first_row(r), rows + into[r] / 2 + row * rows_of(r),
             sizeof(number) * (size_t)rows_of(r));
  memcpy(rows, buffer, sizeof(number) * (size_t)mine * (size_t)size);
  free(send);
}

static void transform(number* rows, number* buffer, int sign) {
  for (int dimension = 0; dimension < 2; ++dimension) {
    for (int row = 0; row < rows_of(rank); ++row) transform_row(rows + (size_t)row * (size_t)size, sign);
    transpose(rows, buffer);
  }
}

/* Any smooth but not periodic field will do. */
static number input(int row, int column) { return sin(0.1 * row * row) + I * cos(0.3 * column + row % 7); }

static void fill(number* rows) {
  for (int row = 0; row < rows_of(rank); ++row)
    for (int column = 0; column < size; ++column)
      rows[(size_t)row * (size_t)size + (size_t)column] = input(first_row(rank) + row, column);
}

/* Of all bits of all elements, each mixed with its place; exclusive or needs no order. */
static uint64_t checksum(const number* rows) {
  uint64_t sum = 0, all = 0, bits[2];
  for (long i = 0; i < (long)rows_of(rank) * size; ++i) {
    memcpy(bits, &rows[i], sizeof(bits));
    uint64_t place = (uint64_t)(i + (long)first_row(rank) * size) * 0x9E3779B97F4A7C15u;
    sum ^= (bits[0] ^ place) * 0xBF58476D1CE4E5B9u ^ (bits[1] + place) * 0x94D049BB133111EBu;
  }
  MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
  return all;
}

/* The largest difference to the input, known to all ranks. */
static double error_of(const number* rows) {
  double mine = 0, worst = 0;
  for (int row = 0; row < rows_of(rank); ++row)
    for (int column = 0; column < size; ++column) {
      number back = rows[(size_t)row * (size_t)size + (size_t)column] / ((double)size * size);
      mine = fmax(mine, cabs(back - input(first_row(rank) + row, column)));
    }
  MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return worst;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  size = argc > 1 ? atoi(argv[1]) : 256;
  if (size < ranks || (size & (size - 1)) != 0) {
    if (rank == 0) fprintf(stderr, "fft: N must be a power of two and at least the number of ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  size_t bytes = sizeof(number) * (size_t)rows_of(rank) * (size_t)size;
  number *rows = allocate(bytes), *buffer = allocate(bytes);
  fill(rows);
  transform(rows, buffer, -1);
  uint64_t sum = checksum(rows);
  transform(rows, buffer, +1);
  double error = error_of(rows);
  if (rank == 0)
    printf("%d x %d, checksum %016llx, %s\n", size, size, (unsigned long long)sum,
           error < 1e-12 ? "back to the input" : "NOT back to the input");
  free(rows);
  free(buffer);
  MPI_Finalize();
  return error < 1e-12 ? 0 : 1;
}
