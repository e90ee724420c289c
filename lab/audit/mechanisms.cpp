#include "audit/mechanisms.h"

#include <algorithm>
#include <cmath>

#include "mechanism/value/value.h"

namespace sotto {
namespace {

/// Listed outputs up to this many have their ratios computed once.
constexpr std::size_t kMostTabled = std::size_t{1} << 16;

Bounded bounded(const Mechanism& mechanism, std::vector<float> values) {
  return bound(Update(mechanism.domain().layout, std::move(values)), mechanism.domain());
}

/// The worst case's own pair, a weight standing for all of them; opposite ends of the domain where
/// any pair will do.
InputPair unbounded_pair(const Mechanism& mechanism) {
  const auto* const by_weight = dynamic_cast<const ValueMechanism*>(&mechanism);
  const WorstCase worst =
      by_weight != nullptr ? by_weight->channel_of(0).worst_case() : mechanism.worst_case();
  InputPair pair{worst.other_values, worst.values};
  const Domain& domain = mechanism.domain();
  const std::size_t size = domain.layout->size();
  if (pair.one.empty() && by_weight == nullptr) {
    pair.one.assign(size, 0.0F);
    pair.zero = pair.one;
    pair.one.front() = static_cast<float>(domain.norm);
    pair.zero.front() = -pair.one.front();
  } else if (pair.one.empty()) {
    const Range& range = domain.ranges.front();
    pair.one = {static_cast<float>(range.centre + range.radius)};
    pair.zero = {static_cast<float>(range.centre - range.radius)};
  }
  if (by_weight != nullptr) {
    pair.one.assign(size, pair.one.front());
    pair.zero.assign(size, pair.zero.front());
  }
  return pair;
}

/// Every weight of a report is a trial.
class WeightScores final : public ScoreSource {
 public:
  WeightScores(const ValueMechanism& mechanism, InputPair pair)
      : mechanism_(mechanism),
        channel_(mechanism.channel_of(0)),
        zero_(pair.zero.front()),
        one_(pair.one.front()),
        inputs_{bounded(mechanism, std::move(pair.zero)), bounded(mechanism, std::move(pair.one))} {
    // Other tensors may have other ranges, and channels: their weights are no trials.
    while (trials_ < mechanism.outputs() && &mechanism.channel_of(trials_) == &channel_) ++trials_;
    const std::vector<Symbol> alphabet = mechanism.alphabet(0);
    if (alphabet.empty() || alphabet.size() > kMostTabled) return;
    const auto span = static_cast<std::uint64_t>(alphabet.back() - alphabet.front());
    if (span >= kMostTabled) return;
    first_ = alphabet.front();
    table_.resize(static_cast<std::size_t>(span) + 1);
    for (const Symbol symbol : alphabet) {
      table_[static_cast<std::size_t>(symbol - first_)] = computed(symbol);
    }
  }

  void draw(bool input, BitSource& bits, std::span<double> scores) const override {
    std::vector<Symbol> symbols(trials_);
    for (std::size_t done = 0; done < scores.size();) {
      const Report report = mechanism_.perturb(inputs_[input ? 1 : 0], bits);
      report.symbols().read(0, symbols);
      const std::size_t count = std::min(symbols.size(), scores.size() - done);
      for (std::size_t i = 0; i < count; ++i) {
        scores[done + i] = table_.empty() ? computed(symbols[i])
                                          : table_[static_cast<std::size_t>(symbols[i] - first_)];
      }
      done += count;
    }
  }

 private:
  double computed(Symbol symbol) const {
    return log_likelihood_ratio(channel_.log_prob(symbol, one_), channel_.log_prob(symbol, zero_));
  }

  const ValueMechanism& mechanism_;
  const Channel& channel_;
  float zero_;
  float one_;
  Bounded inputs_[2];
  std::size_t trials_ = 1;  // of one report
  Symbol first_ = 0;
  std::vector<double> table_;
};

/// A whole report is a trial.
class ReportScores final : public ScoreSource {
 public:
  ReportScores(const Mechanism& mechanism, InputPair pair)
      : mechanism_(mechanism),
        inputs_{bounded(mechanism, std::move(pair.zero)), bounded(mechanism, std::move(pair.one))} {
  }

  void draw(bool input, BitSource& bits, std::span<double> scores) const override {
    std::vector<Symbol> symbols(mechanism_.outputs());
    for (double& score : scores) {
      mechanism_.perturb(inputs_[input ? 1 : 0], bits).symbols().read(0, symbols);
      score = log_likelihood_ratio(mechanism_.log_prob(symbols, inputs_[1].values()),
                                   mechanism_.log_prob(symbols, inputs_[0].values()));
    }
  }

 private:
  const Mechanism& mechanism_;
  Bounded inputs_[2];
};

}  // namespace

InputPair worst_pair(const Mechanism& mechanism) {
  InputPair pair = unbounded_pair(mechanism);
  pair.zero = bounded(mechanism, std::move(pair.zero)).take();
  pair.one = bounded(mechanism, std::move(pair.one)).take();
  return pair;
}

std::unique_ptr<ScoreSource> likelihood_scores(const Mechanism& mechanism, InputPair pair) {
  if (const auto* value = dynamic_cast<const ValueMechanism*>(&mechanism)) {
    return std::make_unique<WeightScores>(*value, std::move(pair));
  }
  return std::make_unique<ReportScores>(mechanism, std::move(pair));
}

Result<AuditFinding> audit_mechanism(const Mechanism& mechanism, AuditPlan plan) {
  const Guarantee guarantee = mechanism.guarantee();
  if (!plan.claim) plan.claim = guarantee.claimed_epsilon;
  plan.delta = guarantee.delta;
  return audit_scores(*likelihood_scores(mechanism, worst_pair(mechanism)), plan);
}

Result<void> audit_exposure(Exposure& exposure, const AuditPlan& plan) {
  const auto mechanisms = exposure.mechanisms();
  const bool pure = std::all_of(mechanisms.begin(), mechanisms.end(),
                                [](const auto& one) { return one->guarantee().delta == 0.0; });
  if (exposure.shuffle != ShuffleMode::kNone || mechanisms.empty() || !pure) return {};
  AuditPlan each = plan;
  // The largest of several bounds: each has a part of the error.
  each.confidence = 1.0 - (1.0 - plan.confidence) / static_cast<double>(mechanisms.size());
  double most = 0.0;
  for (const auto& mechanism : mechanisms) {
    SOTTO_TRY(const AuditFinding finding, audit_mechanism(*mechanism, each));
    most = std::max(most, finding.epsilon_lower);
  }
  exposure.audited_epsilon = most;
  exposure.audit_confidence = plan.confidence;
  return {};
}

}  // namespace sotto
