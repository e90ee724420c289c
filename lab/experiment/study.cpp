// Runs of a study as child processes (process.h says why), side by side on the machine's cores.
//
// What a killed study left is taken up again: a folder whose run.json is finished under the same
// recipe is skipped, one that was begun is resumed from its checkpoint. That is sound because a
// resumed `sotto run` ends in the same bits as an undisturbed one, on any number of threads.
#include "experiment/study.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/parallel.h"
#include "data/known.h"
#include "experiment/process.h"
#include "experiment/starter.h"
#include "record/begun_run.h"

namespace sotto {
namespace {

constexpr const char* kLogs = "logs";

/// Everything that decides a run's result, as run.json keeps it. On another device sums are rounded
/// otherwise: a run that was made there is this run.
nlohmann::json deciding(nlohmann::json recipe) {
  recipe.erase("output");
  if (recipe.contains("train")) recipe["train"].erase("device");
  return recipe;
}

std::uint64_t rounds_of(const StudyRun& run) {
  return static_cast<std::uint64_t>(run.recipe.federation.rounds);
}

/// What a round costs, as far as a recipe tells: samples that are passed through the network where
/// the size of the data is known, else clients that train.
std::uint64_t round_cost(const Recipe& recipe) {
  const auto& federation = recipe.federation;
  const auto all = static_cast<double>(federation.clients);
  const double clients =
      federation.k > 0 ? static_cast<double>(federation.k) : federation.fraction * all;
  const KnownSet* const known = find_known_set(recipe.data.name);
  if (known == nullptr || all < 1.0) return static_cast<std::uint64_t>(std::max(1.0, clients));
  const double samples = clients / all * static_cast<double>(known->train_size) *
                         static_cast<double>(recipe.train.epochs);
  return static_cast<std::uint64_t>(std::max(1.0, samples));
}

std::uint64_t rounds_done(const StudyRun& run) {
  const Result<std::string> text = read_text(run.out / "metrics.jsonl");
  return text ? static_cast<std::uint64_t>(std::count(text->begin(), text->end(), '\n')) : 0;
}

enum class Begun { kNo, kYes, kFinished };

Result<Begun> state_of(const StudyRun& run) {
  SOTTO_TRY(const auto record, read_begun(run.out));
  if (!record) return Begun::kNo;
  const bool same = deciding(record->recipe) == deciding(run.recipe.to_json());
  if (same && record->status == RunStatus::kFinished) return Begun::kFinished;
  if (!same && rounds_done(run) > rounds_of(run)) {
    return fail(ErrorKind::kUsage, run.out.string() + ": holds a run of " +
                                       std::to_string(rounds_done(run)) +
                                       " rounds; this one has fewer: choose another --out");
  }
  return Begun::kYes;
}

/// What the child said, in one line, without the program's name.
std::string reason(const std::filesystem::path& log, const std::string& status) {
  const Result<std::string> text = read_text(log);
  std::string words = text ? *text : "";
  constexpr std::string_view kStart = "sotto: ";
  const std::size_t last = words.rfind(kStart);
  if (last != std::string::npos) words = words.substr(last + kStart.size());
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words.empty() ? status : words;
}

std::vector<std::string> command_of(const Study& study, const StudyRun& run, unsigned threads,
                                    bool resume) {
  std::vector<std::string> words = {"run", study.configurations[run.configuration].recipe.string()};
  for (const std::string& setting : run.settings) {
    words.insert(words.end(), {"--set", setting});
  }
  words.insert(words.end(), {"--set", "output.name=\"" + run.name + '"', "--out", run.out.string(),
                             "--threads", std::to_string(threads), "--json"});
  if (resume) words.emplace_back("--resume");
  if (!study.data_folder.empty()) {
    words.insert(words.end(), {"--data", study.data_folder.string()});
  }
  return words;
}

/// The children at work and what is left to start.
class Runner {
 public:
  Runner(const Study& study, const std::vector<StudyRun>& runs, const StudyOptions& options)
      : study_(study),
        runs_(runs),
        options_(options),
        starter_(options.starter ? options.starter : std::make_shared<LocalStarter>()),
        outcomes_(runs.size()) {}

  Result<std::vector<RunOutcome>> execute();

 private:
  Result<void> look_around();
  Result<void> start(std::size_t index);
  void finish(const Ended& ended);
  void report() const;
  std::filesystem::path log(const StudyRun& run) const {
    return study_.out / kLogs / (run.name + ".txt");
  }

