// A recipe: everything that decides a run's result, read strictly from TOML.
//
// An unknown key, a wrong type or an impossible value is an error with file, line and the nearest
// valid key. The same table of keys drives reading, --set, the record in run.json and the list in
// docs/guides/recipes.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/choices.h"
#include "sotto/image_view.h"
#include "sotto/result.h"
#include "sotto/statistics.h"

namespace sotto {

/// A [[tensor]] entry: what the tensors whose names match have of their own.
struct TensorRule {
  std::string match;  // "0.weight", "*.bias"
  std::optional<double> centre;
  std::optional<double> radius;
  std::map<std::string, double, std::less<>> parameters;  // of the mechanism
};

struct Recipe {
  struct Data {
    std::string name;
    std::string labels;
    std::string test;
    std::string test_labels;
    /// Of samples, for a set that is not a known one: what clients' own data is held against.
    std::vector<std::int64_t> shape;       // channels, height, width
    std::int64_t classes = 0;              // 0: not given
    std::vector<std::string> class_names;  // where sources name their classes
    double test_fraction = 0.1;
    std::string partition = "stratified";
    std::string features = "none";
    std::vector<ImageView> views;  // that a gradient is the mean over, beside the sample itself
    bool normalize = true;
    std::vector<double> mean;
    std::vector<double> deviation;
    std::vector<std::int64_t> resize;  // channels, height, width
    std::int64_t crop_padding = 0;
    bool flip = false;
    double rotation = 0.0;

    /// Whether a client is one of the data set's own users, as many as there are.
    bool by_user() const { return partition == "users"; }
    /// Whether the network sees features instead of the samples.
    bool has_features() const { return features != "none"; }
  } data;

  struct Model {
    std::string name;
    std::string file;
  } model;

  /// Records are encoded as bits and randomized once, before the first round (LDPFL).
  struct Encode {
    std::string network;  // whose features stand for a record; empty: there is no such stage
    std::string data;     // public set that it is trained on; empty: each client's own records
    FeatureLayer layer = FeatureLayer::kFlatten;
    std::int64_t features = 0;            // means of so many groups of features; 0: all features
    std::int64_t whole_bits = 4;          // of a feature
    std::int64_t fraction_bits = 5;       // of a feature
    std::string mechanism;                // for the bits of a record
    std::optional<double> epsilon;        // of the mechanism
    std::optional<double> alpha;          // of ldpfl-1 and ldpfl-2
    std::optional<double> label_epsilon;  // of the label; not given: labels are not protected
    TestRecords test = TestRecords::kRandomized;
    Optimizer optimizer = Optimizer::kRmsprop;
    double lr = 0.001;
    double lr_decay = 1e-6;
    double weight_decay = 1e-4;
    std::int64_t batch_size = 64;
    std::int64_t epochs = 50;

    bool on() const { return !network.empty(); }
    /// Whether clients' own records decide how records are encoded.
    bool trains_on_records() const { return data.empty() && epochs > 0; }
  } encode;

  /// By which statistics features are changed before the network sees them.
  struct Statistics {
    StatisticSource mean = StatisticSource::kNone;
    std::string data;               // public known set, with kPublic
    std::int64_t rounds = 1;        // the first ones, in which clients report it, with kPrivate
    std::string mechanism;          // of these rounds; empty: privacy.mechanism
    std::optional<double> epsilon;  // of these rounds; not given: privacy.epsilon

    bool on() const { return mean != StatisticSource::kNone; }
    /// Whether clients report it.
    bool reported() const { return mean == StatisticSource::kPrivate; }
  } statistics;

  struct Train {
    Optimizer optimizer = Optimizer::kSgd;
    double lr = 0.1;
    double momentum = 0.0;
    double weight_decay = 0.0;
    bool keep_optimizer = false;  // whether a client's optimizer state lasts from round to round
    std::int64_t batch_size = 16;
    std::int64_t epochs = 1;
    double clip = 0.0;   // DP-SGD: l2 norm of a sample's gradient; 0: plain training
    double noise = 0.0;  // deviation of the noise on a lot's sum, in clips
    std::string device = "cpu";
    Engine engine = Engine::kAuto;
  } train;

  struct Federation {
    FederationMode mode = FederationMode::kFederated;
    std::int64_t clients = 100;
    double fraction = 1.0;
    std::int64_t k = 0;  // clients a round; 0: by fraction
    SelectionRule selection = SelectionRule::kServer;
    std::int64_t rounds = 10;
    std::int64_t patience = 0;  // evaluations without improvement before stopping; 0: never
    std::int64_t evaluate_every = 1;
    std::int64_t seed = 1;
  } federation;

