// A client without its network: what it refuses before it does anything, and that nothing its data
// holds shows in whether it reports, or in the size of what it sends.
#include "client/participant.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "client/work.h"
#include "participant_parts.h"
#include "plan/feature_statistics.h"

namespace sotto::rpc {
namespace {

TEST_F(ParticipantTest, WhateverItsDataTheClientReportsInOneSize) {
  const std::vector<std::pair<const char*, std::string>> sets = {
      {"top-class-missing.csv", "1,2,3,4,0\n2,3,4,5,1\n3,4,5,6,0\n4,5,6,7,1\n"},
      {"one-class.csv", "1,2,3,4,0\n2,3,4,5,0\n"},
      {"one-sample.csv", "1,2,3,4,2\n"},
      {"labels-too-large.csv", "1,2,3,4,3\n2,3,4,5,70000\n"},
      {"some-do-not-fit.csv", "1,2,3,4,9\n2,3,4,5,1\n"},
      {"other-shape.csv", "1,2,3,0\n2,3,4,1\n"},
      {"named-classes.csv", "1,2,3,4,cat\n2,3,4,5,dog\n"},
      {"not-a-number.csv", "1,2,3,4,0\n2,nan,4,5,1\n"},
      {"no-rows.csv", "a,b,c,d,label\n"},
      {"nothing.csv", ""},
      {"noise.csv", std::string("\0\xff\x80,,\n\"", 7)},
      {"huge-values.csv", "1e38,1e38,1e38,1e38,0\n-1e38,1e38,1e38,-1e38,1\n"},
  };
  for (const char* const payload : {"weights", "delta", "gradient"}) {
    const Recipe recipe = csv_recipe({std::string("bound.payload=") + payload});
    const auto complete = sizes(recipe, folder.write("complete.csv", kComplete).string());
    ASSERT_FALSE(complete.empty());
    for (const auto& [name, text] : sets) {
      EXPECT_EQ(sizes(recipe, folder.write(name, text).string()), complete)
          << name << ", " << payload;
    }
  }
  EXPECT_FALSE(notes.empty());
}

/// A network that wants more of a batch than the data has, say, must not show in who is there.
TEST_F(ParticipantTest, TrainingThatFailsIsTheClientsOwnMatter) {
  class Failing final : public Trainer {
   public:
    explicit Failing(Layout layout) : layout_(std::move(layout)) {}
    const Layout& layout() const noexcept override { return layout_; }
    Result<void> load(std::span<const float>) override { return {}; }
    Result<void> store(std::span<float>) const override { return {}; }
    Result<void> train(const Dataset&, std::span<const std::uint32_t>, const Preprocess&,
                       const TrainOptions&, BitSource) override {
      return fail(ErrorKind::kInternal, "one value for each channel is too few");
    }
    Result<EvaluationSums> evaluate(const Dataset&, std::span<const std::uint32_t>,
                                    const Preprocess&) override {
      return EvaluationSums{};
    }

   private:
    Layout layout_;
  };
  class FailingFactory final : public TrainerFactory {
   public:
    explicit FailingFactory(Layout layout) : layout_(std::move(layout)) {}
    Result<std::unique_ptr<Trainer>> make() const override {
      return std::make_unique<Failing>(layout_);
    }
    const Layout& layout() const noexcept override { return layout_; }
    std::vector<float> initial_weights(std::uint64_t) const override { return {}; }
    unsigned parallelism() const noexcept override { return 1; }
    Result<void> save(std::span<const float>, const std::filesystem::path&) const override {
      return {};
    }
    std::string device() const override { return "cpu"; }
    std::string version() const override { return "failing"; }

   private:
    Layout layout_;
  };
  const MakeFactory failing =
      [](const TrainerRequest& request) -> Result<std::shared_ptr<const TrainerFactory>> {
    return std::make_shared<const FailingFactory>(request.network.layout());
  };
  const Recipe recipe = csv_recipe();
  const std::string data = folder.write("complete.csv", kComplete).string();
  EXPECT_EQ(sizes(recipe, data, failing), sizes(recipe, data));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("too few"), std::string::npos);
}

/// A server that lost its last rounds asks for them again: declined, and the client goes on.
TEST_F(ParticipantTest, ARoundWhoseReportIsGoneIsDeclined) {
  const Recipe recipe = csv_recipe();
  const auto participant = make(recipe, folder.write("complete.csv", kComplete).string());
  ASSERT_TRUE(participant) << participant.error().message;
  const std::vector<float> model((*participant)->weights(), 0.01F);
  for (RoundId round = 1; round <= 3; ++round) {
    ASSERT_TRUE((*participant)->report(task_of(recipe, round), model));
    ASSERT_TRUE((*participant)->delivered());
  }
  const auto again = (*participant)->report(task_of(recipe, 1), model);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::kRefused) << again.error().message;
  // The last one is still there, and so is what follows.
  EXPECT_TRUE((*participant)->report(task_of(recipe, 3), model));
  EXPECT_TRUE((*participant)->report(task_of(recipe, 4), model));
}

