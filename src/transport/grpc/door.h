// Where connections come in: the sockets that a role listens on, and the thread that accepts.
//
// The library could listen itself, but it takes whoever comes until no descriptor is left, and then
// never listens again. Here a connection is accepted when there is room for it (connections.h), and
// waits in the system's queue otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sotto/result.h"
#include "transport/grpc/connections.h"

namespace sotto::rpc {

class Door {
 public:
  /// Takes "host:port"; port 0 is any that is free. A wildcard is for IPv4 and IPv6.
  static Result<std::unique_ptr<Door>> open(const std::string& address);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door();

  int port() const noexcept { return port_; }
  /// Accepts from now on. `take` owns the socket that it is given.
  void accept_all(std::shared_ptr<Connections> connections, std::function<void(int socket)> take);
  /// Accepts no more.
  void close();

 private:
  Door() = default;
  void work();
  /// All that wait at a listening socket; false: there is no room for more of them.
  bool accept_from(int listening);

  std::vector<int> listening_;
  int port_ = 0;
  int closing_ = -1;  // an eventfd
  std::shared_ptr<Connections> connections_;
  std::function<void(int)> take_;
  std::thread thread_;
};

}  // namespace sotto::rpc
