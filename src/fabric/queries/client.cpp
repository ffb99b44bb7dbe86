#include "fabric/queries/client.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/text.hpp"
#include "fabric/queries/request.hpp"

namespace espalier::fabric {
namespace {

// The longest word of a reply is a number (24 bytes and a blank); a single line has its own room.
constexpr std::size_t kCellBytes = 25;
constexpr std::size_t kLineBytes = std::size_t{1} << 20;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
constexpr std::size_t kShownBytes = 400;

[[noreturn]] void fail(const std::string& what) { throw Error(what); }
[[noreturn]] void fail_system(const std::string& what) { fail(what + ": " + std::strerror(errno)); }

struct Place {
  std::string host, port;
};

Place parse_place(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size())
    fail("'" + address + "' is no HOST:PORT and no path of a socket");
  auto host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

std::string request_for(std::span<const std::string> hosts, std::string request) {
  for (const auto& host : hosts) {
    const auto is_plain = [](unsigned char c) { return c > ' ' && c < 0x7f; };
    if (host.empty() || !std::all_of(host.begin(), host.end(), is_plain)) fail("a host's name has blanks");
    request += " " + host;
  }
  return request + "\n";
}

// Reads a row's numbers. Neighbours are often equal, and then nothing is converted.
void read_row(std::string_view line, std::size_t count, std::vector<double>& delays) {
  std::string_view last;
  double value = 0;
  for (std::size_t index = 0; index < count; ++index) {
    const auto word = line.substr(0, line.find(' '));
    if (word.empty()) fail("a row has fewer numbers than hosts");
    if (word != last) {
      const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (status != std::errc{} || end != word.data() + word.size() || !(value >= 0))
        fail("a row has something else than delays");
      last = word;
    }
    delays.push_back(value);
    line.remove_prefix(std::min(line.size(), word.size() + 1));
  }
  if (!line.empty()) fail("a row has more numbers than hosts");
}

}  // namespace

template <class Talk>
bool Client::guard(Talk&& talk) noexcept {
  try {
    error_.clear();
    begin();
    talk();
    if (taken_ != received_.size()) fail("more was answered than asked");
    return true;
  } catch (const std::exception& problem) {
    // Whatever else may be on its way belongs to a question that nobody waits for any more.
    disconnect();
    try {
      // What a service says of an error is somebody else's text, of any length.
      const auto why = std::string_view(problem.what()).substr(0, kShownBytes);
      error_ = "topology service " + printable(address_) + ": " + printable(why);
    } catch (...) {
      error_.clear();
    }
    return false;
  }
}

bool Client::ask(std::string_view request, std::string& reply) noexcept {
  reply.clear();
  const bool is_answered = guard([&] {
    most_received_ = kLineBytes;
    send(std::string(request) + "\n");
    const auto line = receive_line();
    if (line.starts_with("error ")) fail(std::string(line.substr(6)));
    reply = line;
  });
  if (!is_answered) reply.clear();
  return is_answered;
}

bool Client::ask_matrix(std::span<const std::string> hosts, const Question& question,
                        std::vector<double>& delays) noexcept {
  delays.clear();
  const bool is_answered = guard([&] {
    most_received_ = kLineBytes + hosts.size() * hosts.size() * kCellBytes;
    const auto metric = format_metric(question);
    send(request_for(hosts, "matrix " + metric));
    const auto head = receive_line();
    if (head.starts_with("error ")) fail(std::string(head.substr(6)));
    if (head != "matrix " + std::to_string(hosts.size()) + " " + metric) fail("this is no matrix of ours");
    delays.reserve(hosts.size() * hosts.size());
    for (std::size_t row = 0; row < hosts.size(); ++row) read_row(receive_line(), hosts.size(), delays);
  });
  if (!is_answered) delays.clear();
  return is_answered;
}

bool Client::ask_classes(std::span<const std::string> hosts, ClassDelays& delays) noexcept {
  delays = {};
  return guard([&] {
    most_received_ = kLineBytes + hosts.size() * hosts.size() * kCellBytes;
    send(request_for(hosts, "classes"));
    ClassReader reader(hosts.size());
    auto line = receive_line();
    if (line.starts_with("error ")) fail(std::string(line.substr(6)));
    while (reader.take_line(line)) line = receive_line();
    delays = reader.take();
  });
}

void Client::begin() {
  deadline_ = Clock::now() + limit_;
  received_.clear();
  taken_ = 0;
}

void Client::connect() {
  if (address_.find('/') != std::string::npos) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    if (address_.size() >= sizeof path.sun_path) fail("the path is too long for a socket");
    address_.copy(path.sun_path, address_.size());
    return connect_to(AF_UNIX, &path, sizeof path);
  }
  const auto place = parse_place(address_);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int status = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found); status != 0)
    fail(gai_strerror(status));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  for (const auto* it = found; it != nullptr; it = it->ai_next) {
    try {
      return connect_to(it->ai_family, it->ai_addr, it->ai_addrlen);
    } catch (const Error&) {
      if (it->ai_next == nullptr) throw;  // "localhost" may be ::1 first, where nobody listens
    }
  }
}

void Client::connect_to(int family, const void* address, unsigned length) {
  disconnect();
  socket_ = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) fail_system("no socket");
  const int yes = 1;
  if (family != AF_UNIX) setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (::connect(socket_, static_cast<const sockaddr*>(address), length) == 0) return;
  if (errno != EINPROGRESS && errno != EINTR) fail_system("cannot connect");
  wait_for(POLLOUT);
  socklen_t size = sizeof errno;
  if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &errno, &size) != 0 || errno != 0) fail_system("cannot connect");
}

void Client::disconnect() noexcept {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

void Client::send(std::string_view text) {
  if (socket_ < 0) connect();
  while (!text.empty()) {
    const auto sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      wait_for(POLLOUT);
    } else if (errno != EINTR) {
      fail_system("cannot send");
    }
  }
}

// A line of the reply, without its end; lives until the next one is received.
std::string_view Client::receive_line() {
  auto searched = taken_;
  for (;;) {
    const auto end = received_.find('\n', searched);
    if (end != std::string::npos) {
      const auto line = std::string_view(received_).substr(taken_, end - taken_);
      taken_ = end + 1;
      return line;
    }
    searched = received_.size();
    receive_some();
  }
}

void Client::receive_some() {
  const auto before = received_.size();
  if (before > most_received_) fail("the reply does not end");
  received_.resize(before + kPieceBytes);
  const auto got = ::recv(socket_, received_.data() + before, kPieceBytes, 0);
  received_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got > 0) return;
  if (got == 0) fail("the connection was closed before the answer");
  if (errno == EAGAIN) return wait_for(POLLIN);
  if (errno != EINTR) fail_system("cannot receive");
}

void Client::wait_for(short events) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) fail("no answer within " + std::to_string(limit_.count()) + " ms");
    pollfd entry{socket_, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min<long long>(left, 1 << 30)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) fail_system("cannot wait");
  }
}

}  // namespace espalier::fabric
