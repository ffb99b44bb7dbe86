#pragma once
// Messages between nodes through the MPI underneath.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "execute/seams.hpp"
#include "mpi/native/native.hpp"
#include "mpi/run/messages/tags.hpp"

namespace espalier::mpi {

/// Where a rank of a communicator is found on another one: its number there, and what messages to it carry.
struct Address {
  int rank;
  int tag;
};

/// Messages that MPI carries, wherever they go. In a run with a statement (execute/seams.hpp) the first message to each
/// peer is framed: a word in front of the payload, or in front of a long one as a message of its own. Nothing is
/// received into the caller's memory before its sender has said that it does the same, so what others send by mistake
/// does no harm, and a run can be withdrawn. Frames have a tag of their own.
class MessageNetwork : public execute::Network {
 public:
  MessageNetwork(const MessageNetwork&) = delete;
  MessageNetwork& operator=(const MessageNetwork&) = delete;

  void reserve(std::uint32_t slots) override;
  void begin(std::optional<execute::Statement> statement) override;
  bool start_send(std::uint32_t slot, Rank to, const std::byte* data, Bytes bytes) noexcept override;
  bool start_recv(std::uint32_t slot, Rank from, std::byte* data, Bytes bytes) noexcept override;
  Progress test(std::uint32_t slot) noexcept override;
  std::optional<Bytes> find_other() noexcept override;
  bool has_agreed() const noexcept override { return statement_ && agreed_in_ == run_; }
  bool withdraw() noexcept override;
  /// Tells all other ranks that this one takes part no more.
  void abandon() noexcept override;
  std::string why_broken() const override;

 protected:
  /// `addresses` by rank of the communicator served.
  MessageNetwork(MPI_Comm comm, Tags& tags, std::vector<Address> addresses, int me);

  int tag() const { return address_of(me_).tag; }
  /// Waits for all that are under way.
  void end_messages() noexcept;
  /// Messages may be under way for ever.
  bool is_broken() const;

  MPI_Comm comm_;
  Tags& tags_;

 private:
  /// A longer payload is not copied: its word goes ahead.
  static constexpr Bytes longest_framed = 2048;
  static constexpr Bytes word_bytes = sizeof(std::uint64_t);

  /// One message of MPI's.
  struct Part {
    MPI_Request request{};
    enum class State : std::uint8_t {
      none,  ///< there is none, or it is over
      held,  ///< not asked for until its sender's frame is there
      under_way,
    } state = State::none;
  };
  struct Slot {
    Part head;  ///< a frame: a word, with a short payload behind it
    Part body;  ///< a payload by itself
    bool is_receive = false;
    int peer = 0;
    std::byte* data = nullptr;
    Bytes bytes = 0;
    std::vector<std::byte> frame;
    Bytes came = 0;  ///< of the frame; 0: not yet
  };
  /// The last run in which something was sent to the peer; a frame of it expected; one that agreed taken.
  struct Peer {
    std::uint32_t sent_in = 0, received_in = 0, heard_in = 0;
  };
  bool is_well(int code) noexcept;
  bool send(Part& part, int to, const std::byte* data, Bytes bytes, int tag) noexcept;
  bool receive(Part& part, int from, std::byte* memory, Bytes room, int tag) noexcept;
  bool expect_frame(std::uint32_t number) noexcept;
  Progress test(Part& part, Bytes* came) noexcept;
  Progress hear() noexcept;
  Progress take_frame(Slot& slot) noexcept;
  bool release(int peer) noexcept;
  Progress object(Bytes said) noexcept;
  void look_for_leavers() noexcept;
  void look_for_strangers() noexcept;
  void keep_frame(Slot& slot) noexcept;
  void tell_left(const Address& to) noexcept;
  const Address& address_of(int rank) const { return addresses_[static_cast<std::size_t>(rank)]; }
  Peer& peer_of(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  std::vector<Address> addresses_;
  int me_;
  std::vector<Slot> slots_;
  std::optional<execute::Statement> statement_;
  std::uint32_t run_ = 0;                                    ///< of those with statements
  std::uint32_t agreed_in_ = 0;                              ///< the last in which a frame was taken
  std::size_t framed_slots_ = 0;                             ///< the first slots, which have memory for a frame
  std::vector<Peer> peers_;                                  ///< empty before the first of those
  std::vector<std::uint32_t> unheard_;                       ///< slots of frames that are expected
  std::vector<std::uint32_t> held_;                          ///< slots that wait for those
  std::map<int, std::deque<std::vector<std::byte>>> early_;  ///< frames that were not expected yet, by peer
  std::optional<Bytes> said_;                                ///< by whoever does something else
  bool is_abandoned_ = false;
  int error_ = MPI_SUCCESS;  ///< of the first message that failed
};

/// On a private communicator, whose ranks are those of the communicator it serves.
class MpiNetwork : public MessageNetwork {
 public:
  MpiNetwork(MPI_Comm comm, int ranks, int me);
  /// Frees the communicator, so all ranks destroy theirs together; not when MPI is about to end.
  ~MpiNetwork() override;

  /// Where ranks may die, revokes the private communicator, so that others do not wait for messages of this rank
  /// either.
  void abandon() noexcept override;

 private:
  Tags own_tags_;
};

/// On the world's communicator for all messages of ours (mpi/setup/world.hpp). What goes to a rank carries that rank's
/// tag.
class WorldNetwork final : public MessageNetwork {
 public:
  /// `tags` gave out this rank's, and gets it back at the end.
  WorldNetwork(MPI_Comm comm, Tags& tags, std::vector<Address> addresses, int me)
      : MessageNetwork(comm, tags, std::move(addresses), me) {}
  ~WorldNetwork() override;
};

}  // namespace espalier::mpi
