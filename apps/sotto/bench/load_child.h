// The synthetic clients of a bench, in a process of their own: their memory and descriptors are not
// the server's. It is made before any thread or connection exists, and does what the parent asks
// over a pipe, one line at a time.
#pragma once

#include <sys/types.h>

#include <string>

#include "transport/grpc/synthetic_load.h"

namespace sotto::cli {

/// Time by the clock, and of processors in both processes together.
struct LoadTime {
  double seconds = 0.0;
  double processor_seconds = 0.0;
};

class LoadChild {
 public:
  /// `report` is what the child sends.
  static Result<LoadChild> start(const rpc::LoadReport& report);
  ~LoadChild();
  LoadChild(LoadChild&& other) noexcept;
  LoadChild& operator=(LoadChild&&) = delete;

  /// Connects and joins so many clients, and holds them.
  Result<LoadTime> hold(const std::string& address, std::uint32_t clients);
  /// Hands in reports of so many clients.
  Result<LoadTime> send(const std::string& address, rpc::LoadTarget target, std::uint32_t clients,
                        unsigned streams);

 private:
  LoadChild() = default;
  Result<LoadTime> ask(const std::string& line);
  pid_t child_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace sotto::cli
