#include "mpi/setup/ucx_setup.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "mpi/native/quiet.hpp"

namespace espalier::mpi {
namespace {

using transports::UcxNetwork;
using Bytestring = std::vector<std::byte>;

// Long enough for what UCX says.
constexpr int reason_bytes = 240;
constexpr int nobody = std::numeric_limits<int>::max();

/// One attempt. Every rank takes part in every exchange, whatever became of its own part.
class Attempt {
 public:
  Attempt(MPI_Comm comm, Rank far, bool shared_memory) : comm_(comm), far_(far), shared_memory_(shared_memory) {
    check(native().Comm_rank(comm, &rank_));
    check(native().Comm_size(comm, &ranks_));
  }

  UcxOpening run() {
    Bytestring address;
    step([&] {
      // Freeing a communicator waits for nobody: ranks may free theirs in different orders.
      network_ = UcxNetwork::open(Rank(rank_), ranks_, {.shared_memory = shared_memory_, .farewell = 0});
      address = network_->address();
    });
    // The longest address has the least of the negative lengths.
    const int longest = -least(-static_cast<int>(address.size()));
    if (const int who = find_refuser(); who != nobody) return give_up(who);
    const std::vector<Bytestring> addresses = exchange(address, longest);
    step([&] {
      network_->connect(addresses);
      network_->reach(far_);
    });
    if (const int who = find_refuser(); who != nobody) return give_up(who);
    return {std::move(network_), {}};
  }

 private:
  template <class Step>
  void step(Step step) {
    try {
      step();
    } catch (const std::exception& error) {
      reason_ = error.what();
      if (reason_.empty()) reason_ = "no reason given";
    }
  }

  // The first rank that cannot.
  int find_refuser() const { return least(reason_.empty() ? nobody : rank_); }

  UcxOpening give_up(int who) const {
    Bytestring mine(reason_.size());
    std::transform(reason_.begin(), reason_.end(), mine.begin(), [](char c) { return static_cast<std::byte>(c); });
    const Bytestring theirs = exchange(mine, reason_bytes)[static_cast<std::size_t>(who)];
    const std::string text(reinterpret_cast<const char*>(theirs.data()), theirs.size());
    return {nullptr, "rank " + std::to_string(who) + " cannot use UCX: " + text.substr(0, text.find('\0'))};
  }

  int least(int mine) const {
    int result = 0;
    MPI_Request request;
    check(start_minimum(&mine, &result, 1, comm_, &request));
    wait_quietly(request);
    return result;
  }

  // What all ranks have, each cut or padded with zeros to `share` bytes.
  std::vector<Bytestring> exchange(Bytestring mine, int share) const {
    const auto bytes = static_cast<std::size_t>(share);
    mine.resize(bytes);
    Bytestring all(bytes * static_cast<std::size_t>(ranks_));
    MPI_Request request;
    check(start_gather(mine.data(), all.data(), share, comm_, &request));
    wait_quietly(request);
    std::vector<Bytestring> texts;
    for (auto begin = all.begin(); begin != all.end(); begin += share) texts.emplace_back(begin, begin + share);
    return texts;
  }

  MPI_Comm comm_;
  Rank far_;
  bool shared_memory_;
  int rank_ = 0;
  int ranks_ = 0;
  std::string reason_;  ///< why this rank cannot; empty: it can
  std::unique_ptr<UcxNetwork> network_;
};

}  // namespace

UcxOpening open_ucx(MPI_Comm comm, Rank far, bool is_one_host) {
  UcxOpening opening = Attempt(comm, far, false).run();
  if (opening.network == nullptr && is_one_host) opening = Attempt(comm, far, true).run();
  return opening;
}

}  // namespace espalier::mpi
