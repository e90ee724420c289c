#include "bench_train.h"

#include <algorithm>

#include "base/clock.h"
#include "server/round.h"
#include "sotto/native.h"
#include "sotto/network.h"
#include "torch_trainer.h"
#include "train/torch/plain_loop.h"
#include "transport/local/client_pool.h"

namespace sotto::cli {
namespace {

/// Noise of the right shape: what is in the pixels does not change how long a step takes.
Dataset noise(SampleShape shape, std::int32_t classes, std::size_t size) {
  Dataset data;
  data.shape = shape;
  data.classes = classes;
  BitSource bits = BitSource::from_seed(0, "bench");
  std::vector<std::uint8_t> pixels(size * shape.size());
  bits.fill(std::as_writable_bytes(std::span(pixels)));
  data.values = std::move(pixels);
  for (std::size_t i = 0; i < size; ++i) {
    data.labels.push_back(
        static_cast<std::int32_t>(bits.below(static_cast<std::uint64_t>(classes))));
  }
  return data;
}

struct RoundTime {
  double seconds = 0.0;
  double overhead = 0.0;
};

Result<RoundTime> time_round(ClientPool& transport, const RoundPlan& plan,
                             std::span<const float> model) {
  transport.take_times();
  const Stopwatch clock;
  SOTTO_TRY(const CollectedRound collected, collect_round(transport, plan, model));
  RoundTime time;
  time.seconds = clock.seconds();
  const ClientPool::Times times = transport.take_times();
  const double engine = times.engine + collected.merge_seconds;
  time.overhead = engine / (times.train + engine);
  return time;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::vector<TrainBench> default_train_benches() {
  return {{"srr-mnist", 10, 600},    {"srr-mnist", 16, 600},     {"srr-mnist", 64, 600},
          {"mlp(200)", 10, 600},     {"linear", 16, 600},        {"ldp-fed", 64, 1200},
          {"srr-cifar", 64, 500, 4}, {"srr-medical", 64, 530, 4}};
}

Result<TrainBenchResult> bench_train(const TrainBench& bench, unsigned threads, unsigned turns) {
  SampleShape input{1, 28, 28};
  std::int64_t classes = 10;
  for (const NetworkInfo& info : networks()) {
    if (info.name == bench.model) {
      input = info.input;
      classes = info.classes;
    }
  }
  TrainerRequest request;
  SOTTO_TRY(request.network, find_network(bench.model, input, classes));
  request.input = input;
  request.classes = classes;
  request.engine = bench.engine;
  SOTTO_TRY(const auto factory, choose_engine(request, torch_trainer()));
  Preprocess preprocess;
  preprocess.mean = {0.5F};
  preprocess.deviation = {0.5F};
  TrainOptions options;
  options.learning_rate = 0.01;
  options.momentum = 0.5;
  options.batch_size = bench.batch_size;

  const std::size_t clients = bench.clients;
  const Dataset data = noise(input, static_cast<std::int32_t>(classes), clients * bench.samples);
  SOTTO_TRY(const Partition partition, make_partition(data, "iid", clients, 0));
  std::vector<std::uint32_t> order;
  for (std::size_t c = 0; c < clients; ++c) {
    order.insert(order.end(), partition.client(c).begin(), partition.client(c).end());
  }
  SOTTO_TRY(const auto plain, make_plain_loop(request.network, data, preprocess, options));

  Domain domain;
  domain.layout = std::make_shared<const Layout>(factory->layout());
  domain.ranges.assign(domain.layout->tensors().size(), Range{0.0, 1.0});
  RoundPlan plan;
  plan.round = 1;
  ClientGroup group;
  for (std::size_t c = 0; c < clients; ++c) group.clients.push_back(static_cast<std::uint32_t>(c));
  Part part;
  for (std::size_t t = 0; t < domain.ranges.size(); ++t) part.tensors.push_back(t);
  SOTTO_TRY(part.mechanism, make_mechanism("none", std::move(domain)));
  group.parts.push_back(std::move(part));
  plan.groups.push_back(std::move(group));
  const std::vector<float> model = factory->initial_weights(0);
  const auto layout = std::make_shared<const Layout>(factory->layout());
  SOTTO_TRY(const auto one_trainer, TrainerPool::make(*factory, 1));
  SOTTO_TRY(const auto trainers, TrainerPool::make(*factory, threads));
  const ClientSettings settings{&data, preprocess, options};
  ClientPool one(settings, partition, 0, layout, *one_trainer);
  ClientPool many(settings, partition, 0, layout, *trainers);

  // Gradients of single samples, clipped; noise would cost the same whatever computes them.
  TrainOptions clipped = options;
  clipped.clip = 1.0;
  const bool clips = check_private(factory->layout()).has_value();
  ClientPool one_private({&data, preprocess, clipped}, partition, 0, layout, *one_trainer);

  std::vector<double> plain_seconds;
  std::vector<double> one_seconds;
  std::vector<double> many_seconds;
  std::vector<double> overheads;
  std::vector<double> private_costs;
  // Caches and kernels warm up on two batches.
  SOTTO_CHECK(plain->run(std::span(order).first(
      std::min<std::size_t>(order.size(), std::size_t{2} * bench.batch_size))));
  for (unsigned turn = 0; turn < turns; ++turn) {
    SOTTO_TRY(const double plain_time, plain->run(order));
    SOTTO_TRY(const RoundTime one_time, time_round(one, plan, model));
    SOTTO_TRY(const RoundTime many_time, time_round(many, plan, model));
    plain_seconds.push_back(plain_time);
    one_seconds.push_back(one_time.seconds);
    many_seconds.push_back(many_time.seconds);
    if (clips) {
      SOTTO_TRY(const RoundTime private_time, time_round(one_private, plan, model));
      private_costs.push_back(private_time.seconds / one_time.seconds);
    }
    overheads.push_back(many_time.overhead);
  }
  const auto samples = static_cast<double>(order.size());
  TrainBenchResult result;
  result.what = bench;
  result.parameters = factory->layout().parameter_count();
  result.threads = threads;
  result.plain_samples_per_second = samples / median(plain_seconds);
  result.one_thread_samples_per_second = samples / median(one_seconds);
  result.samples_per_second = samples / median(many_seconds);
  result.engine_overhead = median(overheads);
  result.engine = factory->version();
  result.floor_samples_per_second = measured_flops() / training_flops(request.network);
  if (clips) result.private_cost = median(private_costs);
  return result;
}

}  // namespace sotto::cli
