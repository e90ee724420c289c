#include "client/encode.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/text.h"
#include "client/recipe_training.h"
#include "train/device_rounds.h"
#include "transport/device/device_batches.h"

namespace sotto {
namespace {

TrainOptions encoder_options(const Recipe::Encode& encode) {
  TrainOptions options;
  options.optimizer = encode.optimizer;
  options.learning_rate = encode.lr;
  options.rate_decay = encode.lr_decay;
  options.weight_decay = encode.weight_decay;
  options.batch_size = static_cast<std::uint32_t>(encode.batch_size);
  options.epochs = static_cast<std::uint32_t>(encode.epochs);
  return options;
}

/// Room for so many encoded records. Clients write side by side: rows are whole bytes.
Dataset empty_records(const Dataset& like, const EncodePlan& plan, std::size_t count) {
  Dataset data;
  data.shape = plan.shape();
  data.classes = like.classes;
  data.class_names = like.class_names;
  data.packed = true;
  data.values = std::vector<std::uint8_t>(count * data.packed_size());
  data.labels.resize(count);
  return data;
}

std::span<std::uint8_t> row_of(Dataset& data, std::size_t i) {
  auto& bytes = std::get<std::vector<std::uint8_t>>(data.values);
  return std::span(bytes).subspan(i * data.packed_size(), data.packed_size());
}

/// That a bit 0 is reported as 1, read off the affine decoding y -> (y - q) scale. Most bits of
/// features are 0, and thousands of inputs that are never 0 would drown the others in one common
/// sum. The mechanism is public, unlike the mean of anybody's bits.
double probability_of_one(const Mechanism& mechanism) {
  const std::int64_t sums[] = {0, 1};
  double decoded[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    mechanism.decode(std::span(sums).subspan(i, 1), 1, 0, std::span(decoded).subspan(i, 1));
  }
  return decoded[0] == 0.0 ? 0.0 : -decoded[0] / (decoded[1] - decoded[0]);
}

class Stage {
 public:
  Stage(const Recipe& recipe, const ClientRecords& clients, const RunOptions& options)
      : recipe_(recipe), clients_(clients), options_(options) {}

  Result<EncodedClients> run(unsigned threads, const MakeFactory& make_factory);

 private:
  struct Lane {
    std::unique_ptr<Trainer> trainer;
    RecordEncoder encoder;
    std::vector<float> outputs;
  };

  Result<void> prepare(unsigned threads, const MakeFactory& make_factory);
  Result<void> train_on_public();
  /// The networks of `batch`, trained side by side on a device.
  Result<std::vector<std::vector<float>>> train_together(DeviceRounds& rounds,
                                                         std::span<const std::uint32_t> batch);
  Result<void> run_all(unsigned threads);
  /// Each of `batch` encodes its records, with its network of `trained`; it trains one first
  /// where that is empty.
  Result<void> run_clients(std::span<const std::uint32_t> batch,
                           std::span<const std::vector<float>> trained);
  Result<void> run_client(Lane& lane, std::uint32_t client, const std::vector<float>* trained);
  /// Encodes the records `from` into rows first, first + 1, ... of `to`.
  Result<void> encode(Lane& lane, const Dataset& data, std::span<const std::uint32_t> from,
                      bool randomized, BitSource& bits, std::size_t first, Dataset& to);
  void passed();
  nlohmann::json record() const;
  std::uint64_t seed() const { return static_cast<std::uint64_t>(recipe_.federation.seed); }

