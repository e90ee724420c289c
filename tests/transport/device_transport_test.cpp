// Rounds on an accelerator, here one that is made of the processor: clients go to it in the right
// batches, and the model is bit for bit that of clients one after the other.
#include "transport/device/device_transport.h"

#include <nlohmann/json.hpp>
#include <set>

#include "bound/fill_ball.h"
#include "plan/fake_ledger.h"
#include "server/toy_run.h"
#include "sotto/aggregate.h"
#include "train/changed_features.h"

namespace sotto {
namespace {

/// What the accelerator was asked for.
struct Seen {
  std::vector<std::size_t> batches;  // how many clients each time
  std::uint64_t rounds = 0;
};

class FakeRounds final : public DeviceRounds {
 public:
  FakeRounds(const Layout& layout, DeviceClients clients, Seen& seen)
      : layout_(layout), clients_(std::move(clients)), seen_(seen) {}
  std::size_t most_clients() const noexcept override { return 7; }
  bool takes(const Mechanism& mechanism) const override {
    return mechanism.domain().shape == Shape::kBox || mechanism.id().starts_with("privunit");
  }

  Result<void> run(std::span<Client> clients, const Task& task) override {
    const std::span<const float> model = task.model;
    seen_.batches.push_back(clients.size());
    std::set<std::size_t> sizes;
    for (Client& client : clients) {
      sizes.insert(client.samples.size());
      ToyTrainer trainer(layout_);
      SOTTO_CHECK(trainer.load(model));
      SOTTO_CHECK(trainer.train(*clients_.data, client.samples, clients_.preprocess,
                                clients_.options, std::move(client.train)));
      std::vector<float> weights(layout_.size());
      SOTTO_CHECK(trainer.store(weights));
      if (task.weights) client.weights = weights;
      if (task.differences) {
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= model[i];
      }
      perturb(task.parts, weights, client.perturb, task.reports ? &client.reports : nullptr,
              [](std::vector<float>&, const Domain&) {});
    }
    EXPECT_EQ(sizes.size(), 1U) << "clients of different sizes side by side";
    return {};
  }

  std::size_t most_gradient_clients() const noexcept override { return 11; }
  Result<void> run_gradients(const GradientTask& task) override {
    seen_.batches.push_back(task.clients.size());
    SOTTO_TRY(const auto trainer, trainer_at(task.model));
    if (task.reports != nullptr) task.reports->resize(task.clients.size());
    std::set<std::size_t> sizes;
    for (std::size_t c = 0; c < task.clients.size(); ++c) {
      const auto samples = task.samples(task.clients[c]);
      sizes.insert(samples.size());
      std::vector<float> gradient(task.model.size(), 0.0F);
      if (!samples.empty()) SOTTO_CHECK(trainer->gradient(*clients_.data, samples, {}, gradient));
      BitSource bits = task.perturb(task.clients[c]);
      perturb(task.parts, gradient, bits, task.reports == nullptr ? nullptr : &(*task.reports)[c],
              [&](std::vector<float>& values, const Domain& domain) {
                if (task.fills_ball) fill_ball(values, domain.norm, task.fill_floor);
              });
    }
    EXPECT_EQ(sizes.size(), 1U) << "clients of different sizes side by side";
    return {};
  }

  Result<std::vector<SummedEnvelope>> take_sums(RoundId round) override {
    ++seen_.rounds;
    std::vector<SummedEnvelope> sums;
    for (auto& [id, reports] : reports_) {
      Aggregator all(reports.front().first, round);
      for (auto& [mechanism, report] : reports) {
        for (const Envelope& envelope : pack(std::move(report), round)) {
          SOTTO_CHECK(all.accept(envelope));
        }
      }
      SOTTO_TRY(SummedEnvelope sum, all.summed());
      sums.push_back(std::move(sum));
    }
    reports_.clear();
    return sums;
  }
  Times take_times() override { return {1.0, 0.5}; }

 private:
  /// Of the network, or of one on features that the end of the model changes.
  Result<std::unique_ptr<Trainer>> trainer_at(std::span<const float> model) const {
    std::shared_ptr<const TrainerFactory> factory = std::make_shared<const ToyFactory>(layout_);
    if (model.size() > layout_.size()) {
      Layout layout = layout_;
      const auto features = static_cast<std::int64_t>((model.size() - layout_.size()) / 2);
      layout.add("features.mean", {features}, TensorRole::kBuffer);
      layout.add("features.scale", {features}, TensorRole::kBuffer);
      factory = change_features(std::move(factory), std::move(layout));
    }
    SOTTO_TRY(auto trainer, factory->make());
    SOTTO_CHECK(trainer->load(model));
    return trainer;
  }

