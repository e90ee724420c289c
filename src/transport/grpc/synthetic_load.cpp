#include "transport/grpc/synthetic_load.h"

#include <algorithm>

#include "base/clock.h"
#include "base/parallel.h"
#include "shuffle/report_form.h"
#include "sotto/v2/federation.grpc.pb.h"
#include "transport/grpc/credentials.h"
#include "transport/grpc/gate.h"
#include "transport/grpc/messages.h"
#include "transport/grpc/submission.h"

namespace sotto::rpc {
namespace {

/// A connection that is shared with nobody.
std::shared_ptr<grpc::Channel> own_channel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

class DrainDesk final : public v2::Relay::Service {
 public:
  explicit DrainDesk(std::shared_ptr<Connections> connections)
      : connections_(std::move(connections)) {}
  grpc::Status Submit(grpc::ServerContext* context, grpc::ServerReader<v2::SubmitRequest>* reader,
                      v2::SubmitReply*) override {
    connections_->admit(context->peer(), "");
    v2::SubmitRequest request;
    while (reader->Read(&request)) {
    }
    return grpc::Status::OK;
  }

 private:
  std::shared_ptr<Connections> connections_;
};

v2::SubmitRequest header_of(const LoadReport& report, std::uint32_t client) {
  v2::SubmitHeader header;
  header.set_name(load_name(client));
  header.set_contract(report.contract.text());
  v2::SubmitRequest request;
  *request.mutable_header() = sign(Security{}, "server", method::kSubmit, header.name(), header, 0);
  return request;
}

/// The same for every client: made once, so that the senders cost as little as they can.
std::vector<v2::SubmitRequest> chunks_of(const LoadReport& report) {
  std::vector<v2::SubmitRequest> requests(report.sealed.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].mutable_chunk()->set_position(static_cast<std::uint32_t>(i));
    requests[i].mutable_chunk()->set_sealed(to_bytes(report.sealed[i]));
  }
  return requests;
}

template <class Stub>
Result<void> submit(Stub& stub, const std::string& address, const v2::SubmitRequest& header,
                    const std::vector<v2::SubmitRequest>& chunks) {
  grpc::ClientContext context;
  v2::SubmitReply reply;
  const auto writer = stub.Submit(&context, &reply);
  bool flows = writer->Write(header);
  for (std::size_t i = 0; flows && i < chunks.size(); ++i) flows = writer->Write(chunks[i]);
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  if (!status.ok()) return tl::unexpected(to_error(status, address));
  return {};
}

}  // namespace

std::uint64_t LoadReport::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& chunk : sealed) sum += chunk.size();
  return sum;
}

std::string load_name(std::uint32_t client) { return "load-" + std::to_string(client); }

Result<LoadReport> make_load(const RoundPlan& plan, const Invitation& invitation,
                             std::span<const float> model) {
  LoadReport load{invitation, {}, {}};
  SOTTO_TRY(const ReportForm form, ReportForm::make(plan.groups.front().parts, plan.split));
  load.contract = make_contract(invitation.terms(), plan.round, 0, plan.groups.front().parts, form,
                                model_digest(model));
  const std::string task = task_name(invitation.recipe_hash, invitation.run);
  const identity::ChunkPlan chunks{task, plan.round, form.largest_envelope()};
  for (const Part& part : plan.groups.front().parts) {
    BitSource bits = BitSource::from_seed(1, "load");
    const Domain& domain = part.mechanism->domain();
    const Update update(domain.layout, std::vector<float>(domain.layout->size()));
    for (const Envelope& envelope :
         pack(part.mechanism->perturb(bound(update, domain), bits), plan.round, plan.split)) {
      SOTTO_TRY(std::vector<std::byte> sealed,
                identity::seal(envelope, chunks, invitation.seal_key));
      load.sealed.push_back(std::move(sealed));
    }
  }
  return load;
}

struct Crowd::Parts {
  std::vector<std::unique_ptr<v2::Coordinator::Stub>> stubs;
};

Crowd::Crowd() : parts_(std::make_unique<Parts>()) {}
Crowd::~Crowd() = default;

Result<std::unique_ptr<Crowd>> Crowd::join(const std::string& address, std::uint32_t clients) {
  std::unique_ptr<Crowd> crowd(new Crowd());
  auto& stubs = crowd->parts_->stubs;
  stubs.resize(clients);
  SOTTO_CHECK(parallel_for(16, clients, [&](unsigned, std::size_t i) -> Result<void> {
    stubs[i] = v2::Coordinator::NewStub(own_channel(address));
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
    v2::JoinRequest request;
    request.set_name(load_name(static_cast<std::uint32_t>(i)));
    request.set_wanted(static_cast<std::uint32_t>(i) + 1);
    v2::JoinReply reply;
    const grpc::Status status = stubs[i]->Join(
        &context, sign(Security{}, "server", method::kJoin, request.name(), request, 0), &reply);
    if (!status.ok()) return tl::unexpected(to_error(status, address));
    return {};
  }));
  return crowd;
}

Result<double> send_load(const std::string& address, LoadTarget target, const LoadReport& report,
                         std::uint32_t clients, unsigned streams) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (unsigned i = 0; i < streams; ++i) {
    channels.push_back(own_channel(address));
    channels.back()->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }
  const std::vector<v2::SubmitRequest> chunks = chunks_of(report);
  const Stopwatch clock;
  SOTTO_CHECK(parallel_for(streams, clients, [&](unsigned lane, std::size_t i) -> Result<void> {
    const v2::SubmitRequest header = header_of(report, static_cast<std::uint32_t>(i));
    if (target == LoadTarget::kServer) {
      v2::Coordinator::Stub stub(channels[lane]);
      return submit(stub, address, header, chunks);
    }
    v2::Relay::Stub stub(channels[lane]);
    return submit(stub, address, header, chunks);
  }));
  return clock.seconds();
}

struct Drain::Parts {
  std::shared_ptr<Connections> connections =
      std::make_shared<Connections>(Connections::Limits::of_process());
  DrainDesk desk{connections};
  std::unique_ptr<Listener> listener;
};

Drain::Drain() : parts_(std::make_unique<Parts>()) {}

Drain::~Drain() = default;

Result<std::unique_ptr<Drain>> Drain::start(const std::string& address) {
  std::unique_ptr<Drain> drain(new Drain());
  SOTTO_TRY(drain->parts_->listener, Listener::start(address, Security{}, {&drain->parts_->desk},
                                                     drain->parts_->connections));
  drain->address_ = drain->parts_->listener->address();
  return drain;
}

}  // namespace sotto::rpc
