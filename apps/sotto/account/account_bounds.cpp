#include "account_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "mechanism_options.h"
#include "report/chart.h"
#include "sotto/claims.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

constexpr int kChartPoints = 25;

/// What a reader has to know beside the number.
std::string remark(const Bound& bound, const Bound* best) {
  if (!bound.valid()) return "refused: " + bound.reason;
  if (!bound.upper) return "no bound can be below";
  std::string text = &bound == best ? "best" : "";
  if (!(*bound.epsilon <= Claim::kVacuous)) text += text.empty() ? "vacuous" : ", vacuous";
  return text;
}

/// Whole numbers from low to high, each the same factor above the last.
std::vector<std::uint64_t> spaced(std::uint64_t low, std::uint64_t high) {
  std::vector<std::uint64_t> sizes;
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  for (int i = 0; i < kChartPoints; ++i) {
    const double share = static_cast<double>(i) / (kChartPoints - 1);
    const auto size =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(low) * std::pow(ratio, share)));
    if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

CLI::Option* add_number(CLI::App& command, const ParameterInfo& info,
                        std::optional<double>& value) {
  const auto check = [info](const std::string& text) {
    const auto number = parse_number(text);
    if (number && info.accepts(*number)) return std::string();
    return "'" + text + "' is not valid: must be " + info.valid();
  };
  return command.add_option("--" + std::string(info.name), value, std::string(info.meaning))
      ->type_name(info.integer ? "N" : "NUMBER")
      ->check(CLI::Validator(check, ""));
}

CLI::Option* add_delta(CLI::App& command, std::optional<double>& delta) {
  return add_number(command,
                    {.name = "delta",
                     .high = 0.5,
                     .low_open = true,
                     .meaning = "probability with which the guarantee may fail; default 1e-6"},
                    delta);
}

CLI::Option* add_rounds(CLI::App& command, std::optional<double>& rounds) {
  return add_number(command,
                    {.name = "rounds",
                     .low = 1,
                     .high = kMostOfAny,
                     .integer = true,
                     .meaning = "rounds that the client takes part in; default 1"},
                    rounds);
}

CLI::Option* add_clients(CLI::App& command, std::optional<double>& clients) {
  return add_number(command,
                    {.name = "clients",
                     .low = 1,
                     .high = kMostOfAny,
                     .integer = true,
                     .meaning = "whose reports are in one batch, this client's included"},
                    clients);
}

CLI::Option* add_sampling(CLI::App& command, std::optional<double>& sampling) {
  return add_number(command,
                    {.name = "sampling",
                     .high = 1,
                     .low_open = true,
                     .meaning = "probability of each client to be picked for a round, where nobody "
                                "sees who is; --clients is then the mean size of a batch; "
                                "default 1"},
                    sampling);
}

std::uint64_t whole(const std::optional<double>& value, std::uint64_t default_value) {
  return value ? static_cast<std::uint64_t>(*value) : default_value;
}

Result<std::uint64_t> product(std::uint64_t a, std::uint64_t b, std::string_view what) {
  if (static_cast<double>(a) * static_cast<double>(b) <= kMostReleases) return a * b;
  return fail(ErrorKind::kUsage,
              fmt::format("{} times {} {}: must be at most {} in all", with_commas(a),
                          with_commas(b), what, short_number(kMostReleases)));
}

nlohmann::ordered_json number_json(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

nlohmann::ordered_json bounds_json(nlohmann::ordered_json question,
                                   const std::vector<Bound>& bounds) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Bound& bound : bounds) {
    list.push_back({{"name", bound.name},
                    {"epsilon", number_json(bound.epsilon)},
                    {"delta", bound.delta},
                    {"valid", bound.valid()},
                    {"reason", bound.reason},
                    {"theorem", bound.theorem},
                    {"assumption", bound.assumption},
                    {"upper", bound.upper}});
  }
  const Bound* const best = best_of(bounds);
  nlohmann::ordered_json json = {{"question", std::move(question)}, {"bounds", std::move(list)}};
  json["best"] = nullptr;
  json["best_epsilon"] = nullptr;
  if (best != nullptr) {
    json["best"] = best->name;
    json["best_epsilon"] = number_json(best->epsilon);
  }
  return json;
}

void print_bounds(const std::vector<Bound>& bounds) {
  const Bound* const best = best_of(bounds);
  Table table({"bound", "epsilon", "delta", ""});
  for (const Bound& bound : bounds) {
    table.add({bound.name, bound.epsilon ? epsilon_text(*bound.epsilon) : "-",
               bound.epsilon ? epsilon_text(bound.delta) : "-", remark(bound, best)});
  }
  fmt::print("{}\n", table.text());
  for (const Bound& bound : bounds) {
    if (!bound.valid()) continue;
    fmt::print("{}: {}; assumption: {}\n", bound.name, bound.theorem, bound.assumption);
  }
}

std::string judged_epsilon(double epsilon) {
  return epsilon_text(epsilon) + (epsilon <= Claim::kVacuous ? "" : " (vacuous)");
}

Result<void> write_chart(const BoundsChart& chart, const std::string& file) {
  if (!file.ends_with(".svg")) {
    return fail(ErrorKind::kUsage, "--plot " + file + ": must be the name of an .svg file");
  }
  LineChart picture{chart.title, chart.x_label, "epsilon", {}, {}, false, true, true};
  const std::vector<std::uint64_t> sizes = spaced(chart.low, chart.high);
  Progress progress("plotting", sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    SOTTO_TRY(const std::vector<Bound> bounds, chart.answer(sizes[i]));
    for (std::size_t b = 0; b < bounds.size(); ++b) {
      if (picture.series.size() <= b) picture.series.push_back({bounds[b].name, {}});
      picture.series[b].points.emplace_back(static_cast<double>(sizes[i]),
                                            bounds[b].epsilon.value_or(std::nan("")));
    }
    progress.update(i + 1, sizes.size());
  }
  // A bound that is refused everywhere is no line.
  std::erase_if(picture.series, [](const Series& series) {
    return std::all_of(series.points.begin(), series.points.end(),
                       [](const auto& point) { return !std::isfinite(point.second); });
  });
  return write_file_atomically(file, to_svg(picture));
}

}  // namespace sotto::cli
