#include "service/session.hpp"

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

namespace espalier::service {
namespace {

// A connection's turn: so many lines, or so many bytes of replies. Then the others come.
constexpr int kLinesPerTurn = 256;
constexpr std::size_t kBytesPerTurn = std::size_t{64} << 10;
// So that no reply keeps the thread in one copy.
constexpr std::size_t kBytesPerSend = std::size_t{256} << 10;
// Room for replies that a connection keeps between them.
constexpr std::size_t kKeptBytes = std::size_t{1} << 10;
constexpr std::string_view kTooLong = "error too-long a request has at most 131072 bytes\n";
constexpr std::string_view kTooSlow =
    "error too-slow this connection was silent, or its replies unread, for too long\n";
constexpr std::string_view kNoRoom = "error busy too much memory is held by replies: ask again later\n";

asio::awaitable<std::string> compute(fabric::Engine& engine, std::string_view line) {
  std::string reply;
  engine.answer(line, reply);
  co_return reply;
}

bool is_quit(std::string_view line) {
  try {
    return fabric::parse_request(line).command == fabric::Command::quit;
  } catch (const fabric::ProtocolError&) {
    return false;
  }
}

}  // namespace

Session::Session(Socket socket, Shared& shared)
    : socket_(std::move(socket)), shared_(shared), input_held_(shared), reply_held_(shared) {
  socket_.non_blocking(true);
}

// Awaits stand alone in their statements: gcc 12 miscompiles some within larger expressions.
asio::awaitable<void> Session::converse() {
  for (bool goes_on = true; goes_on;) {
    goes_on = co_await receive();
    if (goes_on) goes_on = co_await answer_lines();
  }
}

void Session::end_if_too_slow(Clock::time_point now) {
  const auto limit = state_ == State::idle ? shared_.limits.idle : shared_.limits.slow;
  if (state_ == State::computing || now - since_ < limit) return;
  ++shared_.engine.counters().too_slow;
  asio::error_code ignored;
  // Behind half a reply it would be taken for a part of it.
  if (state_ != State::unread_reply) socket_.write_some(asio::buffer(kTooSlow), ignored);
  close();
}

void Session::close() noexcept {
  asio::error_code ignored;
  socket_.close(ignored);
}

// More input; false at its end.
asio::awaitable<bool> Session::receive() {
  for (;;) {
    co_await socket_.async_wait(Socket::wait_read, asio::use_awaitable);
    asio::error_code error;
    const auto got = socket_.read_some(asio::buffer(shared_.scratch), error);
    if (error == asio::error::would_block) continue;
    if (error) co_return false;
    input_.append(shared_.scratch.data(), got);
    if (input_held_.try_set(input_.capacity())) co_return true;
    co_await part_with(kNoRoom);
    co_return false;
  }
}

// Answers every whole line of the input. False when the connection is to end.
asio::awaitable<bool> Session::answer_lines() {
  std::size_t taken = 0;
  int lines = 0;
  for (auto end = input_.find('\n'); end != std::string::npos; end = input_.find('\n', taken)) {
    const auto line = std::string_view(input_).substr(taken, end - taken);
    if (line.size() >= fabric::kLongestRequest) break;
    taken = end + 1;
    co_await answer(line);
    if (is_quit(line)) {
      co_await flush();
      co_return false;
    }
    if (++lines % kLinesPerTurn == 0 || reply_.size() > kBytesPerTurn) {
      co_await flush();
      co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    }
  }
  co_await flush();
  if (input_.size() - taken >= fabric::kLongestRequest) {
    co_await part_with(kTooLong);
    co_return false;
  }
  keep_rest(taken);
  co_return true;
}

// What is left of the input is the beginning of the next request, which has its own time to arrive.
void Session::keep_rest(std::size_t taken) {
  if (taken == input_.size()) {
    std::string().swap(input_);
    enter(State::idle);
  } else if (taken > 0 || state_ != State::half_request) {
    input_.erase(0, taken);
    enter(State::half_request);
  }
  input_held_.set(input_.capacity());
}

asio::awaitable<void> Session::answer(std::string_view line) {
  const auto bytes = shared_.engine.weigh(line);
  if (!bytes) {
    shared_.engine.answer(line, reply_);
    co_return;
  }
  co_await flush();
  if (!reply_held_.try_set(*bytes)) {
    reply_ += kNoRoom;
    co_return;
  }
  enter(State::computing);
  reply_ = co_await asio::co_spawn(shared_.workers, compute(shared_.engine, line), asio::use_awaitable);
  co_await flush();
}

// Sends what there is to say. What its client does not take at once, counts as held.
asio::awaitable<void> Session::flush() {
  std::size_t sent = 0, counted = 0;
  while (sent < reply_.size()) {
    asio::error_code error;
    sent +=
        socket_.write_some(asio::buffer(reply_.data() + sent, std::min(reply_.size() - sent, kBytesPerSend)), error);
    if (error && error != asio::error::would_block) throw std::system_error(error);
    if (sent == reply_.size()) break;
    if (!reply_held_.try_set(reply_.capacity())) throw std::system_error(asio::error::no_buffer_space);
    if (state_ != State::unread_reply || sent - counted >= kBytesPerTurn) {
      enter(State::unread_reply);
      counted = sent;
    }
    co_await socket_.async_wait(Socket::wait_write, asio::use_awaitable);
  }
  reply_.clear();
  if (reply_.capacity() > kKeptBytes) std::string().swap(reply_);
  reply_held_.set(0);
}

// Closing a socket with unread input takes the last words from the client too: so what still comes is thrown away,
// until the client has understood or its time is over.
asio::awaitable<void> Session::part_with(std::string_view error) {
  ++shared_.engine.counters().errors;
  std::string().swap(input_);
  input_held_.set(0);
  reply_ += error;
  co_await flush();
  enter(State::half_request);
  asio::error_code status;
  socket_.shutdown(Socket::shutdown_send, status);
  while (!status || status == asio::error::would_block) {
    co_await socket_.async_wait(Socket::wait_read, asio::use_awaitable);
    socket_.read_some(asio::buffer(shared_.scratch), status);
  }
}

}  // namespace espalier::service
