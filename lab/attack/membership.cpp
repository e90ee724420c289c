#include "attack/membership.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <numeric>

#include "attack/lira.h"
#include "attack/population.h"
#include "attack/report_model.h"
#include "base/parallel.h"
#include "client/recipe_training.h"
#include "plan/baselines.h"
#include "server/setup.h"

namespace sotto {
namespace {

using Relation = Confidences::Relation;

constexpr std::size_t kMostPopulation = 1'000'000;
constexpr std::size_t kScoredAtOnce = 512;

Result<void> check(const MembershipAttack& attack) {
  const auto wrong = [&](const std::string& text) {
    return fail(ErrorKind::kUsage, "membership: " + text);
  };
  const Recipe& recipe = attack.recipe;
  if (recipe.encode.on()) {
    return wrong(recipe.file +
                 ": records that are randomized before the rounds ([encode]) are not "
                 "attacked; use a recipe without this stage");
  }
  if (learns_alone(recipe)) {
    return wrong(recipe.file + ": clients that learn alone release no model");
  }
  if (recipe.data.by_user()) {
    return wrong(recipe.file +
                 ": data.partition = \"users\" fixes who holds what; use another one");
  }
  if (attack.runs < 6 || attack.runs % 2 != 0 || attack.runs > 100'000) {
    return wrong("the number of runs must be even and at least 6, half of them with each sample");
  }
  const std::size_t train = attack.data->train.size();
  const std::size_t most =
      std::min(kMostPopulation,
               attack.model.empty() ? train : 2 * std::min(train, attack.data->test.size()));
  if (attack.population < 20 || attack.population > most) {
    return wrong("the population must have from 20 to " + std::to_string(most) +
                 " samples with this data");
  }
  if (attack.models < 1 || attack.models > 1000) {
    return wrong("models of 1 to 1,000 rounds can be looked at together");
  }
  if (attack.report_round < 1 || attack.report_round > recipe.federation.rounds) {
    return wrong("reports can be attacked in the rounds 1 to " +
                 std::to_string(recipe.federation.rounds));
  }
  return {};
}

/// `count` rounds at equal distances, the last one of all left out: its model is the run's result.
std::vector<RoundId> earlier_rounds(RoundId rounds, std::size_t count) {
  std::vector<RoundId> kept;
  const std::size_t all = std::min<std::size_t>(count, rounds);
  for (std::size_t i = 1; i < all; ++i) kept.push_back(rounds * i / all);
  return kept;
}

class Game {
 public:
  Game(const MembershipAttack& attack, const MakeFactory& make_factory)
      : attack_(attack), make_factory_(make_factory), recipe_(attack.recipe) {}

  Result<MembershipResult> play(const RunProgress& progress);

 private:
  Result<void> prepare();
  /// Where the confidences of all runs go.
  struct Scored {
    Confidences models;   // of the last round
    Confidences history;  // the mean over several rounds
    Confidences reports;
  };
  Result<void> train(unsigned lane, std::size_t run, Scored& scored);
  /// The mean over the last model, whose confidences are known, and earlier ones.
  Result<void> score_history(unsigned lane, std::span<const float> last,
                             const std::vector<std::vector<float>>& earlier, std::span<float> mean);
  /// `right`, where it is not empty: whether the label has the largest output, sample by sample.
  Result<void> score(unsigned lane, std::span<const float> model, std::span<float> phi,
                     std::span<std::uint8_t> right = {});
  Result<void> score_reports(unsigned lane, std::size_t run, const ReportModels& watch,
                             const Partition& shares, std::span<const std::uint32_t> ids,
                             Confidences& reports);
  MembershipFinding judge(const std::string& target, const std::string& name,
                          const Confidences& all, std::size_t each) const;
  MembershipFinding judge_model(const std::string& name, const Confidences& all,
                                std::span<const float> phi) const;
  /// Of one model's judgements, into the sums over targets.
  template <class IsMember>
  void count_right(std::span<const std::uint8_t> right, IsMember&& member);

