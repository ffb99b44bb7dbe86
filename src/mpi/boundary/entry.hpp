#pragma once
// What every entry point does: find MPI and the communicator, try the call, pass it on.

#include <exception>
#include <optional>

#include "mpi/calls/call_of.hpp"
#include "mpi/calls/forbidden.hpp"
#include "mpi/native/tools.hpp"
#include "mpi/observe/observer.hpp"
#include "mpi/process/communicator.hpp"

// Wants mpi.h in front of it.
#include "espalier/espalier.h"

#define ESPALIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace espalier::mpi {

/// The call is over: hands the code on. After an error its communicator may be gone.
inline int conclude_observed(MPI_Comm comm, int code, const Permit& permit, bool is_own) noexcept {
  if (code == MPI_SUCCESS) Observer::end(comm, permit, is_own);
  return code;
}

/// What native is to do, and nobody has shown to who observes only some calls.
template <class Call>
[[gnu::noinline]] Permit observe_left(MPI_Comm comm, const Communicator* communicator, const Call& call) noexcept {
  if (communicator != nullptr && communicator->is_shown()) return {};
  return Observer::begin(
      comm, [&] { return call; }, nullptr);
}

/// A call that may set its communicator up.
template <class Call>
struct FirstCall {
  MPI_Comm comm;
  const Call& call;

  bool is_refused() const { return is_refused_early(comm, call); }
  plan::Call told() const { return call_of(call, -1); }
};

template <class Call>
[[gnu::noinline]] Communicator* find_unlike_last(MPI_Comm comm, const Call& call) {
  return Communicator::find(comm, FirstCall<Call>{comm, call});
}

/// The code to return from an entry point. `make_call` puts the call together, `pass_on` makes it on the native
/// library. Inlined, so that arguments reach the call in registers, and nothing is put together that is not looked at.
template <class MakeCall, class PassOn>
[[gnu::always_inline]] inline int enter(MPI_Comm comm, const MakeCall& make_call, const PassOn& pass_on) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;  // find_native has said why
  constexpr bool may_be_shown = is_plain_call<decltype(make_call())>;
  const Attention attention = Observer::attention();
  bool is_observed = false;
  Permit permit;
  if (attention > (may_be_shown ? Attention::some : Attention::none)) [[unlikely]] {
    if (may_be_shown && attention == Attention::next) {
      Observer::note_gap_before(comm, make_call());
    } else {
      is_observed = true;
      permit = Observer::begin(comm, make_call, __builtin_return_address(0));
      if (permit.code != MPI_SUCCESS) return permit.code;
    }
  }
  std::optional<int> code;
  Communicator* communicator = nullptr;
  if (permit.is_sample) [[unlikely]] {
    communicator = Communicator::find_existing(comm);
    if (communicator != nullptr) communicator->count_call();
  } else {
    try {
      const std::optional<Communicator*> last = Communicator::find_last(comm);
      communicator = last ? *last : find_unlike_last(comm, make_call());
      if (communicator != nullptr) {
        communicator->count_call();
        if (!communicator->passes_on(make_call())) {
          const auto call = make_call();
          code = try_call(*communicator, call, nullptr);
          if (!code) communicator->remember(call);
        }
      }
    } catch (const std::exception&) {  // out of memory: other ranks may be under way, so native is no way out
      mpi->Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
      return MPI_ERR_NO_MEM;
    }
  }
  const bool is_own = code.has_value();
  if (!is_own) {  // in this one place, and without a function between, so that arguments stay in registers
    if (may_be_shown && !is_observed && attention != Attention::none) [[unlikely]] {
      permit = observe_left(comm, communicator, make_call());
      is_observed = true;
    }
    Communicator::Mark mark;
    if (communicator != nullptr) mark = communicator->begin_left(call_of(make_call(), communicator->place()));
    code = pass_on(*mpi);
    mark.end(*code);
  }
  // An error's handler may have freed it.
  if (*code == MPI_SUCCESS && communicator != nullptr && communicator->is_timing()) [[unlikely]]
    communicator->engine()->stop_timing(is_own);
  return is_observed ? conclude_observed(comm, *code, permit, is_own) : *code;
}

}  // namespace espalier::mpi
