#include "mpi/observe/profile/recording.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/files.hpp"
#include "base/settings.hpp"
#include "base/text.hpp"
#include "mpi/buffers/arithmetic.hpp"
#include "mpi/calls/calls.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/observe/clock.hpp"
#include "mpi/observe/profile/sites.hpp"
#include "mpi/process/communicator.hpp"
#include "mpi/process/library.hpp"
#include "mpi/process/statistics.hpp"
#include "mpi/setup/neighbors.hpp"
#include "tune/signature.hpp"

namespace espalier::mpi {
namespace {

/// Some 4 MB of a rank, and some 200 MB of a file.
constexpr std::size_t most_events_of_a_rank = 50'000, most_events = 1'500'000;

plan::Problem problem_of(const ObservedCall& call) {
  if (call.problem) return *call.problem;
  const auto& [told, type, op] = call.subject;
  plan::Problem problem;
  problem.operation = told.operation;
  problem.bytes = told.bytes.value_or(0);
  problem.root = Rank(told.root);
  if (!op || !type) return problem;
  if (const std::optional<Arithmetic> arithmetic = find_arithmetic(*op, *type)) set_arithmetic(problem, *arithmetic);
  return problem;
}

constexpr const char* before_set_up = "native: before set-up";

std::string choice_of(const ObservedCall& call, MPI_Comm comm, bool is_own) {
  const Communicator* const communicator = Communicator::find_existing(comm);
  if (communicator == nullptr || communicator->awaits_set_up()) return before_set_up;
  const plan::Call& told = call.subject.call;
  if (communicator->engine() != nullptr && (told.has_counts() || !told.bytes || plan::has_edges(told.operation)))
    return is_own ? "Espalier" : "native";
  return describe_call(problem_of(call), false, told.form == plan::CallForm::blocking, comm);
}

/// How native compares, by who has measured both; none where nobody has.
std::optional<tune::Measured> measured_of(const ObservedCall& call, MPI_Comm comm) {
  const plan::Call& told = call.subject.call;
  if (told.form != plan::CallForm::blocking || told.has_counts() || !told.bytes) return std::nullopt;
  const std::optional<tune::Measured> found = find_measured(problem_of(call), comm);
  return found && found->native_us > 0 && found->chosen_us > 0 ? found : std::nullopt;
}

/// A blocking call that ends now.
Observed look_at(const ObservedCall& call, std::uint64_t now, bool is_own) {
  Observed seen;
  seen.seconds_ns = static_cast<double>(now - call.begin);
  seen.is_native = !is_own;
  seen.is_sample = call.is_sample;
  if (!call.communicator->sees_arrivals()) return seen;
  const ObservedCommunicator::Last last = call.communicator->last(call.number);
  seen.is_split = true;
  seen.waiting_ns = last.time > call.begin ? static_cast<double>(std::min(last.time, now) - call.begin) : 0;
  seen.last = last.world_rank;
  return seen;
}

/// What does not depend on how it ended.
Observed complete(Observed seen, const ObservedCall& call, std::uint64_t began) {
  const plan::Call& told = call.subject.call;
  seen.bytes = told.bytes;
  seen.root = plan::has_root(told.operation) ? told.root : -1;
  seen.weight = call.weight;
  seen.known_ns = call.known_ns;
  seen.known_waiting_ns = call.known_waiting_ns;
  seen.begin_ns = static_cast<double>(call.begin - began);
  return seen;
}

/// Those that it stands for. What an engine shows has let pass calls just like it.
PassedCalls passed_before(const ObservedCall& call, Tally& tally) {
  const std::uint64_t calls = call.weight - 1;
  if (call.problem) return {calls, calls * call.problem->bytes, 0};
  return {calls, std::exchange(tally.bytes, 0), std::exchange(tally.native, 0)};
}

Neighborhood neighborhood_of(MPI_Comm comm) {
  NeighborLists neighbors = list_neighbors(comm);
  std::erase_if(neighbors.sources, [](int rank) { return rank < 0; });
  std::erase_if(neighbors.destinations, [](int rank) { return rank < 0; });
  return {std::move(neighbors.sources), std::move(neighbors.destinations)};
}

/// Texts of all ranks, at rank 0; elsewhere nothing.
std::vector<std::string> gather_texts(const Library& library, const std::string& mine, int size, int me) {
  const MPI_Comm comm = library.world().messages();
  const std::vector<int> lengths = gather_quietly(comm, size, static_cast<int>(mine.size()));
  const int longest = *std::max_element(lengths.begin(), lengths.end()), most = static_cast<int>(longest_piece);
  std::vector<std::string> texts(me == 0 ? lengths.size() : 0);
  std::vector<int> pieces(lengths.size()), places(lengths.size());
  for (int done = 0; done < longest; done += most) {
    int total = 0;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      pieces[r] = std::clamp(lengths[r] - done, 0, most);
      places[r] = std::exchange(total, total + pieces[r]);
    }
    const std::string_view rest = std::string_view(mine).substr(std::min(mine.size(), static_cast<std::size_t>(done)));
    std::string all(me == 0 ? static_cast<std::size_t>(total) : 0, ' ');
    MPI_Request request;
    check(native().Igatherv(rest.data(), pieces[static_cast<std::size_t>(me)], native().byte, all.data(), pieces.data(),
                            places.data(), native().byte, 0, comm, &request));
    wait_quietly(request);
    for (std::size_t r = 0; r < texts.size(); ++r)
      texts[r].append(all, static_cast<std::size_t>(places[r]), static_cast<std::size_t>(pieces[r]));
  }
  return texts;
}

/// The node of every rank, numbered by first appearance.
std::vector<int> nodes_of(const Library& library, int size) {
  std::map<std::pair<std::uint64_t, std::int32_t>, int> numbers;
  std::vector<int> nodes;
  for (int r = 0; r < size; ++r) {
    const Facts& facts = library.world().facts_of(r);
    nodes.push_back(
        numbers.try_emplace({facts.host, facts.virtual_node}, static_cast<int>(numbers.size())).first->second);
  }
  return nodes;
}

void write(Library& library, const std::string& path, const char* setting, const std::string& text) {
  const std::string trouble = replace_file(path, text);
  if (!trouble.empty()) library.say_once(std::string(setting) + ": " + trouble);
}

}  // namespace

