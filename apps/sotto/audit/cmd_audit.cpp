// sotto audit: attacks a mechanism, ours or somebody else's, and tells how much privacy it cannot
// have. Options and dispatch; each form of the audit is a file of its own.
#include "audit_command.h"

namespace sotto::cli {
namespace {

struct Form {
  AuditForm form;
  Result<int> (*run)(const AuditOptions&);
};

Result<Form> form_of(const AuditOptions& options) {
  const std::string& what = options.mechanism.name;
  if (!options.program.empty()) {
    if (!what.empty()) {
      return fail(ErrorKind::kUsage, "audit: give a mechanism or --program, not both");
    }
    return Form{AuditForm::kProgram, audit_foreign};
  }
  if (what.empty()) {
    return fail(ErrorKind::kUsage,
                "audit: what is to be audited? A mechanism, as in 'sotto audit two-point --epsilon "
                "1', a recipe, or --program CMD");
  }
  if (what.ends_with(".toml")) return Form{AuditForm::kRecipe, audit_recipe};
  if (options.shuffled) return Form{AuditForm::kShuffled, audit_shuffled_batches};
  if (!options.gradients.adversary.empty()) return Form{AuditForm::kAdversary, audit_gradients};
  return Form{AuditForm::kPlain, audit_registered};
}

Result<int> audit_command(const AuditOptions& options) {
  SOTTO_TRY(const Form form, form_of(options));
  SOTTO_CHECK(check_form(*options.command, form.form));
  return form.run(options);
}

}  // namespace

void add_audit(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("audit", "Attack a mechanism or any program and bound its epsilon below");
  auto options = choose(*sub, action, audit_command);
  options->command = sub;
  sub->add_option("mechanism", options->mechanism.name,
                  "which one (see 'sotto mechanisms'), or a recipe, whose claims are audited")
      ->type_name("MECH|RECIPE.toml");
  sub->add_option("--claim", options->claim, "the epsilon to refute; default what MECH claims")
      ->type_name("E");
  sub->add_option("--trials", options->trials, "reports to draw, half of them of either input")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--confidence", options->confidence, "that the lower bound is below the truth")
      ->capture_default_str()
      ->type_name("P");
  sub->add_option("--seed", options->seed, "of the trials; the same seed gives the same result")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--threads", options->threads, "does not change the result; default all cores")
      ->type_name("N");
  sub->add_flag("--all-trials", options->all_trials, "go on when the claim is refuted already");
  sub->add_option("--out", options->out,
                  "folder for results.json and a page with pictures ('sotto report' shows it)")
      ->type_name("DIR");
  sub->add_flag("--json", options->json, "print JSON; null stands for infinite");
  add_parameter_options(*sub, options->mechanism);
  add_size_options(*sub, options->mechanism);

  sub->add_option("--program", options->program,
                  "shell command that reads one input a line and writes one output a line")
      ->type_name("CMD")
      ->group(kProgramGroup);
  sub->add_option("--inputs", options->inputs,
                  "the two inputs: two numbers A,B or two vectors 'A1,A2,...;B1,B2,...'")
      ->type_name("A,B")
      ->group(kProgramGroup);
  sub->add_option("--format", options->format, "how numbers travel: text or npy")
      ->capture_default_str()
      ->type_name("F")
      ->group(kProgramGroup);
  sub->add_option("--timeout", options->timeout_seconds,
                  "seconds without a byte after which the program counts as hung")
      ->capture_default_str()
      ->type_name("S")
      ->group(kProgramGroup);
  sub->add_option("--batch", options->batch, "the most inputs for one start of the program")
      ->capture_default_str()
      ->type_name("N")
      ->group(kProgramGroup);
  sub->add_option("--distinguisher", options->distinguisher,
                  "whose guesses are judged: likelihood, or the paper's test (cosine of gradients, "
                  "frequency in a batch); of a batch also both, at half the error each")
      ->type_name("NAME");
  sub->add_option("--set", options->settings, "override a key of the recipe (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(kRecipeGroup);
  add_shuffled_options(*sub, *options);
  add_gradient_options(*sub, options->gradients);
  sub->footer(
      "An audit draws reports of two inputs, guesses which one each came from, and turns the\n"
      "errors into a lower bound on epsilon that holds with the given confidence. It can refute a\n"
      "claim and never prove one. It stops early once the claim is refuted. Exit code 1 when the\n"
      "claim is violated.\n\n"
      "Examples:\n"
      "  sotto audit two-point --epsilon 1\n"
      "  sotto audit ldpfl-2 --epsilon 0.5 --bits 100 --json | jq .verdict\n"
      "  sotto audit srr --epsilon 3 --claim 2.5\n"
      "  sotto audit --shuffled two-point --epsilon 1 --clients 1000 --delta 1e-6\n"
      "  sotto audit ldp-sgd --epsilon 4 --adversary dummy --dimension 20490\n"
      "  sotto audit ldp-sgd --epsilon 4 --adversary label-flip --data mnist --train-rounds 500\n"
      "  sotto audit recipes/embedded.toml\n"
      "  sotto audit --program 'python3 mine.py' --claim 1 --inputs=-1,1 --trials 200000");
}

}  // namespace sotto::cli
