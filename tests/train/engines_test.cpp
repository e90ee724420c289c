// The two engines against each other: gradients on random networks, training, DP-SGD; and what the
// native one promises by itself: no allocation in a step, the same bits on any thread.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <numeric>
#include <thread>

#include "halves.h"
#include "sotto/native.h"
#include "sotto/trainer.h"
#include "train/native/shapes.h"

namespace {
std::atomic<std::uint64_t> allocations = 0;
void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* const memory =
      alignment > 16 ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                     : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t size) { return counted(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*a*/) noexcept {
  std::free(memory);
}

namespace sotto {
namespace {

constexpr std::int64_t kClasses = 5;

Dataset samples(SampleShape shape, std::size_t count) {
  Dataset data;
  data.shape = shape;
  data.classes = kClasses;
  BitSource bits = BitSource::from_seed(7, "engines");
  std::vector<float> values(count * shape.size());
  for (float& value : values) value = static_cast<float>(bits.normal());
  data.values = std::move(values);
  for (std::size_t i = 0; i < count; ++i) {
    data.labels.push_back(static_cast<std::int32_t>(bits.below(kClasses)));
  }
  return data;
}

std::vector<std::uint32_t> all_of(const Dataset& data) {
  std::vector<std::uint32_t> indices(data.size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

/// Any mixture of layers that the engine knows, for small images.
Network random_network(BitSource& bits, SampleShape input, bool norms) {
  Network network;
  network.name = "random";
  network.input = input;
  network.classes = kClasses;
  std::int64_t channels = input.channels;
  std::int64_t side = input.height;
  const auto maybe = [&](Layer layer) {
    if (bits.below(2) == 0) network.layers.push_back(layer);
  };
  const auto between = [&](bool spatial) {
    if (spatial && bits.below(2) == 0) {
      // Any number of groups that divides the channels.
      auto groups = static_cast<std::int64_t>(1 + bits.below(static_cast<std::uint64_t>(channels)));
      while (channels % groups != 0) --groups;
      network.layers.push_back({.kind = LayerKind::kGroupNorm, .out = channels, .groups = groups});
    } else if (norms) {
      maybe({.kind = LayerKind::kBatchNorm, .out = channels, .spatial = spatial});
    }
    maybe({.kind = LayerKind::kRelu});
    maybe({.kind = LayerKind::kDropout, .rate = 0.25});
  };
  const std::uint64_t convolutions = bits.below(3);
  for (std::uint64_t i = 0; i < convolutions; ++i) {
    const auto kernel = static_cast<std::int64_t>(1 + bits.below(5));
    const auto padding = static_cast<std::int64_t>(bits.below(static_cast<std::uint64_t>(kernel)));
    if (side + 2 * padding - kernel + 1 < 2) continue;
    const auto out = static_cast<std::int64_t>(1 + bits.below(40));
    network.layers.push_back({.kind = LayerKind::kConv,
                              .in = channels,
                              .out = out,
                              .kernel = kernel,
                              .padding = padding});
    channels = out;
    side += 2 * padding - kernel + 1;
    between(true);
    if (side >= 4 && bits.below(3) > 0) {
      const auto window = static_cast<std::int64_t>(2 + bits.below(2));
      network.layers.push_back({.kind = LayerKind::kMaxPool, .kernel = window});
      side /= window;
      if (bits.below(3) == 0) between(true);
    }
  }
  network.layers.push_back({.kind = LayerKind::kFlatten});
  channels *= side * side;
  if (bits.below(3) == 0) between(false);
  const std::uint64_t hidden = bits.below(3);
  for (std::uint64_t i = 0; i < hidden; ++i) {
    const auto out = static_cast<std::int64_t>(1 + bits.below(50));
    network.layers.push_back({.kind = LayerKind::kLinear, .in = channels, .out = out});
    channels = out;
    between(false);
  }
  network.layers.push_back({.kind = LayerKind::kLinear, .in = channels, .out = kClasses});
  return network;
}

struct Engines {
  std::shared_ptr<const TrainerFactory> torch, native;
};
Engines engines_of(const Network& network) {
  TrainerRequest request;
  request.network = network;
  request.input = network.input;
  request.classes = network.classes;
  return {*make_torch_factory(request), *make_native_factory(request)};
}

std::vector<float> gradient_by(const TrainerFactory& factory, const std::vector<float>& weights,
                               const Dataset& data) {
  auto trainer = *factory.make();
  EXPECT_TRUE(trainer->load(weights));
  std::vector<float> gradient(weights.size(), 3.0F);
  EXPECT_TRUE(trainer->gradient(data, all_of(data), {}, gradient));
  return gradient;
}

std::vector<float> trained_by(const TrainerFactory& factory, const std::vector<float>& weights,
                              const Dataset& data, const TrainOptions& options) {
  auto trainer = *factory.make();
  EXPECT_TRUE(trainer->load(weights));
  const auto done =
      trainer->train(data, all_of(data), {}, options, BitSource::from_seed(5, "train"));
  EXPECT_TRUE(done) << done.error().message;
  std::vector<float> end(weights.size());
  EXPECT_TRUE(trainer->store(end));
  return end;
}

double norm_of(std::span<const float> a, std::span<const float> b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    square += difference * difference;
  }
  return std::sqrt(square);
}

/// Largest relative difference of any tensor's part; one smaller than `least` of all is measured by
/// that: before a norm, gradients cancel down to rounding.
double difference(const Layout& layout, std::span<const float> expected,
                  std::span<const float> found, double least) {
  const std::vector<float> zeros(expected.size());
  const double whole = norm_of(expected, zeros);
  double worst = 0.0;
  for (const TensorSpec& tensor : layout.tensors()) {
    const auto part = [&](std::span<const float> all) {
      return all.subspan(tensor.offset, tensor.size);
    };
    const double size = norm_of(part(expected), part(zeros));
    const double off = norm_of(part(expected), part(found));
    worst = std::max(worst, off / std::max(size, least * whole));
  }
  return worst;
}

/// The gradient, and one step of rate 1, which moves the weights by that of training, where batch
/// norm goes by the batch.
void expect_same_gradients(const Network& network, BitSource& bits) {
  SCOPED_TRACE(network.describe());
  const Engines engines = engines_of(network);
  const Dataset data = samples(network.input, 1 + bits.below(40));
  const std::vector<float> start = engines.torch->initial_weights(bits.below(1000));
  ASSERT_EQ(engines.native->initial_weights(3), engines.torch->initial_weights(3));
  EXPECT_LT(difference(network.layout(), gradient_by(*engines.torch, start, data),
                       gradient_by(*engines.native, start, data), 1e-2),
            1e-4);
  TrainOptions once;
  once.learning_rate = 1.0;
  once.batch_size = 64;
  std::vector<float> expected = trained_by(*engines.torch, start, data, once);
  std::vector<float> found = trained_by(*engines.native, start, data, once);
  for (std::size_t at = 0; at < start.size(); ++at) {
    expected[at] -= start[at];
    found[at] -= start[at];
  }
  // The difference of two weights of size 1 is not told better than to 1e-7.
  EXPECT_LT(difference(network.layout(), expected, found, 0.1), 1e-3);
}

TEST(Engines, GradientsOfRandomNetworksAgree) {
  BitSource bits = BitSource::from_seed(21, "networks");
  int convolutional = 0;
  for (int i = 0; i < 60; ++i) {
    const SampleShape shape{static_cast<std::uint32_t>(1 + 2 * bits.below(2)), 9, 9};
    const Network network = random_network(bits, shape, i % 2 == 0);
    expect_same_gradients(network, bits);
    convolutional += network.layers.front().kind == LayerKind::kConv ? 1 : 0;
  }
  EXPECT_GT(convolutional, 20);
}

/// Convolutions of 3 by 3, most of them over many channels and an even number of lines and pixels,
/// with batch norms or with ReLUs and pools or with nothing between them.
enum class Between { kNothing, kNorms, kBends };
Network random_tiled_network(BitSource& bits, SampleShape input, Between between) {
  Network network;
  network.name = "tiled";
  network.input = input;
  network.classes = kClasses;
  std::int64_t channels = input.channels;
  std::int64_t height = input.height;
  std::int64_t width = input.width;
  const std::uint64_t convolutions = 2 + bits.below(2);
  for (std::uint64_t i = 0; i < convolutions; ++i) {
    const auto out = static_cast<std::int64_t>(16 + bits.below(25));
    const std::int64_t padding = bits.below(2) == 0 ? 1 : static_cast<std::int64_t>(bits.below(3));
    network.layers.push_back(
        {.kind = LayerKind::kConv, .in = channels, .out = out, .kernel = 3, .padding = padding});
    channels = out;
    height += 2 * padding - 2;
    width += 2 * padding - 2;
    if (between == Between::kNorms && bits.below(3) > 0) {
      network.layers.push_back({.kind = LayerKind::kBatchNorm, .out = channels, .spatial = true});
    } else if (between == Between::kBends && bits.below(3) > 0) {
      network.layers.push_back({.kind = LayerKind::kRelu});
      if (height >= 16 && width >= 16 && bits.below(2) == 0) {
        network.layers.push_back({.kind = LayerKind::kMaxPool, .kernel = 2});
        height /= 2;
        width /= 2;
      }
    }
  }
  network.layers.push_back({.kind = LayerKind::kFlatten});
  network.layers.push_back(
      {.kind = LayerKind::kLinear, .in = channels * height * width, .out = kClasses});
  return network;
}

/// A ReLU whose input is 0 but for rounding may pass a signal in one engine and stop it in the
/// other, so the gradient of one sample may differ.
void expect_same_gradients_but_one(const Network& network, BitSource& bits) {
  SCOPED_TRACE(network.describe());
  const Engines engines = engines_of(network);
  const std::vector<float> start = engines.torch->initial_weights(bits.below(1000));
  constexpr std::size_t kSamples = 6;
  const Dataset data = samples(network.input, kSamples);
  auto torch = *engines.torch->make();
  auto native = *engines.native->make();
  ASSERT_TRUE(torch->load(start));
  ASSERT_TRUE(native->load(start));
  std::vector<float> expected(start.size());
  std::vector<float> found(start.size());
  const auto off = [&](std::span<const std::uint32_t> indices) {
    EXPECT_TRUE(torch->gradient(data, indices, {}, expected));
    EXPECT_TRUE(native->gradient(data, indices, {}, found));
    return difference(network.layout(), expected, found, 1e-2);
  };
  std::vector<std::uint32_t> agreed;
  for (std::uint32_t n = 0; n < kSamples; ++n) {
    if (off(std::span(&n, 1)) < 1e-4) agreed.push_back(n);
  }
  EXPECT_GE(agreed.size() + 1, kSamples);
  EXPECT_LT(off(agreed), 1e-4);
}

TEST(Engines, GradientsAgreeByTilesAndBeside) {
  BitSource bits = BitSource::from_seed(23, "networks");
  int tiled[3] = {};  // by padding
  int direct = 0;
  for (int i = 0; i < 30; ++i) {
    const auto side = [&] {
      return static_cast<std::uint32_t>(8 + 2 * bits.below(5) + (bits.below(5) == 0 ? 1 : 0));
    };
    const SampleShape shape{bits.below(2) == 0 ? 1U : 3U, side(), side()};
    const bool bends = i % 2 == 0;
    const Network network =
        random_tiled_network(bits, shape, bends ? Between::kBends : Between::kNorms);
    if (bends) {
      expect_same_gradients_but_one(network, bits);
    } else {
      expect_same_gradients(network, bits);
    }
    // The first one reads samples without alignment, never by tiles.
    const native::Chain chain = native::make_chain(network);
    EXPECT_FALSE(chain.operations.front().tiled);
    for (std::size_t o = 1; o < chain.operations.size(); ++o) {
      const native::Operation& operation = chain.operations[o];
      if (operation.layer.kind != LayerKind::kConv) continue;
      ++(operation.tiled ? tiled[operation.layer.padding] : direct);
    }
  }
  for (const int count : tiled) EXPECT_GT(count, 2);
  EXPECT_GT(direct, 8);
}

/// Its second convolution goes by tiles.
Network tiled_network(SampleShape input) {
  const auto pixels = static_cast<std::int64_t>(input.height / 2 * (input.width / 2));
  Network network;
  network.name = "tiled";
  network.input = input;
  network.classes = 2;
  network.layers = {
      {.kind = LayerKind::kConv, .in = 1, .out = 16, .kernel = 3, .padding = 1},
      {.kind = LayerKind::kRelu},
      {.kind = LayerKind::kConv, .in = 16, .out = 32, .kernel = 3, .padding = 1},
      {.kind = LayerKind::kRelu},
      {.kind = LayerKind::kMaxPool, .kernel = 2},
      {.kind = LayerKind::kFlatten},
      {.kind = LayerKind::kLinear, .in = 32 * pixels, .out = 2},
  };
  return network;
}

TEST(Engines, TrainAlikeWithEveryOptimizer) {
  const Dataset data = halves(100);
  std::vector<Network> networks = {tiled_network(data.shape)};
  for (const char* const name : {"mlp(20)", "srr-mnist", "ldp-fed", "ldp-fed-gn"}) {
    networks.push_back(*find_network(name, data.shape, 2));
  }
  for (const Network& network : networks) {
    const Engines engines = engines_of(network);
    const std::vector<float> start = engines.torch->initial_weights(2);
    for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kAdam, Optimizer::kRmsprop}) {
      TrainOptions options;
      options.optimizer = optimizer;
      options.learning_rate = optimizer == Optimizer::kSgd ? 0.05 : 0.001;
      options.momentum = optimizer == Optimizer::kSgd ? 0.5 : 0.0;
      options.weight_decay = 0.01;
      options.rate_decay = 0.1;
      options.batch_size = 16;  // the last batch is smaller
      options.epochs = 2;
      const auto expected = trained_by(*engines.torch, start, data, options);
      const auto found = trained_by(*engines.native, start, data, options);
      EXPECT_LT(norm_of(expected, found), 0.02 * norm_of(expected, start))
          << network.name << ' ' << static_cast<int>(optimizer);
      auto torch = *engines.torch->make();
      auto native = *engines.native->make();
      ASSERT_TRUE(torch->load(expected));
      ASSERT_TRUE(native->load(expected));
      const auto by_torch = torch->evaluate(data, all_of(data), {});
      const auto by_native = native->evaluate(data, all_of(data), {});
      EXPECT_EQ(by_native->correct, by_torch->correct);
      EXPECT_NEAR(by_native->loss, by_torch->loss, 1e-3 * by_torch->loss + 1e-4);
    }
  }
}

/// Optimizers that go on: the state of one engine serves the other.
TEST(Engines, OptimizerStatesAreInterchangeable) {
  const Dataset data = halves(40);
  const Engines engines = engines_of(*find_network("srr-mnist", data.shape, 2));
  TrainOptions options;
  options.optimizer = Optimizer::kAdam;
  options.learning_rate = 0.001;
  const std::vector<float> start = engines.torch->initial_weights(2);
  auto torch = *engines.torch->make();
  auto native = *engines.native->make();
  for (Trainer* const trainer : {torch.get(), native.get()}) {
    ASSERT_TRUE(trainer->load(start));
    ASSERT_TRUE(trainer->train(data, all_of(data), {}, options, BitSource::from_seed(1, "first")));
  }
  const std::vector<float> expected = torch->optimizer_state();
  const std::vector<float> found = native->optimizer_state();
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(found[0], expected[0]);
  const std::vector<float> zeros(expected.size());
  EXPECT_LT(norm_of(expected, found), 0.01 * norm_of(expected, zeros));
  native->set_optimizer_state(expected);
  options.epochs = 0;
  ASSERT_TRUE(native->train(data, all_of(data), {}, options, BitSource::from_seed(1, "none")));
  EXPECT_EQ(native->optimizer_state(), expected);
}

/// The same noise to the bit, on sums that agree: one sample's gradient after the other against all
/// in one pass.
TEST(Engines, TrainPrivatelyAlike) {
  BitSource bits = BitSource::from_seed(22, "networks");
  for (int i = 0; i < 12; ++i) {
    const bool tiled = i % 4 == 3;
    const SampleShape shape{1, tiled ? 10U : 9U, tiled ? 10U : 9U};
    const Network network = tiled ? random_tiled_network(bits, shape, Between::kNothing)
                                  : random_network(bits, shape, false);
    SCOPED_TRACE(network.describe());
    const Engines engines = engines_of(network);
    ASSERT_TRUE(engines.native->trains_privately());
    const Dataset data = samples(shape, 50);
    const std::vector<float> start = engines.torch->initial_weights(4);
    for (const double noise : {0.0, 1.5}) {
      TrainOptions options;
      options.clip = 0.3;
      options.noise = noise;
      options.rounds_noise = false;  // a sum near the middle may round either way
      options.batch_size = 40;
      options.learning_rate = 0.5;
      const auto expected = trained_by(*engines.torch, start, data, options);
      // The native engine keeps a share of the clip, 1.3e-4 here, for what its sums round.
      EXPECT_LT(norm_of(expected, trained_by(*engines.native, start, data, options)),
                3e-4 * norm_of(expected, start));
    }
  }
}

struct Sided {
  const char* name;
  std::uint32_t side;
};
// At 16 by 16, the second convolution goes by tiles.
constexpr Sided kSided[] = {{"srr-mnist", 9}, {"srr-mnist", 16}, {"mlp(20)", 9}};

/// A sample that is not finite adds nothing, and the others are as they would be without it.
TEST(Engines, ASampleThatIsNotFiniteAddsNothing) {
  for (const Sided& each : kSided) {
    const char* const name = each.name;
    const SampleShape shape{1, each.side, each.side};
    const Engines engines = engines_of(*find_network(name, shape, kClasses));
    const std::vector<float> start = engines.native->initial_weights(4);
    const auto step = [&](float first_value) {
      Dataset data = samples(shape, 40);
      std::get<std::vector<float>>(data.values)[0] = first_value;
      TrainOptions options;
      options.clip = 0.1;
      options.batch_size = 40;
      options.learning_rate = 40.0;
      return trained_by(*engines.native, start, data, options);
    };
    const auto with = step(0.5F);
    for (const float wrong :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38F}) {
      const auto without = step(wrong);
      EXPECT_LE(norm_of(with, without), 0.2 * (1.0 + 1e-5)) << name << ' ' << wrong;
      EXPECT_GT(norm_of(with, without), 0.01) << name << ' ' << wrong;
    }
  }
}

/// Who else is in the batch never shows in a sample's gradient: the step of two samples is, but for
/// the last bits of the sum, what each adds by itself.
TEST(Engines, AStepOfOneSampleLessDiffersByThatSampleAlone) {
  for (const Sided& each : kSided) {
    const char* const name = each.name;
    const SampleShape shape{1, each.side, each.side};
    const Dataset data = samples(shape, 40);
    const Engines engines = engines_of(*find_network(name, shape, kClasses));
    auto trainer = *engines.native->make();
    const std::vector<float> start(engines.native->layout().size(), 0.0F);
    const std::vector<float> weights = engines.native->initial_weights(4);
    const auto step = [&](std::span<const std::uint32_t> indices) {
      TrainOptions options;
      options.clip = 1e-3;
      options.batch_size = static_cast<std::uint32_t>(indices.size());
      options.learning_rate = 0x1p14 * static_cast<double>(indices.size());
      EXPECT_TRUE(trainer->load(weights));
      EXPECT_TRUE(trainer->train(data, indices, {}, options, BitSource::from_seed(1, "lot")));
      std::vector<float> end(weights.size());
      EXPECT_TRUE(trainer->store(end));
      return end;
    };
    const auto all = all_of(data);
    const auto whole = step(all);
    const auto less = step(std::span(all).first(39));
    const auto alone = step(std::span(all).last(1));
    double square = 0.0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const double moved = double{whole[i]} - double{less[i]};
      // What is kept of the clip for rounding depends on the size of a lot.
      const double expected = double{alone[i]} - double{weights[i]};
      EXPECT_NEAR(moved, expected, 1e-5 + 2e-4 * std::abs(expected));
      square += moved * moved;
    }
    EXPECT_LE(std::sqrt(square), 0x1p14 * 1e-3 * (1.0 + 1e-5)) << name;
  }
}