  struct Privacy {
    std::string mechanism = "none";
    std::optional<double> centre;  // of the range of all tensors; 0
    std::optional<double> radius;  // 1
    /// What the mechanism is made with: "epsilon" and whatever else it takes.
    std::map<std::string, double, std::less<>> parameters;
    /// Clients take turns with these budgets, instead of epsilon, alpha or schedule.total.
    std::vector<double> client_budgets;
    /// Independent reports that a client sends in a round of what it has computed, each in a batch
    /// of its own.
    std::int64_t messages = 1;

    /// Whether a mechanism perturbs what is sent.
    bool on() const { return mechanism != "none"; }
  } privacy;

  std::vector<TensorRule> tensors;

  struct Bound {
    Payload payload = Payload::kWeights;
    RangeRule range = RangeRule::kFixed;
    double margin = 3.0;  // radius of an initial or adaptive range, in deviations
    BufferRule buffers = BufferRule::kPerturb;
    bool normalize = false;  // whether every payload is made as long as the ball's norm
    double floor = 1e-6;     // the least length that is
  } bound;

  /// Which layers are sent in which round, and how a budget for the training is split over them.
  struct Schedule {
    std::string mode = "all";
    std::int64_t cycles = 1;
    std::optional<double> total;  // budget of a client for the whole training
    bool sampling_credit = false;

    /// Whether every layer is sent in every round.
    bool sends_all() const { return mode == "all"; }
  } schedule;

  /// What the server makes of a round's mean. All of it is post-processing.
  struct Server {
    double lr = 1.0;
    double momentum = 0.0;
    RateDecay decay = RateDecay::kNone;  // of lr, over the rounds
  } server;

  /// Secure aggregation: the server sees sums only.
  struct Aggregate {
    bool secure = false;
    double threshold = 0.66;  // share of a round's clients without whom nothing is unmasked
    double dropout = 0.0;     // probability that a client vanishes before it sends its report
    std::int64_t honest = 0;  // clients that the noise of DP-SGD is divided among; 0: it is not
  } aggregate;

  struct Shuffle {
    ShuffleMode mode = ShuffleMode::kNone;
    std::int64_t split = 0;      // symbols of a client that travel together; 0: the whole report
    std::int64_t min_batch = 1;  // a smaller batch is not released
    double latency = 1.0;        // seconds: the longest random delay of a chunk
  } shuffle;

  struct Account {
    double delta = 1e-6;  // what composed claims may fail with
    double honest = 1.0;  // share of a batch's other members who keep their coins secret
  } account;

  /// What each client allows, over its lifetime: client i takes entry i modulo the length. An
  /// empty list sets no limit.
  struct LedgerKeys {
    bool keep = true;
    std::vector<double> epsilon_per_round;
    std::vector<double> epsilon;
    std::vector<double> delta;
    std::vector<double> rounds;

    bool limits() const {
      return !epsilon_per_round.empty() || !epsilon.empty() || !delta.empty() || !rounds.empty();
    }
  } ledger;

  struct Output {
    std::string name;
    std::int64_t checkpoint_every = 1;
  } output;

  std::string file;  // where it was read from

  /// Whether what happens in a round depends on how many there are in all.
  bool paced() const {
    return server.decay != RateDecay::kNone || !schedule.sends_all() ||
           schedule.total.has_value() || federation.selection == SelectionRule::kOnce;
  }

  /// By section, every key, defaults included.
  nlohmann::json to_json() const;
  /// Of all keys that decide the model a given number of rounds yields (not patience,
  /// evaluate_every, output; rounds only where rounds are paced): a run may be resumed by a recipe
  /// with the same fingerprint only.
  std::string fingerprint() const;
};

struct RecipeKey {
  std::string key;            // "train.lr"
  std::string valid;          // "a number in (0, 1000]"
  std::string default_value;  // "0.1"
  std::string meaning;
};
std::vector<RecipeKey> recipe_keys();

/// `overrides` are "section.key=value" as --set takes them; a value is TOML, or a bare word.
Result<Recipe> load_recipe(const std::filesystem::path& file,
                           std::span<const std::string> overrides = {});
/// `place` stands for the file name in errors.
Result<Recipe> parse_recipe(std::string_view text, const std::string& place,
                            std::span<const std::string> overrides = {});

}  // namespace sotto
