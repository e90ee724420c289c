#include "account/claim_text.h"

#include <algorithm>
#include <stdexcept>

namespace sotto {
namespace {

constexpr Scope about(Unit unit, Period period, View view = View::kReports,
                      Colluders colluders = Colluders::kNone) {
  return {unit, period, view, colluders};
}

constexpr Period kRound = Period::kRound;
constexpr Period kTraining = Period::kTraining;
constexpr Status kProven = Status::kProven;
constexpr Status kPublished = Status::kPublished;

constexpr ScopeText kScopes[] = {
    {about(Unit::kWeight, kRound), kProven, "one weight, one round"},
    {about(Unit::kClient, kRound), kProven, "client, one round"},
    {about(Unit::kClient, kTraining), kProven, "client, whole training"},
    {about(Unit::kClient, kRound, View::kSecretSampling), kProven,
     "client, one round, if nobody sees who was picked"},
    {about(Unit::kClient, kTraining, View::kSecretSampling), kProven,
     "client, whole training, if nobody sees who was picked"},
    {about(Unit::kClient, kRound, View::kShuffler), kProven,
     "client, one round, after the shuffler"},
    {about(Unit::kClient, kTraining, View::kShuffler), kProven,
     "client, whole training, after the shuffler"},
    {about(Unit::kClient, kTraining, View::kShuffler, Colluders::kTenth), kProven,
     "client, whole training, after the shuffler, if a tenth of the others collude"},
    {about(Unit::kClient, kTraining, View::kShuffler, Colluders::kHalf), kProven,
     "client, whole training, after the shuffler, if half of the others collude"},
    {about(Unit::kParticipation, kTraining, View::kShuffler), kProven,
     "client against pure noise, whole training, after the shuffler"},
    {about(Unit::kClient, kRound, View::kDelays), kProven,
     "client, one round, if delays mixed perfectly"},
    {about(Unit::kClient, kTraining, View::kDelays), kProven,
     "client, whole training, if delays mixed perfectly"},
    {about(Unit::kClient, kRound, View::kSum), kProven, "secure aggregation, one round"},
    // Records that are randomized once: what that costs, it costs over the whole training.
    {about(Unit::kRecordFeatures, kTraining), kProven, "record, features alone"},
    {about(Unit::kRecordLabel, kTraining), kProven, "record, label alone"},
    {about(Unit::kRecordReport, kTraining), kProven, "record, encoder held fixed"},
    {about(Unit::kEncodedRecord, kTraining), kProven, "record, whole training"},
    // Records that clients train on.
    {about(Unit::kRecord, kTraining), kProven, "one record, whole training"},
    {about(Unit::kRecord, kTraining, View::kSum), kProven,
     "one record, whole training, the server's view"},
    {about(Unit::kWeight, kRound), kPublished, "as published, one weight"},
    {about(Unit::kVector, kRound), kPublished, "as published, one vector"},
    {about(Unit::kReport, kRound), kPublished, "as published, one report"},
    {about(Unit::kEncodedRecord, kTraining), kPublished, "as published, one record"},
    {about(Unit::kRecord, kTraining, View::kSum), kPublished,
     "as published, one record, the server's view"},
    {about(Unit::kClient, kTraining), kPublished, "as published, client"},
    {about(Unit::kClient, kTraining), Status::kMeasured, "audited, whole training"},
};

}  // namespace

std::span<const ScopeText> scope_texts() { return kScopes; }

const ScopeText* find_scope(const Scope& scope, Status status) {
  if (status == Status::kViolated) status = Status::kMeasured;
  const auto found = std::ranges::find_if(kScopes, [&](const ScopeText& known) {
    return known.scope == scope && known.status == status;
  });
  return found == std::end(kScopes) ? nullptr : &*found;
}

const ScopeText* find_scope(std::string_view text) {
  const auto found = std::ranges::find(kScopes, text, &ScopeText::text);
  return found == std::end(kScopes) ? nullptr : &*found;
}

std::string_view scope_text(const Claim& claim) {
  if (const ScopeText* known = find_scope(claim.scope, claim.status)) return known->text;
  throw std::logic_error("no claim has the scope " + std::string(name_of(claim.scope.unit)) + ", " +
                         std::string(name_of(claim.scope.period)) + ", " +
                         std::string(name_of(claim.scope.view)) + ", " +
                         std::string(name_of(claim.scope.colluders)) + ", " +
                         std::string(name_of(claim.status)));
}

std::string_view assumption_text(const Claim& claim) {
  return claim.assumption.empty() ? std::string_view("-") : std::string_view(claim.assumption);
}

std::string_view source_text(const Claim& claim) {
  return claim.authors.empty() ? std::string_view("sotto") : std::string_view(claim.authors);
}

}  // namespace sotto
