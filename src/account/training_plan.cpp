#include "account/training_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <numbers>

#include "account/bound_words.h"
#include "account/coupling.h"
#include "base/exact/exact.h"

namespace sotto {
namespace {

constexpr double kGolden = 0.6180339887498949;
/// Where the search for the cap stops: neighbouring caps differ in signal by less than 10^-3.
constexpr double kCapStep = 1.3;
constexpr int kMostCapSteps = 12;
constexpr int kMostSecants = 12;  // then halves
constexpr std::uint64_t kMostRounds = 1'000'000;

double upper_normal(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

/// The best cap where reports are many and small, and the epsilon0 that goes with it.
struct Sketch {
  double cap = 0.5;
  double epsilon0 = 1.0;
  double signal = 0.0;
};

/// The step r of the density over a cap of share q: 2 N q r^2 = mu^2 n (1 - q r).
double sketched_step(double q, double releases, double square) {
  const double a = 2.0 * releases * q, b = square * q;
  return 2.0 * square / (b + std::sqrt(b * b + 4.0 * a * square));
}
double sketched_epsilon0(double q, double releases, double square) {
  const double r = sketched_step(q, releases, square);
  return std::log1p(r / (1.0 - q * r));
}

Sketch sketch_at(double z, double clients, double releases, double ratio) {
  const double q = upper_normal(z);
  const double square = ratio * ratio * clients;
  const double phi = std::exp(-z * z / 2.0) / std::sqrt(2.0 * std::numbers::pi);
  const double step = phi * sketched_step(q, releases, square);
  return {q, sketched_epsilon0(q, releases, square), 4.0 * releases * step * step / square};
}

Sketch sketch(const TrainingQuestion& question, double releases, double ratio) {
  const auto clients = static_cast<double>(question.clients);
  const auto at = [&](double z) { return sketch_at(z, clients, releases, ratio); };
  double low = 0.0, high = 6.0;
  for (int step = 0; step < 60; ++step) {
    const double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    (at(left).signal > at(right).signal ? high : low) =
        at(left).signal > at(right).signal ? right : left;
  }
  return at((low + high) / 2.0);
}

/// The index of the planned epsilon next to `epsilon`.
std::uint64_t index_of(double epsilon) {
  std::uint64_t low = 0, high = kPlannedEpsilons - 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (planned_epsilon(middle) <= epsilon) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Caps of three digits.
double rounded_cap(double cap) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", cap);
  return std::min(0.5, std::strtod(text, nullptr));
}

class Search {
 public:
  Search(const TrainingQuestion& question, std::uint64_t rounds, std::uint64_t messages,
         const PlanProgress& progress)
      : question_(question), rounds_(rounds), messages_(messages), progress_(progress) {}

  Result<PlannedTraining> run() {
    const double ratio = gaussian_ratio_of(question_.target_epsilon, question_.delta);
    const auto releases = static_cast<double>(rounds_) * static_cast<double>(messages_);
    square_ = ratio * ratio * static_cast<double>(question_.clients);
    SOTTO_TRY(PlannedTraining best, at_cap(sketch(question_, releases, ratio).cap));
    // Downhill in steps of kCapStep, then one step of a parabola through the last three.
    PlannedTraining below, above;
    for (int step = 0; step < kMostCapSteps && best.possible; ++step) {
      SOTTO_TRY(below, at_cap(best.cap / kCapStep));
      SOTTO_TRY(above, at_cap(std::min(0.5, best.cap * kCapStep)));
      const PlannedTraining& better = error_of(below) < error_of(above) ? below : above;
      if (!(error_of(better) < error_of(best))) break;
      best = better;
    }
    if (best.possible && below.possible && above.possible && above.cap > best.cap) {
      const double left = error_of(below) - error_of(best);
      const double right = error_of(above) - error_of(best);
      if (left + right > 0.0) {
        const double shift = std::log(kCapStep) * 0.5 * (left - right) / (left + right);
        SOTTO_TRY(const PlannedTraining vertex, at_cap(best.cap * std::exp(shift)));
        if (error_of(vertex) < error_of(best)) best = vertex;
      }
    }
    if (best.possible) {
      best.signal = 4.0 * releases * static_cast<double>(outputs_) /
                    (static_cast<double>(question_.clients) * best.squared_error * ratio * ratio);
      SOTTO_TRY(best.noise_epsilon, against_noise(best));
    }
    return best;
  }

 private:
  static double error_of(const PlannedTraining& plan) {
    return plan.possible ? plan.squared_error : std::numeric_limits<double>::infinity();
  }

  /// All of the training, at this epsilon0.
  Result<Bound> price_of(double epsilon0, double cap) {
    if (progress_) progress_(++done_, kExpected);
    SOTTO_TRY(const auto mechanism, question_.make(epsilon0, cap));
    const Background background = mechanism->background(0, mechanism->outputs());
    const std::uint64_t releases = rounds_ * messages_;
    if (!question_.earlier) {
      // A message is a release like a round: its batch is shuffled on its own.
      Training training;
      training.rounds = releases;
      training.clients = question_.clients;
      training.delta = question_.delta;
      training.background = [background](double, std::uint64_t) {
        return Result<Background>(background);
      };
      return price(training);
    }
    Bound bound = bound_named("background", question_.delta);
    const PrivacyLoss loss = PrivacyLoss::shuffled(background, question_.clients).times(releases);
    bound.epsilon = epsilon_of(loss.with(*question_.earlier), background)
                        .value_or(std::numeric_limits<double>::infinity());
    return bound;
  }

  /// At the question's delta, of which the arithmetic of all reports takes its part.
  std::optional<double> epsilon_of(const PrivacyLoss& loss, const Background& background) const {
    const double reports = exact::multiply_up(static_cast<double>(rounds_ * messages_),
                                              static_cast<double>(question_.clients));
    const double coupling =
        exact::add_up(exact::multiply_up(background.coupling, reports), question_.earlier_coupling);
    return coupled_epsilon([&](double delta) { return loss.epsilon(delta); }, question_.delta,
                           coupling);
  }

  /// Of the planned rounds alone; where others come before, their part is that of the price.
  Result<std::optional<double>> against_noise(const PlannedTraining& plan) {
    SOTTO_TRY(const auto mechanism, question_.make(plan.epsilon0, plan.cap));
    const Background background = mechanism->background(0, mechanism->outputs());
    PrivacyLoss loss =
        PrivacyLoss::shuffled_noise(background, question_.clients).times(rounds_ * messages_);
    if (question_.earlier) loss = loss.with(*question_.earlier);
    const std::optional<double> epsilon = epsilon_of(loss, background);
    return epsilon && *epsilon < *plan.price.epsilon ? epsilon : std::nullopt;
  }

  /// The largest epsilon0 with this cap that meets the target: a secant in logarithms, kept between
  /// an index that meets it and one that misses it.
  Result<PlannedTraining> at_cap(double asked) {
    const double cap = rounded_cap(asked);
    if (const auto known = known_.find(cap); known != known_.end()) return known->second;
    const auto value = [](std::int64_t index) {
      return planned_epsilon(static_cast<std::uint64_t>(index));
    };
    const auto first = static_cast<std::int64_t>(index_of(question_.least_epsilon0));
    const auto last = static_cast<std::int64_t>(index_of(question_.most_epsilon0));
    PlannedTraining plan;
    plan.clients = question_.clients;
    plan.rounds = rounds_;
    plan.messages = messages_;
    plan.cap = cap;
    std::int64_t low = first - 1, high = last + 1;  // meets, misses, as far as is known
    double last_x = 0.0, last_y = 0.0;
    const double guess = sketched_epsilon0(cap, static_cast<double>(rounds_ * messages_), square_);
    auto at = static_cast<std::int64_t>(index_of(off_ * guess));
    for (int step = 0; high - low > 1; ++step) {
      at = std::clamp(at, low + 1, high - 1);
      SOTTO_TRY(const Bound found, price_of(value(at), cap));
      const double x = std::log(value(at));
      const double y = std::log(*found.epsilon / question_.target_epsilon);
      const bool meets = *found.epsilon <= question_.target_epsilon;
      (meets ? low : high) = at;
      if (meets || at == first) plan.price = found;
      if (step > 0 && x != last_x) {
        const double secant = (y - last_y) / (x - last_x);
        if (secant > 0.1 && secant < 100.0) slope_ = secant;
      }
      last_x = x;
      last_y = y;
      if (step > kMostSecants || !std::isfinite(y)) {
        at = low + (high - low) / 2;
      } else {
        at = static_cast<std::int64_t>(index_of(std::exp(std::clamp(x - y / slope_, -20.0, 6.9))));
      }
    }
    plan.possible = low >= first;
    if (plan.possible) {
      plan.epsilon0 = value(low);
      off_ = plan.epsilon0 / guess;
      SOTTO_TRY(const auto mechanism, question_.make(plan.epsilon0, cap));
      plan.squared_error = squared_error_of(*mechanism);
      outputs_ = mechanism->outputs();
      plan.bytes = (outputs_ * mechanism->symbol_bits() + 7) / 8 * messages_;
    }
    known_[cap] = plan;
    return plan;
  }

  static constexpr std::size_t kExpected = 24;

  const TrainingQuestion& question_;
  std::uint64_t rounds_;
  std::uint64_t messages_;
  const PlanProgress& progress_;
  std::map<double, PlannedTraining> known_;
  double square_ = 1.0;  // mu^2 n
  double off_ = 1.0;     // the last epsilon0 over its sketch
  double slope_ = 1.5;   // of prices in epsilon0, in logarithms
  std::size_t outputs_ = 1;
  std::size_t done_ = 0;
};

/// The delta of Gaussian noise (Balle, Wang 2018).
double gaussian_delta(double ratio, double epsilon) {
  return upper_normal(epsilon / ratio - ratio / 2.0) -
         std::exp(epsilon + std::log(upper_normal(epsilon / ratio + ratio / 2.0)));
}

}  // namespace

double gaussian_ratio_of(double epsilon, double delta) {
  double low = 1e-12, high = 1.0;
  while (gaussian_delta(high, epsilon) < delta && high < 1e6) high *= 2.0;
  for (int step = 0; step < 200 && high - low > 1e-14 * high; ++step) {
    const double middle = (low + high) / 2.0;
    (gaussian_delta(middle, epsilon) <= delta ? low : high) = middle;
  }
  return low;
}

double gaussian_epsilon_of(double ratio, double delta) {
  double low = 0.0, high = 1.0;
  if (gaussian_delta(ratio, low) <= delta) return 0.0;
  while (gaussian_delta(ratio, high) > delta && high < 1e9) high *= 2.0;
  for (int step = 0; step < 200 && high - low > 1e-14 * high; ++step) {
    const double middle = (low + high) / 2.0;
    (gaussian_delta(ratio, middle) <= delta ? high : low) = middle;
  }
  return high;
}

double squared_error_of(const Mechanism& mechanism) {
  std::vector<float> axis(mechanism.outputs(), 0.0F);
  axis[0] = static_cast<float>(mechanism.domain().norm);
  const double scale = mechanism.domain().norm * mechanism.domain().norm;
  double error = mechanism.moments(axis, 0).variance;
  if (axis.size() > 1) {
    error += static_cast<double>(axis.size() - 1) * mechanism.moments(axis, 1).variance;
  }
  return error / scale;
}

double cap_of(const Mechanism& mechanism) {
  for (const Constant& constant : mechanism.constants()) {
    if (constant.name == "q") return std::ldexp(std::stod(constant.value), -64);
  }
  return 0.0;
}

Result<PlannedTraining> plan_training(const TrainingQuestion& question, std::uint64_t rounds,
                                      std::uint64_t messages, const PlanProgress& progress) {
  return Search(question, rounds, messages, progress).run();
}

Result<PlannedTraining> plan_for_signal(const TrainingQuestion& question, double signal,
                                        std::uint64_t rounds, std::uint64_t messages,
                                        const PlanProgress& progress) {
  const bool open_rounds = rounds == 0;
  const std::uint64_t most = open_rounds ? kMostRounds : kMostMessages;
  const std::uint64_t each = open_rounds ? messages : rounds;
  const auto plan_at = [&](std::uint64_t count) {
    return open_rounds ? plan_training(question, count, messages, progress)
                       : plan_training(question, rounds, count, progress);
  };
  const double ratio = gaussian_ratio_of(question.target_epsilon, question.delta);
  const auto sketched = [&](std::uint64_t count) {
    return sketch(question, static_cast<double>(count) * static_cast<double>(each), ratio).signal;
  };
  // The sketch says where to look; how far it is off is learnt from the exact answers.
  double off = 1.0;
  std::uint64_t low = 0, high = most + 1;  // leaves less, leaves enough, as far as is known
  std::optional<PlannedTraining> answer;
  for (int step = 0; step < 8 && high - low > std::max<std::uint64_t>(1, low / 100); ++step) {
    std::uint64_t from = low, to = high;  // the first count above low whose sketch is enough
    while (to - from > 1) {
      const std::uint64_t middle = from + (to - from) / 2;
      (off * sketched(middle) >= signal ? to : from) = middle;
    }
    const std::uint64_t at = std::clamp(to, low + 1, high > most ? most : high - 1);
    SOTTO_TRY(const PlannedTraining found, plan_at(at));
    if (found.possible && found.signal >= signal) {
      high = at;
      answer = found;
    } else {
      low = at;
      if (at == most) {
        PlannedTraining too_little = found;
        too_little.possible = false;
        return too_little;
      }
    }
    if (found.possible) off = found.signal / sketched(at) * (found.signal < signal ? 0.999 : 1.0);
  }
  if (answer) return *answer;
  SOTTO_TRY(PlannedTraining last, plan_at(most));
  last.possible = last.possible && last.signal >= signal;
  return last;
}

}  // namespace sotto
