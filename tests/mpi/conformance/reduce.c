#include "reduce.h"

#include <stdlib.h>
#include <string.h>

enum { most_ranks = 64 };

int elements_of(const struct reduction_call* call, int r, int ranks) {
  if (call->reduction == reduce_scatter) return call->count * ((r * 3 + 1) % 4);
  if (call->reduction == reduce) return r == call->root ? call->count : 0;
  (void)ranks;
  return call->reduction == exscan && r == 0 ? 0 : call->count;
}

int elements_brought(const struct reduction_call* call, int ranks) {
  int sum = 0;
  if (call->reduction == reduce_scatter_block) return call->count * ranks;
  if (call->reduction != reduce_scatter) return call->count;
  for (int r = 0; r < ranks; ++r) sum += elements_of(call, r, ranks);
  return sum;
}

int last_operand(const struct reduction_call* call, int r, int ranks) {
  if (call->reduction == scan) return r;
  return call->reduction == exscan ? r - 1 : ranks - 1;
}

static int call_espalier(const struct reduction_call* c, const void* from, void* into, const int* counts) {
  switch (c->reduction) {
    case reduce: return MPI_Reduce(from, into, c->count, c->type, c->op, c->root, c->comm);
    case allreduce: return MPI_Allreduce(from, into, c->count, c->type, c->op, c->comm);
    case reduce_scatter: return MPI_Reduce_scatter(from, into, counts, c->type, c->op, c->comm);
    case reduce_scatter_block: return MPI_Reduce_scatter_block(from, into, c->count, c->type, c->op, c->comm);
    case scan: return MPI_Scan(from, into, c->count, c->type, c->op, c->comm);
    case exscan: return MPI_Exscan(from, into, c->count, c->type, c->op, c->comm);
    default: return MPI_ERR_OTHER;
  }
}

static int call_native(const struct reduction_call* c, const void* from, void* into, const int* counts) {
  switch (c->reduction) {
    case reduce: return PMPI_Reduce(from, into, c->count, c->type, c->op, c->root, c->comm);
    case allreduce: return PMPI_Allreduce(from, into, c->count, c->type, c->op, c->comm);
    case reduce_scatter: return PMPI_Reduce_scatter(from, into, counts, c->type, c->op, c->comm);
    case reduce_scatter_block: return PMPI_Reduce_scatter_block(from, into, c->count, c->type, c->op, c->comm);
    case scan: return PMPI_Scan(from, into, c->count, c->type, c->op, c->comm);
    case exscan: return PMPI_Exscan(from, into, c->count, c->type, c->op, c->comm);
    default: return MPI_ERR_OTHER;
  }
}

int run_reduction(const struct reduction_call* call, int natively, const void* operand, void* result) {
  int me = 0, ranks = 0, counts[most_ranks];
  MPI_Aint lower = 0, extent = 0;
  MPI_Comm_rank(call->comm, &me);
  MPI_Comm_size(call->comm, &ranks);
  MPI_Type_get_extent(call->type, &lower, &extent);
  for (int r = 0; r < ranks && r < most_ranks; ++r) counts[r] = elements_of(call, r, ranks);
  const size_t bytes = (size_t)extent * (size_t)elements_brought(call, ranks);
  const void* from = operand;
  if (call->in_place && (call->reduction != reduce || me == call->root)) {
    memcpy(result, operand, bytes);
    from = MPI_IN_PLACE;
  }
  void* into = call->reduction == reduce && me != call->root ? NULL : result;
  return natively ? call_native(call, from, into, counts) : call_espalier(call, from, into, counts);
}
