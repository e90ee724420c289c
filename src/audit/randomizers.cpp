#include "audit/randomizers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "audit/looks.h"
#include "base/parallel.h"
#include "base/text.h"

namespace sotto {
namespace {

constexpr std::uint64_t kFirstLook = 5000;                      // trials of either input
constexpr std::uint64_t kMostLearned = std::uint64_t{1} << 18;  // trials in all
constexpr std::size_t kMostLearnedValues = std::size_t{1} << 23;
/// Beginnings of batches of 64, 256, 1024, ... rows are compared. That two of them are equal is no
/// chance where it has a probability below 2^-64.
constexpr std::size_t kLeastPrefix = 64;
constexpr double kChanceBits = 64.0;

/// By pairs, each in random order: every even number of trials has as many of either input. The
/// same in all batches, so that batches with the same random bits are equal.
std::vector<bool> secret_bits(std::uint64_t count, std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "audit inputs");
  std::vector<bool> inputs(count);
  for (std::size_t i = 0; i + 1 < count; i += 2) {
    const bool first = bits.below(2) == 1;
    inputs[i] = first;
    inputs[i + 1] = !first;
  }
  return inputs;
}

class RandomizerAudit {
 public:
  RandomizerAudit(Randomizer& randomizer, const NumberPair& inputs, const AuditPlan& plan,
                  std::uint64_t batch)
      : randomizer_(randomizer),
        inputs_(inputs),
        plan_(plan),
        batch_(std::min(batch - batch % 2, plan.trials)),
        order_(secret_bits(batch_, plan.seed)),
        identity_(features_of(inputs, 1).front()) {}

  Result<RandomizerFinding> run() {
    const auto start = std::chrono::steady_clock::now();
    SOTTO_CHECK(learn());
    const std::uint64_t tested = (plan_.trials - finding_.learned) / 2;
    std::uint64_t done = 0;
    for (const Look& look : looks_of(tested, plan_.confidence, plan_.may_stop(), kFirstLook)) {
      SOTTO_CHECK(test(2 * (look.trials - done)));
      done = look.trials;
      bound(look.error);
      if (plan_.claim && finding_.epsilon_lower > *plan_.claim) break;
    }
    finding_.stopped_early = done < tested;
    finding_.trials = finding_.learned + 2 * done;
    if (plan_.claim) finding_.verdict = judge(finding_.epsilon_lower, *plan_.claim);
    finding_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(finding_);
  }

 private:
  /// `count` more trials, in batches over all threads: use(batch, outputs) comes from any thread.
  template <class Use>
  Result<void> trials(std::uint64_t count, Use&& use) {
    const std::uint64_t first = next_batch_;
    const std::uint64_t batches = (count + batch_ - 1) / batch_;
    next_batch_ += batches;
    return parallel_for(plan_.threads, batches, [&](unsigned, std::size_t i) -> Result<void> {
      const auto rows = static_cast<std::ptrdiff_t>(std::min(batch_, count - i * batch_));
      const std::vector<bool> inputs(order_.begin(), order_.begin() + rows);
      SOTTO_TRY(const Outputs outputs, randomizer_.draw(inputs, first + i));
      SOTTO_CHECK(check(outputs, inputs.size()));
      use(i, outputs);
      const std::uint64_t done = done_ += inputs.size();
      if (plan_.progress) {
        const std::scoped_lock lock(mutex_);
        plan_.progress(done, plan_.trials);
      }
      return {};
    });
  }

  // --- outputs that are none, and batches that repeat each other

  Result<void> check(const Outputs& outputs, std::size_t rows) {
    const std::scoped_lock lock(mutex_);
    if (finding_.width == 0) finding_.width = outputs.width;
    if (outputs.rows() != rows || outputs.width != finding_.width) {
      return fail(ErrorKind::kCorrupt, "the randomizer gave " + with_commas(outputs.rows()) +
                                           " outputs of " + with_commas(outputs.width) +
                                           " values for " + with_commas(rows) +
                                           " inputs; valid: " + with_commas(rows) + " outputs of " +
                                           with_commas(finding_.width));
    }
    for (std::size_t prefix = kLeastPrefix; prefix <= rows; prefix *= 4) {
      const auto values = std::span(outputs.values).first(prefix * outputs.width);
      const bool fresh = seen_.emplace(prefix, identity_.value(values)).second;
      if (fresh || surprise(outputs, prefix) < kChanceBits) continue;
      return fail(ErrorKind::kRefused,
                  "two starts of the randomizer gave the same " + with_commas(prefix) +
                      " outputs: it takes its random bits from a fixed seed or from a clock. "
                      "Trials must be independent: seed it from the system's generator");
    }
    return {};
  }

  /// Bits of surprise in two batches that begin with the same rows: how random these look.
  double surprise(const Outputs& outputs, std::size_t rows) const {
    double bits = 0.0;
    for (const bool input : {false, true}) {
      std::map<double, double> counts;
      double total = 0.0;
      for (std::size_t i = 0; i < rows; ++i) {
        if (order_[i] != input) continue;
        counts[identity_.value(outputs.row(i))] += 1.0;
        total += 1.0;
      }
      double collision = 0.0;
      for (const auto& entry : counts) collision += entry.second / total * (entry.second / total);
      if (total > 0.0) bits -= total * std::log2(collision);
    }
    return bits;
  }

