#include "record/run_json.h"

#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "record/run_record.h"
#include "sotto/version.h"

namespace sotto {
namespace {

std::string machine_name(const std::string& device) {
  return machine_text() + (device == "cpu" ? "" : ", " + device);
}

/// Null where no records were randomized before the rounds.
const Encoding* encoding_of(const Setup& setup) {
  if (!setup.simulated || !setup.simulated->encoding) return nullptr;
  return &*setup.simulated->encoding;
}

}  // namespace

nlohmann::json run_json(const RunFacts& facts) {
  const Recipe& recipe = facts.recipe;
  const Setup& setup = facts.setup;
  const RunResult& result = facts.result;
  const Layout& layout = setup.factory->layout();
  nlohmann::json json = {
      {"format", kRunFormat},
      {"name", recipe.output.name},
      {"status", name_of(facts.status)},
      {"started", facts.started},
      {"recipe", recipe.to_json()},
      {"recipe_file", recipe.file},
      {"seed", recipe.federation.seed},
      {"threads", setup.trainers->size()},
      {"ranks", facts.ranks},
      {"machine", machine_name(setup.factory->device())},
      {"versions", {{"sotto", SOTTO_VERSION}, {"trainer", setup.factory->version()}}},
      {"model",
       {{"name", recipe.model.file.empty() ? recipe.model.name : recipe.model.file},
        {"parameters", layout.parameter_count()},
        {"buffers", layout.size() - layout.parameter_count()},
        {"device", setup.factory->device()}}},
      {"data",
       {{"name", recipe.data.name},
        {"train", setup.data->train.size()},
        {"test", setup.data->test.size()},
        {"clients", setup.clients},
        {"clients_per_round", setup.clients_per_round},
        {"partition", recipe.data.partition}}},
      {"privacy", privacy_record(result.groups, result.stopped.empty())},
      {"ledger", nullptr},
      {"stopped", nullptr},
      {"final", nullptr},
      {"best", nullptr},
  };
  json["privacy"]["coins"] = name_of(facts.coins);
  json["privacy"]["protects"] = protects(facts.coins);
  if (facts.ledger) {
    json["ledger"] = {{"entries", facts.ledger->entries}, {"hash", facts.ledger->hash}};
  }
  double train = 0.0;
  double evaluate = 0.0;
  double engine = 0.0;
  const Encoding* const encoding = encoding_of(setup);
  double total = encoding != nullptr ? encoding->seconds : 0.0;
  for (const RoundMetrics& metrics : result.rounds) {
    train += metrics.train_seconds;
    evaluate += metrics.evaluate_seconds;
    engine += metrics.engine_cpu_seconds;
    total += metrics.round_seconds;
  }
  json["timings"] = {{"total_seconds", total},
                     {"train_seconds", train},
                     {"evaluate_seconds", evaluate},
                     {"engine_seconds", engine}};
  if (encoding != nullptr) {
    nlohmann::json& privacy = json["privacy"];
    privacy["encode"] = encoding->record;
    // What a record passed, and not the "none" of what is trained on it.
    for (const char* key : {"mechanism", "mechanism_id"}) privacy[key] = privacy["encode"][key];
    json["timings"]["encode_seconds"] = encoding->seconds;
  }
  if (!result.stopped.empty()) json["stopped"] = result.stopped;
  const auto brief = [](const RoundMetrics& metrics) {
    const nlohmann::json whole = metrics.to_json();
    return nlohmann::json{
        {"round", whole["round"]}, {"accuracy", whole["accuracy"]}, {"loss", whole["loss"]}};
  };
  if (const RoundMetrics* last = result.last_evaluated()) json["final"] = brief(*last);
  if (const RoundMetrics* best = result.best()) json["best"] = brief(*best);
  return json;
}

}  // namespace sotto