Recording& Recording::get() {
  static Recording* const made = new Recording;  // never destroyed, as the library
  return *made;
}

void Recording::start(const Settings& settings, int size) {
  wants_profile_ = !settings.profile.empty();
  wants_sites_ = settings.profile_sites;
  sample_ = static_cast<std::uint64_t>(settings.profile_sample);
  if (!settings.profile_trace.empty())
    trace_ = Trace(std::clamp<std::size_t>(most_events / static_cast<std::size_t>(size), 1, most_events_of_a_rank));
  is_on_ = wants_profile_ || trace_.is_on();
  began_ = read_clock();
}

// Natives have ideas of their own of which block goes where in some grids and graphs (docs/adr/0027), so those calls
// stay ours.
bool Recording::is_sampled(std::uint64_t call, plan::Operation operation) const {
  if (sample_ == 0 || operation == plan::Operation::neighbor_allgather ||
      operation == plan::Operation::neighbor_alltoall)
    return false;
  std::uint64_t mixed = call * 0x9e37'79b9'7f4a'7c15;
  mixed = (mixed ^ mixed >> 32) * 0xd6e8'feb8'6659'fd93;
  return (mixed >> 33) % sample_ == 0;
}

thread_local constinit Recording::Before Recording::before_{0, 1};

int Recording::number_thread() noexcept {
  constexpr int unknown = -1;
  static thread_local int number = unknown;
  if (number == unknown) number = threads_.fetch_add(1, std::memory_order_relaxed);
  return number;
}

TraceEvent Recording::event_of(const ObservedCall& call, std::uint64_t begin, std::uint64_t end) noexcept {
  TraceEvent event;
  event.call = call.subject.call;
  event.thread = number_thread();
  event.begin_ns = begin - began_;
  event.took_ns = end - begin;
  return event;
}

Gap Recording::take_gap(std::uint64_t now) const noexcept {
  const Before before = std::exchange(before_, Before{0, 0});
  const std::uint64_t since = std::max(before.end, began_);
  return {now > since ? now - since : 0, before.weight};
}

// ---- calls ----

Tally& Recording::tally_of(const ObservedCall& call, MPI_Comm comm) {
  const plan::Call& told = call.subject.call;
  const CallKind kind{told.operation, told.blocks, size_class_of(told.bytes), told.form, call.site};
  Tally& tally = call.communicator->tally(kind);
  tally.may_pass = may_pass() && call.communicator->may_pass(kind);  // once its ranks have met
  if (tally.row != nullptr) return tally;
  const std::lock_guard lock(mutex_);
  tally.row = &profile_.row({call.communicator->shape(), call.communicator->members(), kind});
  if (plan::has_edges(kind.operation)) Profile::add_neighborhood(*tally.row, neighborhood_of(comm));
  return tally;
}

void Recording::note_gap(const Gap& gap, ProfileRow& row) {
  const std::lock_guard lock(mutex_);
  Profile::add_gap(row, static_cast<double>(gap.ns), gap.weight);
}

void Recording::note_passed(Tally& tally) noexcept {
  if (tally.row == nullptr) return;
  const std::lock_guard lock(mutex_);
  Profile::add(*tally.row,
               PassedCalls{tally.turns.passed(), std::exchange(tally.bytes, 0), std::exchange(tally.native, 0)});
}

void Recording::note_passed(ProfileRow& row, const PassedCalls& passed) noexcept {
  const std::lock_guard lock(mutex_);
  Profile::add(row, passed);
}

void Recording::note_wait(ProfileRow& row, const LongWait& wait) noexcept {
  const std::lock_guard lock(mutex_);
  Profile::add(row, wait);
}

