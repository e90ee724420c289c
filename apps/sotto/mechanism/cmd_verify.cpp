// sotto verify MECH: holds a mechanism's claim against its own integers.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_number.h"
#include "mechanism_options.h"
#include "terminal.h"
#include "verify_plot.h"

namespace sotto::cli {
namespace {

struct Arguments {
  MechanismOptions mechanism;
  std::size_t inputs = 11;
  std::string plot;
  std::vector<double> at;
  bool json = false;
};

nlohmann::json maybe(const std::optional<double>& value) {
  return value ? number_or_null<nlohmann::json>(*value) : nlohmann::json(nullptr);
}
double radius_of(const Verification& v) {
  const auto [low, high] = input_interval(v);
  return (high - low) / 2.0;
}

nlohmann::json to_json(const Verification& v, const Parameters& parameters) {
  nlohmann::json inputs = nlohmann::json::array();
  for (const InputFinding& finding : v.inputs) {
    nlohmann::json row = {{"input", finding.input},
                          {"mean", number_or_null<nlohmann::json>(finding.moments.mean)},
                          {"bias", number_or_null<nlohmann::json>(finding.moments.bias)},
                          {"variance", number_or_null<nlohmann::json>(finding.moments.variance)},
                          {"sums_to_one", finding.sums_to_one},
                          {"expected_l1", maybe(finding.l1)}};
    if (v.info->kind == MechanismKind::kBits) row["bit"] = finding.position;
    inputs.push_back(std::move(row));
  }
  const Range& range = v.mechanism->domain().ranges.front();
  return {{"mechanism", v.info->name},
          {"mechanism_id", v.mechanism->id()},
          {"parameters", parameters},
          {"range", {{"centre", range.centre}, {"radius", range.radius}}},
          {"unit", name_of(v.guarantee.unit)},
          {"claimed_epsilon", number_or_null<nlohmann::json>(v.guarantee.claimed_epsilon)},
          {"exact_epsilon", number_or_null<nlohmann::json>(v.guarantee.unit_epsilon)},
          {"report_epsilon", number_or_null<nlohmann::json>(v.guarantee.epsilon)},
          {"outputs", v.mechanism->outputs()},
          {"delta", v.guarantee.delta},
          {"holds", v.holds()},
          {"statement", v.guarantee.statement},
          {"worst",
           {{"input", v.worst.input},
            {"other_input", v.worst.other_input},
            {"output", v.worst.output}}},
          {"worst_case_variance", number_or_null<nlohmann::json>(v.worst_variance)},
          {"max_bias", number_or_null<nlohmann::json>(v.max_bias)},
          {"checked_inputs", v.checked_inputs},
          {"sums_to_one", v.sums_to_one},
          {"worst_expected_l1", maybe(v.worst_l1)},
          {"l1_within_radius",
           v.worst_l1 ? nlohmann::json(*v.worst_l1 <= radius_of(v)) : nlohmann::json(nullptr)},
          {"squared_error", maybe(v.squared_error)},
          {"inputs", inputs}};
}

std::string verdict(const Verification& v) {
  if (std::isinf(v.guarantee.claimed_epsilon)) return "nothing is claimed";
  return v.holds() ? "the claim holds" : "the claim does NOT hold";
}

void print_claim(const Verification& v, const Parameters& parameters) {
  fmt::print("{}{}: {}\n\n", v.info->name, with_parameters(parameters), v.info->summary);
  const auto line = [](std::string_view head, const std::string& text) {
    fmt::print("{:<18}{}\n", head, text);
  };
  line("claimed epsilon", fmt::format("{} a {}", epsilon_text(v.guarantee.claimed_epsilon),
                                      name_of(v.guarantee.unit)));
  line("exact epsilon", fmt::format("{} a {}: {}", epsilon_text(v.guarantee.unit_epsilon),
                                    name_of(v.guarantee.unit), verdict(v)));
  if (v.guarantee.delta > 0.0) line("delta", epsilon_text(v.guarantee.delta));
  if (v.mechanism->outputs() > 1) {
    line("whole report", fmt::format("epsilon {} for {} outputs", epsilon_text(v.guarantee.epsilon),
                                     with_commas(v.mechanism->outputs())));
  }
  line("statement", v.guarantee.statement);
  line("worst inputs", v.worst.input + " and " + v.worst.other_input);
  line("at the output", v.worst.output);
  line("sums to one", v.sums_to_one ? "yes, in integers" : "NO");
  line("worst variance", fmt::format("{} over {} inputs", short_number(v.worst_variance),
                                     with_commas(v.checked_inputs)));
  line("largest bias", short_number(v.max_bias));
  if (v.squared_error) {
    line("squared error", short_number(*v.squared_error) + " of a vector of full norm");
  }
  if (v.worst_l1) {
    line("expected error",
         fmt::format("at most {} = {} r in L1: {} the radius", short_number(*v.worst_l1),
                     fmt::format("{:.4g}", *v.worst_l1 / radius_of(v)),
                     *v.worst_l1 <= radius_of(v) ? "within" : "above"));
  }
}

void print_inputs(const Verification& v) {
  const bool bits = v.info->kind == MechanismKind::kBits;
  std::vector<std::string> header = {"input", "mean", "bias", "variance"};
  if (bits) header.insert(header.begin(), "bit");
  if (v.worst_l1) header.push_back("expected error");
  Table table(header);
  for (const InputFinding& finding : v.inputs) {
    std::vector<std::string> row = {short_number(finding.input), short_number(finding.moments.mean),
                                    fmt::format("{:.3g}", finding.moments.bias),
                                    short_number(finding.moments.variance)};
    if (bits) row.insert(row.begin(), std::to_string(finding.position));
    if (v.worst_l1) row.push_back(finding.l1 ? short_number(*finding.l1) : "-");
    table.add(std::move(row));
  }
  fmt::print("\n{}", table.text());
}

Result<Verification> find_out(const MechanismOptions& options, std::size_t shown) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(options.name));
  SOTTO_TRY(const std::size_t size, options.input_size(info->kind));
  SOTTO_TRY(auto mechanism, options.make(size));
  Progress progress("verify");
  return verify(*info, std::move(mechanism), options.parameters(*info), shown,
                [&](std::size_t done, std::size_t total, const char* stage) {
                  progress.update(done, total, stage);
                });
}

