// `sotto tune srr`: the groups and step with the least mean squared error, beside the published
// setting and the `optimal` mechanism.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "command.h"
#include "data/formats/npy.h"
#include "mechanism/staircase/srr_compare.h"
#include "mechanism_options.h"
#include "sotto/mechanism.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  double epsilon = 0.0;
  std::string range;
  double precision = 4.0;
  std::string input = "worst";
  bool json = false;
};

/// "worst", "uniform", "normal:S" or a file of values.
Result<SrrInputs> read_inputs(const std::string& text, const DecimalGrid& grid) {
  if (text == "worst") return SrrInputs::worst_case(grid);
  if (text == "uniform") return SrrInputs::uniform(grid);
  if (text.starts_with("normal:")) {
    char* end = nullptr;
    const double deviation = std::strtod(text.c_str() + 7, &end);
    if (*end == '\0' && std::isfinite(deviation) && deviation > 0.0) {
      return SrrInputs::normal(grid, deviation);
    }
    return fail(ErrorKind::kUsage, "--input " + text + ": valid: normal:S with a deviation S > 0");
  }
  if (!text.ends_with(".npy")) {
    return fail(ErrorKind::kUsage, "--input " + text +
                                       ": valid: worst, uniform, normal:S or the name of a .npy "
                                       "file");
  }
  SOTTO_TRY(const auto bytes, read_file(text));
  const auto array = parse_npy_array(bytes);
  if (!array) return at(text, array.error());
  if (array->size() == 0) return fail(ErrorKind::kUsage, text + ": has no values");
  std::vector<float> values(array->size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(array->value(i));
  return SrrInputs::values(grid, values);
}

nlohmann::ordered_json quality_json(const SrrQuality& quality) {
  return {{"groups", quality.setting.groups},
          {"step", quality.setting.step},
          {"mse", quality.mse},
          {"rmse", quality.rmse},
          {"worst_mse", quality.worst_mse},
          {"centre_mse", quality.centre_mse},
          {"edge_mean", quality.edge_mean},
          {"worst_l1", quality.worst_l1},
          {"l1_within_radius", quality.l1_within_radius}};
}

void print_json(const Arguments& arguments, const Range& range, const SrrComparison& outcome) {
  nlohmann::ordered_json json = {
      {"epsilon", arguments.epsilon},     {"exact_epsilon", outcome.exact_epsilon},
      {"precision", arguments.precision}, {"centre", range.centre},
      {"radius", range.radius},           {"input", arguments.input}};
  json.update(quality_json(outcome.tuned));
  json["paper"] = nullptr;
  json["optimal"] = nullptr;
  json["ratio"] = nullptr;
  if (outcome.paper) {
    json["paper"] = quality_json(*outcome.paper);
    json["ratio"] = outcome.paper->mse / outcome.tuned.mse;
  }
  if (outcome.optimal) {
    const SquaredErrors& optimal = *outcome.optimal;
    json["optimal"] = {{"mse", optimal.mse},
                       {"rmse", std::sqrt(optimal.mse)},
                       {"worst_mse", optimal.worst_mse},
                       {"centre_mse", optimal.centre_mse}};
  }
  fmt::print("{}\n", json.dump(2));
}

void print_table(const Arguments& arguments, const Range& range, const DecimalGrid& grid,
                 const SrrComparison& outcome) {
  const auto in_radii = [&](double mse) {
    return fmt::format("{:.4f} r", std::sqrt(mse) / range.radius);
  };
  const std::string chosen =
      arguments.input == "worst" ? "the worst input" : arguments.input + " inputs";
  fmt::print("srr at epsilon {} on {} +- {} in steps of {}: {} grid values, least error for {}\n\n",
             short_number(arguments.epsilon), short_number(range.centre),
             short_number(range.radius), short_number(grid.step()),
             with_commas(static_cast<std::uint64_t>(grid.size())), chosen);
  Table table(
      {"", "groups", "step", "root mean squared error", "worst input", "centre", "E[y] at c + r"});
  const auto add = [&](const std::string& label, const SrrQuality& quality) {
    table.add({label, std::to_string(quality.setting.groups), short_number(quality.setting.step),
               in_radii(quality.mse), in_radii(quality.worst_mse), in_radii(quality.centre_mse),
               fmt::format("c + {:.3f} r", quality.edge_mean)});
  };
  add("tuned", outcome.tuned);
  if (outcome.paper) add("paper", *outcome.paper);
  if (outcome.optimal) {
    table.add({"optimal", "-", "-", in_radii(outcome.optimal->mse),
               in_radii(outcome.optimal->worst_mse), in_radii(outcome.optimal->centre_mse),
               "c + 1.000 r"});
  }
  fmt::print("{}\n", table.text());
  if (outcome.paper && outcome.tuned.mse > 0.0) {
    fmt::print("The paper's setting has {:.2f} times the mean squared error.\n",
               outcome.paper->mse / outcome.tuned.mse);
  }
  fmt::print(
      "Expected |error|, worst input: {} r (Theorem 5.2 of SRR-FL, at most r: {})\n"
      "Exact epsilon: {}\n"
      "Use it with: --range {} --precision {} --groups {} --step {}\n",
      fmt::format("{:.4f}", outcome.tuned.worst_l1 / range.radius),
      outcome.tuned.l1_within_radius ? "holds" : "does not hold",
      short_number(outcome.exact_epsilon), arguments.range, short_number(arguments.precision),
      outcome.tuned.setting.groups, short_number(outcome.tuned.setting.step));
}

Result<int> tune(const Arguments& arguments) {
  SOTTO_TRY(const Range range, parse_range(arguments.range));
  const auto inputs = [&](const DecimalGrid& grid) { return read_inputs(arguments.input, grid); };
  const SrrTask task{range, arguments.epsilon, arguments.precision, inputs,
                     arguments.input == "worst"};
  const auto search = [&] {
    Progress progress("tuning");
    return tune_and_compare(task,
                            [&](std::size_t done, std::size_t all) { progress.update(done, all); });
  };
  SOTTO_TRY(const SrrComparison outcome, search());
  if (arguments.json) {
    print_json(arguments, range, outcome);
  } else {
    SOTTO_TRY(const DecimalGrid grid, DecimalGrid::make(range, arguments.precision));
    print_table(arguments, range, grid, outcome);
  }
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("tune", "Find the best parameters of a mechanism");
  command.require_subcommand(1);
  command.footer("Examples:\n  sotto tune srr --epsilon 5 --range 0,0.075 --precision 4");
  CLI::App& srr = *command.add_subcommand("srr", "groups and step with the least squared error");
  auto arguments = std::make_shared<Arguments>();
  srr.add_option("--epsilon", arguments->epsilon, "of one weight")->required()->type_name("E");
  srr.add_option("--range", arguments->range,
                 "centre and radius: weights are clipped to [C - R, C + R]")
      ->required()
      ->type_name("C,R");
  srr.add_option("--precision", arguments->precision, "decimals of the grid")
      ->capture_default_str()
      ->type_name("P");
  srr.add_option("--input", arguments->input,
                 "what to average the error over: worst (the worst input), uniform, normal:S "
                 "(around the centre, deviation S) or the values of a file")
      ->capture_default_str()
      ->type_name("KIND|FILE.npy");
  srr.add_flag("--json", arguments->json, "machine-readable output");
  srr.footer(
      "Tries every number of groups up to 64, larger ones in a row, and for each the valid steps.\n"
      "The result stands beside the setting of the SRR-FL paper (10 groups, step 20 on 1,501 grid\n"
      "values, in proportion on others) and beside the mechanism 'optimal', which is unbiased.\n\n"
      "Examples:\n"
      "  sotto tune srr --epsilon 5 --range 0,0.075 --precision 4\n"
      "  sotto tune srr --epsilon 3 --range 1.15,0.05 --precision 5 --input uniform\n"
      "  sotto tune srr --epsilon 5 --range 0,0.3 --input normal:0.05 --json\n"
      "  sotto tune srr --epsilon 5 --range 0,0.3 --input weights.npy");
  srr.callback([&action, arguments] { action = [arguments] { return tune(*arguments); }; });
}

}  // namespace sotto::cli
