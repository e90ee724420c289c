// Recipes are read strictly, and every error says where, what and what would be right.
#include "sotto/recipe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "recipe/choice_names.h"
#include "sotto/mechanism.h"

namespace sotto {
namespace {

constexpr const char* kSmall = "[data]\nname = \"embedded\"\n[model]\nname = \"linear\"\n";

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const auto recipe = parse_recipe(text, "r.toml", overrides);
  EXPECT_FALSE(recipe) << text;
  if (recipe) return "";
  EXPECT_EQ(recipe.error().kind, ErrorKind::kUsage);
  return recipe.error().message;
}

void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  }
}

TEST(Recipe, DefaultsAndNames) {
  const auto recipe = parse_recipe(kSmall, "recipes/first.toml");
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->output.name, "first");
  EXPECT_EQ(recipe->federation.clients, 100);
  EXPECT_EQ(recipe->privacy.mechanism, "none");
  EXPECT_EQ(recipe->to_json()["train"]["lr"], 0.1);
}

TEST(Recipe, UnknownKeysNameTheLineAndTheNearestKey) {
  expect_parts(error_of(std::string(kSmall) + "[train]\nlearning_rate = 1\nlr = 2\n"),
               {"r.toml:6", "unknown key 'train.learning_rate'", "train.lr"});
  expect_parts(error_of(std::string(kSmall) + "[train]\nmomentun = 0.5\n"),
               {"r.toml:6", "did you mean 'train.momentum'?"});
  expect_parts(error_of(std::string(kSmall) + "[train]\nrounds = 5\n"),
               {"r.toml:6", "did you mean 'federation.rounds'?"});
  expect_parts(error_of(std::string(kSmall) + "[trian]\nlr = 1\n"),
               {"r.toml:5", "unknown section [trian]", "did you mean 'train'?"});
  expect_parts(error_of("lr = 1\n"), {"r.toml:1", "unknown key 'lr'", "did you mean 'train.lr'?"});
}

TEST(Recipe, WrongTypesAndImpossibleValuesNameWhatIsValid) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[train]\nlr = \"fast\"", "a number in (0, 1000]"},
      {"[train]\nlr = 0", "a number in (0, 1000]"},
      {"[train]\nlr = -0.1", "a number in (0, 1000]"},
      {"[train]\nlr = nan", "a number in (0, 1000]"},
      {"[train]\nlr = inf", "a number in (0, 1000]"},
      {"[train]\nepochs = 1.5", "a whole number in [1, 100000]"},
      {"[train]\nepochs = 0", "a whole number in [1, 100000]"},
      {"[train]\nepochs = true", "a whole number in [1, 100000]"},
      {"[train]\noptimizer = \"sdg\"", "one of \"sgd\" \"adam\" \"rmsprop\""},
      {"[federation]\nfraction = 1.1", "a number in (0, 1]"},
      {"[federation]\nfraction = 0", "a number in (0, 1]"},
      {"[federation]\nclients = -1", "a whole number in [0, 100000000]"},
      {"[privacy]\nmechanism = \"nome\"", "one of \"two-point\""},
      {"[output]\nname = 3", "text"},
  };
  for (const auto& [text, valid] : cases) {
    expect_parts(error_of(kSmall + text + "\n"), {"r.toml:6", "must be " + valid});
  }
  expect_parts(error_of(kSmall + std::string("[train]\noptimizer = \"sdg\"\n")),
               {"did you mean 'sgd'?"});
  expect_parts(error_of("[data]\nname = \"x\"\nresize = [3, 224]\n"), {"r.toml:3", "[channels"});
  expect_parts(error_of("[data]\nname = \"x\"\nresize = [3, 20000, 20000]\n"),
               {"r.toml:3", "each in [1, 8192]"});
  expect_parts(
      error_of("[data]\nname = \"x\"\nresize = [3, 8192, 8192]\n[model]\nname = \"linear\"\n"
               "[train]\nbatch_size = 16\n"),
      {"samples of 201326592 values", "valid: at most 268435456"});
  expect_parts(error_of("[data]\nname = \"x\"\nflip = \"yes\"\n"), {"r.toml:3", "true or false"});
  expect_parts(error_of("[data]\nname = \"x\"\ndeviation = [0.0]\n"), {"r.toml:3", "positive"});
}

