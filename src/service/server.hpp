#pragma once
// The topology service's door: TCP and Unix sockets in front of a fabric::Engine (docs/reference/protocol.md).
//
//     clients ──► one network thread ──► Engine::answer      what takes microseconds
//                        │  ▲
//                        ▼  │
//                     workers ──► Engine::answer             matrices, lists: never in the way of the others, and taken
//                                                            in turn by address, little work first
//
// The paper's server starts a thread for each client; thousands of jobs' leaders that ask at the same moment would be
// thousands of threads. One thread suffices for the lines: it spends its time in the kernel's sockets.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "fabric/queries/engine.hpp"
#include "service/askers.hpp"

namespace espalier::service {

/// What a server takes upon itself.
struct Limits {
  std::size_t connections = 16384;  ///< more are told so and closed
  std::size_t per_address = 4096;   ///< the same for those of one host, or of one user of a Unix socket
  Bytes memory = Bytes{512} << 20;  ///< of half requests, of answers in the making and of unread ones
  /// A connection may wait for its next request; no longer than `slow` where three quarters of all places, or of its
  /// address's, are taken.
  std::chrono::milliseconds idle = std::chrono::minutes(5);
  std::chrono::milliseconds slow =
      std::chrono::seconds(10);  ///< half a request, or 64 KiB of an unread reply, may wait
  int workers = 1;
};

/// Serves from start() to stop(). Its functions are for one thread.
class Server {
 public:
  /// `engine` outlives the server.
  Server(fabric::Engine& engine, const Limits& limits);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Listens at a TCP address; port 0 takes a free one. Returns the port. Throws Error when that cannot be.
  int listen_tcp(const std::string& host, int port);
  /// Listens at a Unix socket that every user may connect to. One that a dead server left there is replaced; it is
  /// removed in the end. Throws Error.
  void listen_unix(const std::string& path);

  void start();
  /// Closes all connections. Nothing happens when it does not run.
  void stop();
  /// Who has asked by lines, the last one first; up to Askers::most of them. For any thread.
  std::vector<Asker> askers() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier::service
