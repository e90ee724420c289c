// Run folders as `sotto run` writes them, for the tests to spoil.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "temporary_folder.h"

namespace sotto {

inline nlohmann::ordered_json run_json(const std::string& name = "srr-mnist") {
  return nlohmann::ordered_json::parse(R"json({
    "format": "sotto.run.v2",
    "recipe": {
      "data": {"set": "mnist", "clients": 100},
      "model": {"name": "srr-mnist"},
      "train": {"optimizer": "sgd", "learning_rate": 0.1, "schedule": {"warm": true}},
      "federation": {"rounds": 3},
      "privacy": {"mechanism": "srr", "ranges": [0.075, 0.05]},
      "output": {"folder": "runs/x"}
    },
    "recipe_file": "recipes/srr-mnist.toml",
    "seed": 1,
    "threads": 2,
    "versions": {"sotto": "0.1.0", "trainer": "LibTorch 1.13.1, CPU"},
    "started": "2026-01-01T10:00:00Z",
    "status": "finished",
    "stopped": "rounds",
    "model": {"name": "srr-mnist", "parameters": 20490, "device": "cpu"},
    "data": {"name": "mnist", "train": 60000, "test": 10000, "clients": 100,
             "partition": "stratified"},
    "timings": {"total_seconds": 12.5, "train_seconds": 9.0, "evaluate_seconds": 0.6,
                "engine_seconds": 0.3},
    "final": {"round": 3, "accuracy": 0.98, "loss": 0.06},
    "best": {"round": 2, "accuracy": 0.981},
    "privacy": {
      "mechanism": "srr",
      "claims": [
        {"scope": "client, whole training", "epsilon": 163920, "delta": 0,
         "theorem": "basic composition", "assumption": "-", "source": "sotto", "vacuous": true,
         "unit": "client", "period": "training", "view": "reports", "colluders": "none",
         "status": "proven"},
        {"scope": "client, whole training", "epsilon": 7.8205, "delta": 1e-5,
         "theorem": "shuffling", "assumption": "the shuffler is honest", "source": "sotto",
         "vacuous": false, "unit": "client", "period": "training", "view": "reports",
         "colluders": "none", "status": "proven"},
        {"scope": "client, one round", "epsilon": 0.5, "delta": 0, "theorem": "definition",
         "assumption": "-", "source": "sotto", "vacuous": false, "unit": "client",
         "period": "round", "view": "reports", "colluders": "none", "status": "proven"}
      ]
    }
  })json")
      .patch(nlohmann::ordered_json::array({{{"op", "add"}, {"path", "/name"}, {"value", name}}}));
}

inline std::string metrics_line(int round, const std::string& accuracy, const std::string& loss) {
  return "{\"round\":" + std::to_string(round) +
         ",\"clients\":100,\"reports\":100,\"accuracy\":" + accuracy + ",\"loss\":" + loss +
         ",\"round_seconds\":3.2,\"train_seconds\":3.0,\"evaluate_seconds\":0.2,"
         "\"bytes_up\":12345678}\n";
}

inline std::string good_metrics() {
  return metrics_line(1, "0.951", "0.163") + metrics_line(2, "0.981", "null") +
         metrics_line(3, "null", "null");
}

inline std::filesystem::path write_run(const TemporaryFolder& folder, const std::string& name,
                                       const nlohmann::ordered_json& run,
                                       const std::string& metrics = good_metrics()) {
  folder.write(name + "/run.json", run.dump(1));
  folder.write(name + "/metrics.jsonl", metrics);
  return folder.path() / name;
}

}  // namespace sotto
