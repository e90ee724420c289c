#include "account_report.h"

#include <cmath>

#include "account_bounds.h"

namespace sotto::cli {

std::optional<double> ReportOptions::given_epsilon() const {
  if (!has_mechanism()) return epsilon0;
  const auto it = mechanism.set.find("epsilon");
  return it == mechanism.set.end() ? std::nullopt : std::optional(it->second);
}

Result<void> ReportOptions::check() const {
  if (!has_mechanism()) {
    if (!mechanism.set.empty() || mechanism.dimension || mechanism.bits) {
      const std::string option = !mechanism.set.empty() ? mechanism.set.begin()->first
                                 : mechanism.dimension  ? "dimension"
                                                        : "bits";
      return fail(ErrorKind::kUsage, "--" + option +
                                         " needs --mechanism NAME; without one, --epsilon0 is all "
                                         "that is known of a report");
    }
    return {};
  }
  if (epsilon0) {
    return fail(ErrorKind::kUsage,
                "--epsilon0 and --mechanism: give one of them; the mechanism's own parameter is "
                "--epsilon");
  }
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(mechanism.name));
  if (info->kind != MechanismKind::kValue && (weights || split)) {
    return fail(ErrorKind::kUsage,
                "--weights and --split: " + mechanism.name +
                    " makes one report of all values, which travels whole; its "
                    "size is --" +
                    (info->kind == MechanismKind::kVector ? "dimension" : "bits"));
  }
  return {};
}

Result<Background> ReportOptions::background(std::optional<double> epsilon,
                                             std::uint64_t count) const {
  MechanismOptions options = mechanism;
  if (epsilon) options.set["epsilon"] = *epsilon;
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(options.name));
  SOTTO_TRY(const std::size_t size, options.input_size(info->kind));
  SOTTO_TRY(const auto made, options.make(info->kind == MechanismKind::kValue ? count : size));
  const Background background = made->background(0, made->outputs());
  const Guarantee guarantee = made->guarantee();
  // A delta is either that of the sampler's arithmetic, which the coupling accounts for, or one of
  // the exact distribution.
  if (!std::isfinite(background.epsilon) || (guarantee.delta > 0.0 && background.coupling == 0.0)) {
    return fail(ErrorKind::kRefused, options.name +
                                         ": no amplification is proven for what has no epsilon "
                                         "without a delta: " +
                                         guarantee.statement);
  }
  return background;
}

nlohmann::ordered_json ReportOptions::mechanism_json() const {
  if (!has_mechanism()) return nullptr;
  const auto info = find_mechanism(mechanism.name);
  return {{"name", mechanism.name},
          {"parameters", info ? mechanism.parameters(**info) : Parameters{}}};
}

void add_report_options(CLI::App& command, ReportOptions& options) {
  add_number(command,
             {.name = "epsilon0",
              .high = 1000,
              .low_open = true,
              .meaning = "of one weight, or of a report that has only one"},
             options.epsilon0);
  add_number(command,
             {.name = "weights",
              .low = 1,
              .high = kMostOfAny,
              .integer = true,
              .meaning = "that a client sends in a round; default 1"},
             options.weights);
  add_number(command,
             {.name = "split",
              .low = 1,
              .high = kMostOfAny,
              .integer = true,
              .meaning = "weights of a client that travel together, shuffled as one"},
             options.split);
  command
      .add_option("--mechanism", options.mechanism.name,
                  "whose reports are shuffled, instead of --epsilon0 (see 'sotto mechanisms')")
      ->type_name("MECH");
  const std::size_t before = command.get_options().size();
  add_parameter_options(command, options.mechanism);
  add_size_options(command, options.mechanism);
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group("Parameters of --mechanism");
}

}  // namespace sotto::cli
