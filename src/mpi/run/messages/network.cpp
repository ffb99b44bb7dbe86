#include "mpi/run/messages/network.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "mpi/process/library.hpp"
#include "mpi/run/progress/health.hpp"

namespace espalier::mpi {

using execute::Statement;

MessageNetwork::MessageNetwork(MPI_Comm comm, Tags& tags, std::vector<Address> addresses, int me)
    : comm_(comm), tags_(tags), addresses_(std::move(addresses)), me_(me) {}

void MessageNetwork::reserve(std::uint32_t slots) {
  if (slots_.size() < slots) slots_.resize(slots);
}

void MessageNetwork::begin(std::optional<Statement> statement) {
  statement_ = statement;
  if (!statement_) return;
  ++run_;
  peers_.resize(addresses_.size());
  for (; framed_slots_ < slots_.size(); ++framed_slots_)
    slots_[framed_slots_].frame.resize(word_bytes + longest_framed);
  unheard_.reserve(framed_slots_);
  held_.reserve(framed_slots_);
}

bool MessageNetwork::is_well(int code) noexcept {
  if (error_ == MPI_SUCCESS) error_ = code;
  return code == MPI_SUCCESS;
}

// As the MPI says it, on one line.
std::string MessageNetwork::why_broken() const {
  if (error_ == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (native().Error_string(error_, text.data(), &length) != MPI_SUCCESS) return "error " + std::to_string(error_);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.data();
}

// ---- starting ----

bool MessageNetwork::send(Part& part, int to, const std::byte* data, Bytes bytes, int tag) noexcept {
  const Native& mpi = native();
  part.state = Part::State::under_way;
  return is_well(mpi.Isend(data, static_cast<int>(bytes), mpi.byte, address_of(to).rank, tag, comm_, &part.request));
}

bool MessageNetwork::receive(Part& part, int from, std::byte* memory, Bytes room, int tag) noexcept {
  const Native& mpi = native();
  part.state = Part::State::under_way;
  return is_well(mpi.Irecv(memory, static_cast<int>(room), mpi.byte, address_of(from).rank, tag, comm_, &part.request));
}

bool MessageNetwork::start_send(std::uint32_t number, Rank to, const std::byte* data, Bytes bytes) noexcept {
  Slot& slot = slots_[number];
  const int tag = address_of(to.value).tag;
  slot.is_receive = false;
  slot.head.state = slot.body.state = Part::State::none;
  if (!statement_ || std::exchange(peer_of(to.value).sent_in, run_) == run_)
    return send(slot.body, to.value, data, bytes, tag);
  const bool is_one = bytes <= longest_framed;
  const std::uint64_t word = statement_->word();
  std::memcpy(slot.frame.data(), &word, word_bytes);
  if (is_one && bytes > 0) std::memcpy(slot.frame.data() + word_bytes, data, bytes);
  return send(slot.head, to.value, slot.frame.data(), word_bytes + (is_one ? bytes : 0), Tags::of_frames(tag)) &&
         (is_one || send(slot.body, to.value, data, bytes, tag));
}

bool MessageNetwork::start_recv(std::uint32_t number, Rank from, std::byte* data, Bytes bytes) noexcept {
  Slot& slot = slots_[number];
  slot.is_receive = true;
  slot.peer = from.value;
  slot.data = data;
  slot.bytes = bytes;
  slot.head.state = slot.body.state = Part::State::none;
  if (!statement_ || peer_of(slot.peer).heard_in == run_) return receive(slot.body, slot.peer, data, bytes, tag());
  if (std::exchange(peer_of(slot.peer).received_in, run_) != run_) return expect_frame(number);
  slot.body.state = Part::State::held;
  held_.push_back(number);
  return true;
}

bool MessageNetwork::expect_frame(std::uint32_t number) noexcept {
  Slot& slot = slots_[number];
  unheard_.push_back(number);
  slot.body.state = Part::State::held;
  const auto early = early_.find(slot.peer);
  if (early == early_.end())
    return receive(slot.head, slot.peer, slot.frame.data(), slot.frame.size(), Tags::of_frames(tag()));
  const std::vector<std::byte>& frame = early->second.front();
  slot.came = frame.size();
  std::copy(frame.begin(), frame.end(), slot.frame.begin());
  early->second.pop_front();
  if (early->second.empty()) early_.erase(early);
  return true;
}

// ---- ending ----

execute::Network::Progress MessageNetwork::object(Bytes said) noexcept {
  said_ = said;
  return Progress::differs;
}

/// `came` bytes are there, if it is a receive.
execute::Network::Progress MessageNetwork::test(Part& part, Bytes* came) noexcept {
  const Native& mpi = native();
  if (part.state == Part::State::held) return Progress::pending;
  if (part.state == Part::State::none) return Progress::complete;
  int is_complete = 0, bytes = 0;
  MPI_Status status;
  const int code = mpi.Test(&part.request, &is_complete, came == nullptr ? MPI_STATUS_IGNORE : &status);
  if (code == MPI_SUCCESS && !is_complete) return Progress::pending;
  part.state = Part::State::none;  // after an error, too, as when there was no room for all that came
  if (!is_well(code)) return Progress::broken;
  if (came == nullptr) return Progress::complete;
  mpi.Get_count(&status, mpi.byte, &bytes);
  *came = static_cast<Bytes>(bytes);
  return Progress::complete;
}

execute::Network::Progress MessageNetwork::test(std::uint32_t number) noexcept {
  if (!unheard_.empty())
    if (const Progress progress = hear(); progress != Progress::complete) return progress;
  Slot& slot = slots_[number];
  if (!slot.is_receive)
    if (const Progress progress = test(slot.head, nullptr); progress != Progress::complete) return progress;
  return test(slot.body, nullptr);
}

/// Takes the frames that have come. Complete: nobody has said anything else so far.
execute::Network::Progress MessageNetwork::hear() noexcept {
  for (std::size_t i = 0; i < unheard_.size();) {
    Slot& slot = slots_[unheard_[i]];
    Progress progress = test(slot.head, &slot.came);
    if (progress == Progress::complete) progress = take_frame(slot);
    if (progress == Progress::differs || progress == Progress::broken) return progress;
    if (progress == Progress::pending)
      ++i;
    else
      unheard_.erase(unheard_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return Progress::complete;
}

/// The frame has come: what it says, the payload if that is in it, and what waits for it.
execute::Network::Progress MessageNetwork::take_frame(Slot& slot) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, slot.frame.data(), word_bytes);
  const Statement theirs(word);
  if (theirs.is_of_later_call_than(*statement_)) return Progress::pending;  // in this one it sends to others, who will
  const bool is_one = slot.bytes <= longest_framed;
  const Bytes payload = slot.came - word_bytes;
  if (theirs != *statement_ || payload != (is_one ? slot.bytes : 0))
    return object(theirs.is_of_call_of(*statement_) ? theirs.bytes() : Statement::has_left);
  peer_of(slot.peer).heard_in = agreed_in_ = run_;
  slot.came = 0;
  slot.body.state = Part::State::none;
  if (is_one && payload > 0) std::memcpy(slot.data, slot.frame.data() + word_bytes, payload);
  if (!is_one && !receive(slot.body, slot.peer, slot.data, slot.bytes, tag())) return Progress::broken;
  return release(slot.peer) ? Progress::complete : Progress::broken;
}

/// Asks for the peer's messages that were held, in their order.
bool MessageNetwork::release(int peer) noexcept {
  bool is_well = true;
  const auto release_one = [&](std::uint32_t number) {
    Slot& slot = slots_[number];
    if (slot.peer != peer) return false;
    is_well = receive(slot.body, peer, slot.data, slot.bytes, tag()) && is_well;
    return true;
  };
  held_.erase(std::remove_if(held_.begin(), held_.end(), release_one), held_.end());
  return is_well;
}

// ---- where ranks do not do the same ----

std::optional<Bytes> MessageNetwork::find_other() noexcept {
  if (!said_) look_for_leavers();
  if (!said_ && statement_) look_for_strangers();
  return std::exchange(said_, std::nullopt);
}

void MessageNetwork::look_for_leavers() noexcept {
  const Native& mpi = native();
  int is_there = 0;
  MPI_Status status;
  while (mpi.Iprobe(MPI_ANY_SOURCE, Tags::of_leavers, comm_, &is_there, &status) == MPI_SUCCESS && is_there) {
    std::int32_t tag = 0;
    MPI_Request request;
    if (mpi.Irecv(&tag, 1, mpi.integer, status.MPI_SOURCE, Tags::of_leavers, comm_, &request) != MPI_SUCCESS) return;
    if (mpi.Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    tags_.note_left(tag);
  }
  if (tags_.is_left(tag())) said_ = Statement::has_left;
}

/// Frames of ranks that this one's program expects nothing of, or not yet.
void MessageNetwork::look_for_strangers() noexcept {
  const Native& mpi = native();
  const int frames = Tags::of_frames(tag());
  int is_there = 0, bytes = 0;
  MPI_Status status;
  MPI_Request request;
  if (mpi.Iprobe(MPI_ANY_SOURCE, frames, comm_, &is_there, &status) != MPI_SUCCESS || !is_there) return;
  mpi.Get_count(&status, mpi.byte, &bytes);
  std::vector<std::byte> frame(static_cast<std::size_t>(bytes));
  const int source = status.MPI_SOURCE;
  if (mpi.Irecv(frame.data(), bytes, mpi.byte, source, frames, comm_, &request) != MPI_SUCCESS) return;
  if (mpi.Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
  std::uint64_t word = 0;
  std::memcpy(&word, frame.data(), word_bytes);
  const Statement theirs(word);
  if (theirs.is_of_call_of(*statement_) && theirs != *statement_) said_ = theirs.bytes();
  const auto peer = std::find_if(addresses_.begin(), addresses_.end(),
                                 [&](const Address& address) { return address.rank == source; });
  early_[static_cast<int>(peer - addresses_.begin())].push_back(std::move(frame));
}

/// Frames are kept. Whoever has taken part in the run so far that a peer has had something of it, or it of a peer, can
/// not take part in another one in its place.
bool MessageNetwork::withdraw() noexcept {
  said_.reset();
  for (const std::uint32_t number : unheard_) keep_frame(slots_[number]);
  unheard_.clear();
  held_.clear();
  return std::none_of(peers_.begin(), peers_.end(),
                      [&](const Peer& peer) { return peer.sent_in == run_ || peer.heard_in == run_; });
}

void MessageNetwork::keep_frame(Slot& slot) noexcept {
  const Native& mpi = native();
  slot.body.state = Part::State::none;
  if (std::exchange(slot.head.state, Part::State::none) == Part::State::under_way) {
    MPI_Status status;
    int is_cancelled = 0, bytes = 0;
    mpi.Cancel(&slot.head.request);
    if (mpi.Wait(&slot.head.request, &status) != MPI_SUCCESS) return;
    mpi.Test_cancelled(&status, &is_cancelled);
    if (!is_cancelled) mpi.Get_count(&status, mpi.byte, &bytes);
    slot.came = static_cast<Bytes>(bytes);
  }
  const auto end = slot.frame.begin() + static_cast<std::ptrdiff_t>(slot.came);
  if (slot.came > 0) early_[slot.peer].emplace_front(slot.frame.begin(), end);
  slot.came = 0;
}

// Receives end; sends cannot be taken back, and a peer that came late would take them out of memory that is the
// caller's again: it is told not to.
void MessageNetwork::abandon() noexcept {
  const Native& mpi = native();
  withdraw();
  for (Slot& slot : slots_)
    if (slot.is_receive && slot.body.state == Part::State::under_way) {
      mpi.Cancel(&slot.body.request);
      mpi.Wait(&slot.body.request, MPI_STATUS_IGNORE);
      slot.body.state = Part::State::none;
    }
  is_abandoned_ = true;
  for (int peer = 0; peer < static_cast<int>(addresses_.size()); ++peer)
    if (peer != me_) tell_left(address_of(peer));
}

void MessageNetwork::tell_left(const Address& to) noexcept {
  const Native& mpi = native();
  MPI_Request request;
  if (mpi.Isend(&to.tag, 1, mpi.integer, to.rank, Tags::of_leavers, comm_, &request) == MPI_SUCCESS)
    mpi.Wait(&request, MPI_STATUS_IGNORE);
}

void MessageNetwork::end_messages() noexcept {
  for (Slot& slot : slots_)
    for (Part* part : {&slot.head, &slot.body})
      if (std::exchange(part->state, Part::State::none) == Part::State::under_way)
        native().Wait(&part->request, MPI_STATUS_IGNORE);
}

bool MessageNetwork::is_broken() const {
  return is_abandoned_ || std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
           return slot.head.state == Part::State::under_way || slot.body.state == Part::State::under_way;
         });
}

// ---- two kinds ----

namespace {

std::vector<Address> same_addresses(int ranks) {
  std::vector<Address> addresses;
  for (int r = 0; r < ranks; ++r) addresses.push_back({r, Tags::first});
  return addresses;
}

}  // namespace

MpiNetwork::MpiNetwork(MPI_Comm comm, int ranks, int me) : MessageNetwork(comm, own_tags_, same_addresses(ranks), me) {}

MpiNetwork::~MpiNetwork() {
  if (!Library::get().is_ending()) native().Comm_free(&comm_);
}

// Receives can be cancelled, but not sends: a peer that came late would take them out of memory that is the caller's
// again. On a revoked communicator all of them end.
void MpiNetwork::abandon() noexcept {
  if (!outlives_failures()) return MessageNetwork::abandon();
  revoke(comm_);
  end_messages();
}

// Where a run broke off, messages may be under way for ever: its tag is nobody's any more.
WorldNetwork::~WorldNetwork() {
  if (!is_broken()) tags_.give_back(tag());
}

}  // namespace espalier::mpi
