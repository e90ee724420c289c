// Infinity has no JSON number: null stands for it.
#pragma once

#include <cmath>

namespace sotto {

/// `Json` is nlohmann::json or ordered_json.
template <class Json>
Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace sotto
