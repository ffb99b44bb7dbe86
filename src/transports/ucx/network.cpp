#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <mutex>
#include <new>

#include "base/error.hpp"
#include "transports/ucx/address.hpp"
#include "transports/ucx/connection.hpp"
#include "transports/ucx/ucx.hpp"
#include "transports/ucx/worker.hpp"

namespace espalier::transports {
namespace {

using namespace ucx;
using Clock = std::chrono::steady_clock;

// UCX closes within a few progress calls; should it not, we leave rather than hang.
constexpr std::chrono::seconds close_limit{1};

// Looking after peers costs a system call each, and nobody dies often.
constexpr std::uint32_t looks_apart = 4096;

// What UCX may point to while an endpoint is open. In the order in which it is made.
struct Parts {
  explicit Parts(std::size_t ranks)
      : mailboxes(Memory::allocate(*worker.context(), ranks * sizeof(Mailbox))), connections(ranks) {}

  Worker worker;
  Memory mailboxes;
  std::deque<Operation> slots;  ///< never moved
  std::vector<std::unique_ptr<Connection>> connections;

  // Whether all connections came to that.
  template <class Condition>
  bool progress_until(Condition is_done, std::chrono::duration<double> limit) noexcept {
    const auto end = Clock::now() + limit;
    for (auto& connection : connections) {
      if (connection == nullptr) continue;
      while (!is_done(*connection)) {
        if (Clock::now() > end) return false;
        connection->endpoint.look_after_peer();
        worker.progress();
        sched_yield();
      }
    }
    return true;
  }

  // Closing an endpoint cuts off what its peer has not read yet, so everybody first waits until its peers want nothing
  // any more either.
  bool part(double seconds) noexcept {
    for (auto& connection : connections)
      if (connection != nullptr) connection->start_parting();
    return progress_until([](Connection& connection) { return connection.has_parted(); },
                          std::chrono::duration<double>(seconds));
  }

  bool has_parted() noexcept {
    return std::ranges::all_of(connections, [](const auto& c) { return c == nullptr || c->has_parted(); });
  }

  bool close() noexcept {
    for (auto& connection : connections)
      if (connection != nullptr) connection->endpoint.start_close();
    return progress_until([](Connection& connection) { return connection.endpoint.is_closed(); }, close_limit);
  }
};

// Networks whose peers still wanted something when they were destroyed. Never destroyed itself: UCX may be gone before.
struct LeftBehind {
  std::mutex mutex;
  std::vector<std::unique_ptr<Parts>> parts;
};

LeftBehind& left_behind() {
  static auto& left = *new LeftBehind;
  return left;
}

void leave_behind(std::unique_ptr<Parts> parts) {
  LeftBehind& left = left_behind();
  const std::lock_guard lock(left.mutex);
  left.parts.push_back(std::move(parts));
}

// Closes those that nobody wants any more. Only when a network is opened, and so never when processes are about to end:
// docs/ideas/ucx.md tells of UCX's fault there.
void sweep() {
  LeftBehind& left = left_behind();
  const std::lock_guard lock(left.mutex);
  std::erase_if(left.parts, [](const std::unique_ptr<Parts>& parts) {
    for (int i = 0; i < 100; ++i) parts->worker.progress();
    return parts->has_parted() && parts->close();
  });
}

class End final : public UcxNetwork {
 public:
  End(Rank me, int ranks, const UcxOptions& options)
      : options_(checked(options)), me_(me), parts_(std::make_unique<Parts>(static_cast<std::size_t>(ranks))) {
    busy_.reserve(parts_->connections.size());
  }

  ~End() override {
    if (!parts_->part(options_.farewell) || !parts_->close()) leave_behind(std::move(parts_));
  }

  std::vector<std::byte> address() const override {
    std::array<std::byte, 4096> key;
    const std::size_t key_bytes = parts_->mailboxes.pack_key(key);
    if (key_bytes == 0) throw Error("UCX gives no remote key for memory of its own");
    const std::vector<std::byte> worker = parts_->worker.address();
    const auto mailboxes = reinterpret_cast<std::uint64_t>(parts_->mailboxes.base());
    return write_address({worker, {key.data(), key_bytes}, mailboxes, getpid()}, options_);
  }

