// Reads a report as it streams in: the signed header, then every chunk once.
#pragma once

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <set>

#include "rpc/gate.h"
#include "rpc/messages.h"
#include "sotto/v1/federation.grpc.pb.h"

namespace sotto::rpc {

using SubmitReader = grpc::ServerReader<v1::SubmitRequest>;

/// How many chunks a report has, and how long each of them is.
struct ChunkCount {
  std::size_t chunks = 0;
  std::size_t bytes = 0;
};

/// The header, if its sender may hand in a report here.
Result<Submission> read_header(SubmitReader& reader, const grpc::ServerContext& context,
                               const char* method, Gate& gate);
/// Exactly these chunks and nothing after them, as the header's digest says; by position, in
/// whatever order they came where `any_order`.
Result<std::vector<std::vector<std::byte>>> read_chunks(SubmitReader& reader,
                                                        const Submission& submission,
                                                        const ChunkCount& count, bool any_order);

/// Who is handing in a report now: each client one at a time, so that nobody can make a role hold
/// more than one report of it in memory.
class Turnstile {
 public:
  class Turn {
   public:
    Turn(Turnstile& turnstile, std::string name)
        : turnstile_(turnstile), name_(std::move(name)), mine_(turnstile_.enter(name_)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (mine_) turnstile_.leave(name_);
    }
    /// kIo: try again, the other one will have ended.
    Result<void> check() const;

   private:
    Turnstile& turnstile_;
    std::string name_;
    bool mine_;
  };

 private:
  bool enter(const std::string& name);
  void leave(const std::string& name);
  std::mutex mutex_;
  std::set<std::string> inside_;
};

}  // namespace sotto::rpc
