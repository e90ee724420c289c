#include "audit/scores.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <string>

#include "audit/candidates.h"
#include "audit/looks.h"
#include "base/parallel.h"
#include "base/text.h"

namespace sotto {
namespace {

/// Trials of one input that share a random stream, and the first look.
constexpr std::uint64_t kBlock = 4096;
/// The most trials of either input that a threshold is learned on.
constexpr std::uint64_t kMostLearned = 32'768;

class ScoreAudit {
 public:
  ScoreAudit(const ScoreSource& source, const AuditPlan& plan)
      : source_(source),
        plan_(plan),
        half_(plan.trials / 2),
        learned_(plan.threshold ? 0 : std::min(half_ / 5, kMostLearned)) {}

  Result<AuditFinding> run() {
    const auto start = std::chrono::steady_clock::now();
    SOTTO_TRY(finding_.threshold, learn());
    const std::uint64_t tested = half_ - learned_;
    const std::vector<Look> looks = looks_of(tested, plan_.confidence, plan_.may_stop(), kBlock);
    std::uint64_t done = 0;
    for (const Look& look : looks) {
      SOTTO_CHECK(count(done, look.trials));
      done = look.trials;
      finding_.bounds = lower_bounds(finding_.guesses, 1.0 - look.error, plan_.delta);
      if (plan_.claim && finding_.bounds.best > *plan_.claim) break;
    }
    finding_.stopped_early = done < tested;
    finding_.epsilon_lower = finding_.bounds.best;
    if (plan_.claim) finding_.verdict = judge(finding_.epsilon_lower, *plan_.claim);
    finding_.learned = 2 * learned_;
    finding_.trials = 2 * (learned_ + done);
    finding_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return finding_;
  }

 private:
  /// The trials first .. last - 1 of a phase, block by block: use(input, scores) comes from any
  /// thread. A block's scores depend on seed, phase, input and number alone.
  template <class Use>
  Result<void> trials(std::uint64_t phase, std::uint64_t first, std::uint64_t last, Use&& use) {
    const std::uint64_t from = first / kBlock;
    const std::uint64_t blocks = (last + kBlock - 1) / kBlock - from;
    return parallel_for(plan_.threads, 2 * blocks, [&](unsigned, std::size_t i) -> Result<void> {
      const bool input = i % 2 == 1;
      const std::uint64_t block = from + i / 2;
      BitSource bits = BitSource::from_seed(plan_.seed, "audit", {phase, input ? 1U : 0U, block});
      const std::uint64_t end = std::min(last, (block + 1) * kBlock);
      // Looks but the last lie at multiples of a block, so that each is drawn once.
      std::vector<double> scores(end - block * kBlock);
      source_.draw(input, bits, scores);
      use(input, scores);
      const std::uint64_t done = done_ += scores.size();
      if (plan_.progress) {
        const std::scoped_lock lock(mutex_);
        plan_.progress(done, plan_.trials);
      }
      return {};
    });
  }

  Result<double> learn() {
    if (plan_.threshold) return *plan_.threshold;
    std::vector<double> samples[2];
    SOTTO_CHECK(trials(0, 0, learned_, [&](bool input, const std::vector<double>& scores) {
      const std::scoped_lock lock(mutex_);
      samples[input ? 1 : 0].insert(samples[input ? 1 : 0].end(), scores.begin(), scores.end());
    }));
    const Promise promise(half_ - learned_, 1.0 - plan_.confidence, plan_.delta);
    return best_threshold(samples[0], samples[1], promise);
  }

  Result<void> count(std::uint64_t first, std::uint64_t last) {
    std::atomic<std::uint64_t> wrong[2] = {0, 0};
    SOTTO_CHECK(trials(1, first, last, [&](bool input, const std::vector<double>& scores) {
      const auto guessed_one = std::count_if(scores.begin(), scores.end(), [this](double score) {
        return score > finding_.threshold;
      });
      const auto hits = static_cast<std::uint64_t>(guessed_one);
      wrong[input ? 1 : 0] += input ? scores.size() - hits : hits;
    }));
    const std::uint64_t added = last - first;
    finding_.guesses += Guesses{added, wrong[0], added, wrong[1]};
    return {};
  }

  const ScoreSource& source_;
  const AuditPlan& plan_;
  std::uint64_t half_;
  std::uint64_t learned_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  AuditFinding finding_;
};

}  // namespace

double log_likelihood_ratio(double one, double zero) {
  if (one == zero) return 0.0;
  const double ratio = one - zero;
  return std::isfinite(ratio) ? std::nearbyint(ratio * 0x1p36) * 0x1p-36 : ratio;
}

bool AuditPlan::may_stop() const { return stop_early && claim && std::isfinite(*claim); }

Result<void> AuditPlan::check() const {
  if (trials < kLeast || trials % 2 != 0) {
    return fail(ErrorKind::kUsage, "audit: trials = " + with_commas(trials) +
                                       "; valid: an even number of at least " +
                                       std::to_string(kLeast));
  }
  if (!(confidence > 0.75 && confidence < 1.0)) {
    return fail(ErrorKind::kUsage, "audit: confidence = " + short_number(confidence) +
                                       "; valid: a number in (0.75, 1)");
  }
  if (!(delta >= 0.0 && delta < 1.0)) {
    return fail(ErrorKind::kUsage,
                "audit: delta = " + short_number(delta) + "; valid: a number in [0, 1)");
  }
  if (claim && !(*claim >= 0.0)) {
    return fail(ErrorKind::kUsage,
                "audit: claim = " + short_number(*claim) + "; valid: an epsilon of at least 0");
  }
  return {};
}

Result<AuditFinding> audit_scores(const ScoreSource& source, const AuditPlan& plan) {
  SOTTO_CHECK(plan.check());
  return ScoreAudit(source, plan).run();
}

}  // namespace sotto
