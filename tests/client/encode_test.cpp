// The stage that makes reports of records: bits as the code says, randomized as the mechanism says,
// labels protected where asked, and nothing that depends on threads.
#include "client/encode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "server/toy_run.h"

namespace sotto {
namespace {

constexpr const char* kText =
    "[data]\nname = \"embedded\"\n[model]\nname = \"linear\"\n[federation]\nclients = 3\n"
    "[encode]\nnetwork = \"mlp(3)\"\nepochs = 1\n";

Recipe recipe_of(std::vector<std::string> settings) {
  auto recipe = parse_recipe(kText, "encode.toml", settings);
  EXPECT_TRUE(recipe) << recipe.error().message;
  return recipe ? std::move(*recipe) : Recipe{};
}

EncodePlan plan_of(const Recipe& recipe, SampleShape input = {1, 28, 28},
                   std::int64_t classes = 10) {
  auto plan = plan_encoding(recipe, input, classes);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? std::move(*plan) : EncodePlan{};
}

std::string bits_of(std::span<const std::uint8_t> row, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (row[i / 8] >> i % 8 & 1) != 0 ? '1' : '0';
  return text;
}

TEST(RecordEncoder, WritesSignWholeAndFraction) {
  const Recipe recipe = recipe_of({"encode.mechanism=none", "encode.features=0"});
  const EncodePlan plan = plan_of(recipe, {1, 1, 3});
  ASSERT_EQ(plan.code.bits(), 30U);
  RecordEncoder encoder(plan);
  const std::vector<float> outputs = {2.75F, -0.03125F, 99.0F};
  std::vector<std::uint8_t> row(4, 0xFF);
  const std::string expected = std::string("0") + "0010" + "11000" +  // 2.75
                               "1" + "0000" + "00001" +               // -1/32
                               "0" + "1111" + "11111";                // beyond 15.96875
  encoder.encode(outputs, row);
  EXPECT_EQ(bits_of(row, 30), expected);
  EXPECT_EQ(row[3] >> 6, 0) << "nothing lies behind the last bit";
  // Under "none" a report has the very bits.
  std::ranges::fill(row, std::uint8_t{0xFF});
  BitSource bits = BitSource::from_seed(1, "test");
  encoder.randomize(outputs, bits, row);
  EXPECT_EQ(bits_of(row, 30), expected);
}

TEST(RecordEncoder, KeepsTheMeansOfGroups) {
  const EncodePlan plan = plan_of(recipe_of({"encode.mechanism=none", "encode.features=2",
                                             "encode.whole_bits=3", "encode.fraction_bits=1"}),
                                  {1, 1, 5});
  RecordEncoder encoder(plan);
  std::vector<std::uint8_t> row(2);
  encoder.encode(std::vector<float>{1.0F, 4.0F, 1.0F, -2.0F, -5.0F}, row);
  EXPECT_EQ(bits_of(row, 10), std::string("0") + "010" + "1" + "1" + "010" + "0");  // 2.5, -2
}

TEST(RecordEncoder, RandomizesWithTheProbabilityOfTheMechanism) {
  // Two features of two bits: 4 bits share epsilon 4, so each is kept with e / (1 + e).
  const EncodePlan plan = plan_of(recipe_of({"encode.mechanism=rr-bits", "encode.epsilon=4",
                                             "encode.whole_bits=1", "encode.fraction_bits=0"}),
                                  {1, 1, 2});
  RecordEncoder encoder(plan);
  BitSource bits = BitSource::from_seed(2, "test");
  const std::vector<float> outputs = {1.0F, -1.0F};  // 01 11
  constexpr int kDraws = 40000;
  std::vector<int> ones(4);
  for (int i = 0; i < kDraws; ++i) {
    std::vector<std::uint8_t> row(1);
    encoder.randomize(outputs, bits, row);
    for (std::size_t b = 0; b < 4; ++b) ones[b] += row[0] >> b & 1;
  }
  const double kept = std::exp(1.0) / (1.0 + std::exp(1.0));
  const double slack = 5.0 * std::sqrt(kept * (1.0 - kept) / kDraws);
  const double expected[] = {1.0 - kept, kept, kept, kept};
  for (std::size_t b = 0; b < 4; ++b) EXPECT_NEAR(ones[b] / double{kDraws}, expected[b], slack);
}

TEST(RecordEncoder, ProtectedLabelsFollowRandomizedResponse) {
  const EncodePlan plan = plan_of(
      recipe_of({"encode.mechanism=ldpfl-exact", "encode.epsilon=1", "encode.label_epsilon=2"}));
  const RecordEncoder encoder(plan);
  BitSource bits = BitSource::from_seed(3, "test");
  constexpr int kDraws = 50000;
  std::vector<int> seen(10);
  for (int i = 0; i < kDraws; ++i) ++seen.at(static_cast<std::size_t>(encoder.label(7, bits)));
  for (std::size_t k = 0; k < 10; ++k) {
    const double p = (k == 7 ? std::exp(2.0) : 1.0) / (std::exp(2.0) + 9.0);
    EXPECT_NEAR(seen[k] / double{kDraws}, p, 5.0 * std::sqrt(p * (1.0 - p) / kDraws)) << k;
  }
}

TEST(RecordEncoder, UnprotectedLabelsStayAsTheyAre) {
  const EncodePlan plan = plan_of(recipe_of({"encode.mechanism=rr-bits", "encode.epsilon=1"}));
  const RecordEncoder encoder(plan);
  BitSource bits = BitSource::from_seed(3, "test");
  for (std::int32_t k = 0; k < 10; ++k) EXPECT_EQ(encoder.label(k, bits), k);
}

/// The stage on 40 + 12 records; the toy trainer's features are label + position.
EncodedClients encoded(const Recipe& recipe, unsigned threads, const DataSplit& data) {
  const Partition partition = *make_partition(data.train, "iid", 3, 1);
  const Preprocess preprocess;
  auto result = encode_clients(recipe, {data, partition, preprocess}, {}, threads, make_toy);
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

DataSplit some_data() {
  DataSplit data;
  data.name = "some";
  for (Dataset* part : {&data.train, &data.test}) {
    const std::size_t size = part == &data.train ? 40 : 12;
    part->shape = {1, 1, 4};
    part->classes = 10;
    part->values = std::vector<std::uint8_t>(4 * size);
    for (std::size_t i = 0; i < size; ++i)
      part->labels.push_back(static_cast<std::int32_t>(i % 10));
  }
  return data;
}

const std::vector<std::uint8_t>& bytes(const Dataset& data) {
  EXPECT_TRUE(data.packed);
  return std::get<0>(data.values);
}

TEST(EncodeClients, EveryRecordOfEveryClientBecomesItsOwnBits) {
  const DataSplit data = some_data();
  const EncodedClients out = encoded(recipe_of({"encode.mechanism=none"}), 2, data);
  ASSERT_EQ(out.data.train.size(), 40U);
  ASSERT_EQ(out.data.test.size(), 12U);
  EXPECT_EQ(out.data.train.shape, (SampleShape{1, 1, 40}));
  ASSERT_EQ(out.partition.clients(), 3U);
  const Partition before = *make_partition(data.train, "iid", 3, 1);
  for (std::size_t c = 0; c < 3; ++c) {
    const auto rows = out.partition.client(c);
    ASSERT_EQ(rows.size(), before.client(c).size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t label = data.train.labels[before.client(c)[i]];
      EXPECT_EQ(out.data.train.labels[rows[i]], label);
      const auto row = std::span(bytes(out.data.train)).subspan(rows[i] * 5, 5);
      for (std::uint32_t f = 0; f < 4; ++f) {
        const auto value = static_cast<std::uint32_t>(label) + f;
        std::uint32_t code = 0;
        for (std::size_t b = 0; b < 10; ++b) {
          code = code << 1 | (row[(10 * f + b) / 8] >> (10 * f + b) % 8 & 1U);
        }
        EXPECT_EQ(code, value << 5);
      }
    }
  }
  EXPECT_EQ(out.encoding.privacy.most_records, 14U);
  EXPECT_TRUE(check_preprocess(out.data.train, out.preprocess));
}

TEST(EncodeClients, DependsOnTheSeedAndNotOnThreads) {
  const DataSplit data = some_data();
  const std::vector<std::string> settings = {"encode.mechanism=rr-bits", "encode.epsilon=10"};
  const EncodedClients one = encoded(recipe_of(settings), 1, data);
  const EncodedClients three = encoded(recipe_of(settings), 3, data);
  EXPECT_EQ(bytes(one.data.train), bytes(three.data.train));
  EXPECT_EQ(bytes(one.data.test), bytes(three.data.test));
  std::vector<std::string> other = settings;
  other.emplace_back("federation.seed=2");
  EXPECT_NE(bytes(encoded(recipe_of(other), 1, data).data.train), bytes(one.data.train));
}

TEST(EncodeClients, TestRecordsKeepTrueLabelsAndArePlainWhereAsked) {
  const DataSplit data = some_data();
  const std::vector<std::string> settings = {"encode.mechanism=ldpfl-exact", "encode.epsilon=1",
                                             "encode.label_epsilon=0.1"};
  const EncodedClients noisy = encoded(recipe_of(settings), 1, data);
  std::vector<std::string> plain_settings = settings;
  plain_settings.emplace_back("encode.test=plain");
  const EncodedClients plain = encoded(recipe_of(plain_settings), 1, data);
  const EncodedClients bare = encoded(recipe_of({"encode.mechanism=none"}), 1, data);
  EXPECT_EQ(bytes(plain.data.train), bytes(noisy.data.train));
  EXPECT_NE(bytes(noisy.data.test), bytes(bare.data.test));
  EXPECT_EQ(bytes(plain.data.test), bytes(bare.data.test));
  EXPECT_EQ(noisy.data.test.labels, bare.data.test.labels);
  EXPECT_NE(noisy.data.train.labels, bare.data.train.labels);
}

TEST(EncodeClients, BitsAreCentredAtTheProbabilityOfAFalseOne) {
  const DataSplit data = some_data();
  EXPECT_EQ(encoded(recipe_of({"encode.mechanism=none"}), 1, data).preprocess.mean.at(0), 0.0F);
  const auto of_two =
      encoded(recipe_of({"encode.mechanism=ldpfl-2", "encode.epsilon=0.5"}), 1, data);
  EXPECT_NEAR(of_two.preprocess.mean.at(0), 1.0 / (1.0 + 10.0 * std::exp(0.5 / 20.0)), 1e-6);
  const auto of_rr = encoded(recipe_of({"encode.mechanism=rr-bits", "encode.epsilon=40"}), 1, data);
  EXPECT_NEAR(of_rr.preprocess.mean.at(0), 1.0 / (1.0 + std::exp(1.0)), 1e-6);
}

TEST(EncodeClients, TooFewTestRecordsAreAnError) {
  DataSplit data = some_data();
  data.test.labels.resize(2);
  const Partition partition = *make_partition(data.train, "iid", 3, 1);
  const auto result = encode_clients(recipe_of({"encode.mechanism=none"}),
                                     {data, partition, Preprocess{}}, {}, 1, make_toy);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("2 test samples"), std::string::npos);
}

TEST(EncodeRun, TellsClaimedAndExactEpsilon) {
  const Recipe recipe =
      recipe_of({"encode.mechanism=ldpfl-2", "encode.epsilon=0.5", "federation.rounds=2"});
  const RunResult result = run(recipe, {});
  const nlohmann::json& privacy = (*result.record)["privacy"];
  EXPECT_EQ(privacy["mechanism"], "ldpfl-2");
  const nlohmann::json& encode = privacy["encode"];
  EXPECT_EQ(encode["bits"], 7840);
  EXPECT_EQ(encode["claimed_epsilon"], 0.5);
  EXPECT_GT(encode["exact_epsilon"], 26000.0);
  EXPECT_TRUE(encode["label_epsilon"].is_null());
  EXPECT_TRUE(encode["report_epsilon"].is_null());
  EXPECT_EQ(encode["records_per_client"], 4000);
  EXPECT_EQ(encode["trained_on"], "client");
  const auto plan = plan_privacy(recipe, {}, {});
  ASSERT_TRUE(plan) << plan.error().message;
  const std::vector<Claim>& planned = plan->groups.front().claims;
  ASSERT_EQ(planned.size(), result.claims.size());
  for (std::size_t i = 0; i < planned.size(); ++i) {
    EXPECT_EQ(to_json(planned[i]), to_json(result.claims[i])) << "a plan promises what is done";
  }
}

// --- recipes

std::string error_of(const std::vector<std::string>& settings, const std::string& text = kText) {
  const auto recipe = parse_recipe(text, "encode.toml", settings);
  return recipe ? "" : recipe.error().message;
}

TEST(EncodeKeys, MistakesAreNamed) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "encode.mechanism is missing; valid: none, rr-bits"},
      {{"encode.mechanism=rappor"}, "must be one of"},
      {{"encode.mechanism=rr-bits"}, "encode.epsilon is missing"},
      {{"encode.mechanism=rr-bits", "encode.epsilon=-1"}, "encode.epsilon = -1: must be"},
      {{"encode.mechanism=rr-bits", "encode.epsilon=1", "encode.alpha=3"}, "does not take it"},
      {{"encode.mechanism=ldpfl-exact", "encode.epsilon=1"}, "encode.label_epsilon is missing"},
      {{"encode.mechanism=none", "encode.label_epsilon=0"}, "encode.label_epsilon = 0: must be"},
      {{"encode.mechanism=none", "encode.whole_bits=0", "encode.fraction_bits=0"}, "at least one"},
      {{"encode.mechanism=none", "encode.data=embeded"}, "did you mean 'embedded'?"},
      {{"encode.mechanism=none", "privacy.mechanism=srr", "privacy.epsilon=1"}, "valid: \"none\""},
      {{"encode.mechanim=none"}, "did you mean 'encode.mechanism'?"},
  };
  for (const auto& [settings, part] : cases) {
    EXPECT_NE(error_of(settings).find(part), std::string::npos) << error_of(settings);
  }
  const std::string without = "[data]\nname = \"embedded\"\n[model]\nname = \"linear\"\n";
  EXPECT_NE(error_of({}, without + "[encode]\nepochs = 3\n").find("encode.toml:6: encode.epochs"),
            std::string::npos);
  const Recipe recipe = recipe_of({"encode.mechanism=none", "encode.features=785"});
  const auto plan = plan_encoding(recipe, {1, 28, 28}, 10);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("has 784 here"), std::string::npos);
}

