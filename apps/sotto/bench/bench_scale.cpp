// One rank and several on this machine, in turns, and what a model makes of it for many nodes.
//
// A measurement is `sotto run` under mpirun, one thread a rank, and counts the fastest round: on a
// machine that others use too, everything slower says more of them than of us. Started by a
// launcher itself, the command measures the link between the ranks and nothing else.
#include "bench_scale.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "audit/child_program.h"
#include "base/clock.h"
#include "base/file.h"
#include "experiment/carried.h"
#include "scale_model.h"
#include "sotto/recipe.h"
#include "terminal.h"
#include "transport/mpi/launcher.h"

namespace sotto::cli {
namespace {

constexpr double kBar = 0.9;
constexpr const char* kRecipe = "client-level-embedded";

struct Arguments {
  std::string recipe;
  unsigned ranks = 2;
  unsigned turns = 3;
  unsigned rounds = 3;
  unsigned nodes = 64;
  double latency_us = 50.0;
  double gigabytes = 1.0;
  bool json = false;
};

/// The fastest of several exchanges of one kind.
template <class Work>
double fastest(const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 30; ++turn) {
    const Stopwatch clock;
    work();
    best = std::min(best, clock.seconds());
  }
  return best;
}

/// Under a launcher: what a message and many bytes cost between rank 0 and the others.
int measure_link(Ranks& ranks) {
  const auto there_and_back = [&] {
    const std::vector<std::byte> word(8);
    if (ranks.leads()) {
      ranks.send(1, word);
      ranks.receive(1);
    } else if (ranks.rank() == 1) {
      ranks.send(0, ranks.receive(0));
    }
  };
  std::vector<float> model(std::size_t{1} << 20);
  std::vector<std::int64_t> sums(std::size_t{1} << 19);
  const double message = fastest(there_and_back) / 2.0;
  const double bulk = fastest([&] {
    there_and_back();  // so that nobody waits for a rank that is behind
    ranks.broadcast(model);
    ranks.add_up(sums);
  });
  const double bytes =
      static_cast<double>(model.size() * sizeof(float) + sums.size() * sizeof(std::int64_t));
  const double seconds = std::max(1e-9, bulk - 2.0 * message);
  if (ranks.leads()) {
    fmt::print(
        "{}\n",
        nlohmann::json{{"message_seconds", message}, {"bytes_per_second", bytes / seconds}}.dump());
  }
  return 0;
}

Result<nlohmann::json> output_of(const std::string& command) {
  SOTTO_TRY(const std::string text,
            (ChildProgram{command, 600.0}.run("", [](std::string_view) { return false; })));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorKind::kInternal, command + ": printed no JSON");
  return json;
}

