#include "client/own_samples.h"

#include <exception>

#include "sotto/features.h"

namespace sotto {
namespace {

/// A simulation tests on a part of what it reads, so whoever takes its share leaves the same out.
Result<Dataset> read_samples(const OwnData& own) {
  if (!own.share) return load_samples(own.request);
  SOTTO_TRY(DataSplit data, load_data(own.request));
  return std::move(data.train);
}

/// Every client of it holds nothing.
Partition empty_partition(std::size_t clients) {
  return {{}, std::vector<std::uint64_t>(clients + 1, 0)};
}

/// Whatever can go wrong with a client's values or their number goes wrong here.
Result<OwnSamples> try_samples(const Recipe& recipe, const SampleForm& form, const OwnData& own,
                               const std::function<void(const std::string&)>& note) {
  SOTTO_TRY(Dataset read, read_samples(own));
  std::size_t left_out = 0;
  Dataset fitting = fitting_samples(std::move(read), form, left_out);
  if (left_out > 0) {
    note(own.request.source + ": " + std::to_string(left_out) + " of " +
         std::to_string(left_out + fitting.size()) +
         " samples are not of the recipe's shape and classes and are left out");
  }
  if (fitting.size() == 0) return fail(ErrorKind::kNotFound, own.request.source + ": no samples");
  SOTTO_TRY(Partition partition,
            make_partition(fitting, own.share ? recipe.data.partition : std::string("iid"),
                           own.share ? static_cast<std::size_t>(recipe.federation.clients) : 1U,
                           static_cast<std::uint64_t>(recipe.federation.seed)));
  OwnSamples samples{{own.request.source, std::move(fitting), no_samples(form)},
                     std::move(partition)};
  SOTTO_CHECK(apply_features(recipe.data.features, samples.data, 1, recipe.data.views));
  return samples;
}

}  // namespace

Result<OwnSamples> read_own_samples(const Recipe& recipe, const SampleForm& form,
                                    const OwnData& own) {
  const auto note = [&](const std::string& text) {
    if (own.note) own.note(text);
  };
  std::string why;
  try {
    Result<OwnSamples> samples = try_samples(recipe, form, own, note);
    if (samples) return samples;
    why = samples.error().message;
  } catch (const std::exception& problem) {
    why = own.request.source + ": " + problem.what();
  }
  note(why + ": taking part without samples, which nobody else can tell");
  OwnSamples none{{own.request.source, no_samples(form), no_samples(form)},
                  empty_partition(own.share.value_or(0) + std::size_t{1})};
  SOTTO_CHECK(apply_features(recipe.data.features, none.data, 1, recipe.data.views));
  return none;
}

}  // namespace sotto
