#include "audit/mechanisms.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "mechanism/bit.h"
#include "mechanism/value.h"

namespace sotto {
namespace {

/// Listed outputs up to this many have their ratios computed once.
constexpr std::size_t kMostTabled = std::size_t{1} << 16;

Bounded bounded(const Mechanism& mechanism, std::vector<float> values) {
  return bound(Update(mechanism.domain().layout, std::move(values)), mechanism.domain());
}

// --- the pair, from the words of the worst case

/// The number behind `word`, or at the beginning where `word` is empty.
Result<double> number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  double value = 0.0;
  if (at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + word.size());
    if (std::from_chars(rest.data(), rest.data() + rest.size(), value).ec == std::errc{}) {
      return value;
    }
  }
  return fail(ErrorKind::kInternal, "audit: the worst case '" + std::string(text) +
                                        "' names no number behind '" + std::string(word) + "'");
}

bool mentions(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

/// Bits as "every bit 1" or "even bits 1, odd bits 0", with ", label 0" behind.
Result<std::vector<float>> bit_input(const BitMechanism& mechanism, std::string_view text) {
  const BitCode& code = mechanism.design().code;
  std::vector<float> x(mechanism.domain().layout->size(), 0.0F);
  if (code.input == BitInput::kOneHot) {
    SOTTO_TRY(const double position, number_after(text, "position "));
    x.at(static_cast<std::size_t>(position)) = 1.0F;
    return x;
  }
  double even = 0.0;
  double odd = 0.0;
  if (mentions(text, "every bit")) {
    SOTTO_TRY(even, number_after(text, "every bit "));
    odd = even;
  } else if (!mentions(text, "no bits")) {
    SOTTO_TRY(even, number_after(text, "even bits "));
    SOTTO_TRY(odd, number_after(text, "odd bits "));
  }
  const unsigned width = code.bits_a_value();
  for (std::size_t value = 0; value < code.values; ++value) {
    std::uint32_t pattern = 0;
    for (std::size_t bit = 0; bit < width; ++bit) {
      const bool one = ((value * width + bit) % 2 == 0 ? even : odd) == 1.0;
      pattern = pattern << 1 | (one ? 1U : 0U);
    }
    x[value] = code.input == BitInput::kFeatures ? code.feature.decode(pattern)
                                                 : static_cast<float>(pattern);
  }
  if (mechanism.design().label.classes > 0) {
    SOTTO_TRY(const double label, number_after(text, "label "));
    x.back() = static_cast<float>(label);
  }
  return x;
}

Result<InputPair> value_pair(const Mechanism& mechanism, const WorstCase& worst) {
  const std::size_t size = mechanism.domain().layout->size();
  const Range& range = mechanism.domain().ranges.front();
  double one = range.centre + range.radius;
  double zero = range.centre - range.radius;
  // `none` has no worst pair: any will do.
  if (!worst.input.starts_with("any")) {
    SOTTO_TRY(one, number_after(worst.input, ""));
    SOTTO_TRY(zero, number_after(worst.other_input, ""));
  }
  return InputPair{std::vector<float>(size, static_cast<float>(zero)),
                   std::vector<float>(size, static_cast<float>(one))};
}

Result<InputPair> unbounded_pair(const Mechanism& mechanism) {
  if (const auto* bits = dynamic_cast<const BitMechanism*>(&mechanism)) {
    const WorstCase worst = mechanism.worst_case();
    InputPair pair;
    SOTTO_TRY(pair.zero, bit_input(*bits, worst.other_input));
    SOTTO_TRY(pair.one, bit_input(*bits, worst.input));
    return pair;
  }
  if (const auto* values = dynamic_cast<const ValueMechanism*>(&mechanism)) {
    return value_pair(mechanism, values->channel_of(0).worst_case());
  }
  InputPair pair;
  pair.one.assign(mechanism.domain().layout->size(), 0.0F);
  pair.zero = pair.one;
  pair.one.front() = static_cast<float>(mechanism.domain().norm);
  pair.zero.front() = -pair.one.front();
  return pair;
}

// --- scores

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

Result<InputPair> worst_pair(const Mechanism& mechanism) {
  SOTTO_TRY(InputPair pair, unbounded_pair(mechanism));
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
  SOTTO_TRY(InputPair pair, worst_pair(mechanism));
  return audit_scores(*likelihood_scores(mechanism, std::move(pair)), plan);
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
