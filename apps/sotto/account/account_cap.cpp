#include "account_cap.h"

#include <cmath>

#include "account/training_plan.h"

namespace sotto::cli {
namespace {

class Search {
 public:
  Search(const ReportOptions& report, const Training& training, double target,
         const std::function<void(std::size_t, std::size_t)>& progress)
      : report_(report), training_(training), target_(target), progress_(progress) {}

  Result<CapPlan> run() {
    CapPlan found;
    SOTTO_TRY(found.by_default, price(std::nullopt));
    if (!found.by_default.plan.possible) {
      found.best = found.by_default;
      return found;
    }
    // The answer is near, and its epsilon0 too: the search need not begin anew for every cap.
    training_.least_epsilon0 = std::max(training_.least_epsilon0, 0.7 * found.by_default.epsilon0);
    training_.most_epsilon0 = std::min(training_.most_epsilon0, 1.6 * found.by_default.epsilon0);
    SOTTO_TRY(found.best, golden(std::log(found.by_default.cap / 8.0),
                                 std::log(std::min(0.5, found.by_default.cap * 2.0))));
    if (!(found.best.squared_error < found.by_default.squared_error)) found.best = found.by_default;
    return found;
  }

 private:
  static constexpr std::size_t kSteps = 9;

  /// The largest epsilon0 with this cap, and its error.
  Result<CapChoice> price(std::optional<double> cap) {
    ReportOptions report = report_;
    if (cap) report.mechanism.set["cap"] = *cap;
    Training training = training_;
    training.background = [report](double epsilon, std::uint64_t weights) {
      return report.background(epsilon, weights);
    };
    CapChoice choice;
    SOTTO_TRY(choice.plan, make_plan(training, PlanUnknown::kEpsilon0, target_, {}));
    choice.epsilon0 = choice.plan.value;
    report.mechanism.set["epsilon"] = choice.epsilon0;
    SOTTO_TRY(const std::size_t size, report.mechanism.input_size(MechanismKind::kVector));
    SOTTO_TRY(const auto mechanism, report.mechanism.make(size));
    choice.cap = cap.value_or(cap_of(*mechanism));
    choice.squared_error = choice.plan.possible ? squared_error_of(*mechanism)
                                                : std::numeric_limits<double>::infinity();
    if (progress_) progress_(++done_, kSteps + 3);
    return choice;
  }

  /// The least error between these logarithms of the cap: it has one minimum. Caps of three digits.
  Result<CapChoice> golden(double low, double high) {
    constexpr double kGolden = 0.6180339887498949;
    const auto at = [&](double logarithm) {
      char text[32];
      std::snprintf(text, sizeof text, "%.2e", std::exp(logarithm));
      return price(std::min(0.5, std::stod(text)));
    };
    double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    SOTTO_TRY(CapChoice at_left, at(left));
    SOTTO_TRY(CapChoice at_right, at(right));
    for (std::size_t step = 2; step < kSteps; ++step) {
      if (at_left.squared_error < at_right.squared_error) {
        high = std::exchange(right, left);
        at_right = std::move(at_left);
        left = high - kGolden * (high - low);
        SOTTO_TRY(at_left, at(left));
      } else {
        low = std::exchange(left, right);
        at_left = std::move(at_right);
        right = low + kGolden * (high - low);
        SOTTO_TRY(at_right, at(right));
      }
    }
    return at_left.squared_error < at_right.squared_error ? at_left : at_right;
  }

  const ReportOptions& report_;
  Training training_;
  double target_;
  const std::function<void(std::size_t, std::size_t)>& progress_;
  std::size_t done_ = 0;
};

}  // namespace

Result<CapPlan> choose_cap(const ReportOptions& report, const Training& training, double target,
                           const std::function<void(std::size_t, std::size_t)>& progress) {
  if (!report.has_mechanism()) {
    return fail(ErrorKind::kUsage, "--choose-cap needs --mechanism privunit");
  }
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(report.mechanism.name));
  if (!takes(*info, "cap")) {
    return fail(ErrorKind::kUsage,
                "--choose-cap: " + report.mechanism.name + " has no cap to choose; privunit has");
  }
  if (report.mechanism.set.contains("cap") || report.given_epsilon()) {
    return fail(ErrorKind::kUsage, "--choose-cap finds --cap and --epsilon: give neither");
  }
  if (training.local) {
    return fail(ErrorKind::kUsage,
                "--choose-cap does not go with --local: without a shuffler privunit's own cap is "
                "the best");
  }
  return Search(report, training, target, progress).run();
}

}  // namespace sotto::cli
