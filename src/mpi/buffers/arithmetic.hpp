#pragma once
// What an MPI operation does with elements of an MPI datatype, as reductions need to know it.

#include <optional>

#include "execute/arithmetic/kernels.hpp"
#include "execute/seams.hpp"
#include "mpi/native/native.hpp"
#include "plan/problem.hpp"

namespace espalier::mpi {

/// An operation bound to a type; good for one call, since handles of user-defined ones come back for others.
struct Arithmetic {
  MPI_Op op;
  MPI_Datatype type;
  /// From one element to the next, gaps included: what a plan calls an element.
  Bytes element = 0;
  /// Where the element begins, seen from its address.
  MPI_Aint lower_bound = 0;
  /// Elements are plain bytes without gaps: reduced where they lie.
  bool is_dense = false;
  /// The type is predefined: it needs no commit.
  bool is_named = false;
  bool is_commutative = false;
  /// a o b has the bits of b o a: certain of kernels only. What MPI or a user computes may be so in value and not in
  /// bits.
  bool is_symmetric = false;
  /// The result's bits may depend on where the brackets stand.
  bool depends_on_order = false;
  /// Null: MPI_Reduce_local does it.
  execute::Kernel kernel = nullptr;
};

/// Empty: left to native. That are pairs of operation and type that MPI forbids (native reports them), predefined types
/// that the standard does not name, and types whose elements reach out of their extent. `type` is not the null
/// datatype.
std::optional<Arithmetic> find_arithmetic(MPI_Op op, MPI_Datatype type);

/// Says so of a reduction.
inline void set_arithmetic(plan::Problem& problem, const Arithmetic& arithmetic) {
  problem.element = arithmetic.element;
  problem.is_commutative = arithmetic.is_commutative;
  problem.is_symmetric = arithmetic.is_symmetric;
  problem.depends_on_order = arithmetic.depends_on_order;
}

/// Calls the kernel or MPI. `arithmetic` outlives it.
class Combiner final : public execute::Reducer {
 public:
  explicit Combiner(const Arithmetic& arithmetic) : arithmetic_(arithmetic) {}
  bool is_own() const noexcept override { return arithmetic_.kernel != nullptr; }
  void combine(const std::byte* left, std::byte* into, Bytes bytes) const noexcept override;
  void combine_into(const std::byte* left, const std::byte* right, std::byte* into,
                    Bytes bytes) const noexcept override;
  void combine_several(std::span<const std::byte* const> left, const std::byte* right, std::byte* into,
                       Bytes bytes) const noexcept override;

 private:
  const Arithmetic& arithmetic_;
};

}  // namespace espalier::mpi