TEST(Engines, NativeGivesTheSameBitsOnEveryThread) {
  for (const char* const name : {"ldp-fed", "srr-cifar"}) {
    const Dataset data = halves(64);
    const Engines engines = engines_of(*find_network(name, data.shape, 2));
    const std::vector<float> start = engines.native->initial_weights(2);
    TrainOptions options;
    options.momentum = 0.9;
    const auto first = trained_by(*engines.native, start, data, options);
    std::vector<float> others[2];
    {
      std::vector<std::jthread> threads;
      for (auto& weights : others) {
        threads.emplace_back([&] { weights = trained_by(*engines.native, start, data, options); });
      }
    }
    for (const auto& weights : others) EXPECT_EQ(weights, first) << name;
  }
}

TEST(Engines, NativeAllocatesNothingForAStep) {
  const Dataset data = halves(64);
  for (const char* const name : {"mlp(20)", "ldp-fed", "srr-cifar"}) {
    const Engines engines = engines_of(*find_network(name, data.shape, 2));
    auto trainer = *engines.native->make();
    ASSERT_TRUE(trainer->load(engines.native->initial_weights(2)));
    const auto indices = all_of(data);
    const auto allocated = [&](std::uint32_t epochs) {
      TrainOptions options;
      options.optimizer = Optimizer::kAdam;
      options.epochs = epochs;
      const std::uint64_t before = allocations;
      EXPECT_TRUE(trainer->train(data, indices, {}, options, BitSource::from_seed(1, "train")));
      return allocations - before;
    };
    allocated(1);
    // Four steps or twenty: the draws themselves hold a buffer, made for a call.
    EXPECT_EQ(allocated(5), allocated(1)) << name;
    EXPECT_LE(allocated(5), 4U) << name;
  }
}

