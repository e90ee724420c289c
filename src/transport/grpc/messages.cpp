#include "transport/grpc/messages.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/sha256.h"
#include "base/utf8.h"

namespace sotto::rpc {
namespace {

constexpr std::size_t kMostSettings = 1000;
constexpr std::size_t kMostGroups = 4096;
constexpr std::size_t kMostParts = 4096;
constexpr std::uint64_t kMostWeights = std::uint64_t{1} << 32;
/// Contracts of a round, and clients that decline one.
constexpr std::size_t kMostAsked = std::size_t{1} << 20;

[[nodiscard]] tl::unexpected<Error> bad(const std::string& what) {
  return fail(ErrorKind::kCorrupt, "message: " + what);
}

/// 32 bytes: a ticket, or the key of tickets.
Result<Ticket> read_ticket(const std::string& bytes) {
  Ticket ticket{};
  if (bytes.size() != ticket.size()) return bad("a ticket of other than 32 bytes");
  std::memcpy(ticket.data(), bytes.data(), ticket.size());
  return ticket;
}

std::uint32_t milliseconds(double seconds) {
  return static_cast<std::uint32_t>(std::clamp(std::ceil(seconds * 1000.0), 0.0, 4e9));
}

}  // namespace

Result<void> check_known(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (!reflection.GetUnknownFields(message).empty()) {
    return bad("a field that " + message.GetDescriptor()->full_name() + " does not have");
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* const field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      SOTTO_CHECK(check_known(reflection.GetMessage(message, field)));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      SOTTO_CHECK(check_known(reflection.GetRepeatedMessage(message, field, i)));
    }
  }
  return {};
}

std::string to_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> as_span(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}

Result<Tag> read_tag(const std::string& bytes) {
  Tag tag{};
  if (bytes.size() != tag.size()) return bad("a tag of other than 16 bytes");
  std::memcpy(tag.data(), bytes.data(), tag.size());
  return tag;
}

Result<Joined> read_join(const v2::JoinReply& reply) {
  SOTTO_CHECK(check_known(reply));
  Joined joined;
  joined.index = reply.index();
  Invitation& invitation = joined.invitation;
  if (reply.recipe().size() > kLongestRecipe) return bad("a recipe of more than 1 MiB");
  if (static_cast<std::size_t>(reply.settings_size()) > kMostSettings) {
    return bad("more than 1000 settings");
  }
  std::size_t bytes = 0;
  for (const std::string& setting : reply.settings()) bytes += setting.size();
  if (bytes > kLongestRecipe) return bad("settings of more than 1 MiB");
  if (!is_sha256(reply.recipe_hash())) return bad("no hash of a recipe");
  if (reply.seal_key().size() != invitation.seal_key.size()) return bad("no key to seal to");
  if (joined.index >= reply.clients()) return bad("a place that the federation does not have");
  invitation.recipe = reply.recipe();
  invitation.settings.assign(reply.settings().begin(), reply.settings().end());
  invitation.recipe_hash = reply.recipe_hash();
  std::memcpy(invitation.seal_key.data(), reply.seal_key().data(), reply.seal_key().size());
  SOTTO_TRY(invitation.run, read_tag(reply.run()));
  invitation.clients = reply.clients();
  invitation.shuffled = reply.shuffled();
  invitation.rehearsal = reply.rehearsal();
  return joined;
}

void write_join(const Coordinator::Joined& joined, v2::JoinReply& reply) {
  const Invitation& invitation = *joined.invitation;
  reply.set_index(joined.index);
  reply.set_recipe(invitation.recipe);
  for (const std::string& setting : invitation.settings) reply.add_settings(setting);
  reply.set_recipe_hash(invitation.recipe_hash);
  reply.set_seal_key(to_bytes(std::as_bytes(std::span(invitation.seal_key))));
  reply.set_run(to_bytes(invitation.run));
  reply.set_clients(invitation.clients);
  reply.set_shuffled(invitation.shuffled);
  reply.set_rehearsal(invitation.rehearsal);
}

