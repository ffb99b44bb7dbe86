#pragma once
// Runs a plan with real bytes in one random schedule: a second opinion on the verifier, which shares no code with it.

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "plan/program.hpp"
#include "verify/plans/random.hpp"

namespace espalier::verify {

/// Repeats the plan a few times. Ranks run in random bursts; a message moves at any time between the start of its recv
/// and its finish, or is buffered when it starts; a caller fills its buffers with garbage as soon as it has its result.
class Simulator {
 public:
  Simulator(const plan::Plan& plan, int calls, Random& random);

  /// Whether all ranks end, each with the right output in every call.
  bool run();

 private:
  struct Message {
    std::optional<Bytes> sent_from;
    std::optional<Bytes> received_to;
    plan::Buffer from{}, to{};
    Bytes bytes = 0;
    int call = 0;
    std::vector<std::byte> buffered;
    bool is_buffered = false;
    bool has_moved = false;
  };
  struct Connection {
    std::vector<Message> messages;
    std::size_t sent = 0, received = 0;
    std::size_t first_to_move = 0;  ///< all messages before have moved
  };
  struct Slot {
    std::pair<int, int> ends;
    std::size_t number = 0;
    bool is_send = false;
  };
  struct Process {
    int call = 0;
    std::size_t step = 0;
    std::vector<std::byte> memories[3 + plan::window_banks];
    std::pair<int, std::uint64_t> flags[plan::flag_count] = {};
    std::map<std::uint32_t, Slot> slots;
  };

  const plan::Program& program(int rank) const { return plan_.programs[static_cast<std::size_t>(rank)]; }
  Process& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  int neighbour(int rank, LocalRank local) const;
  std::byte* memory(int rank, int call, plan::Buffer buffer, Bytes offset);
  void enter(int rank);
  bool leave(int rank);
  bool is_ready(int rank, const plan::Step& step);
  bool has_posted(int rank, int owner, const plan::Step& await);
  void execute(int rank, const plan::Step& step);
  void copy(std::byte* to, const std::byte* from, Bytes bytes);
  void start(int rank, const plan::Step& step);
  void move(const std::pair<int, int>& ends, Message& message);
  void move_some();
  bool advance(int rank);

  const plan::Plan& plan_;
  int calls_;
  Random& random_;
  std::vector<Process> ranks_;
  std::map<std::pair<int, int>, Connection> connections_;
  bool is_right_ = true;
};

}  // namespace espalier::verify