std::string shell_word(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// A folder of its own that goes with it.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "sotto-scale-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code code;
    if (!path_.empty()) std::filesystem::remove_all(path_, code);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class Bench {
 public:
  explicit Bench(const Arguments& arguments) : arguments_(arguments) {}
  Result<void> prepare();
  Result<void> measure();
  nlohmann::json json() const;
  void print() const;

 private:
  std::string launched(unsigned ranks) const {
    return fmt::format("mpirun --oversubscribe --allow-run-as-root --bind-to none -n {} {}", ranks,
                       shell_word(program_));
  }
  Result<double> fastest_round(unsigned ranks);
  double measured_efficiency() const { return one_ / (arguments_.ranks * several_); }
  Link network() const { return {arguments_.latency_us * 1e-6, arguments_.gigabytes * 1e9}; }
  std::vector<unsigned> shown_nodes() const {
    std::vector<unsigned> all;
    for (unsigned nodes = 1; nodes < arguments_.nodes; nodes *= 2) all.push_back(nodes);
    all.push_back(arguments_.nodes);
    return all;
  }

  const Arguments& arguments_;
  Scratch scratch_;
  std::string program_;
  std::string recipe_;
  double one_ = std::numeric_limits<double>::infinity();      // seconds of the fastest round
  double several_ = std::numeric_limits<double>::infinity();  // on arguments_.ranks ranks
  RoundWork work_;
  Link link_;
};

Result<void> Bench::prepare() {
  std::error_code code;
  program_ = std::filesystem::read_symlink("/proc/self/exe", code).string();
  if (code || scratch_.path().empty()) {
    return fail(ErrorKind::kIo, "bench scale: no folder for the runs, or no /proc");
  }
  recipe_ = arguments_.recipe;
  if (recipe_.empty()) {
    const auto all = carried_files();
    const auto found = std::ranges::find_if(all, [](const Carried& file) {
      return file.kind == Carried::kRecipe && file.name == kRecipe;
    });
    recipe_ = (scratch_.path() / "recipe.toml").string();
    SOTTO_CHECK(write_file_atomically(recipe_, found->text));
  }
  SOTTO_CHECK(load_recipe(recipe_, {}));
  if (!ChildProgram{"command -v mpirun", 10.0}.run("", [](std::string_view) { return false; })) {
    return fail(ErrorKind::kNotFound, "bench scale: there is no mpirun here (Debian: openmpi-bin)");
  }
  return {};
}

Result<double> Bench::fastest_round(unsigned ranks) {
  const std::string words = fmt::format(
      "run {} --json --threads 1 --replace --out {} --set federation.rounds={} "
      "--set federation.evaluate_every={}",
      shell_word(recipe_), shell_word((scratch_.path() / "run").string()), arguments_.rounds,
      arguments_.rounds);
  SOTTO_TRY(const nlohmann::json run,
            output_of((ranks == 1 ? shell_word(program_) : launched(ranks)) + ' ' + words));
  if (run.at("ranks") != ranks) {
    return fail(ErrorKind::kUsage, "bench scale: this program was built without MPI");
  }
  work_.clients = run.at("data").at("clients_per_round");
  work_.weights = run.at("model").at("parameters");
  double best = std::numeric_limits<double>::infinity();
  for (const nlohmann::json& round : run.at("rounds")) {
    best = std::min(best, round.at("train_seconds").get<double>());
  }
  return best;
}

Result<void> Bench::measure() {
  const unsigned steps = 2 * arguments_.turns + 1;
  Progress progress("bench", steps);
  SOTTO_TRY(const nlohmann::json link, output_of(launched(2) + " bench scale --json"));
  link_ = {link.at("message_seconds").get<double>(), link.at("bytes_per_second").get<double>()};
  for (unsigned turn = 0; turn < arguments_.turns; ++turn) {
    progress.update(2 * turn + 1, steps, "1 rank");
    SOTTO_TRY(const double one, fastest_round(1));
    one_ = std::min(one_, one);
    progress.update(2 * turn + 2, steps, fmt::format("{} ranks", arguments_.ranks));
    SOTTO_TRY(const double several, fastest_round(arguments_.ranks));
    several_ = std::min(several_, several);
  }
  work_.compute_seconds = one_;
  return {};
}

nlohmann::json Bench::json() const {
  nlohmann::json nodes = nlohmann::json::array();
  for (const unsigned count : shown_nodes()) {
    nodes.push_back({{"nodes", count},
                     {"round_seconds", round_seconds(work_, network(), count)},
                     {"efficiency", efficiency(work_, network(), count)}});
  }
  const double predicted = round_seconds(work_, link_, arguments_.ranks);
  return {
      {"clients", work_.clients},
      {"weights", work_.weights},
      {"ranks", arguments_.ranks},
      {"one_rank_seconds", one_},
      {"seconds", several_},
      {"efficiency", measured_efficiency()},
      {"bar", kBar},
      {"met", measured_efficiency() >= kBar},
      {"predicted_seconds", predicted},
      {"prediction_ratio", several_ / predicted},
      {"link",
       {{"message_seconds", link_.message_seconds}, {"bytes_per_second", link_.bytes_per_second}}},
      {"network",
       {{"message_seconds", network().message_seconds},
        {"bytes_per_second", network().bytes_per_second}}},
      {"model", nodes}};
}

void Bench::print() const {
  const double predicted = round_seconds(work_, link_, arguments_.ranks);
  fmt::print(
      "A round of {} clients, {} weights, one thread a rank; the fastest round of {} turns.\n\n"
      "1 rank   {:.3f} s\n{} ranks  {:.3f} s: efficiency {:.2f} (bar {})\n"
      "the model says {:.3f} s for {} ranks: measured {:.2f} times that\n"
      "link here: {:.0f} us a message, {:.1f} GB/s\n\n"
      "Model for nodes of this speed, {:.0f} us a message, {} GB/s:\n\n",
      with_commas(work_.clients), with_commas(work_.weights), arguments_.turns, one_,
      arguments_.ranks, several_, measured_efficiency(), kBar, predicted, arguments_.ranks,
      several_ / predicted, 1e6 * link_.message_seconds, 1e-9 * link_.bytes_per_second,
      arguments_.latency_us, arguments_.gigabytes);
  Table table({"nodes", "round", "speed-up", "efficiency"});
  for (const unsigned count : shown_nodes()) {
    const double share = efficiency(work_, network(), count);
    table.add({std::to_string(count), duration(round_seconds(work_, network(), count)),
               fmt::format("{:.1f}", share * count), fmt::format("{:.2f}", share)});
  }
  fmt::print("{}", table.text());
}

Result<int> bench_scale(const Arguments& arguments) {
  SOTTO_TRY(const std::shared_ptr<Ranks> ranks, cluster::join());
  if (ranks) return measure_link(*ranks);
  Bench bench(arguments);
  SOTTO_CHECK(bench.prepare());
  SOTTO_CHECK(bench.measure());
  if (arguments.json) {
    fmt::print("{}\n", bench.json().dump(2));
  } else {
    bench.print();
  }
  return 0;
}

}  // namespace

void add_bench_scale(CLI::App& bench, Action& action) {
  CLI::App& sub = *bench.add_subcommand(
      "scale", "A round on one rank against several, and a model of many nodes");
  const auto arguments = choose(sub, action, bench_scale);
  sub.add_option("--recipe", arguments->recipe,
                 "what is run; default client-level-embedded, which the program carries")
      ->type_name("RECIPE.toml");
  sub.add_option("--ranks", arguments->ranks, "ranks of the second measurement")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(2U, 1024U));
  sub.add_option("--turns", arguments->turns, "runs on one rank and on several, in turns")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U));
  sub.add_option("--rounds", arguments->rounds, "rounds of a run, of which the fastest counts")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U));
  sub.add_option("--nodes", arguments->nodes, "up to so many in the model")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1U, 65536U));
  sub.add_option("--latency-us", arguments->latency_us, "of a message between the model's nodes")
      ->capture_default_str()
      ->type_name("US")
      ->check(CLI::Range(0.0, 1e6));
  sub.add_option("--gigabytes", arguments->gigabytes, "a second, between the model's nodes")
      ->capture_default_str()
      ->type_name("GB")
      ->check(CLI::Range(1e-3, 1e4));
  sub.add_flag("--json", arguments->json, "print JSON");
  sub.footer(
      "Under a launcher it measures the link between ranks 0 and 1 and prints that alone.\n\n"
      "Examples:\n"
      "  sotto bench scale\n"
      "  sotto bench scale --turns 5 --json | jq '.efficiency, .model[-1]'\n"
      "  sotto bench scale --nodes 512 --latency-us 5 --gigabytes 10");
}

}  // namespace sotto::cli