  const MembershipAttack& attack_;
  const MakeFactory& make_factory_;
  Recipe recipe_;
  Setup setup_;  // of the population: what samples look like to the network
  std::vector<std::unique_ptr<Trainer>> scorers_;
  std::vector<float> start_;
  std::size_t known_members_ = 0;  // of the population, where the target is given
  std::size_t reports_ = 0;
  std::vector<RoundId> kept_;  // rounds before the last whose models are attacked too
  Dataset population_;
  std::mutex mutex_;
  std::array<std::uint64_t, 2> judged_{};  // others, members
  std::array<std::uint64_t, 2> right_{};
  double client_epsilon_ = 0.0;
  double weight_epsilon_ = 0.0;
};

Result<void> Game::prepare() {
  // A copy of the system is attacked, not the clients of anybody: nothing is charged.
  recipe_.ledger = {};
  recipe_.ledger.keep = false;
  recipe_.federation.evaluate_every = recipe_.federation.rounds;
  recipe_.federation.patience = 0;
  known_members_ = attack_.model.empty() ? 0 : attack_.population / 2;
  population_ = draw_population(*attack_.data, attack_.population, known_members_, attack_.seed);
  RunOptions options;
  options.threads = 1;
  DataSplit split{attack_.data->name, population_, {}};
  split.test.shape = population_.shape;
  split.test.classes = population_.classes;
  options.data = std::make_shared<const DataSplit>(std::move(split));
  SOTTO_TRY(setup_, make_setup(recipe_, options, make_factory_));
  const Layout& layout = setup_.factory->layout();
  if (!attack_.model.empty() && attack_.model.size() != layout.size()) {
    return fail(ErrorKind::kUsage,
                "membership: the model has " + std::to_string(attack_.model.size()) +
                    " weights, and the recipe's network " + std::to_string(layout.size()));
  }
  start_ =
      setup_.factory->initial_weights(static_cast<std::uint64_t>(attack_.recipe.federation.seed));
  reports_ = attack_.model.empty() ? std::min(attack_.reports, setup_.clients_per_round) : 0;
  // Of a finished run only the last model is left, so its shadows are judged by theirs.
  if (attack_.model.empty()) kept_ = earlier_rounds(recipe_.federation.rounds, attack_.models);
  const bool own_statistics = uses_batch_statistics(recipe_, layout);
  const unsigned lanes = std::clamp(attack_.threads, 1U, setup_.factory->parallelism());
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SOTTO_TRY(std::unique_ptr<Trainer> trainer, setup_.factory->make());
    if (own_statistics) trainer->use_batch_statistics(true);
    scorers_.push_back(std::move(trainer));
  }
  return {};
}

Result<void> Game::score(unsigned lane, std::span<const float> model, std::span<float> phi,
                         std::span<std::uint8_t> right) {
  Trainer& trainer = *scorers_[lane];
  SOTTO_CHECK(trainer.load(model));
  const Dataset& samples = setup_.data->train;
  const auto classes = static_cast<std::size_t>(samples.classes);
  std::vector<std::uint32_t> some;
  std::vector<float> scores;
  for (std::size_t first = 0; first < samples.size(); first += kScoredAtOnce) {
    some.resize(std::min(kScoredAtOnce, samples.size() - first));
    std::iota(some.begin(), some.end(), static_cast<std::uint32_t>(first));
    scores.resize(some.size() * classes);
    SOTTO_CHECK(trainer.features(samples, some, setup_.preprocess, FeatureLayer::kScores, scores));
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto outputs = std::span(scores).subspan(i * classes, classes);
      const std::int32_t label = samples.labels[first + i];
      phi[first + i] = logit_of_label(outputs, label);
      if (right.empty()) continue;
      const auto best = std::max_element(outputs.begin(), outputs.end()) - outputs.begin();
      right[first + i] = best == label ? 1 : 0;
    }
  }
  return {};
}

Result<void> Game::score_reports(unsigned lane, std::size_t run, const ReportModels& watch,
                                 const Partition& shares, std::span<const std::uint32_t> ids,
                                 Confidences& reports) {
  if (watch.models().size() < reports_) {
    return fail(ErrorKind::kUsage, "membership: round " + std::to_string(attack_.report_round) +
                                       " has only " + std::to_string(watch.models().size()) +
                                       " reports; ask for fewer with --reports");
  }
  std::size_t slot = run * reports_;
  for (const auto& [client, model] : watch.models()) {
    SOTTO_CHECK(score(lane, model, reports.phi(slot)));
    const auto relation = reports.relation(slot);
    for (const std::uint32_t id : ids) relation[id] = Relation::kNeither;
    for (const std::uint32_t i : shares.client(client)) relation[ids[i]] = Relation::kIn;
    ++slot;
  }
  return {};
}