  // --- learning

  Result<void> learn() {
    // The first outputs tell how wide they are, and with that how many we keep.
    std::vector<Outputs> parts(1);
    const std::uint64_t least = std::min<std::uint64_t>({batch_, plan_.trials / 4 / 2 * 2, 1000});
    SOTTO_CHECK(trials(least, [&](std::size_t i, const Outputs& part) { parts.at(i) = part; }));
    const std::uint64_t room = kMostLearnedValues / std::max<std::size_t>(1, finding_.width);
    const std::uint64_t wanted = std::min({plan_.trials / 4, kMostLearned, room}) / 2 * 2;
    finding_.learned = std::max(least, wanted);
    if (const std::uint64_t more = finding_.learned - least; more > 0) {
      parts.resize(1 + (more + batch_ - 1) / batch_);
      SOTTO_CHECK(
          trials(more, [&](std::size_t i, const Outputs& part) { parts.at(1 + i) = part; }));
    }
    LearningSample sample;
    sample.zero.width = sample.one.width = finding_.width;
    for (const Outputs& part : parts) {
      for (std::size_t i = 0; i < part.rows(); ++i) {
        std::vector<double>& values = order_[i] ? sample.one.values : sample.zero.values;
        values.insert(values.end(), part.row(i).begin(), part.row(i).end());
      }
    }
    parts.clear();
    features_ = features_of(inputs_, finding_.width);
    const std::uint64_t tested = (plan_.trials - finding_.learned) / 2;
    for (Event& event :
         learn_events(features_, sample, {tested, 1.0 - plan_.confidence, plan_.delta})) {
      finding_.events.push_back({std::move(event), {}, 0.0});
    }
    return {};
  }

  // --- testing

  Result<void> test(std::uint64_t count) {
    return trials(count, [&](std::size_t, const Outputs& outputs) {
      std::vector<Guesses> guesses(finding_.events.size());
      for (std::size_t e = 0; e < guesses.size(); ++e) {
        const Event& event = finding_.events[e].event;
        const Feature& feature = features_[event.feature];
        Guesses& of_event = guesses[e];
        for (std::size_t i = 0; i < outputs.rows(); ++i) {
          const bool hit = event.contains(feature.value(outputs.row(i)));
          if (order_[i]) {
            ++of_event.ones;
            of_event.false_negatives += hit ? 0 : 1;
          } else {
            ++of_event.zeros;
            of_event.false_positives += hit ? 1 : 0;
          }
        }
      }
      const std::scoped_lock lock(mutex_);
      for (std::size_t e = 0; e < guesses.size(); ++e) finding_.events[e].guesses += guesses[e];
    });
  }

  void bound(double error) {
    for (EventFinding& found : finding_.events) {
      found.epsilon_lower =
          lower_bounds(found.guesses, 1.0 - error * found.event.share, plan_.delta).best;
    }
    std::stable_sort(finding_.events.begin(), finding_.events.end(),
                     [](const EventFinding& a, const EventFinding& b) {
                       return a.epsilon_lower > b.epsilon_lower;
                     });
    if (finding_.events.empty()) return;
    const EventFinding& best = finding_.events.front();
    finding_.guesses = best.guesses;
    finding_.bounds = lower_bounds(best.guesses, 1.0 - error * best.event.share, plan_.delta);
    finding_.epsilon_lower = best.epsilon_lower;
  }

  Randomizer& randomizer_;
  const NumberPair& inputs_;
  const AuditPlan& plan_;
  std::uint64_t batch_;
  std::vector<bool> order_;
  Feature identity_;
  std::vector<Feature> features_;
  std::uint64_t next_batch_ = 0;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  std::set<std::pair<std::size_t, double>> seen_;  // beginnings of batches: rows and identity
  RandomizerFinding finding_;
};

}  // namespace

double EventFinding::rate_zero() const {
  return guesses.zeros == 0
             ? 0.0
             : static_cast<double>(guesses.false_positives) / static_cast<double>(guesses.zeros);
}

double EventFinding::rate_one() const {
  return guesses.ones == 0 ? 0.0
                           : 1.0 - static_cast<double>(guesses.false_negatives) /
                                       static_cast<double>(guesses.ones);
}

Result<RandomizerFinding> audit_randomizer(Randomizer& randomizer, const NumberPair& inputs,
                                           const AuditPlan& plan, std::uint64_t batch) {
  SOTTO_CHECK(plan.check());
  if (batch < 2)
    return fail(ErrorKind::kUsage,
                "audit: batch = " + std::to_string(batch) + "; valid: at least 2");
  if (inputs.zero.size() != inputs.one.size() || inputs.zero.empty()) {
    return fail(ErrorKind::kUsage, "audit: the two inputs must have the same number of values");
  }
  if (inputs.zero == inputs.one) {
    return fail(ErrorKind::kUsage,
                "audit: the two inputs are the same: nothing can tell them apart");
  }
  return RandomizerAudit(randomizer, inputs, plan, batch).run();
}

}  // namespace sotto