  /// Every part of the values, in the form that `fill` gives it: into `to`, or else to be added up.
  template <class Fill>
  void perturb(std::span<const Part> parts, const std::vector<float>& all, BitSource& bits,
               std::vector<Report>* to, const Fill& fill) {
    for (const Part& part : parts) {
      std::vector<float> values;
      for (const std::size_t t : part.tensors) {
        const TensorSpec& tensor = layout_.tensors()[t];
        values.insert(values.end(), all.begin() + static_cast<std::ptrdiff_t>(tensor.offset),
                      all.begin() + static_cast<std::ptrdiff_t>(tensor.offset + tensor.size));
      }
      const Domain& domain = part.mechanism->domain();
      fill(values, domain);
      Report report =
          part.mechanism->perturb(bound(Update(domain.layout, std::move(values)), domain), bits);
      if (to != nullptr) {
        to->push_back(std::move(report));
      } else {
        reports_[std::string(part.mechanism->id())].emplace_back(part.mechanism, std::move(report));
      }
    }
  }

  Layout layout_;
  DeviceClients clients_;
  Seen& seen_;
  std::map<std::string, std::vector<std::pair<std::shared_ptr<const Mechanism>, Report>>> reports_;
};

class DeviceFactory final : public TrainerFactory {
 public:
  DeviceFactory(Layout layout, Seen& seen) : toy_(std::move(layout)), seen_(seen) {}
  Result<std::unique_ptr<Trainer>> make() const override { return toy_.make(); }
  const Layout& layout() const noexcept override { return toy_.layout(); }
  std::vector<float> initial_weights(std::uint64_t seed) const override {
    return toy_.initial_weights(seed);
  }
  unsigned parallelism() const noexcept override { return toy_.parallelism(); }
  Result<void> save(std::span<const float> weights,
                    const std::filesystem::path& path) const override {
    return toy_.save(weights, path);
  }
  Result<std::shared_ptr<DeviceRounds>> device_rounds(const DeviceClients& clients) const override {
    return std::make_shared<FakeRounds>(layout(), clients, seen_);
  }
  std::string device() const override { return "fake"; }
  std::string version() const override { return "toy"; }

 private:
  ToyFactory toy_;
  Seen& seen_;
};

RunResult run_on_device(const Recipe& recipe, Seen& seen, const RunOptions& options = {}) {
  auto result = run_recipe(recipe, options, [&seen](const TrainerRequest& request) {
    return Result<std::shared_ptr<const TrainerFactory>>(
        std::make_shared<const DeviceFactory>(request.network.layout(), seen));
  });
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : RunResult{};
}

TEST(DeviceTransport, GivesTheModelOfClientsOneAfterTheOther) {
  const std::vector<std::string> noisy = {"privacy.mechanism=srr", "privacy.epsilon=3",
                                          "privacy.radius=12", "privacy.precision=2"};
  const auto with = [&noisy](std::vector<std::string> more) {
    more.insert(more.end(), noisy.begin(), noisy.end());
    return more;
  };
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{}, with({}), with({"bound.payload=delta"}),
        with({"shuffle.mode=shuffler", "shuffle.split=10", "shuffle.min_batch=2"}),
        with({"data.partition=dirichlet(0.5)"})}) {
    const Recipe recipe = toy_recipe(settings);
    Seen seen;
    const RunResult there = run_on_device(recipe, seen);
    const RunResult here = run(recipe, {});
    EXPECT_EQ(there.model, here.model);
    ASSERT_EQ(there.rounds.size(), here.rounds.size());
    EXPECT_EQ(seen.rounds, here.rounds.size());
    for (std::size_t i = 0; i < here.rounds.size(); ++i) {
      EXPECT_EQ(there.rounds[i].bytes_up, here.rounds[i].bytes_up);
      EXPECT_EQ(there.rounds[i].reports, here.rounds[i].reports);
      EXPECT_EQ(there.rounds[i].train_cpu_seconds, 1.0);
    }
    std::size_t clients = 0;
    for (const std::size_t batch : seen.batches) {
      EXPECT_LE(batch, 7U);
      clients += batch;
    }
    EXPECT_EQ(clients, 20 * here.rounds.size());
  }
}

TEST(DeviceTransport, TakesRoundsOfGradients) {
  const std::vector<std::string> noisy = {"bound.payload=gradient", "privacy.mechanism=privunit",
                                          "privacy.epsilon=30",     "privacy.norm=1",
                                          "shuffle.mode=shuffler",  "shuffle.min_batch=2"};
  const auto with = [&noisy](std::vector<std::string> more) {
    more.insert(more.end(), noisy.begin(), noisy.end());
    return more;
  };
  for (const std::vector<std::string>& settings :
       {with({}), with({"bound.normalize=true"}), with({"bound.normalize=true", "bound.floor=9"}),
        with({"data.partition=dirichlet(0.5)"})}) {
    const Recipe recipe = toy_recipe(settings);
    Seen seen;
    const RunResult there = run_on_device(recipe, seen);
    const RunResult here = run(recipe, {});
    EXPECT_EQ(there.model, here.model);
    EXPECT_EQ(seen.rounds, here.rounds.size());
    std::size_t clients = 0;
    for (const std::size_t batch : seen.batches) {
      EXPECT_LE(batch, 11U);
      clients += batch;
    }
    EXPECT_EQ(clients, 20 * here.rounds.size());
    for (std::size_t i = 0; i < here.rounds.size(); ++i) {
      EXPECT_EQ(there.rounds[i].bytes_up, here.rounds[i].bytes_up);
    }
  }
}

