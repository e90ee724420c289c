// The forms of `sotto audit`, and which options each of them takes. An option that means nothing in
// the form that was asked for is an error: silence would let people believe that it was heard.
#include "audit_forms.h"

#include <algorithm>
#include <map>

#include "base/nearest.h"

namespace sotto::cli {
namespace {

using Forms = unsigned;  // a set of AuditForm

constexpr Forms bit(AuditForm form) { return 1U << static_cast<unsigned>(form); }
constexpr Forms kMechanisms =
    bit(AuditForm::kPlain) | bit(AuditForm::kShuffled) | bit(AuditForm::kAdversary);

const std::pair<AuditForm, const char*> kWords[] = {{AuditForm::kPlain, "a mechanism alone"},
                                                    {AuditForm::kProgram, "--program"},
                                                    {AuditForm::kShuffled, "--shuffled"},
                                                    {AuditForm::kAdversary, "--adversary"},
                                                    {AuditForm::kRecipe, "a recipe"}};

/// Where an option counts; parameters of mechanisms have no line here.
Forms forms_of(const CLI::Option& option) {
  static const std::map<std::string, Forms> groups = {{kProgramGroup, bit(AuditForm::kProgram)},
                                                      {kShuffledGroup, bit(AuditForm::kShuffled)},
                                                      {kGradientGroup, bit(AuditForm::kAdversary)},
                                                      {kRecipeGroup, bit(AuditForm::kRecipe)}};
  static const std::map<std::string, Forms> single = {
      {"--all-trials", ~bit(AuditForm::kShuffled)},
      {"--distinguisher", bit(AuditForm::kShuffled) | bit(AuditForm::kAdversary)},
      {"--delta", kMechanisms | bit(AuditForm::kProgram)},
      {"--claim", ~bit(AuditForm::kRecipe)},
      {"--data-folder", bit(AuditForm::kAdversary) | bit(AuditForm::kRecipe)}};
  static const std::vector<std::string> everywhere = {
      "mechanism", "--help", "--trials", "--confidence", "--seed", "--threads", "--json", "--out"};
  const std::string name = option.get_name();
  if (const auto it = single.find(name); it != single.end()) return it->second;
  if (const auto it = groups.find(option.get_group()); it != groups.end()) return it->second;
  const bool common = std::find(everywhere.begin(), everywhere.end(), name) != everywhere.end();
  return common ? ~0U : kMechanisms;
}

}  // namespace

Result<void> check_form(const CLI::App& command, AuditForm form) {
  for (const CLI::Option* const option : command.get_options()) {
    const Forms forms = forms_of(*option);
    if (option->count() == 0 || (forms & bit(form)) != 0) continue;
    std::string here, words;
    for (const auto& [each, text] : kWords) {
      if (each == form) here = text;
      if ((forms & bit(each)) != 0) words += (words.empty() ? "" : ", ") + std::string(text);
    }
    const std::string name = option->get_name();
    const bool claim = form == AuditForm::kProgram && name == "--epsilon";
    return fail(ErrorKind::kUsage, "audit: " + name + " does not go with " + here +
                                       (claim ? "; what a program promises is --claim" : "") +
                                       (words == name ? "" : "; it goes with: " + words));
  }
  return {};
}

Result<void> check_sizes(const CLI::App& command, const MechanismInfo& info) {
  const std::pair<const char*, MechanismKind> sizes[] = {{"--dimension", MechanismKind::kVector},
                                                         {"--bits", MechanismKind::kBits},
                                                         {"--range", MechanismKind::kValue}};
  for (const auto& [name, kind] : sizes) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option == nullptr || option->count() == 0 || kind == info.kind) continue;
    return fail(ErrorKind::kUsage, std::string("audit: ") + name + " is for mechanisms of kind '" +
                                       std::string(name_of(kind)) + "'; " + std::string(info.name) +
                                       " is of kind '" + std::string(name_of(info.kind)) + "'");
  }
  return {};
}

}  // namespace sotto::cli
