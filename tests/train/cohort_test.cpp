// Clients side by side: each ends where it would have ended alone.
#include <gtest/gtest.h>

#include <numeric>

#include "halves.h"
#include "train/torch/torch_cohort.h"

namespace sotto {
namespace {

constexpr std::size_t kClients = 3;

struct Setting {
  std::string network;
  Optimizer optimizer;
  double rate;
  double momentum;
  double weight_decay;
  Preprocess preprocess = {};
  std::optional<std::size_t> dropout_at = {};
};

const Preprocess kAugmented = {.mean = {},
                               .deviation = {},
                               .resize = {},
                               .crop_padding = 1,
                               .flip = true,
                               .rotation_degrees = 10.0F};

// A grey channel that is enlarged and becomes three, each normalised in its own way.
const Preprocess kEnlarged = {.mean = {0.1F, 0.2F, 0.3F},
                              .deviation = {0.5F, 0.6F, 0.7F},
                              .resize = SampleShape{3, 12, 10},
                              .crop_padding = 1,
                              .flip = true,
                              .rotation_degrees = 10.0F};

class Cohort : public testing::TestWithParam<Setting> {};

/// Two rounds from one model, optimizer and buffers kept: alone by the trainer, and together.
TEST_P(Cohort, EndsWhereEachClientWouldHaveEndedAlone) {
  const Setting setting = GetParam();
  const Dataset data = halves(3 * 50);
  TrainerRequest request;
  request.network = *find_network(setting.network, output_shape(data, setting.preprocess), 2);
  if (setting.dropout_at) {
    request.network.layers.insert(
        request.network.layers.begin() + static_cast<std::ptrdiff_t>(*setting.dropout_at),
        {.kind = LayerKind::kDropout, .rate = 0.25});
  }
  request.input = output_shape(data, setting.preprocess);
  request.classes = 2;
  request.engine = Engine::kTorch;
  const auto factory = *make_torch_factory(request);
  const Layout& layout = factory->layout();
  const std::vector<float> model = factory->initial_weights(1);
  TrainOptions options;
  options.optimizer = setting.optimizer;
  options.learning_rate = setting.rate;
  options.momentum = setting.momentum;
  options.weight_decay = setting.weight_decay;
  options.batch_size = 16;  // the last batch of 50 has two
  options.epochs = 2;

  TorchCohort cohort(request.network, kClients, torch::kCPU);
  TorchSamples samples(data, setting.preprocess, torch::kCPU, 2);
  const torch::Tensor start = torch::tensor(model);
  std::vector<std::vector<float>> buffers(kClients);
  std::vector<std::vector<float>> states(kClients);
  std::vector<std::vector<float>> alone_states(kClients);
  std::vector<std::vector<float>> alone(kClients, model);
  for (std::uint64_t round = 0; round < 2; ++round) {
    std::vector<std::vector<std::uint32_t>> orders;
    std::vector<BitSource> sources;
    std::vector<BitSource*> bits;
    for (std::size_t c = 0; c < kClients; ++c) {
      std::vector<std::uint32_t> own(50);
      std::iota(own.begin(), own.end(), static_cast<std::uint32_t>(50 * c));
      auto trainer = *factory->make();
      // The model, with the client's own buffers.
      std::vector<float> begin = model;
      for (const TensorSpec& tensor : layout.tensors()) {
        if (tensor.role != TensorRole::kBuffer) continue;
        std::copy_n(alone[c].begin() + static_cast<std::ptrdiff_t>(tensor.offset), tensor.size,
                    begin.begin() + static_cast<std::ptrdiff_t>(tensor.offset));
      }
      ASSERT_TRUE(trainer->load(begin));
      trainer->set_optimizer_state(alone_states[c]);
      ASSERT_TRUE(trainer->train(data, own, setting.preprocess, options,
                                 BitSource::from_seed(c, "train", {round})));
      ASSERT_TRUE(trainer->store(alone[c]));
      alone_states[c] = trainer->optimizer_state();
      orders.push_back(own);
      sources.push_back(BitSource::from_seed(c, "train", {round}));
    }
    for (BitSource& source : sources) bits.push_back(&source);
    cohort.load(start);
    std::vector<std::span<const float>> kept;
    for (std::size_t c = 0; round > 0 && c < kClients; ++c) {
      cohort.set_buffers(c, buffers[c]);
      kept.emplace_back(states[c]);
    }
    cohort.train(samples, orders, bits, options, kept);
    states = cohort.optimizer_states();
    for (std::size_t c = 0; c < kClients; ++c) buffers[c] = cohort.buffers(c);
  }
  for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
    const TensorSpec& tensor = layout.tensors()[t];
    const torch::Tensor rows = cohort.rows(t);
    ASSERT_EQ(rows.numel(), static_cast<std::int64_t>(kClients * tensor.size));
    const float* const values = rows.data_ptr<float>();
    for (std::size_t c = 0; c < kClients; ++c) {
      for (std::size_t i = 0; i < tensor.size; ++i) {
        ASSERT_NEAR(values[c * tensor.size + i], alone[c][tensor.offset + i], 2e-4)
            << tensor.name << ' ' << i << " of client " << c;
      }
    }
  }
  for (std::size_t c = 0; c < kClients; ++c) {
    ASSERT_EQ(states[c].size(), alone_states[c].size());
    EXPECT_EQ(states[c][0], alone_states[c][0]);
    for (std::size_t i = 1; i < states[c].size(); ++i) {
      ASSERT_NEAR(states[c][i], alone_states[c][i], 2e-3) << i << " of client " << c;
    }
  }
}

// Batch norm of few samples makes much of the last bits, hence the small steps there.
INSTANTIATE_TEST_SUITE_P(
    All, Cohort,
    testing::Values(Setting{"linear", Optimizer::kSgd, 0.05, 0.0, 0.0},
                    Setting{"mlp(16)", Optimizer::kSgd, 0.05, 0.5, 0.01},
                    Setting{"srr-mnist", Optimizer::kSgd, 0.05, 0.5, 0.0},
                    Setting{"srr-mnist", Optimizer::kRmsprop, 0.003, 0.0, 0.0},
                    Setting{"ldp-fed", Optimizer::kSgd, 0.002, 0.5, 0.0},
                    Setting{"ldp-fed-gn", Optimizer::kSgd, 0.002, 0.5, 0.0},
                    // Augmented; dropout of images and of features.
                    Setting{"srr-mnist", Optimizer::kSgd, 0.05, 0.5, 0.0, kAugmented},
                    Setting{"srr-mnist", Optimizer::kSgd, 0.05, 0.5, 0.0, kAugmented, 2},
                    Setting{"srr-mnist", Optimizer::kSgd, 0.05, 0.5, 0.0, kEnlarged},
                    Setting{"mlp(16)", Optimizer::kSgd, 0.05, 0.0, 0.0, {}, 3}),
    [](const auto& given) { return std::string("n").append(std::to_string(given.index)); });

TEST(Cohort, ABatchOfOtherClientsHasItsOwnShape) {
  const Dataset data = halves(50);
  TorchSamples samples(data, kAugmented, torch::kCPU, 1);
  // As many samples in all, over two clients and over three.
  for (const std::int64_t clients : {2, 3}) {
    const std::int64_t each = 12 / clients;
    std::vector<std::vector<std::uint32_t>> orders;
    std::vector<BitSource> sources;
    std::vector<BitSource*> bits;
    for (std::int64_t c = 0; c < clients; ++c) {
      orders.emplace_back(static_cast<std::size_t>(each));
      std::iota(orders.back().begin(), orders.back().end(), static_cast<std::uint32_t>(c * each));
      sources.push_back(BitSource::from_seed(static_cast<std::uint64_t>(c), "train"));
    }
    for (BitSource& source : sources) bits.push_back(&source);
    samples.begin_epoch(orders);
    const auto [values, labels] = samples.batch(0, static_cast<std::size_t>(each), bits);
    ASSERT_EQ(values.sizes(),
              torch::IntArrayRef({each, clients, data.shape.height, data.shape.width}));
    ASSERT_EQ(labels.sizes(), torch::IntArrayRef({clients, each}));
    for (std::int64_t c = 0; c < clients; ++c) {
      for (std::int64_t i = 0; i < each; ++i) {
        EXPECT_EQ(labels[c][i].item<std::int64_t>(),
                  data.labels[static_cast<std::size_t>(c * each + i)]);
      }
    }
  }
}

TEST(Cohort, CountsWhatLayersKeep) {
  // 64 inputs, flattened, 16 hidden, their relu, 2 scores.
  EXPECT_EQ(activation_count(*find_network("mlp(16)", {1, 8, 8}, 2)), 64U + 64 + 16 + 16 + 2);
  // 28x28 inputs; 9 values around each pixel, 16 channels, their relu, pooled; 144 around each ...
  EXPECT_EQ(activation_count(*find_network("srr-mnist", {1, 28, 28}, 10)),
            784U * (1 + 9 + 16 + 16) + 196U * (16 + 144 + 32 + 32) + 49U * (32 + 32) + 10);
}

}  // namespace
}  // namespace sotto
