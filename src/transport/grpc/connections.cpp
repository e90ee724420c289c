#include "transport/grpc/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace sotto::rpc {
namespace {

/// How often connections that have gone are looked for.
constexpr std::chrono::seconds kLook{1};

std::string text_of(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, address, text.data(), text.size()) == nullptr ? "" : text.data();
}

}  // namespace

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return "ipv4:" + text_of(AF_INET, &v4.sin_addr) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family != AF_INET6) return "";
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  const std::string port = ":" + std::to_string(ntohs(v6.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    return "ipv4:" + text_of(AF_INET, &v6.sin6_addr.s6_addr[12]) + port;
  }
  const std::string scope =
      v6.sin6_scope_id == 0 ? "" : "%25" + std::to_string(v6.sin6_scope_id);  // "%" in a URI
  return "ipv6:%5B" + text_of(AF_INET6, &v6.sin6_addr) + scope + "%5D" + port;
}

Connections::Limits Connections::Limits::of_process() {
  Limits limits;
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return limits;
  if (descriptors.rlim_cur != descriptors.rlim_max) {
    const rlimit more{descriptors.rlim_max, descriptors.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) descriptors = more;
  }
  if (descriptors.rlim_cur == RLIM_INFINITY) return limits;
  limits.all = std::min(limits.all, static_cast<std::size_t>(descriptors.rlim_cur / 5 * 4));
  limits.strangers = std::min(limits.strangers, limits.all / 2);
  return limits;
}

Connections::Connections(const Limits& limits)
    : Connections(limits, {peer_of, [](int socket) { ::shutdown(socket, SHUT_RDWR); }}) {}

Connections::Connections(const Limits& limits, Sockets sockets)
    : limits_(limits), sockets_(std::move(sockets)) {}

void Connections::enter(int socket, const std::string& peer, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  Connection connection;
  connection.socket = socket;
  connection.used = now;
  connections_.insert_or_assign(peer, std::move(connection));
}

bool Connections::make_room(bool no_descriptors, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const auto full = [&] {
    return connections_.size() >= limits_.all || strangers() >= limits_.strangers;
  };
  if (!full() && !no_descriptors && now - looked_ < kLook) return true;
  look(now);
  if (!full() && !no_descriptors) return true;
  end_oldest_strangers(now);
  return false;  // until the library has closed them
}

void Connections::admit(const std::string& peer, const std::string& certificate,
                        Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  connection.used = now;
  if (!connection.stranger) return;
  connection.stranger = false;
  connection.certificate = certificate;
  if (certificate.empty()) return;
  std::size_t same = 0;
  Connection* oldest = nullptr;
  for (auto& [name, other] : connections_) {
    if (other.stranger || other.ended || other.certificate != certificate) continue;
    if (!is_open(name, other)) continue;
    ++same;
    if (oldest == nullptr || other.used < oldest->used) oldest = &other;
  }
  if (same > limits_.of_one) end(*oldest);
}

void Connections::refuse(const std::string& peer, const std::string& certificate,
                         Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return;
  found->second.certificate = certificate;
  if (!found->second.ends) found->second.ends = now + limits_.refusal;
}

void Connections::end_all_of(const std::string& certificate) {
  const std::scoped_lock lock(mutex_);
  for (auto& [peer, connection] : connections_) {
    if (connection.certificate == certificate && is_open(peer, connection)) end(connection);
  }
}

void Connections::end(Connection& connection) {
  if (connection.ended) return;
  connection.ended = true;
  sockets_.shut_down(connection.socket);
}

std::size_t Connections::strangers() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const auto& entry) { return entry.second.stranger; }));
}

/// The library closes sockets without a word, and another connection may have the number since: to
/// end one that is gone would end that one.
bool Connections::is_open(const std::string& peer, const Connection& connection) const {
  return sockets_.peer(connection.socket) == peer;
}

void Connections::look(Clock::time_point now) {
  looked_ = now;
  std::erase_if(connections_,
                [&](const auto& entry) { return !is_open(entry.first, entry.second); });
  for (auto& [peer, connection] : connections_) {
    const bool late = connection.stranger && now - connection.used > limits_.first_call;
    if (late || (connection.ends && now > *connection.ends)) end(connection);
  }
}

void Connections::end_oldest_strangers(Clock::time_point now) {
  std::vector<Connection*> old;
  std::size_t leaving = 0;
  for (auto& [peer, connection] : connections_) {
    leaving += connection.ended ? 1 : 0;
    if (connection.stranger && !connection.ended && now - connection.used > limits_.handshake) {
      old.push_back(&connection);
    }
  }
  // Some at a time: who comes next finds room, too.
  const std::size_t wanted = std::max<std::size_t>(1, limits_.strangers / 8);
  const std::size_t most = leaving < wanted ? std::min(old.size(), wanted - leaving) : 0;
  std::ranges::partial_sort(old, old.begin() + static_cast<std::ptrdiff_t>(most), {},
                            [](const Connection* connection) { return connection->used; });
  for (std::size_t i = 0; i < most; ++i) end(*old[i]);
}

}  // namespace sotto::rpc
