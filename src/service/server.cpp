#include "service/server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <map>
#include <set>
#include <thread>

#include "service/session.hpp"

namespace espalier::service {
namespace {

using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr std::size_t kScratchBytes = std::size_t{64} << 10;
// How many clients may wait to be accepted: all leaders of a job connect at the same moment.
constexpr int kBacklog = 4096;
constexpr std::string_view kFull = "error busy there are too many connections: ask again later\n";
constexpr std::string_view kFullOfYou =
    "error busy there are too many connections from this address: ask again later\n";

[[noreturn]] void fail(const std::string& where, const asio::error_code& why) {
  throw Error("cannot listen at " + where + ": " + why.message());
}

// Whether somebody listens at this path.
bool is_alive(asio::io_context& io, const std::string& path) {
  Local::socket probe(io);
  asio::error_code error;
  probe.connect(Local::endpoint(path), error);
  return !error;
}

// What connections have in common that one host, or one user of this one, can have in any number: an IPv4 address, an
// IPv6 network of 64 bits, the user behind a Unix socket. Empty for who has gone already.
std::string name_address(const Tcp::socket& socket) {
  asio::error_code error;
  const auto address = socket.remote_endpoint(error).address();
  if (error) return "";
  if (address.is_v4()) return address.to_string();
  const auto six = address.to_v6();
  if (six.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, six).to_string();
  const auto bytes = six.to_bytes();
  return {bytes.begin(), bytes.begin() + 8};
}

std::string name_address(Local::socket& socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return "";
  return "user " + std::to_string(who.uid);
}

// So full that silence costs somebody else a place.
bool is_crowded(std::size_t taken, std::size_t places) { return taken >= places - places / 4; }

bool is_socket(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode);
}

}  // namespace

// The order of members matters: what coroutines refer to goes after them.
struct Server::Impl {
  Impl(fabric::Engine& engine, const Limits& given)
      : shared{engine, given, workers, 0, std::vector<char>(kScratchBytes)}, workers(given.workers) {}

  template <class Acceptor>
  asio::awaitable<void> welcome(Acceptor& acceptor);
  std::string_view why_refused(const std::string& address) const;
  asio::awaitable<void> attend(Socket socket, std::string address);
  asio::awaitable<void> look_after_the_slow();

  Shared shared;
  std::set<Session*> sessions;
  std::map<std::string, std::size_t> of_address;  ///< how many sessions, where there are any
  asio::io_context io{1};
  Workers workers;
  std::vector<std::unique_ptr<Tcp::acceptor>> tcp;
  std::vector<std::unique_ptr<Local::acceptor>> local;
  std::vector<std::string> paths;
  std::thread thread;
};

// Empty for who is welcome.
std::string_view Server::Impl::why_refused(const std::string& address) const {
  if (sessions.size() >= shared.limits.connections) return kFull;
  const auto others = of_address.find(address);
  return others != of_address.end() && others->second >= shared.limits.per_address ? kFullOfYou : "";
}

template <class Acceptor>
asio::awaitable<void> Server::Impl::welcome(Acceptor& acceptor) {
  asio::steady_timer pause(io);
  for (;;) {
    asio::error_code error;
    auto socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {
      // Out of descriptors, usually: the client waits in the backlog until there is one.
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::use_awaitable);
      continue;
    }
    auto& counters = shared.engine.counters();
    auto address = name_address(socket);
    if (const auto refusal = why_refused(address); !refusal.empty()) {
      ++counters.refused;
      socket.non_blocking(true, error);
      socket.write_some(asio::buffer(refusal), error);
      continue;
    }
    ++counters.accepted;
    if constexpr (std::is_same_v<Acceptor, Tcp::acceptor>) socket.set_option(Tcp::no_delay(true), error);
    asio::co_spawn(io, attend(Socket(std::move(socket)), std::move(address)), asio::detached);
  }
}

asio::awaitable<void> Server::Impl::attend(Socket socket, std::string address) {
  struct Entry {
    Impl& impl;
    Session* session;
    Entry(Impl& all, Session* one) : impl(all), session(one) {
      impl.sessions.insert(session);
      ++impl.of_address[session->address()];
      ++impl.shared.engine.counters().connections;
    }
    ~Entry() {
      impl.sessions.erase(session);
      if (--impl.of_address[session->address()] == 0) impl.of_address.erase(session->address());
      --impl.shared.engine.counters().connections;
    }
  };
  Session session(std::move(socket), std::move(address), shared);
  const Entry entry(*this, &session);
  co_await session.converse();
}

asio::awaitable<void> Server::Impl::look_after_the_slow() {
  asio::steady_timer pause(io);
  const auto& limits = shared.limits;
  for (;;) {
    pause.expires_after(std::clamp(std::min(limits.idle, limits.slow) / 4, std::chrono::milliseconds(10),
                                   std::chrono::milliseconds(1000)));
    co_await pause.async_wait(asio::use_awaitable);
    const auto now = Clock::now();
    const bool is_full = is_crowded(sessions.size(), limits.connections);
    for (auto* session : sessions)
      session->end_if_too_slow(now, is_full || is_crowded(of_address[session->address()], limits.per_address));
  }
}

Server::Server(fabric::Engine& engine, const Limits& limits) : impl_(std::make_unique<Impl>(engine, limits)) {}
Server::~Server() { stop(); }

int Server::listen_tcp(const std::string& host, int port) {
  const auto where = host + ":" + std::to_string(port);
  asio::error_code error;
  const auto found = Tcp::resolver(impl_->io).resolve(host, std::to_string(port), Tcp::resolver::passive, error);
  if (error) fail(where, error);
  auto acceptor = std::make_unique<Tcp::acceptor>(impl_->io);
  const auto endpoint = found.begin()->endpoint();
  acceptor->open(endpoint.protocol(), error);
  if (!error) acceptor->set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor->bind(endpoint, error);
  if (!error) acceptor->listen(kBacklog, error);
  if (error) fail(where, error);
  impl_->tcp.push_back(std::move(acceptor));
  return impl_->tcp.back()->local_endpoint().port();
}

void Server::listen_unix(const std::string& path) {
  asio::error_code error;
  if (path.size() >= sizeof(sockaddr_un::sun_path)) fail(path, asio::error::name_too_long);
  if (is_socket(path) && !is_alive(impl_->io, path)) unlink(path.c_str());
  auto acceptor = std::make_unique<Local::acceptor>(impl_->io);
  acceptor->open(Local(), error);
  if (!error) acceptor->bind(Local::endpoint(path), error);
  if (!error) acceptor->listen(kBacklog, error);
  if (error) fail(path, error);
  // What is answered is no secret, and jobs belong to any user.
  chmod(path.c_str(), 0666);
  impl_->local.push_back(std::move(acceptor));
  impl_->paths.push_back(path);
}

void Server::start() {
  auto& it = *impl_;
  for (auto& acceptor : it.tcp) asio::co_spawn(it.io, it.welcome(*acceptor), asio::detached);
  for (auto& acceptor : it.local) asio::co_spawn(it.io, it.welcome(*acceptor), asio::detached);
  asio::co_spawn(it.io, it.look_after_the_slow(), asio::detached);
  it.thread = std::thread([&io = it.io] { io.run(); });
}

std::vector<Asker> Server::askers() const { return impl_->shared.askers.list(); }

void Server::stop() {
  impl_->io.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
  impl_->workers.stop();
  for (const auto& path : impl_->paths) unlink(path.c_str());
  impl_->paths.clear();
}

}  // namespace espalier::service