Result<TaskHeader> read_task(const v2::Task& message) {
  SOTTO_CHECK(check_known(message));
  TaskHeader task;
  task.round = message.round();
  if (task.round == 0) return bad("a task of no round");
  SOTTO_TRY(task.attempt, read_tag(message.attempt()));
  if (!is_sha256(message.recipe_hash())) return bad("no hash of a recipe");
  task.recipe_hash = message.recipe_hash();
  task.group = message.group();
  if (message.weights() > kMostWeights) return bad("more weights than a model can have");
  task.weights = message.weights();
  task.deadline_seconds = message.deadline_ms() / 1000.0;
  task.send_after_seconds = message.send_after_ms() / 1000.0;
  if (!message.ticket().empty()) {
    SOTTO_TRY(task.ticket, read_ticket(message.ticket()));
  }
  if (static_cast<std::size_t>(message.parts_size()) > kMostParts) return bad("too many parts");
  for (const v2::TaskPart& part : message.parts()) {
    TaskHeader::Part read;
    read.mechanism_id = part.mechanism_id();
    if (part.centres_size() != part.tensors_size() || part.radii_size() != part.tensors_size()) {
      return bad("ranges that are not as many as tensors");
    }
    for (int i = 0; i < part.tensors_size(); ++i) {
      read.tensors.push_back(part.tensors(i));
      const Range range{part.centres(i), part.radii(i)};
      const bool finite = std::isfinite(range.centre) && std::isfinite(range.radius);
      if (!finite || !(range.radius > 0.0)) return bad("a range without extent");
      read.ranges.push_back(range);
    }
    task.parts.push_back(std::move(read));
  }
  return task;
}

void write_task(const Coordinator::Pulled& pulled, const std::string& recipe_hash,
                v2::Task& message) {
  const Coordinator::Pulled::Task& task = *pulled.task;
  message.set_round(pulled.round);
  message.set_attempt(to_bytes(task.attempt));
  message.set_recipe_hash(recipe_hash);
  message.set_group(static_cast<std::uint32_t>(task.group));
  for (const Part& part : task.parts) {
    v2::TaskPart& written = *message.add_parts();
    written.set_mechanism_id(std::string(part.mechanism->id()));
    for (std::size_t i = 0; i < part.tensors.size(); ++i) {
      written.add_tensors(static_cast<std::uint32_t>(part.tensors[i]));
      written.add_centres(part.spec.domain.ranges[i].centre);
      written.add_radii(part.spec.domain.ranges[i].radius);
    }
  }
  message.set_weights(task.model->size());
  message.set_deadline_ms(milliseconds(task.deadline_seconds));
  message.set_send_after_ms(milliseconds(task.send_after_seconds));
  if (task.ticket) message.set_ticket(to_bytes(*task.ticket));
}

void ReportDigest::add(std::size_t position, std::span<const std::byte> sealed) {
  std::ranges::copy(sha256_hex(sealed), hashes_[position].begin());
}

std::string ReportDigest::hex() const { return sha256_hex(std::as_bytes(std::span(hashes_))); }

std::string digest_of(std::span<const std::vector<std::byte>> chunks) {
  ReportDigest digest(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) digest.add(i, chunks[i]);
  return digest.hex();
}

Result<Submission> read_submission(const v2::SubmitHeader& header) {
  SOTTO_CHECK(check_known(header));
  Submission submission;
  submission.name = header.name();
  SOTTO_CHECK(check_name(submission.name));
  SOTTO_TRY(submission.contract, Contract::parse(header.contract()));
  submission.minimum = header.minimum();
  if (!header.ticket().empty()) {
    SOTTO_TRY(submission.ticket, read_ticket(header.ticket()));
  }
  if (!header.digest().empty() && !is_sha256(header.digest())) {
    return bad("a digest of the chunks that is none");
  }
  submission.digest = header.digest();
  return submission;
}

