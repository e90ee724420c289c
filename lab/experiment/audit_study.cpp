#include "experiment/audit_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/nearest.h"
#include "base/text.h"
#include "data/known.h"

namespace sotto {
namespace {

std::optional<double> number_of(const std::string& text) {
  double value = 0.0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Key {
  std::string name;
  std::string valid;
  std::function<bool(AuditSettings&, const std::string&)> set;
};

Key word(std::string name, std::string AuditSettings::*member) {
  return {std::move(name), "a name", [member](AuditSettings& settings, const std::string& text) {
            settings.*member = text;
            return !text.empty();
          }};
}

/// A whole number from `least` on.
template <class Place>
Key whole(std::string name, double least, Place place) {
  return {std::move(name), "a whole number in [" + short_number(least) + ", 1e9]",
          [least, place](AuditSettings& settings, const std::string& text) {
            const auto value = number_of(text);
            if (!value || *value < least || *value > 1e9 || *value != std::floor(*value)) {
              return false;
            }
            place(settings) = static_cast<std::uint64_t>(*value);
            return true;
          }};
}

Key parameter(const std::string& name) {
  return {name, "a number", [name](AuditSettings& settings, const std::string& text) {
            const auto value = number_of(text);
            if (value) settings.parameters[name] = *value;
            return value.has_value();
          }};
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = {
      word("mechanism", &AuditSettings::mechanism),
      word("adversary", &AuditSettings::adversary),
      {"data", "a data set",
       [](AuditSettings& s, const std::string& t) {
         s.scene.data = t;
         return true;
       }},
      {"model", "a network",
       [](AuditSettings& s, const std::string& t) {
         s.scene.model = t;
         return !t.empty();
       }},
      {"distinguisher", "cosine, likelihood",
       [](AuditSettings& s, const std::string& t) {
         const auto found = find_distinguisher(t);
         if (found) s.distinguisher = *found;
         return found.has_value();
       }},
      {"dummy-norm", "a share of L in [0, 1]",
       [](AuditSettings& s, const std::string& t) {
         const auto value = number_of(t);
         if (value) s.dummy_norm = *value;
         return value && *value >= 0.0 && *value <= 1.0;
       }},
      whole("dimension", 1.0, [](AuditSettings& s) -> std::size_t& { return s.dimension; }),
      whole("trials", 1.0, [](AuditSettings& s) -> std::uint64_t& { return s.trials; }),
      whole("measurements", 1.0, [](AuditSettings& s) -> std::uint64_t& { return s.measurements; }),
      whole("train-rounds", 0.0,
            [](AuditSettings& s) -> std::uint64_t& { return s.scene.train_rounds; }),
      whole("malicious-rounds", 0.0,
            [](AuditSettings& s) -> std::uint64_t& { return s.scene.malicious_rounds; }),
      whole("seed", 0.0, [](AuditSettings& s) -> std::uint64_t& { return s.scene.seed; }),
      parameter("epsilon"),
      parameter("delta"),
      parameter("norm")};
  return all;
}

/// What trains a model.
std::string scene_key(const AuditSettings& s) {
  return fmt::format("{}|{}|{}|{}", s.scene.data, s.scene.model, s.scene.train_rounds,
                     s.scene.seed);
}

/// All that two rows must share to share their gradients.
std::string group_key(const AuditSettings& s) {
  std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", scene_key(s), s.scene.malicious_rounds, s.mechanism,
                  s.adversary, s.dimension, s.dummy_norm, s.trials, s.measurements);
  for (const auto& [name, value] : s.parameters) {
    if (name != "epsilon") key += fmt::format("|{}={}", name, value);
  }
  return key;
}

struct Trained {
  Scene scene;
  std::optional<double> accuracy;
};

Result<Trained> trained(const AuditSettings& settings, const AuditStudyOptions& options) {
  if (settings.scene.data.empty()) return Trained{empty_scene(settings.dimension, 1.0), {}};
  if (options.progress) {
    options.progress(
        fmt::format("training {} rounds on {}", settings.scene.train_rounds, settings.scene.data),
        0, 0);
  }
  SceneRequest request = settings.scene;
  request.folder = options.data_folder;
  Trained made;
  SOTTO_TRY(made.scene, make_scene(request, options.make_factory));
  SOTTO_TRY(made.accuracy, training_accuracy(made.scene, 2000));
  return made;
}

/// `share`: of the error that a verdict may make, for one bound. Two bounds for each of many rows
/// would otherwise refute something true by chance.
Result<void> run_group(const std::vector<AuditRow*>& group, const Trained& trained, double share,
                       const AuditStudyOptions& options) {
  const AuditSettings& settings = group.front()->settings;
  SOTTO_TRY(const AdversaryEntry* const entry, find_adversary(settings.adversary));
  if (entry->info.needs_model && settings.scene.data.empty()) {
    return fail(ErrorKind::kUsage, "the adversary '" + settings.adversary + "' needs data");
  }
  Scene scene = trained.scene;
  scene.malicious_rounds = settings.scene.malicious_rounds;
  auto layout = std::make_shared<Layout>();
  layout->add("gradient", {static_cast<std::int64_t>(scene.dimension)}, TensorRole::kParameter);
  TrialPlan plan;
  std::vector<std::unique_ptr<Mechanism>> mechanisms;
  for (const AuditRow* const row : group) {
    SOTTO_TRY(auto mechanism, make_mechanism(settings.mechanism, Domain{layout, {Range{0.0, 1.0}}},
                                             row->settings.parameters));
    plan.mechanisms.push_back(mechanism.get());
    mechanisms.push_back(std::move(mechanism));
  }
  scene.dummy_norm = settings.dummy_norm * mechanisms.front()->domain().norm;
  const auto adversary = entry->make();
  SOTTO_CHECK(
      adversary->prepare(scene, BitSource::from_seed(settings.scene.seed, "audit-prepare")));
  plan.trials = settings.trials;
  plan.measurements = settings.measurements;
  plan.seed = settings.scene.seed;
  plan.stream = stream_of(*entry);
  plan.threads = options.threads;
  plan.similarities = true;
  if (options.progress) {
    plan.progress = [&](std::uint64_t done, std::uint64_t total) {
      options.progress(group.front()->label, done, total);
    };
  }
  SOTTO_TRY(const TrialCounts counts, run_trials(scene, *adversary, plan));
  for (std::size_t kind = 0; kind < group.size(); ++kind) {
    AuditRow& row = *group[kind];
    const AuditSettings& own = row.settings;
    const bool cosine = own.distinguisher == Distinguisher::kCosine;
    row.finding = finding_of(*mechanisms[kind], counts, kind, own.distinguisher, own.confidence,
                             own.confidence);
    row.other = finding_of(*mechanisms[kind], counts, kind,
                           cosine ? Distinguisher::kLikelihood : Distinguisher::kCosine,
                           own.confidence, own.confidence);
    for (VectorFinding* const found : {&row.finding, &row.other}) {
      const double together = 1.0 - (1.0 - own.confidence) * share;
      found->verdict =
          judge(lower_bounds(found->guesses, together, found->delta).best, found->claim);
    }
    row.similarities = counts.total[kind].similarities;
    row.dimension = scene.dimension;
    row.model_accuracy = trained.accuracy;
    row.trials = counts.trials;
    row.seconds = counts.seconds / static_cast<double>(group.size());
  }
  return {};
}

/// "epsilon=0.5,1" -> the key and its values.
Result<Vary> split_vary(const std::string& text) {
  const std::size_t equals = text.find('=');
  Vary vary{text.substr(0, equals), {}};
  for (std::size_t at = equals; at != std::string::npos;) {
    const std::size_t comma = text.find(',', at + 1);
    vary.values.push_back(text.substr(at + 1, comma == std::string::npos ? comma : comma - at - 1));
    at = comma;
  }
  if (vary.values.empty()) return fail(ErrorKind::kCorrupt, "'" + text + "': write KEY=A,B,...");
  return vary;
}

}  // namespace

Result<void> apply_setting(AuditSettings& settings, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::vector<std::string> names;
  for (const Key& key : keys()) names.push_back(key.name);
  const auto key = std::find_if(keys().begin(), keys().end(),
                                [&](const Key& candidate) { return candidate.name == name; });
  if (equals == std::string::npos || key == keys().end()) {
    return fail(ErrorKind::kUsage, "unknown setting '" + text + "' of an audit" +
                                       did_you_mean(name, names) + "; valid: " + join(names));
  }
  if (!key->set(settings, text.substr(equals + 1))) {
    return fail(ErrorKind::kUsage, "'" + text + "': valid: " + key->valid);
  }
  return {};
}

Result<std::vector<AuditRow>> audit_rows(const Experiment& experiment, bool quick) {
  std::vector<AuditRow> rows;
  for (const ExperimentRow& entry : experiment.rows) {
    if (quick && !entry.quick) continue;
    std::vector<Vary> varied, whole;
    for (const std::string& text : entry.vary) {
      SOTTO_TRY(Vary vary, split_vary(text));
      whole.push_back(std::move(vary));
    }
    for (const std::string& text : entry.quick_vary) {
      SOTTO_TRY(Vary vary, split_vary(text));
      varied.push_back(std::move(vary));
    }
    SOTTO_TRY(const std::vector<Combination> all, combinations(whole));
    SOTTO_TRY(const std::vector<Combination> wanted,
              combinations(quick && !varied.empty() ? varied : whole));
    if (entry.papers.size() > 1 && entry.papers.size() != all.size()) {
      return fail(ErrorKind::kCorrupt, experiment.name + ": '" + entry.label + "' has " +
                                           std::to_string(entry.papers.size()) + " figures for " +
                                           std::to_string(all.size()) + " combinations");
    }
    for (const Combination& combination : wanted) {
      AuditRow row;
      row.label = entry.label;
      row.varied = combination;
      row.note = entry.note;
      for (const auto* list : {&experiment.set, &entry.set}) {
        for (const std::string& text : *list) SOTTO_CHECK(apply_setting(row.settings, text));
      }
      if (quick) {
        for (const std::string& text : experiment.quick) {
          SOTTO_CHECK(apply_setting(row.settings, text));
        }
      }
      for (const auto& [key, value] : combination) {
        SOTTO_CHECK(apply_setting(row.settings, key + '=' + value));
      }
      const auto at = std::find(all.begin(), all.end(), combination);
      if (entry.papers.size() == 1) row.paper = entry.papers.front();
      if (entry.papers.size() > 1 && at != all.end()) {
        row.paper = entry.papers[static_cast<std::size_t>(at - all.begin())];
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string missing_data(const std::vector<AuditRow>& rows, const std::filesystem::path& folder) {
  for (const AuditRow& row : rows) {
    const KnownSet* const set = find_known_set(row.settings.scene.data);
    if (set == nullptr || set->variants.empty()) continue;
    if (!find_files(*set, folder)) return std::string(set->name);
  }
  return "";
}

Result<void> run_audit_rows(std::vector<AuditRow>& rows, const AuditStudyOptions& options) {
  const std::string missing = missing_data(rows, options.data_folder);
  if (!missing.empty()) return fail(ErrorKind::kNotFound, missing + " is not on this machine");
  // In the order of models, so that only one is held at a time.
  std::vector<std::pair<std::string, std::vector<std::vector<AuditRow*>>>> plan;
  std::map<std::string, std::pair<std::size_t, std::size_t>> places;
  for (AuditRow& row : rows) {
    const std::string scene = scene_key(row.settings);
    const std::string group = group_key(row.settings);
    if (const auto known = places.find(group); known != places.end()) {
      plan[known->second.first].second[known->second.second].push_back(&row);
      continue;
    }
    auto at =
        std::find_if(plan.begin(), plan.end(), [&](const auto& p) { return p.first == scene; });
    if (at == plan.end()) at = plan.insert(plan.end(), {scene, {}});
    places[group] = {static_cast<std::size_t>(at - plan.begin()), at->second.size()};
    at->second.push_back({&row});
  }
  for (const auto& [scene, groups] : plan) {
    std::optional<Trained> model;
    for (const std::vector<AuditRow*>& group : groups) {
      const bool empty = group.front()->settings.scene.data.empty();
      if (!model || empty) {  // without data, every group has a dimension of its own
        SOTTO_TRY(model, trained(group.front()->settings, options));
      }
      SOTTO_CHECK(run_group(group, *model, 0.5 / static_cast<double>(rows.size()), options));
    }
  }
  return {};
}

}  // namespace sotto
