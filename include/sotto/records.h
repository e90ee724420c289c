// Records that are randomized once, before any training (LDPFL): what may be said of their privacy.
//
// A client encodes every record, its features and its label, sends it through a mechanism, and from
// there on works with the reports alone: all rounds are post-processing and cost nothing more. What
// remains is whose data decided the encoder. One that was trained on public data is a fixed
// function, and a record's epsilon is that of its own report. One that was trained on the client's
// records depends on every one of them: to change one record is to change the features of all, so
// what is proven for a record is the sum over its client's reports.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sotto/claims.h"
#include "sotto/mechanism.h"

namespace sotto {

struct RecordPrivacy {
  std::shared_ptr<const Mechanism> bits;   // what the features of a record pass
  std::shared_ptr<const Mechanism> label;  // what its label passes; null: nothing
  bool own_encoder = true;         // whether clients trained the encoder on the records themselves
  std::uint64_t most_records = 0;  // that any client holds

  /// Of one report, features and label, rounded up: a record's epsilon where the encoder is fixed.
  double report_epsilon() const;
  /// Of the label alone; infinite where nothing protects it.
  double label_epsilon() const;
};

/// The table of claims for such records, from one record's features to a client's whole data.
std::vector<Claim> claims_of(const RecordPrivacy& records);

/// The claim about one record over the whole training, with no encoder held fixed; null where there
/// is none.
const Claim* record_claim(const std::vector<Claim>& claims);

}  // namespace sotto
