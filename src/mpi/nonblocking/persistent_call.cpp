#include "mpi/nonblocking/persistent_call.hpp"

#include <utility>

#include "mpi/calls/serve.hpp"
#include "mpi/nonblocking/patience.hpp"
#include "mpi/nonblocking/sizes_exchange.hpp"
#include "mpi/setup/setup.hpp"

namespace espalier::mpi {

std::unique_ptr<PersistentCall> PersistentCall::make(MPI_Comm comm, const plan::Call& made) {
  const Communicator* const known = Communicator::find_set_up(comm);
  if (known == nullptr || !known->may_start()) return nullptr;
  std::unique_ptr<Communicator> own = set_up(comm);
  if (!own->may_start()) return nullptr;
  own->engine()->serve_persistent();
  wait_for([&] { return own->engine()->supply_runs(); });
  return std::unique_ptr<PersistentCall>(new PersistentCall(comm, std::move(own), made));
}

PersistentCall::PersistentCall(MPI_Comm comm, std::unique_ptr<Communicator> communicator, const plan::Call& made)
    : comm_(comm), made_(made), communicator_(std::move(communicator)) {}

PersistentCall::~PersistentCall() = default;

void PersistentCall::take(Communicator&, Entry& entry, std::unique_ptr<Staging> staging) {
  entry_ = &entry;
  staging_ = std::move(staging);
}

std::optional<int> PersistentCall::exchange(Communicator& communicator, const plan::Problem& problem, Sizes own,
                                            std::function<std::optional<int>(Sizes)> next) {
  Entry& entry = communicator.engine()->prepare_run(problem);
  if (entry.kind == Entry::Kind::native || !communicator.engine()->may_run(entry)) return std::nullopt;
  SizesExchange exchange(communicator, comm_, entry, memory_, std::move(own), made_);
  const int code = wait_for([&] { return exchange.advance(true); });
  return code == MPI_SUCCESS ? next(exchange.take()) : code;
}

std::optional<int> PersistentCall::prepare(std::unique_ptr<Preparation> preparation,
                                           std::function<std::optional<int>()> next) {
  const int code = wait_for([&] { return preparation->advance(true); });
  return code == MPI_SUCCESS ? next() : code;
}

int PersistentCall::start(OwnRequest& request) {
  ProgressQueue::get().part();  // the last start may be over, and be there still
  if (run_)
    run_->start_again(*entry_);
  else
    run_.emplace(*communicator_, comm_, *entry_, std::move(staging_), made_);
  request_ = &request;
  request.activate();
  ProgressQueue::get().add({comm_, this}, *this);
  return MPI_SUCCESS;
}

bool PersistentCall::advance_aside(bool is_next) noexcept {
  const bool is_over = !request_->is_generalized() && run_->advance_aside(is_next);
  if (is_over) request_->complete(MPI_SUCCESS);
  return is_over;
}

bool PersistentCall::advance(bool is_next) noexcept {
  const std::optional<int> code = run_->advance(is_next);
  if (code) request_->complete(*code);
  return code.has_value();
}

}  // namespace espalier::mpi
