// What a recipe's [encode] comes to, known before any data is read: the network, the code of a
// record, and the mechanisms that bits and label pass.
#pragma once

#include "mechanism/bit/bit_code.h"
#include "sotto/network.h"
#include "sotto/recipe.h"
#include "sotto/records.h"
#include "sotto/trainer.h"

namespace sotto {

struct EncodePlan {
  Network network;
  FeatureLayer layer = FeatureLayer::kFlatten;
  std::size_t outputs = 0;  // of the layer, for a sample
  BitCode code;             // of the features that are kept: code.values of them
  RecordPrivacy privacy;    // most_records is for whoever knows the clients

  /// An encoded record, as a sample.
  SampleShape shape() const { return {1, 1, static_cast<std::uint32_t>(code.bits())}; }
};

/// For records of this shape, after preprocessing, and so many classes.
Result<EncodePlan> plan_encoding(const Recipe& recipe, SampleShape input, std::int64_t classes);

/// The most records that a client can have of so many, as far as the partition's rule tells.
std::uint64_t most_records(const std::string& partition, std::size_t records, std::size_t clients);

}  // namespace sotto
