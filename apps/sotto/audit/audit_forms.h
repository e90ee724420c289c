// The forms of `sotto audit`, and the options that each of them takes.
#pragma once

#include "command.h"
#include "mechanism_options.h"

namespace sotto::cli {

enum class AuditForm { kPlain, kProgram, kShuffled, kAdversary, kRecipe };

// Options of one form stand together in the help.
inline constexpr const char* kProgramGroup = "Somebody else's program";
inline constexpr const char* kShuffledGroup = "A batch of the shuffler";
inline constexpr const char* kGradientGroup = "Gradients (vector mechanisms)";
inline constexpr const char* kRecipeGroup = "A recipe";

/// An error where an option was given that means nothing in this form; it names the forms in which
/// it does.
Result<void> check_form(const CLI::App& command, AuditForm form);
/// The same for --dimension, --bits and --range, which belong to one kind of mechanism each.
Result<void> check_sizes(const CLI::App& command, const MechanismInfo& info);

}  // namespace sotto::cli
