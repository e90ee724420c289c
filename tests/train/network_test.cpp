// The networks have exactly the layers and parameter counts of the systems they come from.
#include "sotto/network.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sotto {
namespace {

std::size_t parameters(std::string_view name, SampleShape input, std::int64_t classes) {
  const auto network = find_network(name, input, classes);
  EXPECT_TRUE(network) << network.error().message;
  return network ? network->layout().parameter_count() : 0;
}

TEST(Networks, HaveThePublishedParameterCounts) {
  EXPECT_EQ(parameters("srr-mnist", {1, 28, 28}, 10), 20490U);
  EXPECT_EQ(parameters("ldp-fed", {1, 28, 28}, 10), 29034U);
  EXPECT_EQ(parameters("srr-cifar", {3, 32, 32}, 10), 2169770U);
  EXPECT_EQ(parameters("srr-medical", {3, 224, 224}, 6), 5611878U);
  EXPECT_EQ(parameters("linear", {1, 28, 28}, 10), 7850U);
  EXPECT_EQ(parameters("mlp(200)", {1, 28, 28}, 10), 159010U);
}

TEST(Networks, AreBoundedBeforeAnythingIsAllocated) {
  const auto error = [](const std::string& name, SampleShape input) {
    const auto network = find_network(name, input, 10);
    EXPECT_FALSE(network) << name;
    return network ? std::string() : network.error().message;
  };
  EXPECT_NE(error("mlp(60000,60000)", {1, 28, 28}).find("valid: at most 268435456"),
            std::string::npos);
  std::string deep = "mlp(9";
  for (int i = 1; i < 64; ++i) deep += ",9";
  EXPECT_TRUE(find_network(deep + ")", {1, 28, 28}, 10));
  EXPECT_NE(error(deep + ",9)", {1, 28, 28}).find("with 1 to 64 layer sizes"), std::string::npos);
  for (int i = 64; i < 100'000; ++i) deep += ",9";
  EXPECT_LT(error(deep + ")", {1, 28, 28}).size(), 200U);  // nobody reads 200,000 characters
  EXPECT_LT(error(std::string(1'000'000, 'x'), {1, 28, 28}).size(), 500U);
  EXPECT_NE(error("linear", {3, 100'000, 100'000}).find("valid: at most 16777216"),
            std::string::npos);
  EXPECT_NE(error("linear", {4'000'000'000, 4'000'000'000, 4'000'000'000}).find("valid: at most"),
            std::string::npos);
}

TEST(Networks, LdpFedLayersHaveThePublishedSizes) {
  // Section "layers 448, 12,896, 15,690": convolution and batch norm count as one layer.
  const Layout layout = find_network("ldp-fed", {1, 28, 28}, 10)->layout();
  std::vector<std::size_t> sizes;
  for (const TensorSpec& tensor : layout.tensors()) {
    if (tensor.role == TensorRole::kParameter) sizes.push_back(tensor.size);
  }
  ASSERT_EQ(sizes.size(), 10U);
  EXPECT_EQ(sizes[0] + sizes[1] + sizes[2] + sizes[3], 448U);
  EXPECT_EQ(sizes[4] + sizes[5] + sizes[6] + sizes[7], 12896U);
  EXPECT_EQ(sizes[8] + sizes[9], 15690U);
}

TEST(Networks, LdpflFeaturesHaveThePublishedWidths) {
  const auto features = [](std::string_view name, SampleShape input) {
    const Network network = *find_network(name, input, 10);
    EXPECT_EQ(network.features(), network.layers.back().in);
    return network.features();
  };
  EXPECT_EQ(features("ldpfl-cnn", {1, 28, 28}), 1024);
  EXPECT_EQ(features("ldpfl-cnn-deep", {3, 32, 32}), 2048);
  EXPECT_EQ(features("ldpfl-cnn-deep", {1, 28, 28}), 1152);
}

TEST(Networks, EveryListedOneIsBuiltForItsListedInput) {
  for (const NetworkInfo& info : networks()) {
    const std::string name = info.name.starts_with("mlp(") ? "mlp(7,5)" : info.name;
    const auto network = find_network(name, info.input, info.classes);
    ASSERT_TRUE(network) << name << ": " << network.error().message;
    EXPECT_EQ(network->classes, info.classes);
    EXPECT_FALSE(network->describe().empty());
    BitSource bits = BitSource::from_seed(1, "test");
    EXPECT_EQ(network->initialise(bits).size(), network->layout().size()) << name;
  }
}

TEST(Networks, InitialWeightsStayWithinTheLimitOfTheirFanIn) {
  const Network network = *find_network("srr-cifar", {3, 32, 32}, 10);
  BitSource bits = BitSource::from_seed(3, "test");
  const std::vector<float> weights = network.initialise(bits);
  const Layout layout = network.layout();
  for (const TensorSpec& tensor : layout.tensors()) {
    if (tensor.shape.size() < 2) continue;
    std::int64_t fan_in = 1;
    for (std::size_t i = 1; i < tensor.shape.size(); ++i) fan_in *= tensor.shape[i];
    const double limit = 1.0 / std::sqrt(static_cast<double>(fan_in));
    double largest = 0.0;
    for (std::size_t i = 0; i < tensor.size; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(weights[tensor.offset + i])));
    }
    EXPECT_LE(largest, limit * 1.0001) << tensor.name;
    EXPECT_GT(largest, limit * 0.9) << tensor.name;
  }
}

TEST(Networks, BadNamesAndShapesAreErrorsThatHelp) {
  const auto message = [](std::string_view name, SampleShape input = {1, 28, 28}) {
    const auto network = find_network(name, input, 10);
    EXPECT_FALSE(network);
    return network ? std::string() : network.error().message;
  };
  EXPECT_NE(message("srr-mnits").find("did you mean 'srr-mnist'"), std::string::npos);
  EXPECT_NE(message("resnet").find("valid: srr-mnist"), std::string::npos);
  EXPECT_NE(message("srr-medical", {3, 6, 6}).find("larger images"), std::string::npos);
  for (const char* bad :
       {"mlp(", "mlp()", "mlp(0)", "mlp(-3)", "mlp(20,)", "mlp(1e3)", "mlp(200"}) {
    EXPECT_NE(message(bad).find("mlp(H1,H2,...)"), std::string::npos) << bad;
  }
  EXPECT_FALSE(find_network("linear", {1, 28, 28}, 1));
}

}  // namespace
}  // namespace sotto
