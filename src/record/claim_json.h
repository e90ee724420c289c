// A claim in JSON, written and read in one place.
//
// Beside its texts ("scope", "theorem", "assumption", "source") stand the types: "unit", "period",
// "view", "colluders" and "status". "scope" follows from them, "vacuous" from epsilon; a reader
// refuses a claim that contradicts itself.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "record/fields.h"
#include "sotto/claims.h"

namespace sotto {

/// Keys: "scope", "epsilon" (null: infinite), "delta", "theorem", "assumption", "source",
/// "vacuous", and the types. `Document` is nlohmann::json or ordered_json.
template <class Document>
Document claim_json(const Claim& claim);
extern template nlohmann::json claim_json<nlohmann::json>(const Claim& claim);
extern template nlohmann::ordered_json claim_json<nlohmann::ordered_json>(const Claim& claim);

/// One entry of "claims". Without types (`typed` false: sotto.run.v1) they follow from "scope".
Result<Claim> read_claim(const Fields& fields, bool typed);

}  // namespace sotto
