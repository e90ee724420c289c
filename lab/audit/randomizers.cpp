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
/// Two batches that begin with the same outputs are no coincidence where that has a probability
/// below 2^-64.
constexpr double kProbabilityBits = 64.0;

/// Rows that begin all batches alike: a sixteenth of a batch, from 256 (a quarter of a small one)
/// to 8,192.
std::uint64_t probes_of(std::uint64_t batch) {
  const std::uint64_t least = std::min<std::uint64_t>(256, batch / 4);
  return std::clamp<std::uint64_t>(batch / 16, least, 8192) / 2 * 2;
}

/// By pairs, each in random order: every even number of trials has as many of either input.
std::vector<bool> secret_bits(std::uint64_t count, BitSource bits) {
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
        probes_(secret_bits(probes_of(batch), BitSource::from_seed(plan.seed, "audit probes"))),
        batch_(std::min((batch - probes_.size()) / 2 * 2, plan.trials)),
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
  /// What one start of the randomizer gave.
  struct Batch {
    std::vector<bool> inputs;
    Outputs outputs;
  };

  /// `count` more trials, in batches over all threads: use(number, batch) comes from any thread.
  /// Inputs have an order of their own in every batch, so that outputs which depend on their place
  /// (a counter, a clock) tell nothing; what begins all batches alike is no trial.
  template <class Use>
  Result<void> trials(std::uint64_t count, Use&& use) {
    const std::uint64_t first = next_batch_;
    const std::uint64_t batches = (count + batch_ - 1) / batch_;
    next_batch_ += batches;
    return parallel_for(plan_.threads, batches, [&](unsigned, std::size_t i) -> Result<void> {
      const std::uint64_t rows = std::min(batch_, count - i * batch_);
      Batch batch;
      batch.inputs =
          secret_bits(rows, BitSource::from_seed(plan_.seed, "audit inputs", {first + i}));
      std::vector<bool> all = probes_;
      all.insert(all.end(), batch.inputs.begin(), batch.inputs.end());
      SOTTO_TRY(batch.outputs, randomizer_.draw(all, first + i));
      SOTTO_CHECK(check(batch.outputs, all.size()));
      std::vector<double>& values = batch.outputs.values;
      values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(
                                                        probes_.size() * batch.outputs.width));
      use(i, std::move(batch));
      const std::uint64_t done = done_ += rows;
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
    const auto values = std::span(outputs.values).first(probes_.size() * outputs.width);
    const bool fresh = seen_.insert(identity_.value(values)).second;
    if (!fresh && surprise(outputs) >= kProbabilityBits) {
      return fail(ErrorKind::kRefused,
                  "two starts of the randomizer gave the same " + with_commas(probes_.size()) +
                      " outputs: it takes its random bits from a fixed seed or from a clock. "
                      "Trials must be independent: seed it from the system's generator");
    }
    return {};
  }

  /// Bits of surprise in two batches that begin with the same outputs: how random these look.
  double surprise(const Outputs& outputs) const {
    double bits = 0.0;
    for (const bool input : {false, true}) {
      std::map<double, double> counts;
      double total = 0.0;
      for (std::size_t i = 0; i < probes_.size(); ++i) {
        if (probes_[i] != input) continue;
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
    std::vector<Batch> parts(1);
    const std::uint64_t least = std::min<std::uint64_t>({batch_, plan_.trials / 4 / 2 * 2, 1000});
    SOTTO_CHECK(trials(least, [&](std::size_t i, Batch part) { parts.at(i) = std::move(part); }));
    const std::uint64_t room = kMostLearnedValues / std::max<std::size_t>(1, finding_.width);
    const std::uint64_t wanted = std::min({plan_.trials / 4, kMostLearned, room}) / 2 * 2;
    finding_.learned = std::max(least, wanted);
    if (const std::uint64_t more = finding_.learned - least; more > 0) {
      parts.resize(1 + (more + batch_ - 1) / batch_);
      SOTTO_CHECK(
          trials(more, [&](std::size_t i, Batch part) { parts.at(1 + i) = std::move(part); }));
    }
    LearningSample sample;
    sample.zero.width = sample.one.width = finding_.width;
    for (const Batch& part : parts) {
      for (std::size_t i = 0; i < part.inputs.size(); ++i) {
        std::vector<double>& values = part.inputs[i] ? sample.one.values : sample.zero.values;
        const auto row = part.outputs.row(i);
        values.insert(values.end(), row.begin(), row.end());
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
    return trials(count, [&](std::size_t, const Batch& batch) {
      std::vector<Guesses> guesses(finding_.events.size());
      for (std::size_t e = 0; e < guesses.size(); ++e) {
        const Event& event = finding_.events[e].event;
        const Feature& feature = features_[event.feature];
        Guesses& of_event = guesses[e];
        for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
          const bool hit = event.contains(feature.value(batch.outputs.row(i)));
          if (batch.inputs[i]) {
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
  std::vector<bool> probes_;  // inputs that begin every batch
  std::uint64_t batch_;       // trials of one start
  Feature identity_;
  std::vector<Feature> features_;
  std::uint64_t next_batch_ = 0;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  std::set<double> seen_;  // identities of the beginnings of batches
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
