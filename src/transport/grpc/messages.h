// Strict reading of protocol messages.
//
// The library's parser keeps fields that it does not know and leaves out what is not there. Here a
// message with an unknown field is refused, and every field is checked against the bounds that
// proto/sotto/v2 states before anything is made of it.
#pragma once

#include <grpcpp/support/status.h>

#include <span>
#include <string>
#include <vector>

#include "client/participant.h"
#include "server/coordinator/collection.h"
#include "server/coordinator/coordinator.h"
#include "shuffle/spool.h"
#include "sotto/v2/federation.pb.h"

namespace sotto::rpc {

/// A piece of weights in a message.
inline constexpr std::size_t kWeightsPiece = std::size_t{1} << 20;
/// No recipe is longer.
inline constexpr std::size_t kLongestRecipe = std::size_t{1} << 20;
/// Every other message fits with room to spare.
inline constexpr std::size_t kLongestMessage = kLongestChunk + (std::size_t{1} << 20);

/// Whether the message and all inside it have known fields only.
Result<void> check_known(const google::protobuf::Message& message);

Result<Tag> read_tag(const std::string& bytes);
std::string to_bytes(std::span<const std::byte> bytes);
std::span<const std::byte> as_span(const std::string& bytes);

struct Joined {
  std::uint32_t index = 0;
  Invitation invitation;
  friend bool operator==(const Joined&, const Joined&) = default;
};
Result<Joined> read_join(const v2::JoinReply& reply);
void write_join(const Coordinator::Joined& joined, v2::JoinReply& reply);

Result<TaskHeader> read_task(const v2::Task& task);
void write_task(const Coordinator::Pulled& pulled, const std::string& recipe_hash, v2::Task& task);

struct Submission {
  std::string name;
  Contract contract;             // what its client was asked for
  std::uint32_t minimum = 0;     // reports that its batch must have
  std::optional<Ticket> ticket;  // that shows that it was asked
  std::string digest;            // of the chunks; empty where nothing is signed
};
/// What a signed header says of its chunks, so that the signature covers them to the last byte:
/// SHA-256 over the SHA-256 of each, by position, in hex.
class ReportDigest {
 public:
  explicit ReportDigest(std::size_t chunks) : hashes_(chunks) {}
  void add(std::size_t position, std::span<const std::byte> sealed);
  std::string hex() const;

 private:
  std::vector<std::array<char, 64>> hashes_;
};
std::string digest_of(std::span<const std::vector<std::byte>> chunks);
Result<Submission> read_submission(const v2::SubmitHeader& header);

struct Opened {
  Coordinator::Open open;
  Tag run{};
  std::uint32_t minimum = 0;
};
Result<Opened> read_open(const v2::OpenReply& reply);
void write_open(const Coordinator::Open& open, const Coordinator::Settings& settings,
                v2::OpenReply& reply);

struct Comparison {
  std::string name;
  Tag run{};
  RoundId round = 0;
};
Result<Comparison> read_compare(const v2::CompareRequest& request);
Result<std::vector<Asked>> read_asked(const v2::CompareReply& reply);
void write_asked(std::span<const Asked> asked, v2::CompareReply& reply);

// ---- errors, at the border of the network ---------------------------------------------------

grpc::Status to_status(const Error& error);
/// By the status code alone: kIo and kBusy where another attempt may help.
Error to_error(const grpc::Status& status, const std::string& place);

}  // namespace sotto::rpc