Result<Opened> read_open(const v2::OpenReply& reply) {
  SOTTO_CHECK(check_known(reply));
  Opened opened;
  SOTTO_TRY(opened.run, read_tag(reply.run()));
  opened.minimum = reply.minimum();
  opened.open.finished = reply.finished();
  opened.open.round = reply.round();
  if (opened.open.round == 0) return opened;
  SOTTO_TRY(opened.open.attempt, read_tag(reply.attempt()));
  opened.open.seconds_left = reply.deadline_ms() / 1000.0;
  SOTTO_TRY(opened.open.ticket_key, read_ticket(reply.ticket_key()));
  if (static_cast<std::size_t>(reply.groups_size()) > kMostGroups) return bad("too many groups");
  std::set<std::string> contracts;
  for (const v2::OpenGroup& group : reply.groups()) {
    if (!is_sha256(group.contract())) return bad("no digest of a contract");
    if (!contracts.insert(group.contract()).second) return bad("one contract for two groups");
    if (static_cast<std::size_t>(group.declined_size()) > kMostAsked) {
      return bad("more clients that decline than a federation has");
    }
    Coordinator::Open::Group read{
        group.expected(), group.contract(), group.skip(), group.closed(), {}};
    for (const std::string& ticket : group.declined()) {
      SOTTO_TRY(const Ticket declined, read_ticket(ticket));
      read.declined.push_back(declined);
    }
    opened.open.groups.push_back(std::move(read));
  }
  return opened;
}

void write_open(const Coordinator::Open& open, const Coordinator::Settings& settings,
                v2::OpenReply& reply) {
  reply.set_finished(open.finished);
  reply.set_run(to_bytes(settings.invitation.run));
  reply.set_minimum(settings.minimum);
  reply.set_round(open.round);
  if (open.round == 0) return;
  reply.set_attempt(to_bytes(open.attempt));
  reply.set_deadline_ms(milliseconds(open.seconds_left));
  reply.set_ticket_key(to_bytes(open.ticket_key));
  for (const Coordinator::Open::Group& group : open.groups) {
    v2::OpenGroup& written = *reply.add_groups();
    written.set_expected(static_cast<std::uint32_t>(group.expected));
    written.set_contract(group.contract);
    written.set_skip(group.skip);
    written.set_closed(group.closed);
    for (const Ticket& ticket : group.declined) written.add_declined(to_bytes(ticket));
  }
}

Result<Comparison> read_compare(const v2::CompareRequest& request) {
  SOTTO_CHECK(check_known(request));
  Comparison comparison{request.name(), {}, request.round()};
  SOTTO_TRY(comparison.run, read_tag(request.run()));
  return comparison;
}

Result<std::vector<Asked>> read_asked(const v2::CompareReply& reply) {
  SOTTO_CHECK(check_known(reply));
  if (static_cast<std::size_t>(reply.asked_size()) > kMostAsked) return bad("too many contracts");
  std::vector<Asked> all;
  for (const v2::Asked& asked : reply.asked()) {
    if (!is_sha256(asked.contract())) return bad("no digest of a contract");
    all.push_back({asked.contract(), asked.group(), asked.reports()});
  }
  return all;
}

void write_asked(std::span<const Asked> asked, v2::CompareReply& reply) {
  for (const Asked& one : asked) {
    v2::Asked& written = *reply.add_asked();
    written.set_contract(one.contract);
    written.set_group(one.group);
    written.set_reports(static_cast<std::uint32_t>(one.reports));
  }
}

grpc::Status to_status(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kCorrupt:
      return {grpc::StatusCode::INVALID_ARGUMENT, error.message};
    case ErrorKind::kNotFound:
      return {grpc::StatusCode::NOT_FOUND, error.message};
    case ErrorKind::kRefused:
      return {grpc::StatusCode::FAILED_PRECONDITION, error.message};
    case ErrorKind::kIo:
      return {grpc::StatusCode::UNAVAILABLE, error.message};
    case ErrorKind::kBusy:
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, error.message};
    case ErrorKind::kInternal:
      break;
  }
  return {grpc::StatusCode::INTERNAL, error.message};
}

Error to_error(const grpc::Status& status, const std::string& place) {
  // The other side's words, of which some are shown.
  constexpr std::size_t kLongestReason = 2000;
  const std::string text = place + ": " + shorten(one_line(status.error_message()), kLongestReason);
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    // The library's word for a stream that was reset, and ours for a fault that may pass.
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::ABORTED:
      return {ErrorKind::kIo, text};
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // Ours, and the library's for too many calls and for too little memory. The library has the
      // same code for a message that is too long: honest nodes send none, and one that makes others
      // wait may as well say that it is busy.
      return {ErrorKind::kBusy, text};
    case grpc::StatusCode::INVALID_ARGUMENT:
      return {ErrorKind::kCorrupt, text};
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::NOT_FOUND:
      return {ErrorKind::kRefused, text};
    default:
      return {ErrorKind::kInternal, text};
  }
}

}  // namespace sotto::rpc
