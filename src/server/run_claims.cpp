#include "server/run_claims.h"

#include "plan/baselines.h"

namespace sotto {

void claim_groups(const Recipe& recipe, const Setup& setup, std::vector<GroupClaims>& groups) {
  for (GroupClaims& group : groups) {
    TrainingFacts facts = training_facts(setup.factory->layout(), group.exposure);
    if (setup.simulated) {
      facts.samples = sample_counts(*setup.simulated->partition);
      if (setup.simulated->encoding) facts.records = setup.simulated->encoding->privacy;
    }
    group.claims = recipe_claims(recipe, group.exposure, facts);
  }
}

Result<void> certify_run(const RunFolder& folder, const Recipe& recipe, const RunOptions& options,
                         const GroupClaims& group, const Budget& budget) {
  CertificateContent content;
  content.mechanisms = group.mechanisms;
  content.exposure = group.exposure;
  content.recipe = recipe.fingerprint();
  content.coins = options.coins;
  SOTTO_TRY(content.ledger, budget.head());
  content.accounts = budget.accounts();
  std::optional<SigningKey> key = options.signing_key;
  if (!key) {
    SOTTO_TRY(key, SigningKey::generate());
  }
  return write_certificate(folder.certificate_path(), content, *key);
}

}  // namespace sotto