// Clients report statistics from the processor; the gradients at the features that these change are
// the device's.
TEST(DeviceTransport, TakesGradientsOfChangedFeatures) {
  const Recipe recipe = toy_recipe(
      {"data.features=gabor", "model.name=linear", "bound.payload=gradient", "bound.normalize=true",
       "privacy.mechanism=privunit", "privacy.epsilon=30", "statistics.mean=private",
       "statistics.rounds=2", "shuffle.mode=shuffler", "shuffle.min_batch=2"});
  Seen seen;
  const RunResult there = run_on_device(recipe, seen);
  const RunResult here = run(recipe, {});
  EXPECT_EQ(there.model, here.model);
  ASSERT_EQ(here.rounds.size(), 6U);
  EXPECT_EQ(seen.rounds, 4U);
}

// Networks that encode records are trained side by side too, and are those that they become one
// after the other: of a toy's network accuracy tells its weights, features don't.
TEST(DeviceTransport, TrainsTheNetworksThatEncode) {
  for (const char* partition : {"iid", "dirichlet(0.5)"}) {
    const Recipe recipe =
        toy_recipe({"encode.network=mlp(3)", "encode.epochs=2", "encode.lr=0.9",
                    "encode.mechanism=none", "federation.clients=10", "federation.fraction=1",
                    std::string("data.partition=") + partition});
    Seen seen;
    const RunResult there = run_on_device(recipe, seen);
    const RunResult here = run(recipe, {});
    EXPECT_EQ(there.model, here.model);
    const nlohmann::json& encode = here.record->at("privacy").at("encode");
    EXPECT_GT(encode.at("local_accuracy"), 0.0);
    EXPECT_EQ(there.record->at("privacy").at("encode"), encode);
    std::size_t clients = 0;
    for (const std::size_t batch : seen.batches) clients += batch;
    EXPECT_EQ(clients, 10 * (1 + there.rounds.size()));
  }
}

// A ledger binds every charge to the report it was for, so clients hand their reports out.
void expect_bound_reports(const Recipe& recipe) {
  const auto with = [](const std::shared_ptr<FakeLedger>& ledger) {
    RunOptions options;
    options.open_ledger = [ledger]() -> Result<std::shared_ptr<Ledger>> { return ledger; };
    return options;
  };
  const auto charged = std::make_shared<FakeLedger>();
  const auto expected = std::make_shared<FakeLedger>();
  Seen seen;
  const RunResult there = run_on_device(recipe, seen, with(charged));
  const RunResult here = run(recipe, with(expected));
  EXPECT_EQ(there.model, here.model);
  EXPECT_EQ(seen.rounds, here.rounds.size());
  ASSERT_EQ(charged->entries.size(), expected->entries.size());
  for (std::size_t i = 0; i < expected->entries.size(); ++i) {
    EXPECT_EQ(charged->entries[i].charge.report_hash, expected->entries[i].charge.report_hash);
    EXPECT_FALSE(charged->entries[i].charge.report_hash.empty());
  }
  for (std::size_t i = 0; i < here.rounds.size(); ++i) {
    EXPECT_EQ(there.rounds[i].bytes_up, here.rounds[i].bytes_up);
  }
}

TEST(DeviceTransport, GivesReportsWhereALedgerBindsThem) {
  expect_bound_reports(
      toy_recipe({"privacy.mechanism=two-point", "privacy.epsilon=2", "privacy.radius=12",
                  "shuffle.mode=shuffler", "shuffle.split=7", "shuffle.min_batch=2"}));
  expect_bound_reports(
      toy_recipe({"privacy.mechanism=privunit", "privacy.epsilon=2", "bound.payload=gradient",
                  "bound.normalize=true", "shuffle.mode=shuffler", "shuffle.min_batch=2"}));
}

TEST(DeviceTransport, LeavesRoundsThatNeedMoreOfAClientToTheTransportBelow) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"privacy.mechanism=privunit", "privacy.epsilon=3",
                                 "bound.payload=delta", "bound.normalize=true"},
        std::vector<std::string>{"privacy.mechanism=ldp-sgd", "privacy.epsilon=3",
                                 "bound.payload=gradient"},
        std::vector<std::string>{"privacy.mechanism=two-point", "privacy.epsilon=3",
                                 "privacy.radius=12", "shuffle.mode=latency",
                                 "shuffle.latency=5"}}) {
    const Recipe recipe = toy_recipe(settings);
    Seen seen;
    const RunResult there = run_on_device(recipe, seen);
    EXPECT_EQ(there.model, run(recipe, {}).model);
    EXPECT_EQ(seen.rounds, 0U);
  }
}

}  // namespace
}  // namespace sotto
