// A client without its network: makes the report that a task asks for, or says why not.
//
// It trains by the code of the simulation. What it sends is decided by the recipe, which it reads
// itself: of a task it takes the round, the weights and the ranges that earlier rounds moved, and
// refuses one whose mechanisms are not those that the recipe then gives. It pays before it reads
// data, and a report that exists is the only one it will ever send for its round:
//
//   state of a round  its task is given    of another model  it is taken  a later report is made
//   new               paid, then -> made   the same          -            new
//   paid              -> made              -> made           -            paid
//   made              the same report      declined          -> taken     made
//   taken             the same report      declined          taken        -> gone
//   gone              declined             declined          -            gone
//
// A round that the client's limits, its policy or its own reading of the recipe forbid is declined
// in every state, and stays in it. The state is the ledger's: a client that is killed and started
// again goes on in it. `paid` is where one was killed while it made its report.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/own_samples.h"
#include "plan/planner.h"
#include "server/coordinator/collection.h"
#include "sotto/federation.h"
#include "sotto/ledger.h"
#include "sotto/policy.h"

namespace sotto::rpc {

struct TaskHeader {
  RoundId round = 0;
  Attempt attempt{};
  std::string recipe_hash;
  std::size_t group = 0;
  struct Part {
    std::string mechanism_id;
    std::vector<std::size_t> tensors;
    std::vector<Range> ranges;  // one for each
  };
  std::vector<Part> parts;
  std::uint64_t weights = 0;
  double deadline_seconds = 0.0;
  double send_after_seconds = 0.0;  // where chunks have random delays
  std::optional<Ticket> ticket;     // for the shuffler
};

struct ParticipantOptions {
  std::string name;         // in the ledger
  std::uint32_t index = 0;  // among the federation's clients
  std::uint32_t clients = 0;
  std::string task;  // in the ledger: what tells this training from others
  /// The client's own: what the recipe says of data and files is the server's and not followed.
  std::string data;
  std::string labels;
  bool share = false;  // of `data`, the part that the simulation gives to client `index`
  std::filesystem::path data_folder;
  std::string model_file;
  bool rehearsal = false;  // bits from the recipe's seed
  Limits limits;
  /// What the client lets a server ask for; nothing: whatever the limits pay for.
  std::optional<identity::Policy> policy;
  PublicKey server_key{};  // that reports are sealed for
  Tag run{};               // of the invitation
  std::string authority;   // of the federation; empty: none
  /// What the client's owner wants to know of its data, and nobody else does.
  std::function<void(const std::string&)> on_note;
};

/// Who makes a client's reports.
class ReportMaker {
 public:
  virtual ~ReportMaker() = default;
  /// The client's report. kRefused: the round is declined. Any other error: the client cannot go
  /// on.
  virtual Result<std::vector<Envelope>> report(const TaskHeader& task,
                                               std::span<const float> model) = 0;
  /// What the last report was made for, by this client's own reading of recipe and task.
  virtual const Contract& contract() const = 0;
  /// Reports that a batch with this client's must have.
  virtual std::uint32_t minimum() const = 0;
  /// The receiver has the last report for good.
  virtual Result<void> delivered() = 0;
  /// What this client's account has been charged.
  virtual Result<Spent> spent() const = 0;
};

class Participant final : public ReportMaker {
 public:
  /// Refuses a recipe that clients of their own processes cannot follow, and one that goes beyond
  /// the client's policy.
  static Result<std::unique_ptr<Participant>> make(const Recipe& recipe, ParticipantOptions options,
                                                   std::shared_ptr<Ledger> ledger,
                                                   const MakeFactory& make_factory);

  /// kRefused: the client has no budget for it, its policy forbids it, the task is not the
  /// recipe's, or the report of its round is not there any more.
  Result<std::vector<Envelope>> report(const TaskHeader& task,
                                       std::span<const float> model) override;
  const Contract& contract() const override { return contract_; }
  /// The recipe's number, or the client's own if that is larger.
  std::uint32_t minimum() const override;
  Result<void> delivered() override;
  Result<Spent> spent() const override { return ledger_->spent(options_.name, dataset_); }
  std::size_t weights() const { return layout_.size(); }

 private:
  Participant(Recipe recipe, ParticipantOptions options, Layout layout, identity::Work work,
              Planner planner)
      : recipe_(std::move(recipe)),
        options_(std::move(options)),
        layout_(std::move(layout)),
        work_(work),
        planner_(std::move(planner)) {}
  /// Reads the client's data and makes what trains, once all that is asked for is allowed.
  Result<void> set_up(const MakeFactory& make_factory);
  std::size_t own_group() const { return planner_.group_of(options_.index); }
  Result<std::vector<Part>> parts_of(const TaskHeader& task);
  /// What the whole training costs this client if it is in every round, as its ledger counts.
  Result<Spent> whole_cost() const;
  Result<void> check_first_rounds() const;
  Result<void> check_chunks(std::size_t chunks) const;
  /// Compares what is asked for now with the policy.
  Result<void> check_policy(std::span<const Part> parts) const;

  Recipe recipe_;
  ParticipantOptions options_;
  Layout layout_;
  identity::Work work_;
  Planner planner_;
  std::optional<OwnSamples> samples_;
  std::shared_ptr<const TrainerFactory> factory_;
  std::unique_ptr<Trainer> trainer_;
  ClientSettings settings_;
  std::optional<Client> client_;
  std::shared_ptr<Ledger> ledger_;
  /// One name whatever the server's recipe says, so that no server opens another account.
  std::string dataset_ = "data";
  Spent whole_;
  Contract contract_;
  Charge last_;
};

}  // namespace sotto::rpc
