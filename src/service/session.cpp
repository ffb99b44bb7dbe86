#include "service/session.hpp"

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <new>

namespace espalier::service {
namespace {

// A connection's turn: so many lines, or so many bytes of replies. Then the others come.
constexpr int kLinesPerTurn = 256;
constexpr std::size_t kBytesPerTurn = std::size_t{64} << 10;
// So that no reply keeps the thread in one copy.
constexpr std::size_t kBytesPerSend = std::size_t{256} << 10;
// A turn of a client that takes its reply as fast as it is sent.
constexpr std::size_t kBytesPerSendingTurn = std::size_t{1} << 20;
// Room for replies that a connection keeps between them.
constexpr std::size_t kKeptBytes = std::size_t{1} << 10;
constexpr std::string_view kTooLong = "error too-long a request has at most 131072 bytes\n";
constexpr std::string_view kTooSlow =
    "error too-slow this connection was silent, or its replies unread, for too long\n";
constexpr std::string_view kNoRoom = "error busy too much memory is held by replies: ask again later\n";

bool is_quit(std::string_view line) {
  try {
    return fabric::parse_request(line).command == fabric::Command::quit;
  } catch (const fabric::ProtocolError&) {
    return false;
  }
}

}  // namespace

Session::Session(Socket socket, std::string address, Shared& shared)
    : socket_(std::move(socket)),
      address_(std::move(address)),
      shared_(shared),
      input_held_(shared),
      reply_held_(shared) {
  socket_.non_blocking(true);
}

// Awaits stand alone in their statements: gcc 12 miscompiles some within larger expressions.
asio::awaitable<void> Session::converse() {
  for (bool goes_on = true; goes_on;) {
    goes_on = co_await receive();
    if (goes_on) goes_on = co_await answer_lines();
  }
}

void Session::end_if_too_slow(Clock::time_point now, bool is_crowded) {
  const auto limit = state_ == State::idle && !is_crowded ? shared_.limits.idle : shared_.limits.slow;
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
    shared_.askers.note(address_);
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
  const auto weight = shared_.engine.weigh(line);
  if (!weight) {
    shared_.engine.answer(line, reply_);
    co_return;
  }
  co_await flush();
  if (!may_hold(weight->bytes)) {
    reply_ += kNoRoom;
    co_return;
  }
  enter(State::computing);
  co_await compute(line, weight->work);
  co_await flush();
}

// What takes much leaves room for what takes little: a job's question is not to fail because others ask for matrices.
bool Session::may_hold(Bytes bytes) {
  const auto& limits = shared_.limits;
  const bool is_much = bytes > limits.memory / 8;
  return (!is_much || shared_.held + bytes <= limits.memory / 4 * 3) && reply_held_.try_set(bytes);
}

// Has a worker make the reply. The worker touches nothing of ours after it has posted; what is not done when the server
// stops is forgotten before this goes.
asio::awaitable<void> Session::compute(std::string_view line, std::uint64_t work) {
  asio::steady_timer done(socket_.get_executor(), asio::steady_timer::time_point::max());
  bool has_failed = false;
  shared_.workers.submit(address_, work, [&, executor = socket_.get_executor()] {
    try {
      shared_.engine.answer(line, reply_);
    } catch (const std::exception&) {
      has_failed = true;
    }
    asio::post(executor, [&done] { done.cancel(); });
  });
  asio::error_code ignored;
  co_await done.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  if (has_failed) throw std::bad_alloc();
}

// Sends what there is to say. What its client does not take at once, counts as held.
asio::awaitable<void> Session::flush() {
  std::size_t sent = 0, counted = 0, turn = 0;
  while (sent < reply_.size()) {
    asio::error_code error;
    sent +=
        socket_.write_some(asio::buffer(reply_.data() + sent, std::min(reply_.size() - sent, kBytesPerSend)), error);
    if (error && error != asio::error::would_block) throw std::system_error(error);
    if (sent == reply_.size()) break;
    if (!error && sent - turn >= kBytesPerSendingTurn) {
      turn = counted = sent;
      enter(State::unread_reply);
      co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    }
    if (!error) continue;
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
