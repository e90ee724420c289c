// Answers to single questions: every bound that is known, with its theorem, its assumption and,
// outside its validity, the reason why it is refused.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "account/bound_words.h"
#include "account/coupling.h"
#include "account/shuffled/sizes.h"
#include "base/exact/exact.h"
#include "base/text.h"
#include "sotto/account.h"

namespace sotto {
namespace {

#define SOTTO_SHUFFLER                                                                      \
  "the order tells nothing about the senders; all others keep their coins secret, and the " \
  "adversary "                                                                              \
  "knows their data"

constexpr std::string_view kAnyMechanism =
    "each release is epsilon0-LDP, also if chosen after the last";
constexpr std::string_view kShuffler = SOTTO_SHUFFLER;

struct Words {
  std::string_view name;
  std::string_view theorem;
  std::string_view assumption;
};

constexpr Words kWords[] = {
    {"sequential", "the sum (basic composition)", kAnyMechanism},
    {"optimal", "Kairouz, Oh, Viswanath 2015, Theorem 3.3: exact for randomized response",
     kAnyMechanism},
    {"advanced", "Dwork, Rothblum, Vadhan 2010; form of Kairouz, Oh, Viswanath 2015, Theorem 3.4",
     kAnyMechanism},
    {"renyi", "Mironov 2017; to epsilon by Canonne, Kamath, Steinke 2020, Proposition 12",
     kAnyMechanism},
    {"loss-distribution",
     "the distribution of the privacy loss of randomized response, composed numerically",
     kAnyMechanism},
    {"none", "no amplification: composition of what the client sends", kAnyMechanism},
    {"erlingsson", "Erlingsson et al. 2019: 12 epsilon0 sqrt(ln(1/delta) / n)", kShuffler},
    {"closed-form", "Feldman, McMillan, Talwar 2021, Theorem 3.1 (equation 1 of Measuring-Privacy)",
     SOTTO_SHUFFLER "; an erratum restricts the class of randomizers"},
    {"clones", "Feldman, McMillan, Talwar 2021: others are clones with probability e^-epsilon0",
     kShuffler},
    {"generic", "variation ratio: others are clones with probability 2 / (e^epsilon0 + 1)",
     SOTTO_SHUFFLER "; the randomizers are not chosen adaptively"},
    {"background", "privacy blanket of this mechanism (Balle et al. 2019; three regions)",
     kShuffler},
    {"exact-binary", "binary randomized response, all others hold the same value: exact",
     "a lower bound: what no bound for all mechanisms can be below"},
};
#undef SOTTO_SHUFFLER

double up(double value) { return value + 1e-12 * std::abs(value); }

/// The order with the least epsilon, by golden sections over ln(order - 1).
double best_renyi(double epsilon0, double count, double delta) {
  const auto epsilon = [&](double at) {
    const double order = 1.0 + std::exp(at);
    return renyi_to_epsilon(order, exact::multiply_up(count, renyi_of_pure(epsilon0, order)),
                            delta);
  };
  constexpr double kGolden = 0.6180339887498949;
  double low = -30.0, high = 30.0;
  for (int i = 0; i < 80; ++i) {
    const double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    const bool falls = epsilon(left) < epsilon(right);
    (falls ? high : low) = falls ? right : left;
  }
  return epsilon((low + high) / 2.0);
}

std::string number(double value) { return short_number(value); }

/// What the question's sampler adds to delta, for all reports in all batches.
double coupling_of(const ShuffleQuestion& question) {
  return question.mechanism ? question.mechanism->coupling * static_cast<double>(question.count) *
                                  static_cast<double>(question.clients)
                            : 0.0;
}

/// Fills in what `epsilon_at` gives at the question's delta, no more than `local`: shuffling never
/// makes it worse.
void settle(Bound& bound, const ShuffleQuestion& question, double local,
            const std::function<double(double delta)>& epsilon_at) {
  const auto epsilon = coupled_epsilon(epsilon_at, question.delta, coupling_of(question));
  if (!epsilon) {
    bound.reason = "the sampler's arithmetic costs more than delta in so many reports";
  } else if (!std::isfinite(std::min(*epsilon, local))) {
    bound.reason = "no epsilon has this delta: tails of about 1e-18 a batch are cut off and count";
  } else {
    bound.epsilon = std::min(*epsilon, local);
  }
}

/// A closed form for one batch, then composition: half of delta is spent on the batches' own
/// deltas, half on composing them.
class ClosedForm {
 public:
  ClosedForm(const ShuffleQuestion& question, double delta) : question_(question), delta_(delta) {}

