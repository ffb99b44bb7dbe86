#include "algorithms/alltoall/parcel_exchange.hpp"

#include <algorithm>

#include "algorithms/words.hpp"

namespace espalier::algorithms {
namespace {

/// Copies within scratch, joined where both sides go on.
class JoinedCopies {
 public:
  explicit JoinedCopies(Builder& builder) : builder_(builder) {}

  void add(Bytes from, Bytes to, Bytes bytes) {
    if (from_ + bytes_ != from || to_ + bytes_ != to) flush(), from_ = from, to_ = to;
    bytes_ += bytes;
  }
  void flush() {
    if (bytes_ > 0) builder_.copy(Buffer::scratch, from_, Buffer::scratch, to_, bytes_);
    bytes_ = 0;
  }

 private:
  Builder& builder_;
  Bytes from_ = 0, to_ = 0, bytes_ = 0;
};

bool all_arrive(const groups::Relay& relay) { return relay.arriving == static_cast<int>(relay.carried.size()); }

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

ParcelExchange::ParcelExchange(Builder& builder, const AlltoallLayout& layout, const Choice& choice,
                               std::vector<int> numbers, std::vector<Bytes> windows, Scratch& scratch, InFlight& sends)
    : builder_(builder),
      layout_(layout),
      cells_(choice),
      node_(builder.node().value),
      numbers_(std::move(numbers)),
      windows_(std::move(windows)),
      scratch_(scratch),
      sends_(sends),
      receives_(builder),
      travelled_(numbers_.size()),
      held_(numbers_.size(), nowhere) {
  for (const int number : numbers_) distances_.push_back(layout.distance(number));
  phases_ =
      goes_by_relays(choice) ? groups::derive_relays(distances_, choice.radix) : groups::derive_straight(distances_);
}

std::size_t ParcelExchange::place(int number) const {
  return index(static_cast<int>(std::lower_bound(numbers_.begin(), numbers_.end(), number) - numbers_.begin()));
}

/// Of what has come that far and lies on this node.
Bytes ParcelExchange::bytes(int parcel, int travelled) const {
  const int from = layout_.left_by(node_, travelled), to = layout_.right_by(from, distances_[index(parcel)]);
  return layout_.message(from, layout_.in_slice(to, layout_.slice(numbers_[index(parcel)])));
}

void ParcelExchange::start_receives() {
  std::vector<int> travelled(numbers_.size());
  for (const groups::Phase& phase : phases_) {
    arrivals_.emplace_back();
    for (const groups::Relay& relay : phase) arrivals_.back().push_back(receive(relay, travelled));
  }
}

/// What arrives as a whole belongs into one stretch of the window, if into it at all.
ParcelExchange::Arrival ParcelExchange::receive(const groups::Relay& relay, std::vector<int>& travelled) {
  Bytes sum = 0;
  for (const int parcel : relay.carried) sum += bytes(parcel, travelled[index(parcel)] += relay.distance);
  if (sum == 0 && all_arrive(relay)) return {nowhere, 0};
  const Rank from = layout_.leader_of(layout_.left_by(node_, relay.distance), numbers_.front());
  const Bytes begin = all_arrive(relay) && !windows_.empty() ? nowhere : scratch_.take(sum);
  receives_.add(begin == nowhere ? builder_.recv(from, Buffer::window, windows_[index(relay.carried.front())], sum)
                                 : builder_.recv(from, Buffer::scratch, begin, sum));
  return {begin, sum};
}

void ParcelExchange::start_sends(const Collect& collect) {
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    for (std::size_t k = 0; i > 0 && k < phases_[i - 1].size(); ++k) {
      take_apart(phases_[i - 1][k], arrivals_[i - 1][k]);
    }
    for (const groups::Relay& relay : phases_[i]) send(relay, collect);
  }
}

/// Parcels are collected into the first message that takes them along.
void ParcelExchange::send(const groups::Relay& relay, const Collect& collect) {
  Bytes sum = 0;
  for (const int parcel : relay.carried) sum += bytes(parcel, travelled_[index(parcel)]);
  if (sum == 0 && all_arrive(relay)) return;
  const Bytes begin = scratch_.take(sum);
  JoinedCopies copies(builder_);
  Bytes end = begin;
  for (const int parcel : relay.carried) {
    const Bytes length = bytes(parcel, travelled_[index(parcel)]);
    if (held_[index(parcel)] == nowhere)
      collect(numbers_[index(parcel)], end);
    else
      copies.add(held_[index(parcel)], end, length);
    end += length;
    travelled_[index(parcel)] += relay.distance;
  }
  copies.flush();
  sends_.make_room();
  sends_.add(builder_.send(layout_.leader_of(layout_.right_by(node_, relay.distance), numbers_.front()),
                           Buffer::scratch, begin, sum));
}

/// Waits for a message, and puts what it brings where that belongs.
void ParcelExchange::take_apart(const groups::Relay& relay, const Arrival& arrival) {
  if (arrival.bytes > 0 || !all_arrive(relay)) receives_.finish_oldest();
  if (arrival.begin == nowhere) return;
  Bytes begin = arrival.begin;
  smp::JoinedPuts puts(builder_, cells_);
  for (std::size_t k = 0; k < relay.carried.size(); ++k) {
    const int parcel = relay.carried[k];
    const Bytes length = bytes(parcel, travelled_[index(parcel)]);
    if (static_cast<int>(k) < relay.arriving && !windows_.empty())
      puts.add(0, {Buffer::scratch, begin, length}, windows_[index(parcel)]);
    else
      held_[index(parcel)] = begin;
    begin += length;
  }
  puts.flush();
}

void ParcelExchange::finish(int number) {
  const auto parcel = static_cast<int>(place(number));
  const groups::Phase& last = phases_.back();
  const auto brings = [&](const groups::Relay& relay) {
    return std::binary_search(relay.carried.begin(), relay.carried.end(), parcel);
  };
  const auto found = std::find_if(last.begin(), last.end(), brings);
  for (const auto until = static_cast<std::size_t>(found - last.begin()); found != last.end() && finished_ <= until;
       ++finished_) {
    take_apart(last[finished_], arrivals_.back()[finished_]);
  }
}

}  // namespace espalier::algorithms
