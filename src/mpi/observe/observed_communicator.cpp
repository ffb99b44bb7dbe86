#include "mpi/observe/observed_communicator.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "mpi/boundary/quiet.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/observe/members.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {
namespace {

/// What the lowest rank of a host offers the others: where arrivals are kept, and since when they count.
struct Offer {
  std::int64_t place = -1;
  std::uint64_t origin = 0;
};

int do_not_copy(MPI_Comm, int, void*, void*, void*, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

int on_free(MPI_Comm, int, void* communicator, void*) {
  delete static_cast<ObservedCommunicator*>(communicator);
  return MPI_SUCCESS;
}

int keyval() {
  static const int made = [] {
    int fresh = MPI_KEYVAL_INVALID;
    native().Comm_create_keyval(do_not_copy, on_free, &fresh, nullptr);
    return fresh;
  }();
  return made;
}

}  // namespace

ObservedCommunicator* ObservedCommunicator::find(MPI_Comm comm) {
  void* value = nullptr;
  int is_known = 0;
  if (keyval() == MPI_KEYVAL_INVALID) return nullptr;
  if (native().Comm_get_attr(comm, keyval(), &value, &is_known) != MPI_SUCCESS) return nullptr;
  if (is_known) return static_cast<ObservedCommunicator*>(value);
  std::unique_ptr<ObservedCommunicator> made = make(comm);
  native().Comm_set_attr(comm, keyval(), made.get());
  return made.release();
}

std::unique_ptr<ObservedCommunicator> ObservedCommunicator::make(MPI_Comm comm) {
  Library& library = Library::get();
  int is_inter = 0, ranks = 0, me = 0;
  check(native().Comm_test_inter(comm, &is_inter));
  if (is_inter) return nullptr;
  check(native().Comm_size(comm, &ranks));
  check(native().Comm_rank(comm, &me));
  auto members = library.world().find_members(comm, ranks);
  if (!members || ranks == 1) return nullptr;
  return std::unique_ptr<ObservedCommunicator>(new ObservedCommunicator(std::move(*members), me));
}

ObservedCommunicator::ObservedCommunicator(std::vector<int> members, int me) : members_(std::move(members)), me_(me) {
  describe(Library::get());
}

void ObservedCommunicator::meet(MPI_Comm comm) {
  if (!std::exchange(has_met_, true)) share_arrivals(Library::get(), comm);
}

ObservedCommunicator::~ObservedCommunicator() {
  if (arrivals_) arena_->release(offset_);
}

void ObservedCommunicator::describe(Library& library) {
  const auto facts_of = [&](int member) -> const Facts& { return library.world().facts_of(member); };
  const auto host = facts_of(member(me_)).host;
  std::set<std::pair<std::uint64_t, std::int32_t>> nodes;
  is_one_host_ = true;
  for (const int member : members_) {
    nodes.emplace(facts_of(member).host, facts_of(member).virtual_node);
    if (facts_of(member).host == host)
      hosts_ranks_.push_back(member);
    else
      is_one_host_ = false;
  }
  const auto mine = std::find(hosts_ranks_.begin(), hosts_ranks_.end(), member(me_));
  place_ = static_cast<int>(mine - hosts_ranks_.begin());
  shape_ = std::to_string(members_.size()) + " ranks on " + std::to_string(nodes.size()) +
           (nodes.size() == 1 ? " node" : " nodes");
  members_text_ = describe_members(members_);
}

ProfileRow*& ObservedCommunicator::row(const CallKind& kind) {
  if (kind.form != plan::CallForm::blocking || kind.site != nullptr) return other_rows_[kind];
  const std::size_t operation = 2 * static_cast<std::size_t>(kind.operation) + (kind.has_counts ? 1 : 0);
  return rows_[operation * size_classes + static_cast<std::size_t>(kind.size_class + 1)];
}

void ObservedCommunicator::share_arrivals(Library& library, MPI_Comm comm) {
  Offer mine;
  const int sharers = static_cast<int>(hosts_ranks_.size());
  arena_ = library.home_arena();
  if (place_ == 0 && sharers <= Arrivals::most_ranks)
    if (const auto place = arena_->allocate(Arrivals::bytes, sharers))
      mine = {static_cast<std::int64_t>(*place), read_clock()};
  const std::vector<Offer> offers = gather_quietly(comm, ranks(), mine);
  const auto leader = std::find(members_.begin(), members_.end(), hosts_ranks_.front()) - members_.begin();
  const Offer& taken = offers[static_cast<std::size_t>(leader)];
  if (taken.place < 0) return;
  offset_ = static_cast<Bytes>(taken.place);
  origin_ = taken.origin;
  arrivals_ = Arrivals(arena_->at(offset_));
}

ObservedCommunicator::Last ObservedCommunicator::last(std::uint64_t call) const noexcept {
  const auto [time, place] = arrivals_.last(call);
  return {time + origin_, hosts_ranks_[static_cast<std::size_t>(place)]};
}

}  // namespace espalier::mpi
