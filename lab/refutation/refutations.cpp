#include "refutation/refutations.h"

#include <algorithm>
#include <stdexcept>

#include "audit/mechanisms.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "refutation/refutation_cases.h"

namespace sotto {
namespace {

struct Entry {
  std::string_view name;
  RefutationCase (*make)();
};

constexpr Entry kEntries[] = {
    {"ldpfl-2", refutation::ldpfl_2},
    {"ldpfl-1", refutation::ldpfl_1},
    {"alpha", refutation::alpha},
    {"k-of-n", refutation::k_of_n},
    {"shuffle-bound", refutation::shuffle_bound},
    {"parameter-shuffling", refutation::parameter_shuffling},
    {"srr-remainder", refutation::srr_remainder},
    {"srr-half-grid", refutation::srr_half_grid},
    {"two-point-unclipped", refutation::two_point_unclipped},
    {"grr-raw", refutation::grr_raw},
    {"batch-norm", refutation::batch_norm},
};

/// Tables of counts are binomial up to about 1e-11 a trial (binomial_draw.h); what that makes of
/// all trials of a case is taken off its error.
constexpr double kArithmetic = 2e-4;
/// A quick run makes this part of the trials, but no fewer than kLeastQuick.
constexpr std::uint64_t kQuickPart = 20;
constexpr std::uint64_t kLeastQuick = 2000;

std::uint64_t trials_of(std::uint64_t trials, bool quick) {
  return quick ? std::max(trials / kQuickPart, std::min(trials, kLeastQuick)) / 2 * 2 : trials;
}

class DrawScores final : public ScoreSource {
 public:
  explicit DrawScores(refutation::Draw draw) : draw_(std::move(draw)) {}
  void draw(bool input, BitSource& bits, std::span<double> scores) const override {
    for (double& score : scores) score = draw_(input, bits);
  }

 private:
  refutation::Draw draw_;
};

}  // namespace

namespace refutation {

RunAudit by_event(Draw draw, double threshold) {
  return [draw = std::move(draw), threshold](const AuditPlan& plan) {
    AuditPlan fixed = plan;
    fixed.threshold = threshold;
    return audit_scores(DrawScores(draw), fixed);
  };
}

RunAudit by_likelihood(std::shared_ptr<const Mechanism> mechanism) {
  return [mechanism = std::move(mechanism)](const AuditPlan& plan) -> Result<AuditFinding> {
    InputPair pair = worst_pair(*mechanism);
    return audit_scores(*likelihood_scores(*mechanism, std::move(pair)), plan);
  };
}

std::shared_ptr<const Mechanism> made(std::string_view name, std::size_t size, const Range& range,
                                      const Parameters& parameters) {
  auto layout = std::make_shared<Layout>();
  layout->add("w", {static_cast<std::int64_t>(size)}, TensorRole::kParameter);
  auto mechanism = make_mechanism(name, Domain{std::move(layout), {range}}, parameters);
  if (!mechanism) throw std::invalid_argument("refutations: " + mechanism.error().message);
  return std::move(mechanism).value();
}

std::vector<Symbol> report_of(const Mechanism& mechanism, std::vector<float> values,
                              BitSource& bits) {
  const Domain& domain = mechanism.domain();
  return mechanism.perturb(bound(Update(domain.layout, std::move(values)), domain), bits)
      .symbols()
      .unpacked();
}

}  // namespace refutation

std::vector<std::string> refutation_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.name);
  return names;
}

Result<RefutationCase> make_refutation(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name != name) continue;
    RefutationCase made = entry.make();
    made.name = entry.name;
    return made;
  }
  const std::vector<std::string> names = refutation_names();
  return fail(ErrorKind::kUsage, "no refutation is called '" + std::string(name) + "'" +
                                     did_you_mean(std::string(name), names) +
                                     "; valid: " + join(names));
}

Result<Refutation> refute(std::string_view name, const RefutationPlan& plan) {
  const Stopwatch clock;
  Refutation row;
  SOTTO_TRY(row.what, make_refutation(name));
  row.confidence = plan.confidence;
  AuditPlan audit;
  audit.confidence = plan.confidence + kArithmetic;
  audit.delta = row.what.delta;
  audit.seed = plan.seed;
  audit.threads = plan.threads;
  audit.trials = trials_of(row.what.trials, plan.quick);
  SOTTO_TRY(row.audited, row.what.audit(audit));
  row.audited.verdict = judge(row.audited.epsilon_lower, row.what.claimed);
  audit.trials = trials_of(row.what.remedy_trials, plan.quick);
  SOTTO_TRY(row.remedy, row.what.remedy_audit(audit));
  row.remedy.verdict = judge(row.remedy.epsilon_lower, row.what.remedy_claimed);
  row.seconds = clock.seconds();
  return row;
}

}  // namespace sotto
