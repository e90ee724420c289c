// What clients were exposed to: what the server was given counts, whatever it released.
#include <nlohmann/json.hpp>

#include "server/checkpoint.h"
#include "temporary_folder.h"
#include "toy_run.h"

namespace sotto {
namespace {

/// A server whose batches never end in a release, though it was given so many reports.
class Withholding final : public Transport {
 public:
  explicit Withholding(std::vector<std::uint64_t> opened) : opened_(std::move(opened)) {}
  unsigned lanes() const noexcept override { return 1; }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> /*model*/,
                           std::span<const EnvelopeSink> /*sinks*/) override {
    if (plan.round == fails_in) return fail(ErrorKind::kIo, "stopped");
    Delivery delivery;
    delivery.groups = {{0, "the shuffler's batch did not arrive whole", 0,
                        opened_[(plan.round - 1) % opened_.size()]}};
    return delivery;
  }
  RoundId fails_in = 0;

 private:
  std::vector<std::uint64_t> opened_;
};

std::vector<std::string> shuffled(std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"privacy.mechanism=privunit", "privacy.epsilon=2", "shuffle.mode=shuffler",
               "federation.fraction=1", "federation.rounds=3", "ledger.keep=false"});
  return more;
}

double promised(const RunResult& result) { return client_claim(result.claims)->epsilon; }

TEST(Exposure, ReportsThatWereOpenedAndNotReleasedCount) {
  RunOptions options;
  options.transport = std::make_shared<Withholding>(std::vector<std::uint64_t>{0});
  EXPECT_EQ(promised(run(toy_recipe(shuffled()), options)), 0.0);  // the shuffler kept all

  options.transport = std::make_shared<Withholding>(std::vector<std::uint64_t>{1});
  const RunResult alone = run(toy_recipe(shuffled()), options);
  EXPECT_EQ(alone.groups[0].exposure.batches(), (std::map<std::uint64_t, std::uint64_t>{{1, 3}}));
  EXPECT_NEAR(promised(alone), 6.0, 0.01);  // three rounds of 2, in batches of one

  options.transport = std::make_shared<Withholding>(std::vector<std::uint64_t>{0, 30, 0});
  const RunResult once = run(toy_recipe(shuffled()), options);
  EXPECT_EQ(once.groups[0].exposure.batches(), (std::map<std::uint64_t, std::uint64_t>{{30, 1}}));
  EXPECT_GT(promised(once), 0.2);
  EXPECT_LT(promised(once), 2.0);
}

TEST(Exposure, IsKeptWithTheState) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder.path() / "run";
  auto server = std::make_shared<Withholding>(std::vector<std::uint64_t>{5, 0, 7});
  server->fails_in = 3;
  options.transport = server;
  options.coins = Coins::kClients;
  ASSERT_FALSE(run_recipe(toy_recipe(shuffled()), options, make_toy));
  server->fails_in = 0;
  options.resume = true;
  const RunResult result = run(toy_recipe(shuffled()), options);
  EXPECT_EQ(result.groups[0].exposure.batches(),
            (std::map<std::uint64_t, std::uint64_t>{{5, 1}, {7, 1}}));
  const auto text = read_text(options.out / "certificate.json");
  ASSERT_TRUE(text);
  const auto checked = check_certificate(*text);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->content.exposure.batches(), result.groups[0].exposure.batches());
  EXPECT_EQ(checked->content.coins, Coins::kClients);
  EXPECT_EQ((*result.record)["privacy"]["protects"], true);
}

TEST(Exposure, ACheckpointThatDoesNotSayWhatWasOpenedCountsWhatCame) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  checkpoint.recipe = std::string(64, 'a');
  checkpoint.layout = std::string(64, 'b');
  checkpoint.attendance[1] = {{3, 0, 2}};
  ASSERT_TRUE(write_checkpoint(folder.path() / "state", checkpoint));
  const auto read = read_checkpoint(folder.path() / "state");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->attendance.at(1).at(0).opened, 2U);
}

TEST(Exposure, ASimulationSaysThatItsCoinsArePublic) {
  const RunResult result = run(toy_recipe(shuffled()), {});
  const nlohmann::json privacy = (*result.record)["privacy"];
  EXPECT_EQ(privacy["coins"], "public seed (simulation)");
  EXPECT_EQ(privacy["protects"], false);
  EXPECT_EQ(privacy["batches"][0]["size"], 40);
  EXPECT_EQ(privacy["honest"], 1.0);
}

TEST(Exposure, TheHonestShareOfARecipeCounts) {
  const auto with = [](const char* honest) {
    return promised(run(toy_recipe(shuffled({honest})), {}));
  };
  EXPECT_LT(with("account.honest=1"), with("account.honest=0.5"));
  EXPECT_LT(with("account.honest=0.5"), with("account.honest=0.2"));
  EXPECT_FALSE(parse_recipe("[account]\nhonest = 0\n", "toy.toml", {}));
  EXPECT_FALSE(parse_recipe("[account]\nhonest = 1.5\n", "toy.toml", {}));
}

TEST(Exposure, EveryRoundCountsWhereNobodySeesWhoWasPicked) {
  const std::vector<std::string> settings =
      shuffled({"federation.selection=anonymous", "federation.fraction=0.05"});
  const RunResult result = run(toy_recipe(settings), {});
  const Exposure& exposure = result.groups[0].exposure;
  EXPECT_EQ(exposure.population, 40U);
  EXPECT_DOUBLE_EQ(exposure.sampling, 0.05);
  EXPECT_EQ(exposure.turns[0].held, 3U);
}

}  // namespace
}  // namespace sotto