Result<void> Game::score_history(unsigned lane, std::span<const float> last,
                                 const std::vector<std::vector<float>>& earlier,
                                 std::span<float> mean) {
  std::copy(last.begin(), last.end(), mean.begin());
  std::vector<float> phi(last.size());
  for (const std::vector<float>& model : earlier) {
    SOTTO_CHECK(score(lane, model, phi));
    for (std::size_t i = 0; i < phi.size(); ++i) mean[i] += phi[i];
  }
  for (float& value : mean) value /= static_cast<float>(earlier.size() + 1);
  return {};
}

Result<void> Game::train(unsigned lane, std::size_t run, Scored& scored) {
  Confidences& models = scored.models;
  Recipe recipe = recipe_;
  recipe.federation.seed = static_cast<std::int64_t>(
      BitSource::from_seed(attack_.seed, "attack.run", {run}).next_u64() >> 1);
  const std::vector<std::uint32_t> ids = members_of(population_.size(), run, attack_.seed);
  DataSplit split{attack_.data->name, select(population_, ids), {}};
  split.test.shape = population_.shape;
  split.test.classes = population_.classes;
  RunOptions options;
  options.threads = 1;
  options.data = std::make_shared<const DataSplit>(std::move(split));
  options.initial_weights = start_;
  const auto watch = std::make_shared<ReportModels>(recipe, setup_.factory->layout(),
                                                    attack_.report_round, reports_, kept_);
  if (reports_ > 0 || !kept_.empty()) options.observer = watch;
  SOTTO_TRY(const RunResult result, run_recipe(recipe, options, make_factory_));
  std::vector<std::uint8_t> right(population_.size());
  SOTTO_CHECK(score(lane, result.model, models.phi(run), right));
  const auto relation = models.relation(run);
  for (const std::uint32_t id : ids) relation[id] = Relation::kIn;
  if (!kept_.empty()) {
    std::copy(relation.begin(), relation.end(), scored.history.relation(run).begin());
    SOTTO_CHECK(score_history(lane, models.phi(run), watch->released(), scored.history.phi(run)));
  }
  if (attack_.model.empty()) {
    count_right(right, [&](std::size_t i) { return relation[i] == Relation::kIn; });
  }
  if (reports_ > 0) {
    SOTTO_TRY(const Partition shares,
              make_partition(options.data->train, recipe.data.partition,
                             static_cast<std::size_t>(recipe.federation.clients),
                             static_cast<std::uint64_t>(recipe.federation.seed)));
    SOTTO_CHECK(score_reports(lane, run, *watch, shares, ids, scored.reports));
  }
  const std::scoped_lock lock(mutex_);
  const Claim* const claim = client_claim(result.claims);
  client_epsilon_ = std::max(
      client_epsilon_, claim != nullptr ? claim->epsilon : std::numeric_limits<double>::infinity());
  for (const GroupClaims& group : result.groups) {
    for (const Turn& turn : group.exposure.turns) {
      for (const auto& variant : turn.variants) {
        for (const auto& mechanism : variant) {
          weight_epsilon_ = std::max(weight_epsilon_, mechanism->guarantee().unit_epsilon);
        }
      }
    }
  }
  return {};
}

/// What the attack called `name` makes of a confidence.
std::optional<double> score_of(const std::string& name, const LikelihoodRatio& ratio,
                               std::size_t sample, double phi) {
  if (name == "loss") return phi;
  return name == "likelihood-ratio" ? ratio.online(sample, phi) : ratio.offline(sample, phi);
}

