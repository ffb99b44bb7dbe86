#include "transports/ucx/address.hpp"

#include <cstring>

#include "base/error.hpp"

namespace espalier::transports::ucx {
namespace {

constexpr std::uint64_t current_layout = 1;  // changes with the form of rings, mailboxes and addresses

struct Header {
  std::uint64_t layout = current_layout;
  std::uint64_t ring = 0;
  std::uint64_t zero_copy_from = 0;
  std::uint64_t shared_memory = 0;
  std::uint64_t process = 0;
  std::uint64_t mailboxes = 0;
  std::uint64_t worker_bytes = 0;
  std::uint64_t key_bytes = 0;
};

}  // namespace

std::vector<std::byte> write_address(const PeerAddress& address, const UcxOptions& options) {
  const Header header{.ring = options.ring,
                      .zero_copy_from = options.zero_copy_from,
                      .shared_memory = options.shared_memory,
                      .process = static_cast<std::uint64_t>(address.process),
                      .mailboxes = address.mailboxes,
                      .worker_bytes = address.worker.size(),
                      .key_bytes = address.key.size()};
  const auto* raw = reinterpret_cast<const std::byte*>(&header);
  std::vector<std::byte> bytes(raw, raw + sizeof(header));
  bytes.insert(bytes.end(), address.worker.begin(), address.worker.end());
  bytes.insert(bytes.end(), address.key.begin(), address.key.end());
  return bytes;
}

PeerAddress read_address(std::span<const std::byte> bytes, const UcxOptions& options) {
  Header header;
  if (bytes.size() < sizeof(header)) throw Error("a rank has sent no UCX address");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.layout != current_layout) throw Error("a rank runs another version of Espalier");
  if (header.ring != options.ring || header.zero_copy_from != options.zero_copy_from ||
      header.shared_memory != options.shared_memory)
    throw Error("ranks have different options for UCX");
  // An exchange with equal shares for all ranks pads the shorter addresses.
  const std::span<const std::byte> rest = bytes.subspan(sizeof(header));
  if (header.worker_bytes > rest.size() || header.key_bytes > rest.size() - header.worker_bytes)
    throw Error("a rank's UCX address is cut short");
  return {rest.first(header.worker_bytes), rest.subspan(header.worker_bytes, header.key_bytes), header.mailboxes,
          static_cast<pid_t>(header.process)};
}

}  // namespace espalier::transports::ucx
