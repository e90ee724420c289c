#include "transport/grpc/door.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sotto::rpc {
namespace {

/// Who waits to be accepted: the system keeps it at the cost of a few hundred bytes.
constexpr int kQueue = 1024;
/// Without anybody at the door, and while there is no room, how often to look at those inside.
constexpr int kLookMs = 1000;
constexpr int kNoRoomMs = 20;

struct Places {
  addrinfo* first = nullptr;
  Places() = default;
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  ~Places() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

tl::unexpected<Error> cannot(const std::string& address, const std::string& why) {
  return fail(ErrorKind::kIo, "cannot listen on " + address + ": " + why);
}

void set(int socket, int level, int option, int value) {
  (void)::setsockopt(socket, level, option, &value, sizeof value);
}

void set_port(sockaddr& address, int port) {
  const auto value = htons(static_cast<std::uint16_t>(port));
  if (address.sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = value;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = value;
  }
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  // The port is at the same place in both families.
  sockaddr_in v4{};
  std::memcpy(&v4, &address, sizeof v4);
  return ntohs(v4.sin_port);
}

/// A socket that listens there, or -1.
int listen_at(const addrinfo& place, bool both_families) {
  const int listening = ::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listening < 0) return -1;
  set(listening, SOL_SOCKET, SO_REUSEADDR, 1);
  if (place.ai_family == AF_INET6) {
    set(listening, IPPROTO_IPV6, IPV6_V6ONLY, both_families ? 0 : 1);
  }
  if (::bind(listening, place.ai_addr, place.ai_addrlen) == 0 && ::listen(listening, kQueue) == 0) {
    return listening;
  }
  const int reason = errno;
  ::close(listening);
  errno = reason;
  return -1;
}

}  // namespace

Result<std::unique_ptr<Door>> Door::open(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return cannot(address, "it is not HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const bool wildcard = host.empty() || host == "0.0.0.0" || host == "::";
  addrinfo hints{};
  hints.ai_family = wildcard ? AF_INET6 : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  std::unique_ptr<Door> door(new Door());
  const std::string port = address.substr(colon + 1);
  std::string why = "nothing has this address here";
  // A machine without IPv6 has the other wildcard.
  for (const int family : {hints.ai_family, AF_INET}) {
    hints.ai_family = family;
    Places places;
    if (const int code =
            ::getaddrinfo(wildcard ? nullptr : host.c_str(), port.c_str(), &hints, &places.first);
        code != 0) {
      why = ::gai_strerror(code);
      continue;
    }
    for (const addrinfo* place = places.first; place != nullptr; place = place->ai_next) {
      if (door->port_ != 0) set_port(*place->ai_addr, door->port_);
      const int listening = listen_at(*place, wildcard);
      if (listening < 0) {
        why = errno == EADDRINUSE ? "is it in use?" : std::strerror(errno);
        // Half a name in use: clients would find another program.
        if (errno == EADDRINUSE) return cannot(address, why);
        continue;
      }
      door->listening_.push_back(listening);
      door->port_ = port_of(listening);
    }
    if (!door->listening_.empty() || !wildcard) break;
  }
  door->closing_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (door->listening_.empty() || door->closing_ < 0) return cannot(address, why);
  return door;
}

Door::~Door() {
  close();
  for (const int listening : listening_) ::close(listening);
  if (closing_ >= 0) ::close(closing_);
}

void Door::accept_all(std::shared_ptr<Connections> connections,
                      std::function<void(int socket)> take) {
  connections_ = std::move(connections);
  take_ = std::move(take);
  thread_ = std::thread([this] { work(); });
}

void Door::close() {
  if (!thread_.joinable()) return;
  (void)::eventfd_write(closing_, 1);
  thread_.join();
}

void Door::work() {
  std::vector<pollfd> all{{closing_, POLLIN, 0}};
  for (const int listening : listening_) all.push_back({listening, POLLIN, 0});
  for (bool room = true;;) {
    // While there is no room, nobody at the door is looked at.
    ::poll(all.data(), room ? all.size() : 1, room ? kLookMs : kNoRoomMs);
    if ((all.front().revents & POLLIN) != 0) return;
    room = connections_->make_room();
    for (const int listening : listening_) room = room && accept_from(listening);
  }
}

bool Door::accept_from(int listening) {
  do {
    const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (socket < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      return connections_->make_room(true);
    }
    if (socket < 0) continue;  // it has gone already
    const std::string peer = peer_of(socket);
    if (peer.empty()) {
      ::close(socket);
      continue;
    }
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    connections_->enter(socket, peer);
    take_(socket);
  } while (connections_->make_room());
  return false;
}

}  // namespace sotto::rpc
