// privunit on a device: the processor's reports, to the last symbol, whatever the vector; also
// those that doubles leave undecided.
#include <cuda_runtime.h>

#include <limits>

#include "bound/fill_ball.h"
#include "mechanism/cuda/device_mechanism.h"
#include "mechanism/cuda/device_memory.h"
#include "mechanism/mechanism_samples.h"
#include "mechanism/privunit.h"
#include "sotto/aggregate.h"

namespace sotto {
namespace {

bool no_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) != cudaSuccess || count == 0;
}
#define SKIP_WITHOUT_DEVICE() \
  if (no_device()) GTEST_SKIP() << "no CUDA device here"

constexpr double kAlways = std::numeric_limits<double>::infinity();

std::shared_ptr<const Mechanism> privunit(const std::shared_ptr<const Layout>& layout,
                                          Parameters parameters, double caution = 1.0) {
  parameters.try_emplace("norm", 1.0);
  auto mechanism =
      make_privunit(Domain{layout, std::vector<Range>(layout->tensors().size(), Range{0.0, 1.0})},
                    parameters, caution);
  EXPECT_TRUE(mechanism);
  return mechanism ? std::move(*mechanism) : nullptr;
}

/// Clients of every kind: inside the ball, far outside, zero, one axis, and no numbers among them.
std::vector<float> vector_of(std::size_t size, std::size_t client) {
  BitSource bits = BitSource::from_seed(client, "device vector");
  std::vector<float> x(size, 0.0F);
  const double scale = client % 3 == 0 ? 0.3 : 40.0;
  for (float& value : x) {
    if (client % 7 == 5) break;
    value = static_cast<float>(scale * bits.normal() / std::sqrt(static_cast<double>(size)));
  }
  if (client % 7 == 6) {
    std::fill(x.begin(), x.end(), 0.0F);
    x[size / 2] = -0.7F;
  }
  if (client % 5 == 4) x[size / 3] = std::numeric_limits<float>::quiet_NaN();
  if (client % 5 == 3) x[size - 1] = -std::numeric_limits<float>::infinity();
  return x;
}

struct Clients {
  std::vector<float> rows;  // tensor after tensor, in each client after client
  std::vector<StreamKey> keys;
  std::vector<std::vector<Symbol>> expected;
};

Clients clients_of(const Mechanism& mechanism, std::size_t count,
                   const DeviceMechanism::Filling& filling = {}) {
  const Layout& layout = *mechanism.domain().layout;
  Clients clients;
  clients.rows.resize(count * layout.size());
  for (std::size_t c = 0; c < count; ++c) {
    std::vector<float> x = vector_of(layout.size(), c);
    for (const TensorSpec& tensor : layout.tensors()) {
      std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(tensor.offset), tensor.size,
                  clients.rows.begin() +
                      static_cast<std::ptrdiff_t>(count * tensor.offset + c * tensor.size));
    }
    if (filling.fills) fill_ball(x, mechanism.domain().norm, filling.floor);
    clients.expected.push_back(drawn(mechanism, x, c));
    BitSource bits = BitSource::from_seed(c, "mechanism test");  // as drawn() does
    clients.keys.emplace_back(bits);
  }
  return clients;
}

struct Answer {
  std::vector<std::int64_t> sums;
  std::vector<std::vector<Symbol>> reports;
  std::uint64_t redrawn = 0;
};

Answer answer_of(const std::shared_ptr<const Mechanism>& mechanism, const Clients& clients,
                 const DeviceMechanism::Filling& filling = {}) {
  Answer answer;
  cuda::DeviceMemory<float> rows;
  EXPECT_TRUE(rows.copy_from(clients.rows));
  std::vector<DeviceMechanism::Place> places;
  for (const TensorSpec& tensor : mechanism->domain().layout->tensors()) {
    places.push_back({rows.data() + clients.keys.size() * tensor.offset});
  }
  auto device = DeviceMechanism::make(mechanism, 3);
  EXPECT_TRUE(device) << (device ? "" : device.error().message);
  if (!device) return answer;
  const auto added = (*device)->add(places, clients.keys, filling);
  EXPECT_TRUE(added) << (added ? "" : added.error().message);
  answer.redrawn = (*device)->redrawn();
  const auto sum = (*device)->take_sum(1);
  EXPECT_TRUE(sum);
  answer.sums.assign(sum->sums().begin(), sum->sums().end());
  EXPECT_EQ(sum->reports(), clients.keys.size());
  const auto reports = (*device)->reports(places, clients.keys, filling);
  EXPECT_TRUE(reports) << (reports ? "" : reports.error().message);
  for (const Report& report : *reports) {
    EXPECT_EQ(report.mechanism_id(), mechanism->id());
    answer.reports.push_back(report.symbols().unpacked());
  }
  return answer;
}

