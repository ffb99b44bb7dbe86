#include "mpi/observe/started.hpp"

#include <exception>

#include "mpi/observe/clock.hpp"
#include "mpi/observe/profile/recording.hpp"

namespace espalier::mpi {

StartedCalls& StartedCalls::get() {
  static StartedCalls* const made = new StartedCalls;  // never destroyed, as the library
  return *made;
}

void StartedCalls::keep(MPI_Request request, const ObservedCall& call, ProfileRow& row, bool is_own) {
  const bool is_started = call.subject.call.form == plan::CallForm::nonblocking;
  if (is_started) Recording::get().note_start(call, row, is_own);
  const std::lock_guard lock(mutex_);
  all_[request] = {call, &row, is_own, is_started, read_clock()};
  update_count();
}

void StartedCalls::start(MPI_Request request, std::uint64_t begin) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(request);
  if (found == all_.end()) return;
  State& state = found->second;
  state.call.begin = begin;
  state.call.gap = Recording::get().take_gap(begin);
  Recording::get().note_start(state.call, *state.row, state.is_own);
  state.is_active = true;
  state.in_mpi = state.between = 0;
  state.left = read_clock();
}

void StartedCalls::forget(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  all_.erase(request);
  update_count();
}

StartedCalls::Looked StartedCalls::look(int count, const MPI_Request* requests) {
  Looked looked;
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < count; ++i)
    if (const auto found = all_.find(requests[i]); found != all_.end() && found->second.is_active)
      looked.active.emplace_back(i, requests[i]);
  looked.begin = read_clock();
  return looked;
}

void StartedCalls::spend(MPI_Request request, const Looked& looked, bool is_done) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(request);
  if (found == all_.end() || !found->second.is_active) return;  // another thread has been quicker
  State& state = found->second;
  const std::uint64_t now = read_clock();
  state.in_mpi += (now - looked.begin) / looked.active.size();
  state.between += looked.begin > state.left ? looked.begin - state.left : 0;
  state.left = now;
  if (!is_done) return;
  Recording::get().note_completion(state.call, *state.row, looked.begin, state.in_mpi, state.between);
  if (state.call.subject.call.form == plan::CallForm::persistent) {
    state.is_active = false;
    return;
  }
  all_.erase(found);
  update_count();
}

std::optional<StartedCalls::Looked> look_at_requests(int count, const MPI_Request* requests) noexcept {
  if (count <= 0 || requests == nullptr) return std::nullopt;
  try {
    StartedCalls::Looked looked = StartedCalls::get().look(count, requests);
    if (looked.active.empty()) return std::nullopt;
    return looked;
  } catch (const std::exception&) {  // no memory: the completion is not seen
    return std::nullopt;
  }
}

}  // namespace espalier::mpi
