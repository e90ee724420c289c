// sotto audit RECIPE.toml: what the recipe promises its clients, and beside it what an attack on
// the mechanisms that they would use finds.
#include <fmt/format.h>

#include "audit/mechanisms.h"
#include "audit_command.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/machine.h"
#include "claims_shown.h"
#include "report/markup.h"
#include "sotto/federation.h"
#include "terminal.h"
#include "torch_trainer.h"

namespace sotto::cli {
namespace {

constexpr std::uint64_t kTrials = 100'000;  // of each mechanism, unless --trials says otherwise

/// Why nothing was audited.
std::string why_not(const Exposure& exposure) {
  if (exposure.shuffle != ShuffleMode::kNone) {
    return "reports pass a shuffler, and what one report tells is no bound for a batch: audit the "
           "batch, sotto audit --shuffled MECH";
  }
  for (const auto& mechanism : exposure.mechanisms()) {
    if (mechanism->guarantee().delta > 0.0) {
      return "a report may fail with some delta, and the row is for delta 0: audit the mechanism, "
             "sotto audit MECH";
    }
  }
  return "no mechanism is used in its rounds";
}

/// results.json and the claims as a page.
Result<void> write_claims(const std::filesystem::path& out, const std::string& name,
                          const GroupClaims& group, const nlohmann::json& json) {
  SOTTO_CHECK(write_file_atomically(out / "results.json", json.dump(2) + '\n'));
  FindingsPage page;
  page.heading = "Audit: " + name;
  page.below = machine_text();
  page.columns = {"claim", "epsilon", "delta", "theorem", "assumes"};
  for (const Claim& claim : group.claims) {
    page.rows.push_back({std::string(scope_text(claim)),
                         claim.measured() ? "at least " + number_down(claim.epsilon, 4)
                                          : epsilon_text(claim.epsilon),
                         number_up(claim.delta), claim.theorem,
                         std::string(assumption_text(claim))});
  }
  return write_findings_page(out, page);
}

}  // namespace

Result<int> audit_recipe(const AuditOptions& options) {
  const Stopwatch clock;
  SOTTO_TRY(const Recipe recipe, load_recipe(options.mechanism.name, options.settings));
  AuditPlan plan = options.plan();
  if (options.command->get_option("--trials")->count() == 0) plan.trials = kTrials;
  SOTTO_CHECK(plan.check());
  SOTTO_TRY(PrivacyPlan promised,
            plan_privacy(recipe, options.gradients.data_folder, torch_trainer()));
  Progress progress("audit");
  plan.progress = [&progress](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
  };
  // The same mechanisms may serve several groups: each group's bound holds at the confidence.
  bool violated = false;
  bool audited = false;
  for (GroupClaims& group : promised.groups) {
    SOTTO_CHECK(audit_exposure(group.exposure, plan));
    if (!group.exposure.audited_epsilon) continue;
    audited = true;
    group.claims.push_back(claims_of(group.exposure).back());
    violated = violated || group.claims.back().status == Status::kViolated;
  }
  progress.clear();
  const GroupClaims& worst = worst_group(promised.groups);
  nlohmann::json json = privacy_record(promised.groups, true);
  const auto& found = worst.exposure.audited_epsilon;
  json["recipe_file"] = recipe.file;
  json["epsilon_lower"] = found ? nlohmann::json(*found) : nlohmann::json(nullptr);
  json["confidence"] = plan.confidence;
  json["trials"] = audited ? plan.trials : 0;
  json["verdict"] =
      !audited ? "not audited" : name_of(violated ? Verdict::kViolated : Verdict::kConsistent);
  json["seconds"] = clock.seconds();
  if (!options.out.empty()) {
    SOTTO_CHECK(write_claims(options.out, recipe.output.name, worst, json));
  }
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
    return violated ? 1 : 0;
  }
  fmt::print("{}: mechanism {}\n\n", recipe.output.name, recipe.privacy.mechanism);
  for (const GroupClaims& group : promised.groups) {
    if (promised.groups.size() > 1) fmt::print("{} {}:\n", with_commas(group.clients), group.name);
    fmt::print("{}\n", claims_table(group.claims));
    if (!group.exposure.audited_epsilon) fmt::print("Not audited: {}.\n", why_not(group.exposure));
  }
  if (audited) {
    fmt::print("Audited with {} trials of each mechanism at its worst pair, in {}.\n",
               with_commas(plan.trials), duration(clock.seconds()));
  }
  return violated ? 1 : 0;
}

}  // namespace sotto::cli
