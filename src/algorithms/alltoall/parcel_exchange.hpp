#pragma once
// The messages between nodes of an all-to-all among leaders. A parcel is what one node's ranks have for another's.

#include <functional>
#include <vector>

#include "algorithms/alltoall/layout.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "groups/relays.hpp"
#include "smp/operations.hpp"

namespace espalier::algorithms {

/// Scratch memory that a program asks for piece by piece and never gives back.
class Scratch {
 public:
  Scratch(plan::Builder& builder, Bytes reserved) : builder_(builder), end_(reserved) {}

  Bytes take(Bytes bytes) {
    end_ += bytes;
    builder_.need_scratch(end_);
    return end_ - bytes;
  }

 private:
  plan::Builder& builder_;
  Bytes end_;
};

/// A rank that leads one group exchanges that group's parcels of one batch: straight, each as a message of its own from
/// where it was collected into the window, or by relays (groups/relays.hpp). Then parcels with a digit in common are
/// one message; those that go on are copied out of it into later ones, those that have arrived in the window.
class ParcelExchange {
 public:
  /// Emits what brings the own node's parcel of a number to `begin` of scratch.
  using Collect = std::function<void(int number, Bytes begin)>;

  /// `windows`: where in this rank's window the parcel of each number belongs that comes; those of ascending numbers
  /// follow each other. None: they stay in scratch. All but the vectors must outlive it.
  ParcelExchange(plan::Builder& builder, const AlltoallLayout& layout, const plan::Choice& choice,
                 std::vector<int> numbers, std::vector<Bytes> windows, Scratch& scratch, InFlight& sends);

  /// Before any leader sends.
  void start_receives();
  /// Everything up to the last phase's being on the wire.
  void start_sends(const Collect& collect);
  /// Waits until the parcel of this number, which is one of them, has come. In ascending order.
  void finish(int number);
  /// Where in scratch one has come that belongs into no window.
  Bytes arrived(int number) const { return held_[place(number)]; }

 private:
  static constexpr Bytes nowhere = ~Bytes{0};
  /// What a relay brings. For nothing that goes no farther there is no message.
  struct Arrival {
    Bytes begin;  ///< where in scratch; nowhere: in the window
    Bytes bytes;
  };

  std::size_t place(int number) const;
  Bytes bytes(int parcel, int travelled) const;
  Arrival receive(const groups::Relay& relay, std::vector<int>& travelled);
  void send(const groups::Relay& relay, const Collect& collect);
  void take_apart(const groups::Relay& relay, const Arrival& arrival);

  plan::Builder& builder_;
  const AlltoallLayout& layout_;
  smp::Cells cells_;
  int node_;
  std::vector<int> numbers_;
  std::vector<int> distances_;
  std::vector<Bytes> windows_;
  Scratch& scratch_;
  InFlight& sends_;
  InFlight receives_;
  std::vector<groups::Phase> phases_;
  std::vector<std::vector<Arrival>> arrivals_;  ///< by phase and relay
  std::vector<int> travelled_;                  ///< by parcel: how far that has come which lies here
  std::vector<Bytes> held_;                     ///< and where in scratch; nowhere: to be collected, or in the window
  std::size_t finished_ = 0;                    ///< of the last phase
};

}  // namespace espalier::algorithms