void Recording::note(const ObservedCall& call, MPI_Comm comm, bool is_own) {
  const std::uint64_t now = read_clock();
  before_ = {now, call.weight};
  const Observed seen = complete(look_at(call, now, is_own), call, began_);
  Tally& tally = *call.tally;
  ProfileRow& row = *tally.row;
  const std::lock_guard lock(mutex_);
  Profile::add(row, seen);
  Profile::add(row, passed_before(call, tally));
  Profile::add_gap(row, static_cast<double>(call.gap.ns), call.gap.weight);
  number_thread();
  if (trace_.is_on()) {
    TraceEvent event = event_of(call, call.begin, now);
    event.is_native = seen.is_native;
    event.waiting_ns = static_cast<std::uint64_t>(seen.waiting_ns);
    trace_.add(event);
  }
  if (!call.is_sample) note_choice(row, call, comm, is_own);
}

// Early calls come before set-up, or are trials: asked again after twice as many.
void Recording::note_choice(ProfileRow& row, const ObservedCall& call, MPI_Comm comm, bool is_own) {
  if (row.calls < row.ask_choice_after) return;
  std::string choice = choice_of(call, comm, is_own);
  const bool is_early = choice == before_set_up;
  if (is_early && !row.choice.empty()) return;  // others of its shape are further
  row.choice = std::move(choice);
  row.measured = measured_of(call, comm);
  row.ask_choice_after = is_early ? 0 : 2 * row.calls;
}

void Recording::note_start(const ObservedCall& call, ProfileRow& row, bool is_own) {
  const std::uint64_t now = read_clock();
  before_ = {now, 1};
  Observed seen;
  seen.seconds_ns = static_cast<double>(now - call.begin);
  seen.is_native = !is_own;
  seen.is_started = true;
  seen = complete(seen, call, began_);
  const std::lock_guard lock(mutex_);
  Profile::add(row, seen);
  Profile::add_gap(row, static_cast<double>(call.gap.ns), call.gap.weight);
  TraceEvent event = event_of(call, call.begin, now);
  event.is_native = !is_own;
  if (trace_.is_on()) trace_.add(event);
}

void Recording::note_completion(const ObservedCall& call, ProfileRow& row, std::uint64_t begin, std::uint64_t in_mpi,
                                std::uint64_t between) {
  const std::uint64_t now = read_clock();
  before_ = {now, 1};
  const std::lock_guard lock(mutex_);
  Profile::add_completion(row, static_cast<double>(in_mpi), static_cast<double>(between));
  TraceEvent event = event_of(call, begin, now);
  event.is_completion = true;
  if (trace_.is_on()) trace_.add(event);
}

// ---- what is written ----

void Recording::write_profile(Library& library, int size, int me) {
  ObservedCommunicator::for_each_tally([this](Tally& tally) { note_passed(tally); });
  const double seconds = static_cast<double>(read_clock() - began_) * 1e-9;
  const auto texts =
      gather_texts(library, profile_.to_json(me, seconds, std::max(1, threads_.load()), name_site), size, me);
  if (me != 0) return;
  std::string nodes;
  for (const int node : nodes_of(library, size)) nodes += (nodes.empty() ? "" : ", ") + std::to_string(node);
  std::string out = "{\"format\": 3, \"mpi\": " + json_string(printable(tune::shorten_version(read_native_version()))) +
                    ", \"sample\": " + std::to_string(sample_) + ", \"nodes\": [" + nodes + "], \"ranks\": [\n  ";
  for (std::size_t r = 0; r < texts.size(); ++r) out += (r == 0 ? "" : ",\n  ") + texts[r];
  write(library, library.settings().profile, "ESPALIER_PROFILE", out + "\n]}\n");
}

void Recording::write_trace(Library& library, int size, int me) {
  const int node = nodes_of(library, size)[static_cast<std::size_t>(me)];
  const auto texts = gather_texts(library, trace_.to_json(node, me), size, me);
  const auto dropped = gather_quietly(library.world().messages(), size, trace_.dropped());
  if (me != 0) return;
  std::string out = "{\"traceEvents\": [\n";
  for (const std::string& text : texts) out += text;
  out.resize(out.size() - 2);  // the last comma
  std::uint64_t all = 0;
  for (const std::uint64_t some : dropped) all += some;
  write(library, library.settings().profile_trace, "ESPALIER_PROFILE_TRACE",
        out + "\n],\n\"displayTimeUnit\": \"ns\", \"otherData\": {\"dropped\": " + std::to_string(all) + "}}\n");
  if (all > 0)
    library.say_once("ESPALIER_PROFILE_TRACE: " + std::to_string(all) +
                     " calls came after there was no room left for more, and are not in it");
}

void Recording::finish(Library& library) {
  int me = 0, size = 0;
  check(native().Comm_rank(native().comm_world, &me));
  check(native().Comm_size(native().comm_world, &size));
  if (wants_profile_) write_profile(library, size, me);
  if (trace_.is_on()) write_trace(library, size, me);
}

}  // namespace espalier::mpi
