// The functions of espalier.h that MPI has no counterpart of.

#include <cstdio>

#include "base/error.hpp"
#include "mpi/entry.hpp"

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

plan::Problem make_problem(const char* operation, MPI_Aint bytes, int root) {
  if (operation == nullptr || bytes < 0 || root < 0) throw Error("arguments out of range");
  plan::Problem problem{plan::parse_operation(operation), static_cast<Bytes>(bytes), Rank(root)};
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
    const std::string description = describe_call(make_problem(operation, bytes, root), comm);
    std::snprintf(text, static_cast<std::size_t>(length), "%s", description.c_str());
  });
}

ESPALIER_EXPORT int Espalier_Transport(MPI_Comm comm, char* text, int length) {
  if (text == nullptr || length < 1) return MPI_ERR_ARG;
  return attempt(
      [&] { std::snprintf(text, static_cast<std::size_t>(length), "%s", describe_transport(comm).c_str()); });
}

ESPALIER_EXPORT int Espalier_Choose(const char* operation, const char* selection, MPI_Comm comm) {
  if (operation == nullptr || selection == nullptr) return MPI_ERR_ARG;
  return attempt([&] { choose(espalier::plan::parse_operation(operation), selection, comm); });
}
