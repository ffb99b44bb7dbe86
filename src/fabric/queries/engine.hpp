#pragma once
// Answers a topology service's requests from one immutable snapshot at a time (Subramoni et al., section IV-A;
// protocol: docs/reference/protocol.md). Knows nothing of sockets.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/delays.hpp"
#include "fabric/queries/request.hpp"

namespace espalier::fabric {

/// One state of the network, and how old it is. Never changes once published.
struct Snapshot {
  using Time = std::chrono::system_clock::time_point;

  Fabric fabric;
  std::uint64_t number = 0;  ///< from 1, ascending
  std::size_t switches = 0;
  Time written;  ///< when the newest dump in it was
  Time loaded;
};

/// What has happened so far. Numbers only grow, but for `connections`, which is what there is now.
struct Counters {
  std::array<std::atomic<std::uint64_t>, kCommands> requests{};
  std::atomic<std::uint64_t> errors = 0;
  std::atomic<std::uint64_t> reloads = 0, rejects = 0;
  std::atomic<std::uint64_t> connections = 0, accepted = 0, refused = 0, too_slow = 0;
};

/// What a request takes, about.
struct Weight {
  Bytes bytes = 0;         ///< of memory, while it is answered
  std::uint64_t work = 0;  ///< in delays looked up or written: 10 to 60 ns each
};

/// May be used by several threads at once.
class Engine {
 public:
  /// `latency` is what the metrics latency and combined are computed with.
  explicit Engine(LatencyTable latency = LatencyTable::ranger()) : latency_(std::move(latency)) {}

  /// From now on this fabric answers; requests that are being answered keep theirs.
  void publish(Fabric fabric, Snapshot::Time written);
  /// New dumps were not taken; what answered before goes on. `why` is for people.
  void reject(const std::string& why);
  /// What answers; null before the first publish.
  std::shared_ptr<const Snapshot> snapshot() const;

  /// Appends the reply to a request (a line without its end), with its line ends; nothing for an empty line and for
  /// `quit`. Throws std::bad_alloc only.
  void answer(std::string_view line, std::string& reply);
  /// Of a request that may take longer than some microseconds, and is therefore to be answered beside the others: what
  /// that takes. Nothing for the others. Never throws.
  std::optional<Weight> weigh(std::string_view line) const noexcept;

  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }

 private:
  void answer_known(const Request& request, std::string& reply);
  void append_matrix(const Fabric& fabric, std::string_view arguments, std::string& reply) const;
  void append_classes(const Fabric& fabric, std::string_view arguments, std::string& reply) const;
  void append_stats(std::string& reply) const;

  const LatencyTable latency_;
  Counters counters_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_;  ///< under mutex_, as is
  std::string trouble_;                       ///< why the newest dumps were rejected
};

}  // namespace espalier::fabric
