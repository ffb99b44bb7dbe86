#pragma once
// One connection of the topology service: lines in, replies out.

#include <asio/awaitable.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/queries/engine.hpp"
#include "service/askers.hpp"
#include "service/server.hpp"
#include "service/workers.hpp"

namespace espalier::service {

using Socket = asio::generic::stream_protocol::socket;
using Clock = std::chrono::steady_clock;

/// What all connections share. Used by the network thread alone.
struct Shared {
  fabric::Engine& engine;
  Limits limits;
  Workers& workers;
  Bytes held = 0;             ///< of Limits::memory
  std::vector<char> scratch;  ///< what was just received
  Askers askers{};            ///< read by other threads, too
};

/// Bytes that count against Limits::memory while this lives.
class Held {
 public:
  explicit Held(Shared& shared) : shared_(shared) {}
  ~Held() { set(0); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void set(Bytes bytes) {
    shared_.held += bytes - bytes_;
    bytes_ = bytes;
  }
  /// False, and nothing changes, when there is no room for so many.
  bool try_set(Bytes bytes) {
    if (shared_.held - bytes_ + bytes > shared_.limits.memory) return false;
    set(bytes);
    return true;
  }

 private:
  Shared& shared_;
  Bytes bytes_ = 0;
};

/// Lives in its coroutine. An idle one holds no buffers.
class Session {
 public:
  /// `address` is what its client has in common with others of the same host.
  Session(Socket socket, std::string address, Shared& shared);

  /// Answers until either side is done with it. Throws system_error when the connection breaks.
  asio::awaitable<void> converse();
  /// Closes the connection if its client has kept it waiting for too long, which then ends converse(). Where others of
  /// its address find no room, half a request's time is all that it has for silence, too.
  void end_if_too_slow(Clock::time_point now, bool is_crowded);
  void close() noexcept;
  const std::string& address() const { return address_; }

 private:
  enum class State { idle, half_request, computing, unread_reply };

  void enter(State state) {
    state_ = state;
    since_ = Clock::now();
  }
  asio::awaitable<bool> receive();
  asio::awaitable<bool> answer_lines();
  void keep_rest(std::size_t taken);
  asio::awaitable<void> answer(std::string_view line);
  asio::awaitable<void> compute(std::string_view line, std::uint64_t work);
  bool may_hold(Bytes bytes);
  asio::awaitable<void> flush();
  asio::awaitable<void> part_with(std::string_view error);

  Socket socket_;
  const std::string address_;
  Shared& shared_;
  State state_ = State::idle;
  Clock::time_point since_ = Clock::now();
  std::string input_, reply_;
  Held input_held_, reply_held_;
};

}  // namespace espalier::service
