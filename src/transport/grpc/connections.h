// The open connections of a role: whose they are, and which of them go when there are too many.
//
// A connection is a stranger's until a call on it was admitted: before that nobody knows whose it
// is, or its certificate is not, or no longer, one of a member. Strangers are bounded in number and
// time, members in the number of their connections. Who goes has its socket shut down, which the
// library takes for a connection that the other side has ended; honest nodes dial again.
//
// For several threads at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace sotto::rpc {

class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    std::size_t all = 32768;
    std::size_t strangers = 128;
    std::size_t of_one = 8;  // certificate
    /// How long a stranger may take until a call of it is admitted.
    Clock::duration first_call = std::chrono::seconds(30);
    /// So long a stranger need not make room: its handshake is under way.
    Clock::duration handshake = std::chrono::milliseconds(500);
    /// How long after a refusal the connection is ended: the reason is read first.
    Clock::duration refusal = std::chrono::seconds(2);

    /// Four fifths of the descriptors that this process may have, which are as many as the system
    /// allows; strangers have half of them at most.
    static Limits of_process();
  };
  /// What is done with a socket.
  struct Sockets {
    /// Who is at its other end, as peer_of(); empty once it is closed.
    std::function<std::string(int socket)> peer;
    std::function<void(int socket)> shut_down;
  };

  explicit Connections(const Limits& limits);
  Connections(const Limits& limits, Sockets sockets);

  /// A connection was accepted.
  void enter(int socket, const std::string& peer, Clock::time_point now = Clock::now());
  /// Whether another one may be accepted. Strangers whose time is over are ended; so are the oldest
  /// where there are too many connections, or where descriptors have run out.
  bool make_room(bool no_descriptors = false, Clock::time_point now = Clock::now());
  /// A call of a member is admitted. Where it has too many connections, the one that it has used
  /// least recently is ended.
  void admit(const std::string& peer, const std::string& certificate,
             Clock::time_point now = Clock::now());
  /// A call is refused because its sender is no member that may call.
  void refuse(const std::string& peer, const std::string& certificate,
              Clock::time_point now = Clock::now());
  /// Ends all connections that calls with this certificate came on.
  void end_all_of(const std::string& certificate);

 private:
  struct Connection {
    int socket = -1;
    Clock::time_point used;   // accepted, or the last admitted call
    std::string certificate;  // once a call came
    bool stranger = true;
    std::optional<Clock::time_point> ends;
    bool ended = false;  // the library has yet to close it
  };
  void end(Connection& connection);
  bool is_open(const std::string& peer, const Connection& connection) const;
  void look(Clock::time_point now);
  std::size_t strangers() const;
  void end_oldest_strangers(Clock::time_point now);

  Limits limits_;
  Sockets sockets_;
  std::mutex mutex_;
  std::map<std::string, Connection> connections_;  // by peer
  Clock::time_point looked_;
};

/// Who is at the other end of a socket, in gRPC's words ("ipv4:192.0.2.1:4711"); empty where nobody
/// is, or where it is no connection.
std::string peer_of(int socket);

}  // namespace sotto::rpc