Result<int> verify_command(const Arguments& arguments) {
  if (!arguments.at.empty() && arguments.plot.empty()) {
    return fail(ErrorKind::kUsage, "verify: --at needs --plot FILE.svg");
  }
  SOTTO_TRY(const Verification v, find_out(arguments.mechanism, arguments.inputs));
  if (!arguments.plot.empty()) {
    SOTTO_TRY(const std::string picture, plot_outputs(v, arguments.at));
    SOTTO_CHECK(write_file_atomically(arguments.plot, picture));
  }
  const Parameters parameters = arguments.mechanism.parameters(*v.info);
  if (arguments.json) {
    fmt::print("{}\n", to_json(v, parameters).dump(2));
  } else {
    print_claim(v, parameters);
    print_inputs(v);
    if (!arguments.plot.empty()) fmt::print("\nplot: {}\n", arguments.plot);
  }
  return v.holds() && v.sums_to_one ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("verify", "Compute a mechanism's exact epsilon, bias and variance");
  auto arguments = std::make_shared<Arguments>();
  sub->add_option("mechanism", arguments->mechanism.name, "which one (see 'sotto mechanisms')")
      ->required()
      ->type_name("MECH");
  add_parameter_options(*sub, arguments->mechanism);
  add_size_options(*sub, arguments->mechanism);
  sub->add_option("--inputs", arguments->inputs, "rows of the table of inputs")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}));
  sub->add_option("--plot", arguments->plot, "draws the output distribution")
      ->type_name("FILE.svg");
  sub->add_option("--at", arguments->at, "inputs of the plot; default low end, centre, half-way up")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("X1,X2,...");
  sub->add_flag("--json", arguments->json, "print JSON; null stands for infinite");
  sub->footer(
      "Epsilon is the largest log-ratio of two probabilities of the same output, computed from\n"
      "the integers that the sampler compares random bits with, and rounded up. Worst variance\n"
      "and bias are taken over all inputs of the grid, or 1001 of them where it is large.\n"
      "Exit code 1 when the exact epsilon is above the claimed one.\n\n"
      "Examples:\n"
      "  sotto verify two-point --epsilon 1\n"
      "  sotto verify two-point --epsilon 5 --range 0,0.075 --json | jq .exact_epsilon\n"
      "  sotto verify two-point --epsilon 1 --plot two-point.svg --at=-1,0,0.5");
  sub->callback(
      [&action, arguments] { action = [arguments] { return verify_command(*arguments); }; });
}

}  // namespace sotto::cli