  const Recipe& recipe_;
  const ClientRecords& clients_;
  const RunOptions& options_;
  EncodePlan plan_;
  std::vector<Lane> lanes_;
  std::shared_ptr<const TrainerFactory> factory_;
  std::vector<float> start_;  // the weights that clients begin with, or share
  std::optional<Partition> test_parts_;
  std::vector<std::uint64_t> starts_;  // of the clients' rows, and the end
  std::vector<std::uint64_t> test_starts_;
  Dataset train_;
  Dataset test_;
  std::vector<EvaluationSums> local_;  // of each client's network on its part of the test set
  std::mutex mutex_;
  std::uint64_t passes_ = 0;
  std::uint64_t passes_in_all_ = 0;
};

/// Where each client's samples begin when they lie client by client.
std::vector<std::uint64_t> starts_of(const Partition& partition) {
  std::vector<std::uint64_t> starts = {0};
  for (std::size_t i = 0; i < partition.clients(); ++i) {
    starts.push_back(starts.back() + partition.client(i).size());
  }
  return starts;
}

Result<void> Stage::prepare(unsigned threads, const MakeFactory& make_factory) {
  const Dataset& train = clients_.data.train;
  const SampleShape input = output_shape(train, clients_.preprocess);
  SOTTO_TRY(plan_, plan_encoding(recipe_, input, train.classes));
  const std::size_t clients = clients_.partition.clients();
  starts_ = starts_of(clients_.partition);
  for (std::size_t i = 0; i < clients; ++i) {
    plan_.privacy.most_records =
        std::max<std::uint64_t>(plan_.privacy.most_records, clients_.partition.client(i).size());
  }
  const Dataset& test = clients_.data.test;
  if (test.size() > 0 && test.size() < clients) {
    return fail(ErrorKind::kUsage, recipe_.file + ": [encode] tests at every client, and " +
                                       std::to_string(test.size()) +
                                       " test samples are too few "
                                       "for " +
                                       std::to_string(clients) + " clients");
  }
  test_starts_.assign(clients + 1, 0);
  if (test.size() > 0) {
    SOTTO_TRY(test_parts_, make_partition(test, "iid", clients, seed()));
    test_starts_ = starts_of(*test_parts_);
  }
  TrainerRequest request;
  request.network = plan_.network;
  request.input = input;
  request.classes = plan_.network.classes;
  request.device = recipe_.train.device;
  request.engine = recipe_.train.engine;
  SOTTO_TRY(factory_, make_factory(request));
  start_ = factory_->initial_weights(seed());
  const std::size_t useful = std::min<std::size_t>(std::max(1U, threads), clients);
  const unsigned lanes =
      std::clamp(static_cast<unsigned>(useful), 1U, std::max(1U, factory_->parallelism()));
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SOTTO_TRY(auto trainer, factory_->make());
    lanes_.push_back({std::move(trainer), RecordEncoder(plan_), {}});
  }
  train_ = empty_records(train, plan_, train.size());
  test_ = empty_records(test, plan_, test.size());
  local_.resize(clients);
  const auto epochs = static_cast<std::uint64_t>(recipe_.encode.epochs);
  // Encoding counts as one more pass of each client.
  passes_in_all_ = clients + epochs * (recipe_.encode.data.empty() ? clients : 1);
  return {};
}

void Stage::passed() {
  const std::scoped_lock lock(mutex_);
  ++passes_;
  if (options_.on_prepare) options_.on_prepare("encoding records", passes_, passes_in_all_);
}

/// One network for all clients, made of nothing of theirs.
Result<void> Stage::train_on_public() {
  DataRequest request;
  request.source = recipe_.encode.data;
  request.folder = options_.data_folder;
  SOTTO_TRY(const DataSplit data, load_data(request));
  if (const auto fits = check_preprocess(data.train, clients_.preprocess); !fits) {
    return at(recipe_.file + ": encode.data", fits.error());
  }
  if (output_shape(data.train, clients_.preprocess) != plan_.network.input) {
    return fail(ErrorKind::kUsage, recipe_.file + ": encode.data = \"" + recipe_.encode.data +
                                       "\" has samples of another shape than data.name; "
                                       "data.resize makes them alike");
  }
  std::vector<std::uint32_t> all(data.train.size());
  std::iota(all.begin(), all.end(), 0U);
  TrainOptions options = encoder_options(recipe_.encode);
  options.on_epoch = [this] { passed(); };
  Trainer& trainer = *lanes_.front().trainer;
  SOTTO_CHECK(trainer.load(start_));
  SOTTO_CHECK(trainer.train(data.train, all, clients_.preprocess, options,
                            BitSource::from_seed(seed(), "train public encoder")));
  return trainer.store(start_);
}

Result<std::vector<std::vector<float>>> Stage::train_together(
    DeviceRounds& rounds, std::span<const std::uint32_t> batch) {
  std::vector<DeviceRounds::Client> asked;
  for (const std::uint32_t client : batch) {
    const auto samples = clients_.partition.client(client);
    asked.push_back({{samples.begin(), samples.end()},
                     BitSource::from_seed(seed(), "train encoder", {client}),
                     // Nothing is perturbed here; were it, no bits would be those of the records.
                     BitSource::from_seed(seed(), "perturb encoder", {client}),
                     {},
                     {}});
  }
  SOTTO_CHECK(rounds.run(asked, {.model = start_, .weights = true, .parts = {}}));
  std::vector<std::vector<float>> trained;
  for (DeviceRounds::Client& client : asked) trained.push_back(std::move(client.weights));
  return trained;
}

Result<void> Stage::run_all(unsigned threads) {
  std::vector<std::uint32_t> everyone(clients_.partition.clients());
  std::iota(everyone.begin(), everyone.end(), 0U);
  if (!recipe_.encode.trains_on_records()) return run_clients(everyone, {});
  DeviceClients all{&clients_.data.train, clients_.preprocess, encoder_options(recipe_.encode)};
  all.threads = threads;
  std::size_t together = 0;
  all.options.on_epoch = [&] {
    for (std::size_t i = 0; i < together; ++i) passed();
  };
  SOTTO_TRY(const std::shared_ptr<DeviceRounds> rounds, factory_->device_rounds(all));
  if (!rounds) return run_clients(everyone, {});
  const auto size = [this](std::uint32_t client) {
    return clients_.partition.client(client).size();
  };
  for (const auto& batch : device_batches(everyone, rounds->most_clients(), size)) {
    together = batch.size();
    SOTTO_TRY(const auto trained, train_together(*rounds, batch));
    SOTTO_CHECK(run_clients(batch, trained));
  }
  return {};
}

Result<void> Stage::run_clients(std::span<const std::uint32_t> batch,
                                std::span<const std::vector<float>> trained) {
  return parallel_for(static_cast<unsigned>(lanes_.size()), batch.size(),
                      [&](unsigned lane, std::size_t i) -> Result<void> {
                        return run_client(lanes_[lane], batch[i],
                                          trained.empty() ? nullptr : &trained[i]);
                      });
}

Result<void> Stage::encode(Lane& lane, const Dataset& data, std::span<const std::uint32_t> from,
                           bool randomized, BitSource& bits, std::size_t first, Dataset& to) {
  constexpr std::size_t kTogether = 256;
  for (std::size_t done = 0; done < from.size(); done += kTogether) {
    const auto part = from.subspan(done, std::min(kTogether, from.size() - done));
    lane.outputs.resize(part.size() * plan_.outputs);
    SOTTO_CHECK(lane.trainer->features(data, part, clients_.preprocess, plan_.layer, lane.outputs));
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto outputs = std::span(lane.outputs).subspan(i * plan_.outputs, plan_.outputs);
      const auto row = row_of(to, first + done + i);
      if (randomized) {
        lane.encoder.randomize(outputs, bits, row);
      } else {
        lane.encoder.encode(outputs, row);
      }
    }
  }
  return {};
}