TEST(Recipe, PrivacyKeysBelongToTheMechanism) {
  const std::string two_point = std::string(kSmall) + "[privacy]\nmechanism = \"two-point\"\n";
  const auto recipe = parse_recipe(two_point + "epsilon = 5\nradius = 0.075\n", "r.toml");
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->privacy.parameters.at("epsilon"), 5.0);
  EXPECT_EQ(recipe->privacy.radius, 0.075);
  EXPECT_EQ(recipe->to_json()["privacy"]["epsilon"], 5.0);

  expect_parts(error_of(two_point), {"r.toml: privacy.epsilon is missing", "[1e-09, 1000]"});
  for (const std::string value : {"0", "-1", "1001", "-0.5"}) {
    expect_parts(error_of(two_point + "epsilon = " + value + "\n"),
                 {"r.toml:7: privacy.epsilon = " + value, "must be a number in [1e-09, 1000]"});
  }
  for (const std::string value : {"nan", "inf", "\"five\""}) {
    expect_parts(error_of(two_point + "epsilon = " + value + "\n"), {"r.toml:7: privacy.epsilon"});
  }
  expect_parts(error_of(two_point + "epsilon = 1\nradius = 0\n"),
               {"r.toml:8: privacy.radius = 0", "above 0"});
  expect_parts(error_of(std::string(kSmall) + "[privacy]\nepsilon = 1\n"),
               {"r.toml:6: privacy.epsilon", "\"none\" takes no 'epsilon'"});
  expect_parts(error_of(std::string(kSmall) + "[privacy]\nradius = 1\n"),
               {"r.toml:6: privacy.radius", "\"none\" has no range"});
}

TEST(Recipe, EveryMechanismForWeightsCanBeChosenAndNoOther) {
  for (const MechanismInfo& info : mechanisms()) {
    std::string text =
        std::string(kSmall) + "[privacy]\nmechanism = \"" + std::string(info.name) + "\"\n";
    if (info.kind == MechanismKind::kBits) {
      expect_parts(error_of(text), {"r.toml:6: privacy.mechanism", "not weights"});
      continue;
    }
    for (const ParameterInfo& parameter : info.parameters) {
      if (!parameter.required && !parameter.default_value) continue;
      const double value = parameter.default_value.value_or(parameter.high);
      text += std::string(parameter.name) + " = " + nlohmann::json(value).dump() + '\n';
    }
    const auto recipe = parse_recipe(text, "r.toml");
    ASSERT_TRUE(recipe) << recipe.error().message;
    EXPECT_EQ(recipe->privacy.mechanism, info.name);
    expect_parts(error_of(text + "grops = 1\n"), {"unknown key 'privacy.grops'"});
  }
}

TEST(Recipe, AMechanismFromTheCommandLineLeavesOutTheFilesKeys) {
  const std::string text =
      std::string(kSmall) + "[privacy]\nmechanism = \"two-point\"\nepsilon = 5\nradius = 0.075\n";
  const std::vector<std::string> none = {"privacy.mechanism=none"};
  const auto recipe = parse_recipe(text, "r.toml", none);
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_TRUE(recipe->privacy.parameters.empty());
  EXPECT_FALSE(recipe->privacy.radius);
  EXPECT_EQ(recipe->fingerprint(), parse_recipe(kSmall, "r.toml")->fingerprint());
  const std::vector<std::string> both = {"privacy.mechanism=none", "privacy.epsilon=2"};
  const auto wrong = parse_recipe(text, "r.toml", both);
  ASSERT_FALSE(wrong);
  expect_parts(wrong.error().message, {"--set privacy.epsilon=2", "takes no 'epsilon'"});
}

TEST(Recipe, KeysThatContradictEachOther) {
  expect_parts(error_of("[model]\nname = \"linear\"\n"), {"data.name is missing"});
  expect_parts(error_of("[data]\nname = \"x\"\n"), {"model.name", "model.file"});
  expect_parts(error_of("[data]\nname = \"x\"\n[model]\nname = \"linear\"\nfile = \"n.pt\"\n"),
               {"both given"});
  expect_parts(error_of(std::string(kSmall) + "[federation]\nfraction = 0.5\nk = 3\n"),
               {"federation.fraction and federation.k"});
  expect_parts(error_of(std::string(kSmall) + "[federation]\nclients = 5\nk = 6\n"),
               {"must be at most 5"});
  expect_parts(error_of(std::string(kSmall) + "[federation]\nclients = 0\n"), {"users"});
  expect_parts(error_of(std::string(kSmall) + "[train]\noptimizer = \"adam\"\nmomentum = 0.5\n"),
               {"train.momentum"});
}

