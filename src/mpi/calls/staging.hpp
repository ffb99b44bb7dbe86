#pragma once
// Plain bytes in the place of the caller's data, for one call: blocking calls have them on the stack, nonblocking ones
// until they are over.

#include <optional>

#include "execute/ending.hpp"
#include "execute/interpreter.hpp"
#include "execute/seams.hpp"
#include "mpi/buffers/scratch.hpp"
#include "mpi/calls/sides.hpp"
#include "mpi/process/communicator.hpp"

namespace espalier::mpi {

/// What a staging is made for, and where it may lie.
struct Stage {
  Communicator& communicator;
  const plan::Problem& problem;
  Scratch& memory;
};

/// The caller's memory outlives it, and with it what describes it: types and arrays of counts.
class Staging {
 public:
  virtual ~Staging() = default;

  /// Where the program works, once the data have been fetched.
  const execute::Buffers& buffers() const { return buffers_; }
  /// What combines them; null unless it is a reduction.
  virtual const execute::Reducer* reducer() const { return nullptr; }

  /// Whether the result is where the caller wants it, and deliver() has nothing to do.
  virtual bool is_in_place() const { return false; }

  /// Takes what the caller brings. MPI's code.
  virtual int fetch(MPI_Comm) { return MPI_SUCCESS; }
  /// After a run that was not broken off: gives the caller the result, as far as the ending says that there is one, and
  /// changes that where there is no room for all. MPI's code.
  virtual int deliver(MPI_Comm, execute::Ending&) { return MPI_SUCCESS; }

 protected:
  execute::Buffers buffers_;
};

/// The caller's memory itself.
class Unstaged final : public Staging {
 public:
  Unstaged(const Stage&, std::byte* input, std::byte* output) { buffers_ = {input, output}; }
  bool is_in_place() const override { return true; }
};

/// Packed where data are not plain, copied where the input must survive.
class Packed final : public Staging {
 public:
  Packed(const Stage& stage, const Sides& sides);
  bool is_in_place() const override { return !output_; }
  int fetch(MPI_Comm comm) override;
  int deliver(MPI_Comm comm, execute::Ending& ending) override;

 private:
  std::optional<Side> input_, output_;  ///< that are staged
};

/// A broadcast's one message, packed.
class PackedMessage final : public Staging {
 public:
  PackedMessage(const Stage& stage, const Side& data, bool is_root);
  int fetch(MPI_Comm comm) override;
  int deliver(MPI_Comm comm, execute::Ending& ending) override;

 private:
  Side data_;
  bool is_root_;
};

}  // namespace espalier::mpi