Result<void> Stage::run_client(Lane& lane, std::uint32_t client,
                               const std::vector<float>* trained) {
  const Dataset& train = clients_.data.train;
  const Dataset& test = clients_.data.test;
  const auto mine = clients_.partition.client(client);
  SOTTO_CHECK(lane.trainer->load(trained == nullptr ? start_ : *trained));
  if (recipe_.encode.trains_on_records() && trained == nullptr) {
    TrainOptions options = encoder_options(recipe_.encode);
    options.on_epoch = [this] { passed(); };
    SOTTO_CHECK(lane.trainer->train(train, mine, clients_.preprocess, options,
                                    BitSource::from_seed(seed(), "train encoder", {client})));
  }
  BitSource bits = BitSource::from_seed(seed(), "encode", {client});
  SOTTO_CHECK(encode(lane, train, mine, /*randomized=*/true, bits, starts_[client], train_));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    train_.labels[starts_[client] + i] = lane.encoder.label(train.labels[mine[i]], bits);
  }
  if (test_parts_) {
    const auto tested = test_parts_->client(client);
    const bool randomized = recipe_.encode.test == TestRecords::kRandomized;
    BitSource test_bits = BitSource::from_seed(seed(), "encode test", {client});
    SOTTO_CHECK(encode(lane, test, tested, randomized, test_bits, test_starts_[client], test_));
    for (std::size_t i = 0; i < tested.size(); ++i) {
      test_.labels[test_starts_[client] + i] = test.labels[tested[i]];
    }
    if (plan_.network.classes == test.classes) {
      SOTTO_TRY(local_[client], lane.trainer->evaluate(test, tested, clients_.preprocess));
    }
  }
  passed();
  return {};
}