  const Study& study_;
  const std::vector<StudyRun>& runs_;
  const StudyOptions& options_;
  std::shared_ptr<Starter> starter_;
  std::vector<RunOutcome> outcomes_;
  std::vector<std::size_t> waiting_;
  std::set<std::size_t> begun_;
  std::map<pid_t, std::size_t> working_;
  unsigned threads_ = 1;  // of each run
};

Result<void> Runner::look_around() {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    SOTTO_TRY(const Begun state, state_of(runs_[i]));
    if (state == Begun::kFinished) {
      outcomes_[i] = {true, true, ""};
      if (options_.on_run) options_.on_run(runs_[i], true, "");
      continue;
    }
    if (state == Begun::kYes) begun_.insert(i);
    waiting_.push_back(i);
  }
  return {};
}

Result<void> Runner::start(std::size_t index) {
  const StudyRun& run = runs_[index];
  SOTTO_TRY(const pid_t child,
            starter_->start(command_of(study_, run, threads_, begun_.contains(index)), log(run)));
  working_[child] = index;
  return {};
}

void Runner::finish(const Ended& ended) {
  const std::size_t index = working_.at(ended.child);
  working_.erase(ended.child);
  RunOutcome& outcome = outcomes_[index];
  outcome.finished = ended.good;
  if (ended.good) {
    std::error_code code;
    std::filesystem::remove(log(runs_[index]), code);
  } else {
    outcome.why = reason(log(runs_[index]), ended.reason);
  }
  if (options_.on_run) options_.on_run(runs_[index], false, outcome.why);
}

void Runner::report() const {
  if (!options_.on_progress) return;
  StudyOptions::State state;
  state.runs = runs_.size();
  state.working = working_.size();
  std::set<std::size_t> active;
  for (const auto& [child, index] : working_) active.insert(index);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::uint64_t cost = round_cost(runs_[i].recipe);
    const std::uint64_t whole = rounds_of(runs_[i]) * cost;
    state.work += whole;
    if (outcomes_[i].finished || !outcomes_[i].why.empty()) {
      ++state.runs_done;
      state.work_done += whole;
    } else if (active.contains(i) || begun_.contains(i)) {
      state.work_done += std::min(whole, rounds_done(runs_[i]) * cost);
    }
  }
  options_.on_progress(state);
}

Result<std::vector<RunOutcome>> Runner::execute() {
  SOTTO_CHECK(look_around());
  if (!options_.start) return std::move(outcomes_);
  const unsigned cores = thread_count(options_.threads);
  const std::size_t wanted = starter_->places() > 0 ? starter_->places()
                             : options_.jobs > 0    ? options_.jobs
                                                    : cores;
  const auto jobs = std::max<std::size_t>(1, std::min(wanted, waiting_.size()));
  threads_ = starter_->threads() > 0 ? starter_->threads()
                                     : std::max(1U, cores / static_cast<unsigned>(jobs));
  report();
  std::size_t next = 0;
  while (next < waiting_.size() || !working_.empty()) {
    while (next < waiting_.size() && working_.size() < jobs) SOTTO_CHECK(start(waiting_[next++]));
    if (const std::optional<Ended> ended = starter_->next_ended()) {
      finish(*ended);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    report();
  }
  std::error_code code;
  std::filesystem::remove(study_.out / kLogs, code);  // where it is empty
  return std::move(outcomes_);
}

}  // namespace

Result<std::vector<StudyRun>> plan_runs(const Study& study) {
  std::vector<StudyRun> runs;
  std::set<std::string> names;
  const std::vector<std::string> own_seed = {""};
  for (std::size_t i = 0; i < study.configurations.size(); ++i) {
    const Configuration& configuration = study.configurations[i];
    for (const std::string& seed : study.seeds.empty() ? own_seed : study.seeds) {
      StudyRun run;
      run.configuration = i;
      run.name = configuration.folder;
      run.settings = configuration.settings;
      if (!seed.empty()) {
        run.name += (run.name.empty() ? "seed=" : "_seed=") + seed;
        run.settings.push_back("federation.seed=" + seed);
      }
      if (run.name.empty()) run.name = "run";
      if (!names.insert(run.name).second) {
        return fail(ErrorKind::kInternal, study.name + ": two runs are called " + run.name);
      }
      run.out = study.out / run.name;
      SOTTO_TRY(run.recipe, load_recipe(configuration.recipe, run.settings));
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::string missing_data(const Study& study, const std::vector<StudyRun>& runs) {
  for (const StudyRun& run : runs) {
    const KnownSet* const set = find_known_set(run.recipe.data.name);
    // A misspelt name is no file: the run itself names the nearest set.
    const std::filesystem::path path = run.recipe.data.name;
    if (set == nullptr && path.has_extension() && !std::filesystem::exists(path)) {
      return path.string();
    }
    if (set == nullptr || set->variants.empty()) continue;
    if (!find_files(*set, study.data_folder)) return std::string(set->name);
  }
  return "";
}

Result<std::vector<RunOutcome>> run_study(const Study& study, const std::vector<StudyRun>& runs,
                                          const StudyOptions& options) {
  if (!options.start) return Runner(study, runs, options).execute();
  SOTTO_TRY(const FolderLock lock, FolderLock::take(study.out));
  return Runner(study, runs, options).execute();
}

}  // namespace sotto
