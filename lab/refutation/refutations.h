// Errors of the papers and of their code, each derived and then measured.
//
// Every case states a claim, where it stands, the exact value that the accountant derives for what
// is really done, and an event that tells two inputs apart; an audit counts the event and gives a
// lower bound on epsilon. A bound above the claim refutes it, however far above it the exact value
// may lie: no audit of K trials shows more than about ln K. Events are fixed beforehand, so nothing
// is learned from the trials that are counted. Beside each stands what keeps the same claim (or
// states the true one), audited as hard: it must not be refuted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/scores.h"

namespace sotto {

/// Audits with these trials, confidence, delta, seed and threads.
using RunAudit = std::function<Result<AuditFinding>(const AuditPlan&)>;

struct RefutationCase {
  std::string name;
  std::string paper;
  std::string where;  // section or theorem, or "public code"
  std::string claim;  // in words of ours
  double claimed = 0.0;
  double delta = 0.0;
  double exact = 0.0;   // at delta; may be infinite
  std::string derived;  // how the exact value follows
  std::string event;    // what is guessed "input 1" on
  std::string why;      // in one line
  std::uint64_t trials = 0;
  RunAudit audit;

  std::string remedy;  // what keeps a claim instead
  double remedy_claimed = 0.0;
  std::uint64_t remedy_trials = 0;
  RunAudit remedy_audit;
};

struct Refutation {
  RefutationCase what;
  AuditFinding audited;
  AuditFinding remedy;
  double confidence = 0.0;
  double seconds = 0.0;

  bool refuted() const { return audited.epsilon_lower > what.claimed; }
  bool remedy_holds() const { return remedy.epsilon_lower <= what.remedy_claimed; }
};

struct RefutationPlan {
  double confidence = 0.99;  // of each row
  std::uint64_t seed = 1;
  unsigned threads = 1;
  bool quick = false;  // fewer trials: each claim is still refuted, by less
};

/// The names, in the order of the table.
std::vector<std::string> refutation_names();
/// The case with what it needs, made but not audited; an unknown name is an error.
Result<RefutationCase> make_refutation(std::string_view name);
Result<Refutation> refute(std::string_view name, const RefutationPlan& plan);

}  // namespace sotto