/// Under the contract of another model a report would tell whose it is.
TEST_F(ParticipantTest, AReportIsNotSentAgainForAnotherModel) {
  const Recipe recipe = csv_recipe();
  const auto participant = make(recipe, folder.write("complete.csv", kComplete).string());
  ASSERT_TRUE(participant) << participant.error().message;
  const std::vector<float> model((*participant)->weights(), 0.01F);
  const std::vector<float> other((*participant)->weights(), 0.02F);
  const auto report = (*participant)->report(task_of(recipe, 1), model);
  ASSERT_TRUE(report) << report.error().message;
  const auto again = (*participant)->report(task_of(recipe, 1), other);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::kRefused);
  EXPECT_NE(again.error().message.find("another model"), std::string::npos)
      << again.error().message;
  const auto same = (*participant)->report(task_of(recipe, 1), model);
  ASSERT_TRUE(same) << same.error().message;
  ASSERT_EQ(same->size(), report->size());
  for (std::size_t i = 0; i < same->size(); ++i) {
    EXPECT_EQ((*same)[i].serialize(), (*report)[i].serialize());
  }
}

/// A client's first rounds report statistics by its own reading of the recipe, whatever it is asked
/// for; and the model that its contract names is the whole one, statistics included.
TEST_F(ParticipantTest, StatisticsAreReportedAsTheRecipeSays) {
  const std::vector<std::string> settings = {"data.name=embedded",     "data.features=gabor",
                                             "bound.payload=gradient", "privacy.mechanism=privunit",
                                             "privacy.epsilon=4",      "statistics.mean=private",
                                             "statistics.epsilon=2"};
  constexpr const char* kText =
      "[model]\nname = \"linear\"\n[federation]\nclients = 3\nrounds = 5\n[data]\n"
      "name = \"embedded\"\n";
  const auto recipe = parse_recipe(kText, "test.toml", settings);
  ASSERT_TRUE(recipe) << recipe.error().message;
  const auto participant = make(*recipe, folder.write("complete.csv", kComplete).string());
  ASSERT_TRUE(participant) << participant.error().message;
  const Network network = find_network("linear", {1, 1, 833}, 10).value();
  const Layout layout = add_feature_tensors(*recipe, network.layout(), 833);
  ASSERT_EQ((*participant)->weights(), layout.size());
  const Planner planner = Planner::make(*recipe, layout, {}, 1.0).value();
  const auto task = [&](RoundId round, RoundId parts_of) {
    TaskHeader header;
    header.round = round;
    header.weights = layout.size();
    const std::vector<Part> parts = planner.parts(parts_of, 0).value();
    for (const Part& part : parts) {
      header.parts.push_back(
          {std::string(part.mechanism->id()), part.tensors, part.spec.domain.ranges});
    }
    return header;
  };
  std::vector<float> model(layout.size(), 0.01F);
  // A gradient in place of the mean, or a second mean, is not the recipe's.
  EXPECT_FALSE((*participant)->report(task(1, 2), model));
  EXPECT_FALSE((*participant)->report(task(2, 1), model));
  ASSERT_TRUE((*participant)->report(task(1, 1), model));
  EXPECT_NE((*participant)->contract().mechanisms[0].find("privunit"), std::string::npos);
  EXPECT_EQ((*participant)->contract().model, model_digest(model));
  const std::string digest = (*participant)->contract().digest();
  model.back() = 2.0F;  // the scale of one feature
  const auto other = (*participant)->report(task(1, 1), model);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("another model"), std::string::npos);
  ASSERT_TRUE((*participant)->report(task(2, 2), model));
  EXPECT_NE((*participant)->contract().digest(), digest);
  const auto spent = (*participant)->spent();
  ASSERT_TRUE(spent);
  EXPECT_EQ(spent->rounds, 2U);
}

