// What a sample of a federation is: its shape and how many classes there are, from the recipe
// alone.
//
// A client whose network followed from its own samples would tell the server what they lack:
// without the top class it has another number of weights. So the recipe says it (a known set has
// its own, data.shape and data.classes say it for any other), and a client's samples are held
// against that. Those that do not fit are left out, and nobody else learns that there were such.
#pragma once

#include <optional>

#include "sotto/data.h"
#include "sotto/recipe.h"

namespace sotto {

struct SampleForm {
  SampleShape shape;
  std::int32_t classes = 0;
  std::vector<std::string> class_names;  // empty, or one for each class
};

/// Nothing where the recipe names a set of its own and does not say what its samples are.
std::optional<SampleForm> sample_form(const Recipe& recipe);

/// For whoever trains or tests on data of its own choice: gives both parts the form's classes, or
/// says what does not fit.
Result<void> require_form(const SampleForm& form, DataSplit& data);

/// For a client's own samples: those that fit, in their order. `left_out` is how many did not.
/// Classes that the data names are found by name where the form has names.
Dataset fitting_samples(Dataset data, const SampleForm& form, std::size_t& left_out);

/// No sample at all, of this form.
Dataset no_samples(const SampleForm& form);

}  // namespace sotto
