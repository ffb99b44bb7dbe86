#include "mpi/setup/acquaintance.hpp"

#include "base/error.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/process/library.hpp"
#include "mpi/setup/surroundings.hpp"
#include "transports/cross_memory.hpp"
#include "transports/mapped_memory.hpp"
#include "transports/xpmem.hpp"

namespace espalier::mpi {
namespace {

std::uint64_t* word_of(const Facts& theirs) { return reinterpret_cast<std::uint64_t*>(theirs.word_address); }

bool reaches_by_cma(const Facts& theirs) {
  return transports::CrossMemory::is_allowed(theirs.pid, word_of(theirs), theirs.word);
}
bool reaches_by_xpmem(const Facts& theirs) {
  const transports::Xpmem* xpmem = theirs.segment == 0 ? nullptr : transports::Xpmem::load();
  return xpmem != nullptr && transports::can_attach(*xpmem, theirs.segment, word_of(theirs), theirs.word);
}

bool are_neighbours(const Facts& one, const Facts& other) {
  return one.host == other.host && one.virtual_node == other.virtual_node;
}

// Neighbours are alike, so the next one and the first one stand for all; testing everybody would take quadratic time.
bool works_with_two(std::span<const Facts> facts, int me, bool (*reaches)(const Facts&)) {
  const Facts& own = facts[static_cast<std::size_t>(me)];
  const auto ranks = static_cast<int>(facts.size());
  int next = (me + 1) % ranks, first = 0;
  while (!are_neighbours(facts[static_cast<std::size_t>(next)], own)) next = (next + 1) % ranks;
  while (!are_neighbours(facts[static_cast<std::size_t>(first)], own)) ++first;
  if (next == me) return true;
  return reaches(facts[static_cast<std::size_t>(next)]) && reaches(facts[static_cast<std::size_t>(first)]);
}

}  // namespace

Acquaintance get_acquainted(Library& library, MPI_Comm comm, std::span<const Facts> facts, int me,
                            const transports::ArenaName& arena) {
  int mine[3] = {0, 0, 0};
  const bool may_copy = library.settings().single_copy != CopyMeans::none;
  try {
    library.open_arena(arena);
    mine[0] = 1;
    mine[1] = may_copy && works_with_two(facts, me, reaches_by_cma);
    mine[2] = may_copy && works_with_two(facts, me, reaches_by_xpmem);
  } catch (const Error&) {
    // agreed on below
  }
  int all[3] = {0, 0, 0};
  MPI_Request request;
  check(start_minimum(mine, all, 3, comm, &request));
  wait_quietly(request);
  return {all[0] != 0, {all[1] != 0, all[2] != 0}};
}

}  // namespace espalier::mpi
