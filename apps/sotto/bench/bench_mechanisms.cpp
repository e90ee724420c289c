#include "bench_mechanisms.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/text.h"
#include "bench_floor.h"
#include "train/torch/device_bench.h"

namespace sotto::cli {
namespace {

/// What is particular to a mechanism; all others have the standard setting.
struct Particular {
  std::string_view mechanism;
  Parameters parameters;
  std::optional<double> bar_ns;
  std::optional<double> bar_ratio;
};

constexpr Range kStandardRange{0.0, 0.075};

/// Given to every mechanism that takes the parameter of this name.
const Parameters& standard() {
  static const Parameters all = {
      {"epsilon", 5.0}, {"precision", 4.0}, {"norm", 1.0}, {"delta", 1e-3}, {"coefficient", 10.0}};
  return all;
}

const std::vector<Particular>& particulars() {
  static const std::vector<Particular> all = {
      {"two-point", {}, 2.5, {}},
      {"srr", {{"groups", 10.0}, {"step", 20.0}}, 4.0, 3.0},
      {"srr", {{"groups", 2.0}, {"step", 1000.0}}, 4.0, 3.0},
      {"grr", {}, 4.0, 3.0},
      // On this range and grid an LDP epsilon of 5.
      {"em", {{"alpha", 5.0 / 750.0}}, 12.0, {}},
      {"laplace", {}, 12.0, {}},
      {"piecewise", {}, 12.0, {}},
      {"hybrid", {}, 12.0, {}},
      {"optimal", {}, 12.0, {}},
      {"ldp-sgd", {}, 5.0, {}},
      {"privunit", {}, 10.0, {}},
      // Features in 10 bits each, as LDPFL has them.
      {"rr-bits", {{"whole", 4.0}, {"fraction", 5.0}}, {}, {}},
      {"ldpfl-1", {{"epsilon", 0.5}, {"whole", 4.0}, {"fraction", 5.0}}, {}, {}},
      {"ldpfl-2", {{"epsilon", 0.5}, {"whole", 4.0}, {"fraction", 5.0}}, 1.0, {}},
      {"ldpfl-exact", {{"whole", 4.0}, {"fraction", 5.0}}, {}, {}},
  };
  return all;
}

MechanismBench bench_of(const MechanismInfo& info, const Particular& particular) {
  MechanismBench bench;
  bench.mechanism = info.name;
  bench.range = kStandardRange;
  bench.bar_ns = particular.bar_ns;
  bench.bar_ratio = particular.bar_ratio;
  bench.label = info.name;
  for (const auto& [name, value] : standard()) {
    // Where alpha is given, epsilon follows from it.
    const bool follows = name == "epsilon" && particular.parameters.contains("alpha");
    if (takes(info, name) && !follows) bench.parameters[name] = value;
  }
  for (const auto& [name, value] : particular.parameters) {
    if (!takes(info, name)) continue;
    bench.parameters[name] = value;
    bench.label += ' ' + name + '=' + short_number(value);
  }
  return bench;
}

/// Weights around the centre that reach beyond the range, as trained ones do.
std::vector<float> bench_weights(std::size_t count, MechanismKind kind) {
  BitSource bits = BitSource::from_seed(1, "bench");
  std::vector<float> weights(count);
  for (float& weight : weights) {
    const double unit = bits.unit();
    weight = kind == MechanismKind::kBits ? (unit < 0.5 ? 0.0F : 1.0F)
                                          : static_cast<float>(0.09 * (2.0 * unit - 1.0));
  }
  return weights;
}

}  // namespace

std::optional<bool> MechanismBenchResult::met() const {
  if (!what.bar_ns && !what.bar_ratio) return std::nullopt;
  return (!what.bar_ns || ns_per_weight < *what.bar_ns) &&
         (!what.bar_ratio || ratio() <= *what.bar_ratio);
}

std::vector<MechanismBench> mechanism_benches() {
  std::vector<MechanismBench> benches;
  for (const MechanismInfo& info : mechanisms()) {
    bool any = false;
    for (const Particular& particular : particulars()) {
      if (particular.mechanism != info.name) continue;
      benches.push_back(bench_of(info, particular));
      any = true;
    }
    if (!any) benches.push_back(bench_of(info, {}));
  }
  return benches;
}

std::vector<std::size_t> bench_sizes() { return {20'490, 2'169'770, 5'611'878}; }

Result<MechanismBenchResult> bench_mechanism(const MechanismBench& bench, std::size_t weights,
                                             double seconds) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(bench.mechanism));
  // As many inputs as make so many outputs, where a feature has several.
  const auto whole_bits = bench.parameters.find("whole");
  const std::size_t outputs_each =
      whole_bits == bench.parameters.end()
          ? 1
          : 1 + static_cast<std::size_t>(whole_bits->second + bench.parameters.at("fraction"));
  const std::size_t inputs = std::max<std::size_t>(1, weights / outputs_each);
  SOTTO_TRY(const auto mechanism,
            make_mechanism(bench.mechanism, domain_of(inputs, bench.range), bench.parameters));
  const std::vector<float> input = bench_weights(inputs, info->kind);
  const auto outputs = static_cast<double>(mechanism->outputs());
  MechanismBenchResult result{bench, weights};
  result.random_bytes_per_weight = mechanism->random_bytes_per_output();
  Floor floor(input, result.random_bytes_per_weight * outputs);
  BitSource bits = BitSource::from_seed(3, "bench");

  double best = std::numeric_limits<double>::infinity();
  double best_floor = best;
  const Stopwatch whole;
  constexpr int kFewest = 3;
  constexpr int kMost = 2000;
  for (int turn = 0; turn < kFewest || (whole.seconds() < seconds && turn < kMost); ++turn) {
    Update update(mechanism->domain().layout, input);
    const Stopwatch clock;
    const Report report = mechanism->perturb(bound(std::move(update), mechanism->domain()), bits);
    best = std::min(best, clock.seconds());
    best_floor = std::min(best_floor, floor.seconds());
  }
  result.ns_per_weight = best * 1e9 / outputs;
  result.floor_ns = best_floor * 1e9 / outputs;
  return result;
}

Result<DeviceBenchResult> bench_on_device(const MechanismBench& bench, std::size_t weights) {
  constexpr std::size_t kWeightsTogether = 100'000'000;
  DeviceBenchResult result{bench, weights};
  result.clients = static_cast<unsigned>(std::max<std::size_t>(1, kWeightsTogether / weights));
  SOTTO_TRY(std::shared_ptr<const Mechanism> mechanism,
            make_mechanism(bench.mechanism, domain_of(weights, bench.range), bench.parameters));
  const std::vector<float> input = bench_weights(weights, MechanismKind::kValue);
  SOTTO_TRY(const DeviceTimes times,
            measure_on_device(std::move(mechanism), input, result.clients));
  const double all = static_cast<double>(weights) * result.clients;
  result.ns_per_weight = times.perturb * 1e9 / all;
  result.words_ns = times.words * 1e9 / all;
  result.copy_ns = times.copy * 1e9 / all;
  return result;
}

}  // namespace sotto::cli
