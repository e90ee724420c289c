// A client's own data, read so that nothing it holds decides whether the client takes part.
//
// What is wrong with single values or with the whole file is the client's own matter: such samples
// are left out, the note goes to the client's terminal, and a client that has none left sends what
// it would have learned from nothing. What can be told without looking at values (a file that is
// not there, a form that nobody reads) was an error before the client joined: check_source().
#pragma once

#include <functional>
#include <optional>

#include "recipe/sample_form.h"

namespace sotto {

struct OwnData {
  DataRequest request;
  /// With a place: the part of the data that a simulation of the recipe gives to this client.
  std::optional<std::uint32_t> share;
  std::function<void(const std::string&)> note;  // to the client's owner alone
};

/// A client's samples, as its part of the federation: of its partition all clients but this one may
/// hold nothing.
struct OwnSamples {
  DataSplit data;
  Partition partition;
};

/// The samples, with the recipe's features in their place; fails only where the recipe itself asks
/// for features that there are not.
Result<OwnSamples> read_own_samples(const Recipe& recipe, const SampleForm& form,
                                    const OwnData& own);

}  // namespace sotto
