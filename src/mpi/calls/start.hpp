#pragma once
// A call that begins and does not wait, while it is decided what it will be.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/calls/staging.hpp"
#include "mpi/decide/program_cache.hpp"

namespace espalier::mpi {

/// Something that ranks have to do together before it can be decided what a call is; in steps that wait for nobody.
class Preparation {
 public:
  virtual ~Preparation() = default;
  /// MPI's code, once it is over. `is_next`: all calls before this one are over.
  virtual std::optional<int> advance(bool is_next) noexcept = 0;
};

class Start {
 public:
  using Sizes = std::vector<Bytes>;

  virtual ~Start() = default;
  /// When a call that is ours is to be done: now, as one that blocks, for it would not; or after take().
  enum class When { now, later };
  virtual When when(Communicator&, const Entry&) { return When::later; }
  /// For staging, until the call is over.
  virtual Scratch& memory() = 0;
  /// The call is ours: begins it when those before it are over. The entry has a program, or there is nothing to do.
  virtual void take(Communicator& communicator, Entry& entry, std::unique_ptr<Staging> staging) = 0;
  /// What it will be depends on sizes that no rank knows all of: all exchange theirs by a broadcast or an allgather,
  /// and then `next(sizes)` goes on as try_call(). MPI_SUCCESS; or none: native is to do the call.
  virtual std::optional<int> exchange(Communicator& communicator, const plan::Problem& problem, Sizes own,
                                      std::function<std::optional<int>(Sizes)> next) = 0;
  /// The same of any preparation. What try_call() returns.
  virtual std::optional<int> prepare(std::unique_ptr<Preparation> preparation,
                                     std::function<std::optional<int>()> next) = 0;
};

}  // namespace espalier::mpi
