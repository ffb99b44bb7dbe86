#pragma once
// Asks a topology service (docs/reference/protocol.md). Made for a library that is loaded into other people's programs:
// no threads, no signals, no exceptions, and an end to every wait.

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/classes.hpp"

namespace espalier::fabric {

/// A connection to a service. Connects at the first question and again after a failure. Not for several threads.
class Client {
 public:
  using Clock = std::chrono::steady_clock;

  /// `address` is "HOST:PORT", "[IPv6]:PORT" or the path of a Unix socket (whatever contains a slash). `limit` holds
  /// for each question from connecting to the last byte of its reply. The resolver is not under it: a HOST that is a
  /// name may take as long as the system's resolver allows.
  Client(std::string address, std::chrono::milliseconds limit) : address_(std::move(address)), limit_(limit) {}
  ~Client() { disconnect(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Delays between all pairs, row by row: hosts x hosts, as Delays::matrix; infinite without a route. One round trip.
  /// Of `question` the service knows metric and bytes; latencies are its own. False when there is no such answer, and
  /// then `delays` is empty and error() says why.
  bool ask_matrix(std::span<const std::string> hosts, const Question& question, std::vector<double>& delays) noexcept;

  /// Latency and speed between all pairs, by classes of hosts: as much as a job needs to know, in one round trip. False
  /// as above, and then `delays` is empty.
  bool ask_classes(std::span<const std::string> hosts, ClassDelays& delays) noexcept;

  /// The reply to any request whose reply is a single line, without its end. False as above; also for "error …".
  bool ask(std::string_view request, std::string& reply) noexcept;

  /// Why the last question failed, in one sentence; empty when it did not.
  const std::string& error() const noexcept { return error_; }

 private:
  void connect();
  void connect_to(int family, const void* address, unsigned length);
  void disconnect() noexcept;
  void begin();
  void send(std::string_view text);
  std::string_view receive_line();
  void receive_some();
  void wait_for(short events);
  template <class Talk>
  bool guard(Talk&& talk) noexcept;

  std::string address_;
  std::chrono::milliseconds limit_;
  Clock::time_point deadline_{};
  int socket_ = -1;
  std::string received_;
  std::size_t taken_ = 0;          ///< of `received_`
  std::size_t most_received_ = 0;  ///< a reply beyond that is none of ours
  std::string error_;
};

}  // namespace espalier::fabric
