#include "mpi/observe/observer.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>

#include "mpi/boundary/quiet.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/observe/observed_communicator.hpp"
#include "mpi/observe/profile.hpp"
#include "mpi/observe/record.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {
namespace {

/// Calls that are under way in a thread: a native one may call back into ours (attribute functions, other tools).
struct UnderWay {
  ObservedCommunicator* communicator = nullptr;
  Subject subject{};
  std::uint64_t call = 0;
  std::uint64_t begin = 0;
  bool is_sample = false;
};
thread_local std::optional<UnderWay> under_way;

struct State {
  bool checks = false;
  bool profiles = false;
  std::uint64_t sample = 0;  ///< every so many-th call of a kind is native's; 0: none
  std::uint64_t began = 0;
  std::mutex mutex;
  Profile profile;
};
State& state() {
  static State* const made = new State;  // never destroyed, as the library
  return *made;
}

bool have_equal_settings(const Library& library, int size) {
  for (int r = 1; r < size; ++r)
    if (library.world().facts_of(r).settings != library.world().facts_of(0).settings) return false;
  return true;
}

// ---- ESPALIER_CHECK ----

/// Names of predefined types are the same in all processes; handles need not be.
void name_type(CallRecord& record, const Subject& subject) {
  if (!subject.has_type || subject.type == native().byte || subject.type == native().packed) return;
  if (!describe(subject.type).is_named) return;
  using GetName = int (*)(MPI_Datatype, char*, int*);
  static const auto get_name = reinterpret_cast<GetName>(find_symbol("PMPI_Type_get_name"));
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  if (get_name == nullptr || get_name(subject.type, name, &length) != MPI_SUCCESS) return;
  std::memcpy(record.type, name, std::min<std::size_t>(std::strlen(name), sizeof record.type - 1));
}

CallRecord record_of(const Subject& subject) {
  CallRecord record;
  record.operation = static_cast<std::uint8_t>(subject.operation);
  record.has_counts = subject.has_counts;
  record.root = subject.root;
  // With a count for each rank, sizes may differ.
  if (!subject.has_counts) record.bytes = subject.bytes;
  name_type(record, subject);
  return record;
}

int class_of(Misfit::Kind kind) {
  switch (kind) {
    case Misfit::root: return MPI_ERR_ROOT;
    case Misfit::bytes: return MPI_ERR_COUNT;
    case Misfit::type: return MPI_ERR_TYPE;
    case Misfit::operation: break;
  }
  return MPI_ERR_OTHER;
}

/// All ranks tell each other what they are about to do. MPI's code, the same on all; nothing has moved.
int check_call(MPI_Comm comm, const ObservedCommunicator& communicator, const Subject& subject) {
  const std::vector<CallRecord> records = gather_quietly(comm, communicator.ranks(), record_of(subject));
  const std::optional<Misfit> misfit = find_misfit(records);
  if (!misfit) return MPI_SUCCESS;
  if (communicator.me() == misfit->one)
    Library::get().say("ESPALIER_CHECK: " + describe(*misfit, records) + " (ranks of a communicator with " +
                       communicator.shape() + "; in MPI_COMM_WORLD " +
                       std::to_string(communicator.member(misfit->one)) + " and " +
                       std::to_string(communicator.member(misfit->other)) + ")");
  gather_quietly(comm, communicator.ranks(), record_of(subject));  // it has been said before anybody ends the job
  return report(comm, class_of(misfit->kind));
}

// ---- ESPALIER_PROFILE ----

/// The same on all ranks, and for no kind of call of a program's loop more likely than for another. Natives have ideas
/// of their own of which block goes where in some grids and graphs (docs/adr/0027), so those calls stay ours.
bool is_sampled(std::uint64_t call, plan::Operation operation) {
  if (state().sample == 0 || operation == plan::Operation::neighbor_allgather ||
      operation == plan::Operation::neighbor_alltoall)
    return false;
  std::uint64_t mixed = call * 0x9e37'79b9'7f4a'7c15;
  mixed = (mixed ^ mixed >> 32) * 0xd6e8'feb8'6659'fd93;
  return (mixed >> 33) % state().sample == 0;
}

plan::Problem problem_of(const Subject& subject) {
  plan::Problem problem;
  problem.operation = subject.operation;
  problem.bytes = static_cast<Bytes>(std::max<MPI_Count>(subject.bytes, 0));
  problem.root = Rank(subject.root);
  return problem;
}

constexpr const char* before_set_up = "native: before set-up";

std::string choice_of(const Subject& subject, MPI_Comm comm, bool is_own) {
  const Communicator* const communicator = Communicator::find_existing(comm);
  if (communicator == nullptr || communicator->awaits_set_up()) return before_set_up;
  if (communicator->engine() != nullptr && (subject.has_counts || subject.bytes < 0))
    return is_own ? "Espalier" : "native";
  return describe_call(problem_of(subject), false, true, comm);
}

Observed look_at(const UnderWay& call, bool is_own) {
  const std::uint64_t now = read_clock();
  Observed seen;
  seen.bytes = call.subject.bytes;
  seen.seconds_ns = static_cast<double>(now - call.begin);
  seen.is_native = !is_own;
  seen.is_sample = call.is_sample;
  if (!call.communicator->sees_arrivals()) return seen;
  const ObservedCommunicator::Last last = call.communicator->last(call.call);
  seen.is_split = true;
  seen.waiting_ns = last.time > call.begin ? static_cast<double>(std::min(last.time, now) - call.begin) : 0;
  seen.last = last.world_rank;
  return seen;
}

void note(const UnderWay& call, MPI_Comm comm, bool is_own) {
  const Observed seen = look_at(call, is_own);
  const Subject& subject = call.subject;
  const int size_class = size_class_of(subject.bytes);
  const std::lock_guard lock(state().mutex);
  ProfileRow*& known = call.communicator->row(subject.operation, subject.has_counts, size_class);
  if (known == nullptr)
    known = &state().profile.row({call.communicator->shape(), subject.operation, subject.has_counts, size_class});
  ProfileRow& row = *known;
  Profile::add(row, seen);
  if (row.is_choice_known || call.is_sample) return;
  row.choice = choice_of(subject, comm, is_own);
  row.is_choice_known = row.choice != before_set_up;
}

/// Texts of all ranks, at rank 0; elsewhere nothing.
std::vector<std::string> gather_texts(const Library& library, const std::string& mine, int size, int me) {
  const Native& mpi = native();
  const MPI_Comm comm = library.world().messages();
  const std::vector<int> lengths = gather_quietly(comm, size, static_cast<int>(mine.size()));
  std::vector<int> places(lengths.size());
  std::size_t total = 0;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    places[r] = static_cast<int>(total);
    total += static_cast<std::size_t>(lengths[r]);
  }
  std::string all(me == 0 ? total : 0, ' ');
  MPI_Request request;
  check(mpi.Igatherv(mine.data(), static_cast<int>(mine.size()), mpi.byte, all.data(), lengths.data(), places.data(),
                     mpi.byte, 0, comm, &request));
  wait_quietly(request);
  std::vector<std::string> texts;
  for (std::size_t r = 0; me == 0 && r < lengths.size(); ++r)
    texts.push_back(all.substr(static_cast<std::size_t>(places[r]), static_cast<std::size_t>(lengths[r])));
  return texts;
}

