#include "record/claim_json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "account/claim_text.h"
#include "base/json_number.h"
#include "base/nearest.h"

namespace sotto {
namespace {

constexpr double kLargest = 1e300;

/// The value of a key that has few, by its name; an error lists all of them.
template <class T>
Result<T> read_name(const Fields& fields, const char* key, std::span<const Name<T>> names) {
  SOTTO_TRY(const std::string text, fields.text(key));
  if (const auto value = value_in<T>(names, text)) return *value;
  std::vector<std::string> valid;
  for (const Name<T>& name : names) valid.push_back('"' + std::string(name.name) + '"');
  return tl::unexpected(fields.wrong(key, "one of " + join(valid), text));
}

/// sotto.run.v1 has the text alone.
Result<void> read_scope_text(const Fields& fields, Claim& claim) {
  SOTTO_TRY(const std::string text, fields.text("scope"));
  if (const ScopeText* const known = find_scope(text)) {
    claim.scope = known->scope;
    claim.status = known->status;
    return {};
  }
  std::vector<std::string> valid;
  for (const ScopeText& scope : scope_texts()) valid.emplace_back(scope.text);
  const std::string guess = nearest(text, valid);
  return tl::unexpected(fields.wrong(
      "scope", "a scope that claims have" + (guess.empty() ? "" : " (there is '" + guess + "')"),
      text));
}

Result<void> read_types(const Fields& fields, Claim& claim) {
  SOTTO_TRY(claim.scope.unit, read_name<Unit>(fields, "unit", kUnitNames));
  SOTTO_TRY(claim.scope.period, read_name<Period>(fields, "period", kPeriodNames));
  SOTTO_TRY(claim.scope.view, read_name<View>(fields, "view", kViewNames));
  SOTTO_TRY(claim.scope.colluders, read_name<Colluders>(fields, "colluders", kColludersNames));
  SOTTO_TRY(claim.status, read_name<Status>(fields, "status", kStatusNames));
  SOTTO_TRY(const std::string text, fields.text("scope"));
  const ScopeText* const known = find_scope(claim.scope, claim.status);
  if (known == nullptr) {
    return tl::unexpected(fields.wrong(
        "unit", "of a claim that can be, together with period, view, colluders and status",
        std::string(name_of(claim.scope.unit))));
  }
  if (text != known->text) {
    return tl::unexpected(fields.wrong(
        "scope",
        '"' + std::string(known->text) + "\", as unit, period, view, colluders and status say",
        text));
  }
  return {};
}

}  // namespace

template <class Document>
Document claim_json(const Claim& claim) {
  return {{"scope", scope_text(claim)},
          {"epsilon", number_or_null<Document>(claim.epsilon)},
          {"delta", claim.delta},
          {"theorem", claim.theorem},
          {"assumption", assumption_text(claim)},
          {"source", source_text(claim)},
          {"vacuous", claim.vacuous()},
          {"unit", name_of(claim.scope.unit)},
          {"period", name_of(claim.scope.period)},
          {"view", name_of(claim.scope.view)},
          {"colluders", name_of(claim.scope.colluders)},
          {"status", name_of(claim.status)}};
}
template nlohmann::json claim_json<nlohmann::json>(const Claim& claim);
template nlohmann::ordered_json claim_json<nlohmann::ordered_json>(const Claim& claim);

Result<Claim> read_claim(const Fields& fields, bool typed) {
  Claim claim;
  if (typed) {
    SOTTO_CHECK(read_types(fields, claim));
  } else {
    SOTTO_CHECK(read_scope_text(fields, claim));
  }
  SOTTO_TRY(const auto epsilon, fields.number_or_null("epsilon", 0.0, kLargest));
  claim.epsilon = epsilon.value_or(std::numeric_limits<double>::infinity());
  SOTTO_TRY(claim.delta, fields.number("delta", 0.0, 1.0));
  SOTTO_TRY(claim.theorem, fields.text("theorem"));
  SOTTO_TRY(std::string assumption, fields.text("assumption"));
  if (assumption != assumption_text(Claim())) claim.assumption = std::move(assumption);
  SOTTO_TRY(std::string source, fields.text("source"));
  if (source != source_text(Claim())) claim.authors = std::move(source);
  SOTTO_TRY(const bool vacuous, fields.flag("vacuous"));
  if (vacuous != claim.vacuous()) {
    return tl::unexpected(fields.wrong(
        "vacuous", claim.vacuous() ? "true: epsilon is above 50" : "false: epsilon is at most 50",
        vacuous));
  }
  return claim;
}

}  // namespace sotto
