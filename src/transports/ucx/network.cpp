#include <unistd.h>

#include <array>
#include <mutex>

#include "base/error.hpp"
#include "transports/ucx/address.hpp"
#include "transports/ucx/parts.hpp"
#include "transports/ucx/ucx.hpp"
#include "transports/ucx/worker.hpp"

namespace espalier::transports {
namespace {

using namespace ucx;

// Looking after peers costs a system call each, and nobody dies often.
constexpr std::uint32_t looks_apart = 4096;

class End final : public UcxNetwork {
 public:
  End(Rank me, int ranks, const UcxOptions& options) : options_(checked(options)), me_(me), worker_(Worker::get()) {
    const std::lock_guard lock(worker_.mutex());
    parts_ = std::make_unique<Parts>(worker_, static_cast<std::size_t>(ranks));
    busy_.reserve(parts_->connections.size());
  }

  ~End() override { part(std::move(parts_), options_.farewell); }

  std::vector<std::byte> address() const override {
    const std::lock_guard lock(worker_.mutex());
    std::array<std::byte, 4096> key;
    const std::size_t key_bytes = parts_->mailboxes.pack_key(key);
    if (key_bytes == 0) throw Error("UCX gives no remote key for memory of its own");
    const std::vector<std::byte> worker = worker_.address();
    const auto mailboxes = reinterpret_cast<std::uint64_t>(parts_->mailboxes.base());
    return write_address({worker, {key.data(), key_bytes}, mailboxes, getpid()}, options_);
  }

  void connect(std::span<const std::vector<std::byte>> addresses) override {
    if (addresses.size() != parts_->connections.size()) throw Error("there must be one UCX address for each rank");
    for (const auto& address : addresses) read_address(address, options_);
    addresses_.assign(addresses.begin(), addresses.end());
  }

  void reach(Rank peer) override {
    const std::lock_guard lock(worker_.mutex());
    const PeerAddress address = read_address(addresses_.at(static_cast<std::size_t>(peer.value)), options_);
    worker_.link(address.worker, address.process, options_.shared_memory);
  }

  void reserve(std::uint32_t slots) override {
    if (parts_->slots.size() < slots) parts_->slots.resize(slots);
  }

  bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept override {
    const std::lock_guard lock(worker_.mutex());
    Operation* send = prepare(slot, to, const_cast<std::byte*>(data), bytes);
    if (send != nullptr) send->connection->outgoing.start(*send, bytes >= options_.zero_copy_from);
    return send != nullptr && list(*send->connection);
  }

  bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept override {
    const std::lock_guard lock(worker_.mutex());
    Operation* receipt = prepare(slot, from, data, bytes);
    if (receipt != nullptr) receipt->connection->incoming.start(*receipt, bytes >= options_.zero_copy_from);
    return receipt != nullptr && list(*receipt->connection);
  }

  Progress test(std::uint32_t slot) noexcept override {
    const std::lock_guard lock(worker_.mutex());
    const Operation& operation = parts_->slots[slot];
    if (!operation.is_complete()) operation.connection->advance();  // most often it has come, and needs no more
    if (!operation.is_complete()) work();
    if (operation.pending.has_failed) return Progress::broken;
    if (operation.is_complete()) return Progress::complete;
    return operation.connection->endpoint.is_broken() ? Progress::broken : Progress::pending;
  }

  void progress() noexcept override {
    const std::lock_guard lock(worker_.mutex());
    work();
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
      return std::make_unique<Connection>(worker_, address, me_, mailbox, options_);
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  void work() noexcept {
    worker_.progress();
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
  Worker& worker_;
  std::unique_ptr<Parts> parts_;
  std::vector<std::vector<std::byte>> addresses_;
  std::vector<Connection*> busy_;
  std::uint32_t until_look_ = looks_apart;
};

}  // namespace

std::unique_ptr<UcxNetwork> UcxNetwork::open(Rank me, int ranks, const UcxOptions& options) {
  tidy();
  return std::make_unique<End>(me, ranks, options);
}

}  // namespace espalier::transports