void write_profile(Library& library, const std::vector<std::string>& texts) {
  std::string out = "{\"format\": 1, \"sample\": " + std::to_string(state().sample) + ", \"ranks\": [\n  ";
  for (std::size_t r = 0; r < texts.size(); ++r) out += (r == 0 ? "" : ",\n  ") + texts[r];
  const std::string trouble = write_whole_file(library.settings().profile, out + "\n]}\n");
  if (!trouble.empty()) library.say_once("ESPALIER_PROFILE: " + trouble);
}

}  // namespace

void Observer::start(Library& library) {
  const Settings& settings = library.settings();
  if (!settings.check && settings.profile.empty()) return;
  int size = 0;
  native().Comm_size(native().comm_world, &size);
  if (size == 1) return;
  if (!library.world().has_met() || !have_equal_settings(library, size)) {
    library.say_once("ESPALIER_CHECK and ESPALIER_PROFILE have no effect: they need the same settings on all ranks");
    return;
  }
  state().checks = settings.check;
  state().profiles = !settings.profile.empty();
  state().sample = static_cast<std::uint64_t>(settings.profile_sample);
  state().began = read_clock();
  is_on_.store(true, std::memory_order_release);
}

bool Observer::enter(MPI_Comm comm, int& me, int& ranks) noexcept {
  under_way.reset();
  if (comm == native().comm_null || !Library::get().is_running()) return false;
  try {
    // Calls that do not block and came before may not have got to native yet; what follows asks native at once.
    if (ProgressQueue::is_busy()) ProgressQueue::get().finish(comm);
    ObservedCommunicator* const communicator = ObservedCommunicator::find(comm);
    if (communicator == nullptr) return false;
    me = communicator->me();
    ranks = communicator->ranks();
    under_way.emplace().communicator = communicator;
    return true;
  } catch (const NativeFailure&) {
    return false;
  } catch (const std::exception&) {
    return false;
  }
}

Permit Observer::begin(MPI_Comm comm, const Subject& subject) noexcept {
  UnderWay& call = *under_way;
  call.subject = subject;
  call.call = call.communicator->begin_call();
  try {
    if (state().checks)
      if (const int code = check_call(comm, *call.communicator, subject); code != MPI_SUCCESS) return {code};
  } catch (const NativeFailure&) {
    return {report(comm, MPI_ERR_OTHER)};
  } catch (const std::exception&) {
    return {report(comm, MPI_ERR_NO_MEM)};
  }
  call.is_sample = is_sampled(call.call, subject.operation);
  call.begin = read_clock();
  if (state().profiles) call.communicator->come(call.call, call.begin);
  return {MPI_SUCCESS, call.is_sample};
}

void Observer::end(MPI_Comm comm, bool is_own) noexcept {
  if (!under_way) return;
  const UnderWay call = *under_way;
  under_way.reset();
  if (!state().profiles) return;
  try {
    note(call, comm, is_own);
  } catch (const std::exception&) {
    // no memory for another row: the call is not counted
  }
}

void Observer::finish(Library& library) noexcept {
  if (!is_on_.exchange(false) || !state().profiles) return;
  try {
    int me = 0, size = 0;
    check(native().Comm_rank(native().comm_world, &me));
    check(native().Comm_size(native().comm_world, &size));
    const double seconds = static_cast<double>(read_clock() - state().began) * 1e-9;
    const auto texts = gather_texts(library, state().profile.to_json(me, seconds), size, me);
    if (me == 0) write_profile(library, texts);
  } catch (const NativeFailure&) {
    library.say_once("ESPALIER_PROFILE: the ranks' parts could not be gathered, so there is no profile");
  } catch (const std::exception&) {
    library.say_once("ESPALIER_PROFILE: no memory for the profile");
  }
}

}  // namespace espalier::mpi
