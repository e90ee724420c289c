// TorchScript files of users: trained like our own networks, refused when they do not fit.
#include <gtest/gtest.h>
#include <torch/script.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "sotto/trainer.h"

namespace sotto {
namespace {

class ScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("sotto-script-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// A linear network with a float buffer; `body` computes the scores from `x` (already flat).
  std::string write(const std::string& name, const std::string& body, float weight = 0.01F) const {
    torch::jit::Module module("Net");
    // As torch.jit.script saves it: already a leaf that wants gradients.
    module.register_parameter("weight", torch::full({3, 16}, weight).set_requires_grad(true),
                              false);
    module.register_buffer("offset", torch::zeros({3}));
    module.define("def forward(self, x):\n  x = x.flatten(1)\n" + body);
    module.save(path(name));
    return path(name);
  }

  static Result<std::shared_ptr<const TrainerFactory>> load(const std::string& file,
                                                            SampleShape input = {1, 4, 4}) {
    TrainerRequest request;
    request.file = file;
    request.input = input;
    request.classes = 3;
    return make_torch_factory(request);
  }

  std::filesystem::path folder_;
};

Dataset stripes() {
  Dataset data;
  data.shape = {1, 4, 4};
  data.classes = 3;
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) {
    data.labels.push_back(i % 3);
    for (int p = 0; p < 16; ++p) values.push_back(p / 4 == i % 3 ? 1.0F : 0.1F);
  }
  data.values = std::move(values);
  return data;
}

constexpr const char* kLinear = "  return torch.matmul(x, self.weight.t()) + self.offset\n";

TEST_F(ScriptTest, TrainsAndRemembersNames) {
  const auto factory = load(write("net.pt", kLinear));
  ASSERT_TRUE(factory) << factory.error().message;
  EXPECT_EQ((*factory)->layout().parameter_count(), 48U);
  EXPECT_EQ((*factory)->layout().tensors()[0].name, "weight");
  EXPECT_EQ((*factory)->layout().tensors()[1].role, TensorRole::kBuffer);
  EXPECT_GT((*factory)->parallelism(), 1U);

  const Dataset data = stripes();
  std::vector<std::uint32_t> all(data.size());
  std::iota(all.begin(), all.end(), 0U);
  auto trainer = *(*factory)->make();
  ASSERT_TRUE(trainer->load((*factory)->initial_weights(1)));
  TrainOptions options;
  options.epochs = 20;
  ASSERT_TRUE(trainer->train(data, all, {}, options, BitSource::from_seed(1, "train")));
  EXPECT_EQ(trainer->evaluate(data, all, {})->correct, 60U);
  // A second copy still starts from the file's weights.
  std::vector<float> weights((*factory)->layout().size());
  auto other = *(*factory)->make();
  ASSERT_TRUE(other->load((*factory)->initial_weights(1)));
  ASSERT_TRUE(other->store(weights));
  EXPECT_EQ(weights[0], 0.01F);
}

TEST_F(ScriptTest, ANetworkThatDrawsRandomNumbersTrainsOnOneThread) {
  const auto factory =
      load(write("dropout.pt", "  x = torch.dropout(x, 0.5, True)\n" + std::string(kLinear)));
  ASSERT_TRUE(factory) << factory.error().message;
  EXPECT_EQ((*factory)->parallelism(), 1U);
}

TEST_F(ScriptTest, RefusesWhatDoesNotFit) {
  const auto message = [](const auto& result) {
    EXPECT_FALSE(result);
    return result ? std::string() : result.error().message;
  };
  EXPECT_NE(message(load(write("two.pt", "  return torch.matmul(x, self.weight[0:2].t())\n")))
                .find("[2, 3] is needed"),
            std::string::npos);
  EXPECT_NE(message(load(write("shape.pt", kLinear), {1, 5, 5})).find("shape.pt"),
            std::string::npos);
  EXPECT_NE(message(load(write("nan.pt", kLinear, std::numeric_limits<float>::quiet_NaN())))
                .find("tensor 'weight' has NaN"),
            std::string::npos);
  EXPECT_NE(message(load(path("missing.pt"))).find("missing.pt"), std::string::npos);
}

TEST_F(ScriptTest, TruncatedOrForeignFilesAreErrors) {
  const std::string good = write("good.pt", kLinear);
  std::ifstream file(good, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 1}) {
    std::ofstream(path("cut.pt"), std::ios::binary) << bytes.substr(0, size);
    const auto factory = load(path("cut.pt"));
    ASSERT_FALSE(factory) << size;
    EXPECT_NE(factory.error().message.find("cut.pt"), std::string::npos);
  }
  std::ofstream(path("text.pt")) << "import os\n";
  EXPECT_FALSE(load(path("text.pt")));
}

}  // namespace
}  // namespace sotto
