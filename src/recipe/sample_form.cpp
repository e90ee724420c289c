#include "recipe/sample_form.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

constexpr std::int32_t kNoClass = -1;

std::string text_of(const SampleShape& shape) {
  return '[' + std::to_string(shape.channels) + ", " + std::to_string(shape.height) + ", " +
         std::to_string(shape.width) + ']';
}

/// The form's class for each of the data's; empty: they are the same numbers.
std::vector<std::int32_t> classes_by_name(const Dataset& data, const SampleForm& form) {
  std::vector<std::int32_t> classes;
  if (form.class_names.empty() || data.class_names == form.class_names) return classes;
  for (const std::string& name : data.class_names) {
    const auto found = std::ranges::find(form.class_names, name);
    classes.push_back(found == form.class_names.end()
                          ? kNoClass
                          : static_cast<std::int32_t>(found - form.class_names.begin()));
  }
  return classes;
}

std::int32_t class_of(const Dataset& data, const SampleForm& form,
                      const std::vector<std::int32_t>& by_name, std::size_t sample) {
  const std::int32_t label = data.labels[sample];
  if (label < 0) return kNoClass;
  if (!by_name.empty()) return by_name[static_cast<std::size_t>(label)];
  return label < form.classes ? label : kNoClass;
}

/// Whether every value is a number; bytes are.
bool is_finite(const Dataset& data, std::size_t sample) {
  const auto* const values = std::get_if<std::vector<float>>(&data.values);
  if (values == nullptr) return true;
  const std::size_t each = data.shape.size();
  const auto one = std::span(*values).subspan(sample * each, each);
  return std::ranges::all_of(one, [](float value) { return std::isfinite(value); });
}

}  // namespace

std::optional<SampleForm> sample_form(const Recipe& recipe) {
  if (const KnownSet* const known = find_known_set(recipe.data.name)) {
    return SampleForm{known->shape, known->classes, known->class_names};
  }
  if (recipe.data.shape.empty()) return std::nullopt;
  const auto side = [&](std::size_t i) { return static_cast<std::uint32_t>(recipe.data.shape[i]); };
  return SampleForm{{side(0), side(1), side(2)},
                    static_cast<std::int32_t>(recipe.data.classes),
                    recipe.data.class_names};
}

Result<void> require_form(const SampleForm& form, DataSplit& data) {
  for (Dataset* const part : {&data.train, &data.test}) {
    if (part->shape != form.shape) {
      return fail(ErrorKind::kUsage, "data.shape = " + text_of(form.shape) + ": samples of " +
                                         data.name + " are " + text_of(part->shape));
    }
    const std::vector<std::int32_t> by_name = classes_by_name(*part, form);
    for (std::size_t i = 0; i < part->size(); ++i) {
      const std::int32_t label = class_of(*part, form, by_name, i);
      if (label == kNoClass) {
        return fail(ErrorKind::kUsage, "data.classes = " + std::to_string(form.classes) + ": " +
                                           data.name + " has a sample of another class, " +
                                           std::to_string(part->labels[i]));
      }
      part->labels[i] = label;
    }
    part->classes = form.classes;
    if (!form.class_names.empty()) part->class_names = form.class_names;
  }
  return {};
}

Dataset fitting_samples(Dataset data, const SampleForm& form, std::size_t& left_out) {
  left_out = data.size();
  if (data.shape != form.shape || data.packed) return no_samples(form);
  const std::vector<std::int32_t> by_name = classes_by_name(data, form);
  std::vector<std::uint32_t> fitting;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::int32_t label = class_of(data, form, by_name, i);
    if (label == kNoClass || !is_finite(data, i)) continue;
    data.labels[i] = label;
    fitting.push_back(static_cast<std::uint32_t>(i));
  }
  left_out = data.size() - fitting.size();
  if (left_out > 0) data = select(data, fitting);
  data.classes = form.classes;
  data.class_names = form.class_names;
  return data;
}

Dataset no_samples(const SampleForm& form) {
  Dataset none;
  none.shape = form.shape;
  none.values = std::vector<float>();
  none.classes = form.classes;
  none.class_names = form.class_names;
  return none;
}

}  // namespace sotto