  double batch_delta() const {
    const double own =
        question_.count == 1 ? delta_ : delta_ / (2.0 * static_cast<double>(question_.count));
    return std::min(0.5, own);
  }
  double composed(double batch_epsilon) const {
    if (question_.count == 1) return up(batch_epsilon);
    return optimal_epsilon(up(batch_epsilon), question_.count, delta_ / 2.0);
  }

 private:
  const ShuffleQuestion& question_;
  double delta_;
};

constexpr const char* kOneSize = "it is for batches of one size, and sampling makes sizes random";

/// Without a shuffler the server sees who takes part, so sampling does not count.
Bound unshuffled(const ShuffleQuestion& question) {
  const double tau = question.mechanism ? question.mechanism->coupling : 0.0;
  const bool pure = question.count == 1 && tau == 0.0;
  Bound bound = bound_named("none", pure ? 0.0 : question.delta);
  const double epsilon =
      pure ? question.epsilon0
           : composed_epsilon(question.epsilon0, tau, question.count, question.delta);
  if (std::isfinite(epsilon)) {
    bound.epsilon = epsilon;
  } else {
    bound.reason = "no finite epsilon has this delta";
  }
  return bound;
}

Bound erlingsson(const ShuffleQuestion& question, double local) {
  const double least = ClosedForm(question, question.delta).batch_delta();
  Bound bound = bound_named("erlingsson", question.delta);
  if (question.sampling < 1.0) {
    bound.reason = kOneSize;
  } else if (question.epsilon0 > 0.5) {
    bound.reason = "epsilon0 = " + number(question.epsilon0) + " is above 1/2";
  } else if (question.clients < 1000) {
    bound.reason = with_commas(question.clients) + " clients are fewer than 1,000";
  } else if (least >= 0.01) {
    bound.reason = "delta of a batch = " + number(least) + " is not below 0.01";
  } else {
    settle(bound, question, local, [&](double delta) {
      const ClosedForm form(question, delta);
      return form.composed(
          12.0 * question.epsilon0 *
          std::sqrt(std::log(1.0 / form.batch_delta()) / static_cast<double>(question.clients)));
    });
  }
  return bound;
}

Bound closed_form(const ShuffleQuestion& question, double local) {
  const auto n = static_cast<double>(question.clients);
  Bound bound = bound_named("closed-form", question.delta);
  if (question.sampling < 1.0) {
    bound.reason = kOneSize;
    return bound;
  }
  // With a sampler's part of delta taken off, half of it at most, the condition must hold too.
  const double least = ClosedForm(question, question.delta).batch_delta() *
                       (coupling_of(question) > 0.0 ? 0.5 : 1.0);
  const double most = n / (8.0 * std::log(2.0 / least)) - 1.0;
  if (most <= 0.0 || question.epsilon0 > std::log(most)) {
    bound.reason = "epsilon0 = " + number(question.epsilon0) +
                   " is above ln(n / (8 ln(2/delta)) - 1)" +
                   (most > 1.0 ? " = " + number(std::log(most)) : ", which is not positive");
    return bound;
  }
  settle(bound, question, local, [&](double delta) {
    const ClosedForm form(question, delta);
    const double root = 4.0 * std::sqrt(2.0 * std::log(4.0 / form.batch_delta())) /
                        std::sqrt((std::exp(question.epsilon0) + 1.0) * n);
    return form.composed(std::log1p(std::expm1(question.epsilon0) * (root + 4.0 / n)));
  });
  return bound;
}

/// What a batch of so many clients tells.
using LossOfBatch = std::function<PrivacyLoss(std::uint64_t clients)>;

/// `report`: what is known of a chunk, where that alone decides.
Bound numerical(std::string_view name, const LossOfBatch& batch, const ShuffleQuestion& question,
                double local, const Background* report = nullptr) {
  Bound bound = bound_named(name, question.delta);
  const std::uint64_t population = population_of(question.clients, question.sampling);
  const PrivacyLoss round =
      report != nullptr && question.chunks == 1
          ? loss_with_silence(*report, population, question.sampling)
          : loss_over_sizes(
                population, question.sampling,
                [&](std::uint64_t clients) { return batch(clients).times(question.chunks); },
                question.chunks == 1 ? SizeDetail::kFine : SizeDetail::kCoarse);
  const PrivacyLoss loss = round.times(question.count / question.chunks);
  settle(bound, question, local, [&](double delta) { return loss.epsilon(delta); });
  return bound;
}

}  // namespace

Bound bound_named(std::string_view name, double delta) {
  for (const Words& words : kWords) {
    if (words.name != name) continue;
    Bound bound;
    bound.name = words.name;
    bound.delta = delta;
    bound.theorem = words.theorem;
    bound.assumption = words.assumption;
    return bound;
  }
  throw std::logic_error("no bound is called " + std::string(name));
}

const Bound* best_of(const std::vector<Bound>& bounds) {
  const Bound* best = nullptr;
  for (const Bound& bound : bounds) {
    if (!bound.valid() || !bound.upper) continue;
    if (best == nullptr || *bound.epsilon < *best->epsilon) best = &bound;
  }
  return best;
}

std::vector<Bound> composition_bounds(double epsilon0, std::uint64_t count, double delta) {
  const auto k = static_cast<double>(count);
  std::vector<Bound> bounds;
  bounds.push_back(bound_named("sequential", 0.0));
  bounds.back().epsilon = exact::multiply_up(epsilon0, k);
  const auto add = [&](const char* name, auto epsilon) {
    Bound bound = bound_named(name, delta);
    if (!(delta > 0.0)) {
      bound.reason = "needs a delta above 0";
    } else if (const double value = epsilon(); std::isfinite(value)) {
      bound.epsilon = value;
    } else {
      bound.reason = "no finite epsilon has this delta";
    }
    bounds.push_back(std::move(bound));
  };
  add("optimal", [&] { return optimal_epsilon(epsilon0, count, delta); });
  add("advanced", [&] {
    return up(k * epsilon0 * std::tanh(epsilon0 / 2.0) +
              epsilon0 * std::sqrt(2.0 * k * std::log(1.0 / delta)));
  });
  add("renyi", [&] { return best_renyi(epsilon0, k, delta); });
  add("loss-distribution", [&] { return PrivacyLoss::pure(epsilon0).times(count).epsilon(delta); });
  return bounds;
}

std::vector<Bound> shuffle_bounds(const ShuffleQuestion& question) {
  std::vector<Bound> bounds;
  bounds.push_back(unshuffled(question));
  const double local = bounds.back().epsilon.value_or(std::numeric_limits<double>::infinity());
  bounds.push_back(erlingsson(question, local));
  bounds.push_back(closed_form(question, local));
  bounds.push_back(numerical(
      "clones",
      [&](std::uint64_t clients) {
        return PrivacyLoss::shuffled_clones(question.epsilon0, clients);
      },
      question, local));
  const auto add = [&](const char* name, const Background& report) {
    bounds.push_back(numerical(
        name, [&](std::uint64_t clients) { return PrivacyLoss::shuffled(report, clients); },
        question, local, &report));
  };
  add("generic", {question.epsilon0, 0.0, 0.0});
  if (question.mechanism && question.mechanism->floor > 0.0) add("background", *question.mechanism);
  if (question.sampling >= 1.0) {
    ShuffleQuestion of_distribution =
        question;  // binary randomized response has integers for a sampler
    of_distribution.mechanism.reset();
    const auto batch = [&](std::uint64_t clients) {
      return PrivacyLoss::shuffled_binary(question.epsilon0, clients);
    };
    bounds.push_back(numerical("exact-binary", batch, of_distribution, local));
    bounds.back().upper = false;
  }
  return bounds;
}

}  // namespace sotto