TEST(EncodeKeys, DecideNothingWhereTheStageIsOff) {
  const Recipe off = recipe_of({"encode.network=\"\"", "encode.epochs=7"});
  EXPECT_FALSE(off.encode.on());
  EXPECT_TRUE(off.to_json()["encode"]["epochs"].is_null());
  const std::string text = kText;
  const auto never = parse_recipe(text.substr(0, text.find("[encode]")), "encode.toml");
  EXPECT_EQ(off.fingerprint(), never->fingerprint());
  const Recipe on = recipe_of({"encode.mechanism=none"});
  EXPECT_EQ(on.to_json()["encode"]["batch_size"], 64);
  EXPECT_NE(on.fingerprint(), off.fingerprint());
  EXPECT_NE(on.fingerprint(), recipe_of({"encode.mechanism=none", "encode.lr=0.01"}).fingerprint());
}

TEST(EncodeKeys, AnotherMechanismFromTheCommandLineDropsTheFilesParameters) {
  const std::string text =
      std::string(kText) + "mechanism = \"ldpfl-2\"\nepsilon = 0.5\nalpha = 4\n";
  const std::vector<std::string> settings = {"encode.mechanism=rr-bits"};
  const auto recipe = parse_recipe(text, "encode.toml", settings);
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_FALSE(recipe->encode.alpha);
  EXPECT_EQ(recipe->encode.epsilon, 0.5);
}

}  // namespace
}  // namespace sotto