TEST(Recipe, ViewsAndTheFloorBelongToGradients) {
  const std::string gradient = std::string(kSmall) +
                               "[bound]\npayload = \"gradient\"\nnormalize = true\n[privacy]\n" +
                               "mechanism = \"privunit\"\nepsilon = 4\n";
  const auto with = [&](const std::string& setting) {
    return parse_recipe(gradient, "r.toml", std::vector<std::string>{setting});
  };
  const auto print = [&](const std::string& setting) { return with(setting)->fingerprint(); };
  const auto views = with("data.views=['rotate(8)+flip', 'shift(0,-1)']");
  ASSERT_TRUE(views) << views.error().message;
  ASSERT_EQ(views->data.views.size(), 2U);
  EXPECT_EQ(views->to_json()["data"]["views"], (nlohmann::json{"flip+rotate(8)", "shift(0,-1)"}));
  EXPECT_NE(views->fingerprint(), print("data.views=[]"));
  EXPECT_EQ(views->fingerprint(), print("data.views=['flip+rotate(8)', 'shift(0,-1)']"));
  EXPECT_NE(print("bound.floor=0"), print("bound.floor=1e-6"));
  for (const char* const bad :
       {"data.views=flip", "data.views=['turn(3)']", "data.views=['flip', 'flip']",
        "data.views=['rotate(8)+flip', 'flip+rotate(8)']", "data.views=[1]"}) {
    const auto refused = with(bad);
    ASSERT_FALSE(refused) << bad;
    expect_parts(refused.error().message, {"data.views", "shift(DX,DY)", "rotate(DEGREES)"});
  }
  std::string many = "data.views=[";
  for (int i = 1; i <= 32; ++i) many += "'shift(" + std::to_string(i) + ",0)',";
  EXPECT_FALSE(with(many + "]"));
  // Keys that mean nothing are errors, and those that --set takes the meaning of go with it.
  expect_parts(error_of(std::string(kSmall) + "views = [\"flip\"]\n"), {"unknown key"});
  const std::string plain =
      "data = { name = \"x\", views = [\"flip\"] }\nmodel.name = \"linear\"\n";
  expect_parts(error_of(plain), {"data.views", "bound.payload = \"gradient\""});
  expect_parts(error_of(std::string(kSmall) + "[bound]\nfloor = 0.1\n"),
               {"bound.floor", "bound.normalize = true"});
  const auto clipped = with("bound.normalize=false");
  ASSERT_TRUE(clipped) << clipped.error().message;
  EXPECT_TRUE(clipped->to_json()["bound"]["floor"].is_null());
}

TEST(Recipe, BrokenTomlNamesTheLine) {
  expect_parts(error_of("[data]\nname = \n"), {"r.toml:2", "not valid TOML"});
  expect_parts(error_of("[data]\nname = \"a\"\nname = \"b\"\n"), {"r.toml:3"});
  expect_parts(error_of(std::string("[da\0ta]", 7)), {"r.toml:1"});
  expect_parts(error_of("data = 3\n"), {"r.toml:1", "write [data]"});
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (; times > 0; --times) all += text;
  return all;
}