nlohmann::json Stage::record() const {
  const Recipe::Encode& encode = recipe_.encode;
  const RecordPrivacy& privacy = plan_.privacy;
  const auto number = [](double epsilon) {
    return std::isfinite(epsilon) ? nlohmann::json(epsilon) : nlohmann::json(nullptr);
  };
  const Guarantee guarantee = privacy.bits->guarantee();
  EvaluationSums sums;
  for (const EvaluationSums& local : local_) {
    sums.samples += local.samples;
    sums.correct += local.correct;
  }
  nlohmann::json accuracy = nullptr;
  if (sums.samples > 0) {
    accuracy = static_cast<double>(sums.correct) / static_cast<double>(sums.samples);
  }
  return {{"network", encode.network},
          {"trained_on", encode.epochs == 0    ? "nothing"
                         : encode.data.empty() ? "client"
                                               : encode.data},
          {"mechanism", encode.mechanism},
          {"mechanism_id", std::string(privacy.bits->id())},
          {"features", plan_.code.values},
          {"bits", plan_.code.bits()},
          {"claimed_epsilon", number(guarantee.claimed_epsilon)},
          {"exact_epsilon", number(guarantee.epsilon)},
          {"label_epsilon", number(privacy.label_epsilon())},
          {"report_epsilon", number(privacy.report_epsilon())},
          {"records_per_client", privacy.most_records},
          {"test", name_of(encode.test)},
          {"local_accuracy", accuracy}};
}

Result<EncodedClients> Stage::run(unsigned threads, const MakeFactory& make_factory) {
  const Stopwatch clock;
  SOTTO_CHECK(prepare(threads, make_factory));
  if (!recipe_.encode.data.empty() && recipe_.encode.epochs > 0) SOTTO_CHECK(train_on_public());
  SOTTO_CHECK(run_all(threads));
  std::vector<std::uint32_t> order(train_.size());
  std::iota(order.begin(), order.end(), 0U);
  Preprocess preprocess;
  preprocess.mean = {static_cast<float>(probability_of_one(*plan_.privacy.bits))};
  preprocess.deviation = {1.0F};
  return EncodedClients{{clients_.data.name, std::move(train_), std::move(test_)},
                        Partition(std::move(order), starts_),
                        std::move(preprocess),
                        {plan_.privacy, record(), clock.seconds()}};
}

}  // namespace

Result<EncodedClients> encode_clients(const Recipe& recipe, const ClientRecords& clients,
                                      const RunOptions& options, unsigned threads,
                                      const MakeFactory& make_factory) {
  return Stage(recipe, clients, options).run(threads, make_factory);
}

}  // namespace sotto