  void connect(std::span<const std::vector<std::byte>> addresses) override {
    if (addresses.size() != parts_->connections.size()) throw Error("there must be one UCX address for each rank");
    for (const auto& address : addresses) read_address(address, options_);
    addresses_.assign(addresses.begin(), addresses.end());
  }

  void reserve(std::uint32_t slots) override {
    if (parts_->slots.size() < slots) parts_->slots.resize(slots);
  }

  bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept override {
    Operation* send = prepare(slot, to, const_cast<std::byte*>(data), bytes);
    if (send != nullptr) send->connection->outgoing.start(*send, bytes >= options_.zero_copy_from);
    return send != nullptr && list(*send->connection);
  }

  bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept override {
    Operation* receipt = prepare(slot, from, data, bytes);
    if (receipt != nullptr) receipt->connection->incoming.start(*receipt, bytes >= options_.zero_copy_from);
    return receipt != nullptr && list(*receipt->connection);
  }

  Progress test(std::uint32_t slot) noexcept override {
    const Operation& operation = parts_->slots[slot];
    if (!operation.is_complete()) operation.connection->advance();  // most often it has come, and needs no more
    if (!operation.is_complete()) progress();
    if (operation.pending.has_failed) return Progress::broken;
    if (operation.is_complete()) return Progress::complete;
    return operation.connection->endpoint.is_broken() ? Progress::broken : Progress::pending;
  }

  void progress() noexcept override {
    parts_->worker.progress();
    const bool is_looking = --until_look_ == 0;
    if (is_looking) until_look_ = looks_apart;
    for (std::size_t i = 0; i < busy_.size();) {
      Connection& connection = *busy_[i];
      if (is_looking) connection.endpoint.look_after_peer();
      connection.advance();
      if (connection.is_idle()) {
        connection.is_listed = false;
        busy_[i] = busy_.back();
        busy_.pop_back();
      } else {
        ++i;
      }
    }
  }

 private:
  static const UcxOptions& checked(const UcxOptions& options) {
    // Cursors count lines in 32 bits; a record takes up to a quarter and needs a line.
    if (options.ring % line_bytes != 0 || options.ring < 16 * line_bytes || options.ring > (Bytes{1} << 30))
      throw Error("a ring needs a multiple of 64 bytes, from 1 KiB to 1 GiB");
    if (options.zero_copy_from == 0) throw Error("a message of no bytes cannot go without a copy");
    return options;
  }

  // Null: the peer cannot be reached, or the slot is still in use.
  Operation* prepare(std::uint32_t slot, Rank peer, std::byte* data, Bytes bytes) noexcept {
    Operation& operation = parts_->slots[slot];
    Connection* connection = connection_to(peer);
    if (connection == nullptr || !operation.is_complete()) return nullptr;
    operation.state = Operation::State::queued;
    operation.connection = connection;
    operation.data = data;
    operation.bytes = bytes;
    operation.moved = 0;
    operation.has_begun = false;
    operation.pending = {};
    return &operation;
  }

  Connection* connection_to(Rank peer) noexcept {
    auto& connection = parts_->connections[static_cast<std::size_t>(peer.value)];
    if (connection == nullptr) connection = make_connection(peer);
    return connection.get();
  }

  std::unique_ptr<Connection> make_connection(Rank peer) noexcept {
    try {
      const auto index = static_cast<std::size_t>(peer.value);
      const PeerAddress address = read_address(addresses_.at(index), options_);
      const Mailbox& mailbox = reinterpret_cast<const Mailbox*>(parts_->mailboxes.base())[index];
      return std::make_unique<Connection>(parts_->worker, address, me_, mailbox, options_);
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  // Its operations are from now on worked on whatever slot is asked for.
  bool list(Connection& connection) noexcept {
    if (!connection.is_listed && !connection.is_idle()) {
      connection.is_listed = true;
      busy_.push_back(&connection);
    }
    return true;
  }

  UcxOptions options_;
  Rank me_;
  std::unique_ptr<Parts> parts_;
  std::vector<std::vector<std::byte>> addresses_;
  std::vector<Connection*> busy_;
  std::uint32_t until_look_ = looks_apart;
};

}  // namespace

std::unique_ptr<UcxNetwork> UcxNetwork::open(Rank me, int ranks, const UcxOptions& options) {
  sweep();
  return std::make_unique<End>(me, ranks, options);
}

}  // namespace espalier::transports