TEST(Engines, ARequestNamesItsEngine) {
  TrainerRequest request;
  request.network = *find_network("mlp(4)", {1, 8, 8}, 2);
  request.input = {1, 8, 8};
  request.classes = 2;
  const auto version = [&](Engine engine) {
    request.engine = engine;
    const auto made = choose_engine(request, make_torch_factory);
    return made ? (*made)->version() : made.error().message;
  };
  // A native one asks for LibTorch when it saves a model, not before.
  const auto lazy = choose_engine(request, [](const TrainerRequest& asked) {
    return Result<std::shared_ptr<const TrainerFactory>>(
        fail(ErrorKind::kNotFound, "asked for " + asked.network.name));
  });
  ASSERT_TRUE(lazy);
  const auto saved = (*lazy)->save((*lazy)->initial_weights(1), "unwritten.pt");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().message, "asked for mlp(4)");
  EXPECT_EQ(version(Engine::kAuto), "native, CPU");
  EXPECT_EQ(version(Engine::kNative), "native, CPU");
  EXPECT_NE(version(Engine::kTorch).find("LibTorch"), std::string::npos);
  EXPECT_FALSE(choose_engine(request, nullptr));
  // A convolution wider than its filter needs is not one that the native engine turns round.
  request.network.layers.insert(
      request.network.layers.begin(),
      {.kind = LayerKind::kConv, .in = 1, .out = 1, .kernel = 1, .padding = 1});
  EXPECT_NE(version(Engine::kNative).find("conv 1->1 1x1 pad 1"), std::string::npos);
  EXPECT_NE(version(Engine::kAuto).find("LibTorch"), std::string::npos);
}

}  // namespace
}  // namespace sotto
