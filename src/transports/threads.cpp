#include "transports/threads.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "execute/run.hpp"
#include "execute/waiting/waiting.hpp"

namespace espalier::transports {
namespace {

using execute::Network;

/// One message under way. Owned by both ends; `mutex` of its mailbox guards it.
struct Message {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  Bytes bytes = 0;
  std::vector<std::byte> buffered;  ///< the sender's data, when the send need not wait
  bool is_delivered = false;
  bool is_broken = false;
};

/// Messages of one ordered pair of ranks, in order. Either the sends or the receives are ahead.
struct Connection {
  std::deque<std::shared_ptr<Message>> sent;
  std::deque<std::shared_ptr<Message>> expected;
};

class Mailbox {
 public:
  bool is_synchronous = false;

  std::shared_ptr<Message> send(Rank from, Rank to, const std::byte* data, Bytes bytes) {
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_[{from, to}];
    if (!connection.expected.empty()) {
      auto message = connection.expected.front();
      connection.expected.pop_front();
      deliver(*message, data, bytes, message->target, message->bytes);
      return message;
    }
    auto message = std::make_shared<Message>();
    message->bytes = bytes;
    message->source = data;
    if (!is_synchronous) message->buffered.assign(data, data + bytes);
    connection.sent.push_back(message);
    return message;
  }

  std::shared_ptr<Message> recv(Rank from, Rank to, std::byte* data, Bytes bytes) {
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_[{from, to}];
    if (!connection.sent.empty()) {
      auto message = connection.sent.front();
      connection.sent.pop_front();
      const std::byte* source = is_synchronous ? message->source : message->buffered.data();
      deliver(*message, source, message->bytes, data, bytes);
      return message;
    }
    auto message = std::make_shared<Message>();
    message->target = data;
    message->bytes = bytes;
    connection.expected.push_back(message);
    return message;
  }

  Network::Progress test(const Message& message, bool is_send) {
    const std::lock_guard lock(mutex_);
    if (message.is_broken) return Network::Progress::broken;
    const bool is_complete = message.is_delivered || (is_send && !is_synchronous);
    return is_complete ? Network::Progress::complete : Network::Progress::pending;
  }

 private:
  static void deliver(Message& message, const std::byte* source, Bytes sent, std::byte* target, Bytes expected) {
    message.is_broken = sent != expected;
    if (!message.is_broken && sent > 0) std::memcpy(target, source, sent);
    message.is_delivered = true;
  }

  std::mutex mutex_;
  std::map<std::pair<Rank, Rank>, Connection> connections_;
};

class ThreadNetwork final : public Network {
 public:
  ThreadNetwork(Mailbox& mailbox, Rank me) : mailbox_(mailbox), me_(me) {}

  void reserve(std::uint32_t slots) override { slots_.resize(slots); }
  bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept override {
    slots_[slot] = {mailbox_.send(me_, to, data, bytes), true};
    return true;
  }
  bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept override {
    slots_[slot] = {mailbox_.recv(from, me_, data, bytes), false};
    return true;
  }
  Progress test(std::uint32_t slot) noexcept override {
    return mailbox_.test(*slots_[slot].message, slots_[slot].is_send);
  }

 private:
  struct Slot {
    std::shared_ptr<Message> message;
    bool is_send = false;
  };
  Mailbox& mailbox_;
  Rank me_;
  std::vector<Slot> slots_;
};

class ThreadCopy final : public execute::SingleCopy {
 public:
  bool read(LocalRank, const std::byte* theirs, std::byte* mine, Bytes bytes) noexcept override {
    std::memcpy(mine, theirs, bytes);
    return true;
  }
  bool write(LocalRank, std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept override {
    std::memcpy(theirs, mine, bytes);
    return true;
  }
};

struct Aligned {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{4096}); }
};

}  // namespace

struct ThreadWorld::State {
  State(const topology::Topology& t, Waiting w) : topology(t), waiting(w) {}
  topology::Topology topology;
  Waiting waiting;
  std::vector<std::unique_ptr<std::byte[], Aligned>> boards;
  std::vector<execute::Seat> seats;
  Mailbox mailbox;
};

ThreadWorld::ThreadWorld(const topology::Topology& topology, Bytes window_bytes, Waiting waiting)
    : state_(std::make_unique<State>(topology, waiting)) {
  for (int n = 0; n < topology.nodes(); ++n) {
    const Bytes bytes = execute::Board::bytes({topology.size_of(NodeId(n)), window_bytes});
    state_->boards.emplace_back(new (std::align_val_t{4096}) std::byte[bytes]());
  }
  for (int r = 0; r < topology.ranks(); ++r) {
    const NodeId node = topology.node_of(Rank(r));
    const auto board = execute::Board::furnished(state_->boards[static_cast<std::size_t>(node.value)].get(),
                                                 {topology.size_of(node), window_bytes});
    state_->seats.emplace_back(board, topology.local_rank(Rank(r)), execute::may_sleep(waiting));
  }
}

ThreadWorld::~ThreadWorld() = default;

const topology::Topology& ThreadWorld::topology() const { return state_->topology; }

execute::Seat& ThreadWorld::seat(Rank rank) { return state_->seats[static_cast<std::size_t>(rank.value)]; }

void ThreadWorld::set_synchronous(bool is_synchronous) { state_->mailbox.is_synchronous = is_synchronous; }

bool ThreadWorld::run(Rank rank, const plan::Program& program, std::byte* input, std::byte* output,
                      const execute::Reducer* reducer) {
  ThreadNetwork network(state_->mailbox, rank);
  network.reserve(program.slots);
  ThreadCopy single_copy;
  execute::PatientWaiter waiter(state_->waiting, 0);
  std::vector<std::byte> scratch(program.scratch_bytes);
  seat(rank).begin_call();
  execute::Run run(program, {input, output, scratch.data()}, {&seat(rank), &network, &single_copy, reducer});
  return static_cast<bool>(run.finish(waiter));
}

void for_each_rank(int ranks, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) threads.emplace_back([&body, r] { body(Rank(r)); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace espalier::transports
