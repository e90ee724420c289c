// Messages of the federation's protocol: the first byte names one, the rest is what came over the
// network. What is read keeps the bounds that proto/sotto/v2 states.
#include "target.h"
#include "transport/grpc/messages.h"

namespace {

template <class Message>
Message parsed(const std::uint8_t* data, std::size_t size) {
  Message message;
  // As the network hands it over: what the library cannot parse never reaches us.
  if (!message.ParseFromArray(data, static_cast<int>(size))) message.Clear();
  return message;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  using namespace sotto::rpc;
  if (size == 0) return 0;
  google::protobuf::SetLogHandler(nullptr);
  const std::uint8_t kind = *data++;
  --size;
  switch (kind % 8) {
    case 0:
      if (const auto joined = read_join(parsed<v2::JoinReply>(data, size))) {
        fuzz::require(joined->index < joined->invitation.clients);
        fuzz::require(joined->invitation.recipe.size() <= kLongestRecipe);
      }
      break;
    case 1:
      if (const auto task = read_task(parsed<v2::Task>(data, size))) {
        fuzz::require(task->round > 0);
        for (const auto& part : task->parts) {
          fuzz::require(part.tensors.size() == part.ranges.size());
          for (const Range& range : part.ranges) fuzz::require(range.radius > 0.0);
        }
      }
      break;
    case 2:
      if (const auto header = read_submission(parsed<v2::SubmitHeader>(data, size))) {
        fuzz::require(header->contract.chunks > 0 && header->contract.chunks <= kMostChunks);
        fuzz::require(check_name(header->name).has_value());
      }
      break;
    case 3:
      if (const auto opened = read_open(parsed<v2::OpenReply>(data, size))) {
        for (const auto& group : opened->open.groups) fuzz::require(is_sha256(group.contract));
      }
      break;
    case 4:
      (void)check_known(parsed<v2::SubmitRequest>(data, size));
      (void)check_known(parsed<v2::DeliverRequest>(data, size));
      (void)check_known(parsed<v2::PullReply>(data, size));
      (void)check_known(parsed<v2::Signed>(data, size));
      break;
    case 5:
      if (const auto asked = read_asked(parsed<v2::CompareReply>(data, size))) {
        for (const Asked& one : *asked) fuzz::require(is_sha256(one.contract));
      }
      (void)read_compare(parsed<v2::CompareRequest>(data, size));
      break;
    case 6: {
      const std::string text(reinterpret_cast<const char*>(data), size);
      if (const auto contract = Contract::parse(text)) fuzz::require(contract->text() == text);
      break;
    }
    default:
      if (const auto report = read_report(fuzz::input(data, size))) {
        const auto written = write_report(*report);
        const auto bytes = fuzz::input(data, size);
        fuzz::require(std::equal(written.begin(), written.end(), bytes.begin(), bytes.end()));
      }
  }
  return 0;
}
