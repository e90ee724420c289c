// The claims of records.h. Sums are rounded up, and what nothing protects has an infinite epsilon:
// a network that was trained on true labels and sent as it is can tell them.
#include <limits>

#include "base/exact/exact.h"
#include "base/text.h"
#include "sotto/records.h"

namespace sotto {
namespace {

std::string name_of(const Mechanism& mechanism) {
  const std::string id(mechanism.id());
  return id.substr(0, id.rfind(".v"));
}

/// What the authors of the mechanism claim for a report, next to what is true of the record.
void add_published(const RecordPrivacy& records, std::vector<Claim>& claims) {
  const Guarantee guarantee = records.bits->guarantee();
  const auto info = find_mechanism(name_of(*records.bits));
  if (!info || (*info)->published_client_claim.empty()) return;
  std::string assumption((*info)->published_client_claim);
  if (records.label == nullptr) assumption += "; labels have no protection at all";
  claims.push_back({{.unit = Unit::kEncodedRecord},
                    guarantee.claimed_epsilon,
                    guarantee.delta,
                    "the claim of the authors of " + name_of(*records.bits) + "; it does not hold",
                    assumption,
                    Status::kPublished,
                    std::string((*info)->reference)});
}

}  // namespace

double RecordPrivacy::label_epsilon() const {
  return label ? label->guarantee().epsilon : std::numeric_limits<double>::infinity();
}

double RecordPrivacy::report_epsilon() const {
  return exact::add_up(bits->guarantee().epsilon, label_epsilon());
}

std::vector<Claim> claims_of(const RecordPrivacy& records) {
  const std::string fixed =
      records.own_encoder
          ? "the network that encodes is held fixed, though the record helped to train it"
          : "";
  const Guarantee bits = records.bits->guarantee();
  const double together = records.report_epsilon();
  const auto count = static_cast<double>(records.most_records);
  const double of_client = records.most_records == 0 ? 0.0 : exact::multiply_up(together, count);
  std::vector<Claim> claims;
  claims.push_back({{.unit = Unit::kRecordFeatures},
                    bits.epsilon,
                    bits.delta,
                    "exact for all " + with_commas(records.bits->outputs()) +
                        " bits of a report together: " + bits.statement,
                    fixed});
  claims.push_back(
      {{.unit = Unit::kRecordLabel},
       records.label_epsilon(),
       0.0,
       records.label ? "k-ary randomized response: pure local differential privacy for the label"
                     : "none: clients train on true labels and send the trained network as it is"});
  add_published(records, claims);
  const std::string sum = "sum over the reports of the client's " +
                          with_commas(records.most_records) +
                          " records (sequential composition), the most of any client";
  if (records.own_encoder) {
    claims.push_back({{.unit = Unit::kRecordReport},
                      together,
                      bits.delta,
                      "features and label; all rounds are post-processing",
                      fixed});
    claims.push_back({{.unit = Unit::kEncodedRecord},
                      of_client,
                      bits.delta,
                      "the record helped to train the network that encodes every record: " + sum});
  } else {
    claims.push_back({{.unit = Unit::kEncodedRecord},
                      together,
                      bits.delta,
                      "features and label; all rounds are post-processing, and no record of a "
                      "client decides how another one is encoded"});
  }
  claims.push_back({{.unit = Unit::kClient}, of_client, bits.delta, sum});
  return claims;
}

const Claim* record_claim(const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (claim.proves({.unit = Unit::kEncodedRecord})) return &claim;
  }
  return nullptr;
}

}  // namespace sotto
