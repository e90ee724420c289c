// What a device draws: the processor's symbols, to the last one, and frequencies that are those of
// log_prob. Every sample of the conformance suite that is a value mechanism.
#include <cuda_runtime.h>

#include "mechanism/cuda/device_mechanism.h"
#include "mechanism/cuda/device_memory.h"
#include "mechanism/mechanism_samples.h"
#include "sotto/aggregate.h"

namespace sotto {
namespace {

bool no_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) != cudaSuccess || count == 0;
}
#define SKIP_WITHOUT_DEVICE() \
  if (no_device()) GTEST_SKIP() << "no CUDA device here"

std::vector<Sample> value_samples() {
  std::vector<Sample> chosen;
  for (const Sample& sample : samples()) {
    const auto info = find_mechanism(sample.mechanism);
    if (info && (*info)->kind == MechanismKind::kValue) chosen.push_back(sample);
  }
  return chosen;
}

std::string name_of_case(const testing::TestParamInfo<Sample>& param) {
  std::string name = param.param.label;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

std::vector<Symbol> device_drawn(const std::shared_ptr<const Mechanism>& mechanism,
                                 std::span<const float> values, std::uint64_t seed) {
  auto device = DeviceMechanism::make(mechanism);
  EXPECT_TRUE(device) << (device ? "" : device.error().message);
  if (!device) return {};
  BitSource bits = BitSource::from_seed(seed, "mechanism test");
  const StreamKey key(bits);
  auto symbols = (*device)->draw(values, key);
  EXPECT_TRUE(symbols) << (symbols ? "" : symbols.error().message);
  return symbols ? *symbols : std::vector<Symbol>();
}

class Device : public testing::TestWithParam<Sample> {};

TEST_P(Device, DrawsTheSymbolsOfTheProcessor) {
  SKIP_WITHOUT_DEVICE();
  for (const std::size_t size : {1UL, 37UL, 4'096UL, 4'097UL, 300'001UL}) {
    auto made = GetParam().make(size);
    ASSERT_TRUE(made);
    const std::shared_ptr<const Mechanism> mechanism = std::move(*made);
    const std::vector<float> values = GetParam().inputs(size);
    const std::vector<Symbol> expected = drawn(*mechanism, values, size);
    const std::vector<Symbol> symbols = device_drawn(mechanism, values, size);
    ASSERT_EQ(symbols.size(), expected.size());
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(symbols[i], expected[i]) << "weight " << i << " of " << size << ": " << values[i];
    }
  }
}

TEST_P(Device, DrawsTheSymbolsOfTheProcessorAcrossTensors) {
  SKIP_WITHOUT_DEVICE();
  auto layout = std::make_shared<Layout>();
  for (const std::int64_t size : {5, 4'091, 1, 3, 9'000, 700}) {
    layout->add("t" + std::to_string(layout->tensors().size()), {size}, TensorRole::kParameter);
  }
  std::vector<Range> ranges;
  for (std::size_t t = 0; t < layout->tensors().size(); ++t) {
    ranges.push_back({GetParam().range.centre, GetParam().range.radius * (t % 2 == 0 ? 1.0 : 0.5)});
  }
  auto made = make_mechanism(GetParam().mechanism, Domain{layout, ranges}, GetParam().parameters);
  if (!made) GTEST_SKIP() << "not for half the range: " << made.error().message;
  const std::shared_ptr<const Mechanism> mechanism = std::move(*made);
  const std::vector<float> values = GetParam().inputs(layout->size());
  EXPECT_EQ(device_drawn(mechanism, values, 3), drawn(*mechanism, values, 3));
}

// As CountableConformance of the processor: false alarm 1e-6 a test.
TEST_P(Device, FrequenciesAreThoseOfLogProb) {
  SKIP_WITHOUT_DEVICE();
  auto single = GetParam().make(1);
  ASSERT_TRUE(single);
  if (GetParam().mechanism == "none" || (*single)->alphabet(0).empty()) {
    GTEST_SKIP() << "nothing to count";
  }
  auto many = GetParam().make(60'000);
  ASSERT_TRUE(many);
  const std::shared_ptr<const Mechanism> mechanism = std::move(*many);
  std::uint64_t seed = 100;
  for (const float input : spread(**single, 3)) {
    const auto symbols = device_drawn(mechanism, std::vector<float>(60'000, input), seed++);
    EXPECT_GT(frequency_p(symbols, **single, input), 1e-6) << "input " << input;
  }
}

TEST_P(Device, AddsTheReportsOfManyClients) {
  SKIP_WITHOUT_DEVICE();
  constexpr std::size_t kSize = 10'000;
  constexpr std::size_t kClients = 7;
  auto made = GetParam().make(kSize);
  ASSERT_TRUE(made);
  const std::shared_ptr<const Mechanism> mechanism = std::move(*made);
  BitSource model_bits = BitSource::from_seed(1, "model");
  std::vector<float> model(kSize);
  for (float& value : model)
    value = static_cast<float>(GetParam().range.radius * model_bits.unit());
  std::vector<float> rows;
  std::vector<StreamKey> keys;
  std::vector<std::vector<Symbol>> single;
  Aggregator expected(mechanism, 4);
  for (std::size_t c = 0; c < kClients; ++c) {
    std::vector<float> row = GetParam().inputs(kSize);
    for (std::size_t i = 0; i < kSize; ++i) row[i] *= 1.0F - 0.1F * static_cast<float>(c);
    rows.insert(rows.end(), row.begin(), row.end());
    for (std::size_t i = 0; i < kSize; ++i) row[i] -= model[i];
    BitSource here = BitSource::from_seed(c, "client");
    BitSource there = BitSource::from_seed(c, "client");
    keys.emplace_back(there);
    Report report = mechanism->perturb(
        bound(Update(mechanism->domain().layout, std::move(row)), mechanism->domain()), here);
    single.push_back(report.symbols().unpacked());
    for (const Envelope& envelope : pack(std::move(report), 4)) {
      ASSERT_TRUE(expected.accept(envelope));
    }
  }
  cuda::DeviceMemory<float> device_rows;
  cuda::DeviceMemory<float> device_model;
  ASSERT_TRUE(device_rows.copy_from(rows));
  ASSERT_TRUE(device_model.copy_from(model));
  auto device = DeviceMechanism::make(mechanism);
  ASSERT_TRUE(device);
  // In two turns, as clients that do not fit at once.
  const DeviceMechanism::Place first{device_rows.data(), device_model.data()};
  const DeviceMechanism::Place second{device_rows.data() + 4 * kSize, device_model.data()};
  ASSERT_TRUE((*device)->add({&first, 1}, std::span(keys).first(4)));
  ASSERT_TRUE((*device)->add({&second, 1}, std::span(keys).subspan(4)));
  const auto sum = (*device)->take_sum(4);
  ASSERT_TRUE(sum);
  const auto other = expected.summed();
  ASSERT_TRUE(other);
  EXPECT_EQ(sum->reports(), kClients);
  EXPECT_TRUE(std::ranges::equal(sum->sums(), other->sums()));
  const auto reports = (*device)->reports({&first, 1}, keys);
  ASSERT_TRUE(reports);
  ASSERT_EQ(reports->size(), kClients);
  for (std::size_t c = 0; c < kClients; ++c) {
    EXPECT_EQ((*reports)[c].mechanism_id(), mechanism->id());
    EXPECT_EQ((*reports)[c].symbols().unpacked(), single[c]) << "client " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Device, testing::ValuesIn(value_samples()), name_of_case);

TEST(DeviceMechanism, HasNoKernelForBitsAndOtherVectors) {
  for (const std::string_view name : {"ldp-sgd", "rappor"}) {
    const std::shared_ptr<const Mechanism> mechanism =
        made(name, {{"epsilon", 1.0}}, {0.0, 1.0}, 10);
    EXPECT_FALSE(DeviceMechanism::takes(*mechanism));
    const auto device = DeviceMechanism::make(mechanism);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().kind, ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace sotto
