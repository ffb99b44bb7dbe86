// The functions of espalier.h that MPI has no counterpart of.

#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "mpi/boundary/entry.hpp"

namespace espalier::mpi {
namespace {

// MPI_SUCCESS, or what went wrong; no error handler is called: these functions are not MPI's.
template <class Work>
int attempt(Work work) noexcept {
  if (find_native() == nullptr) return MPI_ERR_INTERN;
  try {
    work();
    return MPI_SUCCESS;
  } catch (const Error&) {
    return MPI_ERR_ARG;
  } catch (const std::exception&) {
    return MPI_ERR_NO_MEM;
  }
}

// Reductions are described for elements of 8 bytes, or the largest power of two that divides the vector.
Bytes guess_element(Bytes bytes) {
  Bytes element = 8;
  while (bytes % element != 0) element /= 2;
  return element;
}

// A form with blocks of different sizes is done as the operation is selected to be.
plan::Call parse_kind(const char* name) {
  if (name == nullptr) throw Error("arguments out of range");
  constexpr std::pair<const char*, plan::Operation> uneven[] = {
      {"scatterv", plan::Operation::scatter},
      {"gatherv", plan::Operation::gather},
      {"allgatherv", plan::Operation::allgather},
      {"alltoallv", plan::Operation::alltoall},
      {"reduce_scatterv", plan::Operation::reduce_scatter},
      {"neighbor_allgatherv", plan::Operation::neighbor_allgather},
      {"neighbor_alltoallv", plan::Operation::neighbor_alltoall}};
  for (const auto& [form, operation] : uneven)
    if (std::strcmp(name, form) == 0) return {operation, plan::BlockSizes::counts};
  return {plan::parse_operation(name)};
}

plan::Problem make_problem(plan::Operation operation, MPI_Aint bytes, int root) {
  if (bytes < 0 || root < 0) throw Error("arguments out of range");
  plan::Problem problem{operation, static_cast<Bytes>(bytes), Rank(root)};
  if (plan::is_reduction(problem.operation)) problem.element = guess_element(problem.bytes);
  return problem;
}

}  // namespace
}  // namespace espalier::mpi

using namespace espalier::mpi;

ESPALIER_EXPORT int Espalier_Describe(const char* operation, MPI_Aint bytes, int root, MPI_Comm comm, char* text,
                                      int length) {
  if (text == nullptr || length < 1) return MPI_ERR_ARG;
  return attempt([&] {
    const bool may_wait = operation == nullptr || *operation != 'i';  // no operation begins with it
    const espalier::plan::Call kind = parse_kind(may_wait ? operation : operation + 1);
    const espalier::plan::Problem problem = make_problem(kind.operation, bytes, root);
    const std::string description = describe_call(problem, kind.has_counts(), may_wait, comm);
    std::snprintf(text, static_cast<std::size_t>(length), "%s", description.c_str());
  });
}

ESPALIER_EXPORT int Espalier_Transport(MPI_Comm comm, char* text, int length) {
  if (text == nullptr || length < 1) return MPI_ERR_ARG;
  return attempt(
      [&] { std::snprintf(text, static_cast<std::size_t>(length), "%s", describe_transport(comm).c_str()); });
}

ESPALIER_EXPORT int Espalier_Choose(const char* operation, const char* selection, MPI_Comm comm) {
  if (selection == nullptr) return MPI_ERR_ARG;
  return attempt([&] { choose(parse_kind(operation).operation, selection, comm); });
}