void expect_the_processors(const Answer& answer, const Clients& clients) {
  ASSERT_EQ(answer.reports.size(), clients.expected.size());
  std::vector<std::int64_t> sums(answer.sums.size(), 0);
  for (std::size_t c = 0; c < clients.expected.size(); ++c) {
    ASSERT_EQ(answer.reports[c], clients.expected[c]) << "client " << c;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += clients.expected[c][i];
  }
  EXPECT_EQ(answer.sums, sums);
}

TEST(DeviceVector, DrawsTheReportsOfTheProcessor) {
  SKIP_WITHOUT_DEVICE();
  const Parameters settings[] = {
      {{"epsilon", 0.5}}, {{"epsilon", 3.2}, {"cap", 0.01}}, {{"epsilon", 12.0}, {"norm", 0.25}}};
  for (const std::size_t size : {1UL, 2UL, 37UL, 64UL, 4'096UL, 4'097UL, 8'340UL, 39'690UL}) {
    for (const Parameters& parameters : settings) {
      if (size == 1 && parameters.contains("cap")) continue;
      const auto mechanism = privunit(flat_layout(size), parameters);
      const Clients clients = clients_of(*mechanism, 40);
      const Answer answer = answer_of(mechanism, clients);
      expect_the_processors(answer, clients);
      if (size > 37) {
        EXPECT_LT(answer.redrawn, 3U) << "the fast way is the usual one";
      }
    }
  }
}

TEST(DeviceVector, DrawsThemAcrossTensorsAndFillsTheBall) {
  SKIP_WITHOUT_DEVICE();
  auto layout = std::make_shared<Layout>();
  for (const std::int64_t size : {5, 4'091, 1, 3, 9'000, 700}) {
    layout->add("t" + std::to_string(layout->tensors().size()), {size}, TensorRole::kParameter);
  }
  const auto mechanism = privunit(layout, {{"epsilon", 4.0}, {"norm", 2.0}});
  for (const DeviceMechanism::Filling& filling :
       {DeviceMechanism::Filling{false, 0.0}, DeviceMechanism::Filling{true, 0.0},
        DeviceMechanism::Filling{true, 0.5}, DeviceMechanism::Filling{true, 100.0}}) {
    const Clients clients = clients_of(*mechanism, 25, filling);
    expect_the_processors(answer_of(mechanism, clients, filling), clients);
  }
}

// What is undecided goes back to the processor: all of it, some of it. With a caution of 2^33 one
// coordinate in seven is undecided where there are two, and one in 150 where there are 5,000.
TEST(DeviceVector, LeavesUndecidedReportsToTheProcessor) {
  SKIP_WITHOUT_DEVICE();
  for (const std::size_t size : {2UL, 64UL, 5'000UL}) {
    const std::size_t count = size > 1'000 ? 3 : 40;
    for (const double caution : {0x1p33, kAlways}) {
      const auto mechanism = privunit(flat_layout(size), {{"epsilon", 3.0}}, caution);
      const Clients clients = clients_of(*mechanism, count);
      const Answer answer = answer_of(mechanism, clients);
      expect_the_processors(answer, clients);
      EXPECT_GT(answer.redrawn, 0U);
      if (caution == kAlways) {
        EXPECT_EQ(answer.redrawn, count);
      }
    }
  }
}

/// Planted: vectors so close to the noise they will meet that doubles alone draw wrong symbols.
TEST(DeviceVector, IsRightWhereDoublesAreWrong) {
  SKIP_WITHOUT_DEVICE();
  constexpr std::size_t kSize = 64;
  const auto usual = privunit(flat_layout(kSize), {{"epsilon", 3.0}});
  const auto bold = privunit(flat_layout(kSize), {{"epsilon", 3.0}}, 0.0);
  Clients clients = clients_of(*usual, 30);
  for (std::size_t c = 0; c < clients.keys.size(); ++c) {
    BlockStream stream(clients.keys[c]);
    stream.seek(0);
    std::vector<std::uint64_t> words(kSize);
    stream.fill(std::span(words));
    std::vector<double> noise(kSize);
    normals(words.data(), kSize / 2, noise.data());
    std::vector<float> x;
    for (const double deviate : noise) x.push_back(static_cast<float>(0.01 * deviate));
    std::ranges::copy(x, clients.rows.begin() + static_cast<std::ptrdiff_t>(c * kSize));
    clients.expected[c] = drawn(*usual, x, c);
  }
  const Answer answer = answer_of(usual, clients);
  expect_the_processors(answer, clients);
  EXPECT_GT(answer.redrawn, 5U);
  EXPECT_NE(answer_of(bold, clients).reports, clients.expected) << "nothing was planted";
}

/// More clients than are drawn together.
TEST(DeviceVector, AddsTenThousandsOfClients) {
  SKIP_WITHOUT_DEVICE();
  constexpr std::size_t kClients = 33'000;
  const auto mechanism = privunit(flat_layout(300), {{"epsilon", 2.0}});
  const Clients clients = clients_of(*mechanism, kClients);
  expect_the_processors(answer_of(mechanism, clients), clients);
}

}  // namespace
}  // namespace sotto
