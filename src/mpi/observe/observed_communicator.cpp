#include "mpi/observe/observed_communicator.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "mpi/native/attributes.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/observe/members.hpp"
#include "mpi/observe/profile/recording.hpp"
#include "mpi/process/library.hpp"
#include "mpi/setup/agreement.hpp"

namespace espalier::mpi {
namespace {

/// What the lowest rank of a host offers the others: where arrivals are kept, and since when they count.
struct Offer {
  std::int64_t place = -1;
  std::uint64_t origin = 0;
};

/// Shorter ones take some tens of microseconds at most.
constexpr std::int64_t least_long = 64 << 10;

/// Of this process. Never destroyed, as the library.
struct All {
  std::mutex mutex;
  std::set<ObservedCommunicator*> communicators;
};
All& all() {
  static All* const made = new All;
  return *made;
}

int on_free(MPI_Comm, int, void* communicator, void*) {
  delete static_cast<ObservedCommunicator*>(communicator);
  return MPI_SUCCESS;
}

int keyval() {
  static const int made = make_keyval(on_free);
  return made;
}

}  // namespace

thread_local constinit ObservedCommunicator::LastUsed ObservedCommunicator::last_used_{};
std::atomic<std::uint64_t> ObservedCommunicator::generation_ = 1;

ObservedCommunicator* ObservedCommunicator::find(MPI_Comm comm) {
  if (ObservedCommunicator* const last = find_last(comm)) return last;
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  ObservedCommunicator* const found = find_slowly(comm);
  last_used_ = {comm, found, generation};
  return found;
}

ObservedCommunicator* ObservedCommunicator::find_slowly(MPI_Comm comm) {
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
  check(native().Comm_size(comm, &ranks));
  check(native().Comm_rank(comm, &me));
  auto members = library.world().find_members(comm, ranks);
  if (is_inter && me == 0 && library.settings().check) {
    const auto others = library.world().find_remote_members(comm);
    if (!members || !others || members->front() < others->front())  // one of the two sides says so
      library.say_once("ESPALIER_CHECK leaves out calls on intercommunicators");
  }
  if (is_inter) return nullptr;
  if (!members || ranks == 1) return nullptr;
  return std::unique_ptr<ObservedCommunicator>(new ObservedCommunicator(std::move(*members), me));
}

ObservedCommunicator::ObservedCommunicator(std::vector<int> members, int me) : members_(std::move(members)), me_(me) {
  describe(Library::get());
  const std::lock_guard lock(all().mutex);
  all().communicators.insert(this);
}

void ObservedCommunicator::meet(MPI_Comm comm) {
  if (!std::exchange(has_met_, true)) share_arrivals(Library::get(), comm);
}

ObservedCommunicator::~ObservedCommunicator() {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  *self_ = nullptr;
  {
    const std::lock_guard lock(all().mutex);
    all().communicators.erase(this);
  }
  for (Tally& tally : all_tallies_) Recording::get().note_passed(tally);
  if (arrivals_) arena_->release(offset_);
}

void ObservedCommunicator::describe(Library& library) {
  const auto facts_of = [&](int member) -> const Facts& { return library.world().facts_of(member); };
  const auto host = facts_of(member(me_)).host;
  std::vector<Facts> all_facts;
  std::set<std::pair<std::uint64_t, std::int32_t>> nodes;
  is_one_host_ = true;
  for (const int member : members_) {
    nodes.emplace(facts_of(member).host, facts_of(member).virtual_node);
    all_facts.push_back(facts_of(member));
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
  has_cores_ = !is_oversubscribed(all_facts);
}

Tally& ObservedCommunicator::tally(const CallKind& kind) {
  const bool is_other = kind.form != plan::CallForm::blocking || kind.site != nullptr;
  const std::size_t operation =
      plan::block_sizes * static_cast<std::size_t>(kind.operation) + static_cast<std::size_t>(kind.blocks);
  Tally*& known = is_other ? other_tallies_[kind]
                           : tallies_[operation * size_classes + static_cast<std::size_t>(kind.size_class + 1)];
  if (known == nullptr) known = &all_tallies_.emplace_back();
  return *known;
}

bool ObservedCommunicator::may_pass(const CallKind& kind) const {
  return kind.form == plan::CallForm::blocking && kind.blocks == plan::BlockSizes::equal &&
         !plan::has_edges(kind.operation) && kind.size_class >= 0 && kind.size_class < size_class_of(least_long) &&
         sees_arrivals() && has_cores_;
}

void ObservedCommunicator::for_each_tally(const std::function<void(Tally&)>& each) {
  const std::lock_guard lock(all().mutex);
  for (ObservedCommunicator* const communicator : all().communicators)
    for (Tally& tally : communicator->all_tallies_) each(tally);
}

void ObservedCommunicator::share_arrivals(Library& library, MPI_Comm comm) {
  Offer mine{-1, read_clock()};
  const int sharers = static_cast<int>(hosts_ranks_.size());
  arena_ = library.home_arena();
  if (place_ == 0 && sharers <= Arrivals::most_ranks)
    if (const auto place = arena_->allocate(Arrivals::bytes(sharers), sharers))
      mine.place = static_cast<std::int64_t>(*place);
  const std::vector<Offer> offers = gather_quietly(comm, ranks(), mine);
  salt_ = offers.front().origin;
  const auto leader = std::find(members_.begin(), members_.end(), hosts_ranks_.front()) - members_.begin();
  const Offer& taken = offers[static_cast<std::size_t>(leader)];
  if (taken.place < 0) return;
  offset_ = static_cast<Bytes>(taken.place);
  origin_ = taken.origin;
  arrivals_ = Arrivals(arena_->at(offset_), sharers);
}

ObservedCommunicator::Last ObservedCommunicator::last(std::uint64_t call) const noexcept {
  const auto [time, place] = arrivals_.last(call);
  return {time + origin_, hosts_ranks_[static_cast<std::size_t>(place)]};
}

LongWait ObservedCommunicator::end_wait(std::uint64_t call, const Span& span) const noexcept {
  const Arrivals::Awaited awaited = arrivals_.awaited(call);
  const std::uint64_t until = awaited.since == 0 ? span.end : std::clamp(awaited.since, span.begin, span.end);
  LongWait wait{static_cast<double>(span.end - span.begin), static_cast<double>(until - span.begin)};
  if (awaited.candidates <= 1) wait.whose = hosts_ranks_[static_cast<std::size_t>(awaited.rank)];
  return wait;
}

}  // namespace espalier::mpi