/// The second message of a round would tell more in the first one's batch, and a message that is
/// asked for twice would be two reports for one charge.
TEST_F(ParticipantTest, EveryMessageIsSentOnceAndInItsPlace) {
  const Recipe recipe = csv_recipe({"privacy.messages=2"});
  const std::string data = folder.write("complete.csv", kComplete).string();
  const auto participant = make(recipe, data);
  ASSERT_TRUE(participant) << participant.error().message;
  const std::vector<float> model((*participant)->weights(), 0.01F);
  const TaskHeader honest = task_of(recipe, 1);
  ASSERT_EQ(honest.parts.size(), 2U);
  const std::vector<std::vector<std::size_t>> asked = {{1, 1}, {0, 0}, {1, 0}, {0}, {1}, {0, 1, 1}};
  for (const auto& messages : asked) {
    TaskHeader task = honest;
    task.parts.clear();
    for (const std::size_t message : messages) task.parts.push_back(honest.parts[message]);
    const auto refused = (*participant)->report(task, model);
    ASSERT_FALSE(refused) << messages.size();
    EXPECT_EQ(refused.error().kind, ErrorKind::kRefused) << refused.error().message;
  }
  EXPECT_EQ((*participant)->spent().value().epsilon_sum, 0.0);
  const auto report = (*participant)->report(honest, model);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->size(), 2U);
  EXPECT_NE((*report)[0].mechanism_id(), (*report)[1].mechanism_id());
  EXPECT_EQ((*participant)->contract().mechanisms.size(), 2U);
  EXPECT_EQ((*participant)->contract().chunks, 2U);
  const double twice = (*participant)->spent().value().epsilon_sum;
  const auto again = (*participant)->report(honest, model);
  ASSERT_TRUE(again) << again.error().message;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*again)[i].serialize(), (*report)[i].serialize());
  }
  EXPECT_EQ((*participant)->spent().value().epsilon_sum, twice);
  const auto one = make(csv_recipe(), data, native, "bob");
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_TRUE((*one)->report(task_of(csv_recipe(), 1), model));
  EXPECT_NEAR(twice, 2.0 * (*one)->spent().value().epsilon_sum, 1e-9);
}

/// A recipe that the policy does not name costs its reader nothing.
TEST_F(ParticipantTest, ARecipeThatIsNotAllowedIsNotWorkedOut) {
  std::string budgets = "privacy.client_budgets=[";
  for (int i = 0; i < 60'000; ++i)
    budgets += std::to_string(1.0 + i * 1e-6) + (i < 59'999 ? "," : "]");
  policy = identity::Policy{};
  policy->recipes = {std::string(64, 'a')};
  const auto begin = std::chrono::steady_clock::now();
  const auto refused =
      make(csv_recipe({budgets}), folder.write("complete.csv", kComplete).string());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kRefused) << refused.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

std::size_t peak_mb() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) / 1024;
}

TEST_F(ParticipantTest, TooMuchWorkIsRefusedBeforeAnyOfItIsDone) {
  const MakeFactory never =
      [](const TrainerRequest&) -> Result<std::shared_ptr<const TrainerFactory>> {
    ADD_FAILURE() << "a network was made";
    return fail(ErrorKind::kInternal, "made");
  };
  const std::size_t before = peak_mb();
  for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
           {"model.name=mlp(60000,60000)"},
           {"model.name=mlp(60000,60000)", "bound.range=initial"},
           {"data.resize=[3, 8000, 8000]", "train.batch_size=1"},
           {"data.resize=[3, 8000, 8000]", "train.batch_size=1", "model.name=srr-medical"},
           {"data.shape=[1, 100000, 100000]"},
           {"train.epochs=100000"}}) {
    const auto made = make(csv_recipe(settings), "/nowhere/data.csv", never);
    ASSERT_FALSE(made) << settings.front();
    EXPECT_EQ(made.error().kind, ErrorKind::kRefused) << made.error().message;
    // By the client's limits, or by those of any network.
    const std::string& why = made.error().message;
    EXPECT_TRUE(why.find("more work") != std::string::npos ||
                why.find("at most") != std::string::npos)
        << why;
  }
  EXPECT_LT(peak_mb() - before, 50U);
}

TEST_F(ParticipantTest, TheOwnersWordForWorkCounts) {
  policy.emplace();
  policy->mechanisms = {"two-point"};
  policy->shuffle = {"none"};
  policy->models = {"linear"};
  policy->recipes = {"any"};
  policy->epsilon_per_round = policy->epsilon = 1e6;
  policy->rounds = policy->min_batch = 1;
  policy->rounds = 100;
  policy->work.weights = 15;  // 4 * 3 + 3
  const std::string data = folder.write("complete.csv", kComplete).string();
  EXPECT_TRUE(make(csv_recipe(), data));
  policy->work.weights = 14;
  const auto refused = make(csv_recipe(), data);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("15 weights are more than 14"), std::string::npos);
}

TEST(Work, WeightsAreThoseOfTheNetwork) {
  Recipe recipe;
  recipe.train.epochs = 3;
  recipe.data.views = {{.flip = true}, {.right = 1}};
  for (const NetworkInfo& info : networks()) {
    const std::string name = info.name.starts_with("mlp") ? "mlp(200,100)" : info.name;
    const Network network = find_network(name, info.input, info.classes).value();
    EXPECT_EQ(work_of(recipe, network).weights, network.layout().size()) << name;
    // The samples and two views of them, three times.
    EXPECT_EQ(work_of(recipe, network).epochs, 9U) << name;
  }
}

/// What samples are is the recipe's to say.
TEST_F(ParticipantTest, ARecipeThatDoesNotSayWhatSamplesAreIsRefused) {
  Recipe recipe = csv_recipe();
  recipe.data.shape.clear();
  recipe.data.classes = 0;
  const auto made = make(recipe, folder.write("complete.csv", kComplete).string());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("data.shape and data.classes"), std::string::npos);
}

}  // namespace
}  // namespace sotto::rpc