TEST(Recipe, KeysWithoutEndAreRefusedBeforeTheyAreParsed) {
  // As many as exhaust the stack: a client reads what its server sends.
  const std::string bare = repeated("a.", 200'000) + "a";
  const std::string quoted = repeated("\"=\".", 100'000) + "a";
  for (const std::string& key : {bare, quoted}) {
    expect_parts(error_of(key + " = 1\n"), {"200 dots"});
    expect_parts(error_of('[' + key + "]\n"), {"200 dots"});
    expect_parts(error_of("[data]\nname = {" + key + " = 1}\n"), {"200 dots"});
    // What is no TOML is a word.
    const std::string word = "{" + key + " = 1}";
    const auto set = parse_recipe(kSmall, "r", std::vector<std::string>{"output.name=" + word});
    ASSERT_TRUE(set) << set.error().message.substr(0, 200);
    EXPECT_EQ(set->output.name, word);
  }
  // A list of as many numbers is one.
  const auto list =
      parse_recipe(std::string(kSmall), "r",
                   std::vector<std::string>{"ledger.epsilon=[" + repeated("1.5, ", 1000) + "2.5]"});
  EXPECT_TRUE(list) << list.error().message;
}

TEST(Recipe, LettersOfAllLanguagesInTextsAndCommentsOnly) {
  const std::string pi = "\xCE\xA0";
  expect_parts(error_of("# " + pi + "\n[data]\nna" + pi + "me = 1\n"), {"r.toml:3", "not ASCII"});
  // No text: the parser takes the quotes for a part of the word.
  for (const std::string& word : {"00T00\"" + pi + '"', "0.'''" + pi + "'''", "[0='" + pi + "']"}) {
    expect_parts(error_of("[data]\nname = " + word + "\n"), {"r.toml:2", "not ASCII"});
  }
  for (const std::string& name : {'"' + pi + '"', '\'' + pi + "' # " + pi, "\"x\" # " + pi}) {
    const auto recipe =
        parse_recipe(kSmall + std::string("[output]\nname = ") + name + "\n", "r.toml");
    ASSERT_TRUE(recipe) << recipe.error().message;
  }
  const auto set = parse_recipe(kSmall, "r", std::vector<std::string>{"output.name=/home/" + pi});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->output.name, "/home/" + pi);
}

TEST(Recipe, OverridesWinAndAreAsStrict) {
  const std::vector<std::string> good = {"train.lr=0.05",   "data.name=mnist",
                                         "data.flip=true",  "model.name=\"mlp(20,10)\"",
                                         "data.mean=[0.5]", "data.deviation=[0.5]"};
  const auto recipe = parse_recipe(kSmall, "r.toml", good);
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->train.lr, 0.05);
  EXPECT_EQ(recipe->data.name, "mnist");
  EXPECT_TRUE(recipe->data.flip);
  EXPECT_EQ(recipe->model.name, "mlp(20,10)");
  expect_parts(error_of(kSmall, {"train.lr=fast"}), {"--set train.lr=fast", "a number in"});
  expect_parts(error_of(kSmall, {"train.ls=1"}), {"--set train.ls=1", "did you mean 'train.lr'?"});
  expect_parts(error_of(kSmall, {"lr=1"}), {"did you mean 'train.lr'?"});
  expect_parts(error_of(kSmall, {"train.lr"}), {"section.key=value"});
  expect_parts(error_of(kSmall, {"train.lr=1\nx=2"}), {"--set"});
}

TEST(Recipe, OverridingOneWayOfSamplingReplacesTheOther) {
  const std::string by_fraction = std::string(kSmall) + "[federation]\nfraction = 0.5\n";
  const std::string by_k = std::string(kSmall) + "[federation]\nk = 7\n";
  EXPECT_EQ(
      parse_recipe(by_fraction, "r", std::vector<std::string>{"federation.k=3"})->federation.k, 3);
  EXPECT_EQ(
      parse_recipe(by_k, "r", std::vector<std::string>{"federation.fraction=0.2"})->federation.k,
      0);
}

TEST(Recipe, TheFingerprintCoversWhatDecidesTheModelAndNothingElse) {
  const auto print = [](const std::string& setting) {
    return parse_recipe(kSmall, "r", std::vector<std::string>{setting})->fingerprint();
  };
  const std::string base = print("federation.seed=1");
  for (const char* same : {"federation.rounds=99", "federation.patience=3", "output.name=x",
                           "federation.evaluate_every=2", "output.checkpoint_every=5",
                           "account.delta=1e-9", "ledger.keep=false"}) {
    EXPECT_EQ(print(same), base) << same;
  }
  for (const char* other : {"federation.seed=2", "train.lr=0.2", "train.epochs=2", "data.flip=true",
                            "federation.clients=50", "model.name=srr-mnist",
                            // Who takes part, and what clients were told.
                            "ledger.rounds=3", "ledger.epsilon=[1,2]", "shuffle.mode=shuffler"}) {
    EXPECT_NE(print(other), base) << other;
  }
}

// Ledgers, checkpoints and policies name recipes by their fingerprints: those of today's recipes
// must stay what they are.
TEST(Recipe, FingerprintsStayWhatTheyWere) {
  EXPECT_EQ(parse_recipe(kSmall, "r")->fingerprint(),
            "bb3d4276d9f62730d34c36263c02623294901a377720761deaf053351244c41c");
  const std::vector<std::string> choices = {
      "train.optimizer=adam",        "train.engine=native",  "federation.selection=once",
      "privacy.mechanism=two-point", "privacy.epsilon=1",    "privacy.radius=0.5",
      "bound.payload=delta",         "bound.range=adaptive", "bound.buffers=reset",
      "server.decay=cosine",         "shuffle.mode=latency"};
  EXPECT_EQ(parse_recipe(kSmall, "r", choices)->fingerprint(),
            "25eac583c54a272e05facd03e8a1a22e266f2995b6a643d9377d8f4fa096153c");
}

