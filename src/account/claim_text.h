// The words for what a claim says: the one place where its types become text, and text its types.
//
// Scopes have the texts that tables, run.json and certificates show; the enums have short names,
// which are the values of keys in run.json.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "sotto/claims.h"

namespace sotto {

/// A scope that claims can have. Of kMeasured and kViolated the scopes and texts are the same; here
/// stands kMeasured.
struct ScopeText {
  Scope scope;
  Status status = Status::kProven;
  std::string_view text;
};

/// All of them, every text and every pair of scope and status once.
std::span<const ScopeText> scope_texts();
/// Null where no claim has this scope.
const ScopeText* find_scope(const Scope& scope, Status status);
const ScopeText* find_scope(std::string_view text);

inline constexpr Name<Unit> kUnitNames[] = {
    {Unit::kWeight, "weight"},
    {Unit::kVector, "vector"},
    {Unit::kReport, "report"},
    {Unit::kRecordFeatures, "record-features"},
    {Unit::kRecordLabel, "record-label"},
    {Unit::kRecordReport, "record-report"},
    {Unit::kEncodedRecord, "encoded-record"},
    {Unit::kRecord, "record"},
    {Unit::kClient, "client"},
    {Unit::kParticipation, "participation"},
};
inline constexpr Name<Period> kPeriodNames[] = {{Period::kRound, "round"},
                                                {Period::kTraining, "training"}};
inline constexpr Name<View> kViewNames[] = {
    {View::kReports, "reports"},   {View::kSecretSampling, "secret-sampling"},
    {View::kShuffler, "shuffler"}, {View::kDelays, "delays"},
    {View::kSum, "sum"},
};
inline constexpr Name<Colluders> kColludersNames[] = {
    {Colluders::kNone, "none"}, {Colluders::kTenth, "tenth"}, {Colluders::kHalf, "half"}};
inline constexpr Name<Status> kStatusNames[] = {{Status::kProven, "proven"},
                                                {Status::kPublished, "published"},
                                                {Status::kMeasured, "measured"},
                                                {Status::kViolated, "violated"}};

inline std::string_view name_of(Unit unit) { return name_in<Unit>(kUnitNames, unit); }
inline std::string_view name_of(Period period) { return name_in<Period>(kPeriodNames, period); }
inline std::string_view name_of(View view) { return name_in<View>(kViewNames, view); }
inline std::string_view name_of(Colluders colluders) {
  return name_in<Colluders>(kColludersNames, colluders);
}
inline std::string_view name_of(Status status) { return name_in<Status>(kStatusNames, status); }

}  // namespace sotto
