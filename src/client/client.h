// One client's part in a round: it trains on its own samples, brings the result into the domain of
// each mechanism, perturbs it and packs it into envelopes.
//
// This is the only body of a client. Threads of a simulation, ranks of an MPI job and a process on
// a network differ in who calls it, where its random bits come from and where its envelopes go, and
// in nothing else. (An accelerator trains and perturbs many clients at once by kernels of its own,
// train/device_rounds.h, whose symbols are these.)
//
// Whoever calls it has paid: the ledger is charged before a client's samples are read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "sotto/data.h"
#include "sotto/federation.h"
#include "sotto/trainer.h"

namespace sotto {

/// What all clients of a training have in common.
struct ClientSettings {
  const Dataset* data = nullptr;  // that samples are indices into; outlives the clients
  Preprocess preprocess;
  TrainOptions options;
  bool keep_buffers = false;    // a client's statistics of batch norm stay with it
  bool keep_optimizer = false;  // and so does its optimizer's state

  bool keeps_state() const noexcept { return keep_buffers || keep_optimizer; }
};

/// What one client works with in one round.
struct ClientTask {
  std::uint32_t client = 0;
  std::span<const std::uint32_t> samples;
  /// Random bits for a purpose: "train" for the order of its samples, augmentation and dropout,
  /// "perturb" for its reports, "latency" for the delays of its envelopes.
  std::function<BitSource(std::string_view purpose)> bits;
  std::vector<float> state;  // kept from its last round: buffers, then the optimizer's state
};

/// What each client keeps from one of its rounds to the next.
using ClientStates = std::map<std::uint32_t, std::vector<float>>;

/// What is left of its work besides the envelopes.
struct ClientOutcome {
  std::string report_hash;   // SHA-256 over its envelopes, in hex; empty unless asked for
  std::vector<float> state;  // what it keeps
  double train_seconds = 0.0;
  double delay_seconds = 0.0;  // the longest random delay of an envelope
};

class Client {
 public:
  /// `trainer` and `settings` outlive it. It is lent to client after client, by one thread.
  Client(const ClientSettings& settings, std::shared_ptr<const Layout> layout, Trainer& trainer);

  /// Every envelope of the client's reports goes to `sink`.
  Result<ClientOutcome> run(const RoundPlan& plan, const ClientGroup& group,
                            std::span<const float> model, ClientTask task,
                            const EnvelopeSink& sink);

  /// Whether reports are hashed, for a ledger.
  bool hashes_reports = false;
  /// Set for a client of its own process, whose absence from a round would tell of its data: where
  /// training fails, the error goes here and the client sends what it would without any samples.
  std::function<void(const Error&)> on_training_error;
  /// Shown every report before it is packed; see RunOptions.
  RunObserver* observer = nullptr;

  /// How many values of a client's state are its buffers.
  std::size_t buffer_values() const noexcept { return buffer_values_; }

 private:
  Result<void> load(std::span<const float> model, const ClientTask& task);
  std::vector<float> kept_state() const;
  Result<double> train(const RoundPlan& plan, std::span<const float> model, ClientTask& task,
                       std::vector<float>& state);
  Result<double> train_or_keep_still(const RoundPlan& plan, std::span<const float> model,
                                     ClientTask& task, std::vector<float>& state);
  std::span<const std::uint32_t> rows_of(std::span<const std::uint32_t> samples);
  void report_features(std::span<const std::uint32_t> rows);
  /// What a client without samples has learned: nothing.
  void keep_still(const RoundPlan& plan, std::span<const float> model);
  Result<void> send(const RoundPlan& plan, const ClientGroup& group, ClientTask& task,
                    const EnvelopeSink& sink, ClientOutcome& outcome);

  const ClientSettings& settings_;
  std::shared_ptr<const Layout> layout_;
  Trainer& trainer_;
  std::vector<std::size_t> buffers_;  // tensors of the layout
  std::size_t buffer_values_ = 0;     // in them, where clients keep theirs
  std::vector<float> weights_;        // reused from client to client
  std::vector<float> slice_;          // of the tensors of one part
  std::vector<std::uint32_t> rows_;   // of its samples and their views
  std::vector<float> features_;       // of one of them
};

/// Cuts a report into envelopes and hands them on; `hash`, if there is one, takes their bytes.
Result<void> send_report(Report report, const RoundPlan& plan, Sha256* hash,
                         const EnvelopeSink& sink);

}  // namespace sotto