/// Every word of a choice's table is read, means its value and is written again.
template <class Choice, class Get>
void expect_words(const std::string& key, const Get& get) {
  const std::string section = key.substr(0, key.find('.'));
  const std::string name = key.substr(key.find('.') + 1);
  std::vector<std::string> others = {"encode.network=mlp(4)", "encode.mechanism=none"};
  if (section != "encode") others.clear();
  for (const Name<Choice>& word : names_of(Choice{})) {
    std::vector<std::string> settings = others;
    settings.push_back(key + '=' + std::string(word.name));
    const auto recipe = parse_recipe(kSmall, "r", settings);
    ASSERT_TRUE(recipe) << recipe.error().message;
    EXPECT_EQ(get(*recipe), word.value) << key << ' ' << word.name;
    EXPECT_EQ(recipe->to_json()[section][name], std::string(word.name));
    expect_parts(error_of(kSmall, {key + "=nothing"}), {'"' + std::string(word.name) + '"'});
  }
}

TEST(Recipe, EveryWordOfAChoiceIsReadAndWrittenAgain) {
  expect_words<FederationMode>("federation.mode",
                               [](const Recipe& r) { return r.federation.mode; });
  expect_words<SelectionRule>("federation.selection",
                              [](const Recipe& r) { return r.federation.selection; });
  expect_words<Optimizer>("train.optimizer", [](const Recipe& r) { return r.train.optimizer; });
  expect_words<Optimizer>("encode.optimizer", [](const Recipe& r) { return r.encode.optimizer; });
  expect_words<Engine>("train.engine", [](const Recipe& r) { return r.train.engine; });
  expect_words<Payload>("bound.payload", [](const Recipe& r) { return r.bound.payload; });
  expect_words<BufferRule>("bound.buffers", [](const Recipe& r) { return r.bound.buffers; });
  expect_words<RateDecay>("server.decay", [](const Recipe& r) { return r.server.decay; });
  expect_words<ShuffleMode>("shuffle.mode", [](const Recipe& r) { return r.shuffle.mode; });
  expect_words<FeatureLayer>("encode.layer", [](const Recipe& r) { return r.encode.layer; });
  expect_words<TestRecords>("encode.test", [](const Recipe& r) { return r.encode.test; });
}

TEST(Recipe, LimitsAreOneNumberOrOneForEachClientInTurn) {
  const auto limits = [](const std::string& setting) {
    return parse_recipe(kSmall, "r", std::vector<std::string>{setting})->ledger;
  };
  EXPECT_EQ(limits("ledger.epsilon=8").epsilon, (std::vector<double>{8.0}));
  EXPECT_EQ(limits("ledger.epsilon=[1, 2.5]").epsilon, (std::vector<double>{1.0, 2.5}));
  EXPECT_TRUE(limits("ledger.rounds=3").limits());
  EXPECT_FALSE(limits("ledger.keep=true").limits());
  for (const char* bad : {"ledger.epsilon=[]", "ledger.epsilon=0", "ledger.epsilon=[1,-1]",
                          "ledger.rounds=1.5", "ledger.delta=2", "ledger.epsilon=inf"}) {
    expect_parts(error_of(kSmall, {bad}), {bad, "a list or one"});
  }
  expect_parts(error_of(kSmall, {"ledger.keep=false", "ledger.rounds=2"}), {"ledger.keep = false"});
}

TEST(Recipe, BatchesNeedAShuffler) {
  expect_parts(error_of(kSmall, {"shuffle.split=1"}), {"shuffle.split", "shuffle.mode"});
  expect_parts(error_of(kSmall, {"shuffle.min_batch=9"}), {"shuffle.min_batch", "shuffle.mode"});
  const std::string shuffled =
      std::string(kSmall) + "[shuffle]\nmode = \"shuffler\"\nsplit = 3\nmin_batch = 7\n";
  EXPECT_EQ(parse_recipe(shuffled, "r")->shuffle.split, 3);
  // Taken away on the command line, the shuffler takes the file's keys for it along.
  const auto bare = parse_recipe(shuffled, "r", std::vector<std::string>{"shuffle.mode=none"});
  ASSERT_TRUE(bare) << bare.error().message;
  EXPECT_EQ(bare->shuffle.split, 0);
  EXPECT_EQ(bare->shuffle.min_batch, 1);
  expect_parts(error_of(shuffled, {"shuffle.mode=none", "shuffle.split=2"}), {"shuffle.split"});
}

TEST(Recipe, EveryRecipeOfTheRepositoryIsValid) {
  int recipes = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SOTTO_SOURCE_DIR) + "/recipes")) {
    const auto recipe = load_recipe(entry.path());
    EXPECT_TRUE(recipe) << recipe.error().message;
    ++recipes;
  }
  EXPECT_GE(recipes, 5);
}

}  // namespace
}  // namespace sotto