/// Every model is the target once; models of its own pair of runs are none of its shadows.
MembershipFinding Game::judge(const std::string& target, const std::string& name,
                              const Confidences& all, std::size_t each) const {
  MembershipFinding finding{target, name, {}, 0};
  std::vector<Decision> decisions;
  const std::size_t per_pair = 2 * each;
  for (std::size_t pair = 0; pair * per_pair < all.models(); ++pair) {
    std::vector<std::size_t> shadows;
    for (std::size_t model = 0; model < all.models(); ++model) {
      if (model / per_pair != pair) shadows.push_back(model);
    }
    const LikelihoodRatio ratio(all, shadows);
    for (std::size_t model = pair * per_pair; model < (pair + 1) * per_pair; ++model) {
      for (std::size_t i = 0; i < all.samples(); ++i) {
        const Relation relation = all.relation(model)[i];
        if (relation == Relation::kNeither) continue;
        const std::optional<double> score = score_of(name, ratio, i, all.phi(model)[i]);
        if (score) {
          decisions.push_back({*score, relation == Relation::kIn, static_cast<std::uint32_t>(i),
                               static_cast<std::uint32_t>(pair)});
        } else {
          ++finding.undecided;
        }
      }
    }
  }
  finding.roc = receiver_operating(std::move(decisions), attack_.roc);
  return finding;
}

MembershipFinding Game::judge_model(const std::string& name, const Confidences& all,
                                    std::span<const float> phi) const {
  MembershipFinding finding{"model", name, {}, 0};
  std::vector<std::size_t> shadows(all.models());
  std::iota(shadows.begin(), shadows.end(), std::size_t{0});
  const LikelihoodRatio ratio(all, shadows);
  std::vector<Decision> decisions;
  for (std::size_t i = 0; i < phi.size(); ++i) {
    const std::optional<double> score = score_of(name, ratio, i, phi[i]);
    if (score) {
      decisions.push_back({*score, i < known_members_, static_cast<std::uint32_t>(i), 0});
    } else {
      ++finding.undecided;
    }
  }
  finding.roc = receiver_operating(std::move(decisions), attack_.roc);
  return finding;
}

template <class IsMember>
void Game::count_right(std::span<const std::uint8_t> right, IsMember&& member) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < right.size(); ++i) {
    const std::size_t side = member(i) ? 1 : 0;
    ++judged_[side];
    right_[side] += right[i];
  }
}

Result<MembershipResult> Game::play(const RunProgress& progress) {
  SOTTO_CHECK(prepare());
  Scored scored{Confidences(attack_.runs, population_.size()),
                Confidences(kept_.empty() ? 0 : attack_.runs, population_.size()),
                Confidences(attack_.runs * reports_, population_.size())};
  std::mutex mutex;
  std::uint64_t done = 0;
  const auto one = [&](unsigned lane, std::size_t run) -> Result<void> {
    SOTTO_CHECK(train(lane, run, scored));
    const std::scoped_lock lock(mutex);
    ++done;
    if (progress) progress(done, attack_.runs);
    return {};
  };
  SOTTO_CHECK(parallel_for(static_cast<unsigned>(scorers_.size()), attack_.runs, one));
  MembershipResult result;
  const std::vector<std::string> attacks = {"loss", "likelihood-ratio", "likelihood-ratio-offline"};
  if (attack_.model.empty()) {
    for (const std::string& name : attacks) {
      result.findings.push_back(judge("model", name, scored.models, 1));
    }
    for (const std::string& name : attacks) {
      if (!kept_.empty()) result.findings.push_back(judge("models", name, scored.history, 1));
    }
    for (const std::string& name : attacks) {
      if (reports_ > 0) result.findings.push_back(judge("report", name, scored.reports, reports_));
    }
  } else {
    std::vector<float> phi(population_.size());
    std::vector<std::uint8_t> right(population_.size());
    SOTTO_CHECK(score(0, attack_.model, phi, right));
    count_right(right, [&](std::size_t i) { return i < known_members_; });
    for (const std::string& name : attacks) {
      result.findings.push_back(judge_model(name, scored.models, phi));
    }
  }
  const auto share = [&](std::size_t side) {
    return static_cast<double>(right_[side]) / static_cast<double>(judged_[side]);
  };
  result.member_accuracy = share(1);
  result.other_accuracy = share(0);
  result.client_epsilon = client_epsilon_;
  result.weight_epsilon = weight_epsilon_;
  return result;
}

}  // namespace

Result<MembershipResult> infer_membership(const MembershipAttack& attack,
                                          const MakeFactory& make_factory,
                                          const RunProgress& progress) {
  SOTTO_CHECK(check(attack));
  return Game(attack, make_factory).play(progress);
}

}  // namespace sotto
