// Reads the keys of a JSON object and says exactly which one is wrong, and where.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/result.h"

namespace sotto {

/// Objects keep the order of the file, which is the order in which people wrote a recipe.
using Json = nlohmann::ordered_json;

/// `text` as JSON. `place` stands in front of errors; the first line of `text` is `first_line`.
Result<Json> parse_json(std::string_view text, const std::string& place, std::size_t first_line);

class Fields {
 public:
  /// `place` is "run.json" or "metrics.jsonl:7"; `path` is the key of the object itself.
  Fields(const Json& object, std::string place, std::string path = "")
      : object_(&object), place_(std::move(place)), path_(std::move(path)) {}

  bool has(const char* key) const;  // there, and not null
  Result<std::string> text(const char* key) const;
  Result<std::uint64_t> count(const char* key) const;
  Result<bool> flag(const char* key) const;
  /// A finite number within [low, high].
  Result<double> number(const char* key, double low, double high) const;
  /// The same, or unset where it is null. The key must be there.
  Result<std::optional<double>> number_or_null(const char* key, double low, double high) const;
  Result<Fields> object(const char* key) const;
  Result<const Json*> array(const char* key) const;

  const Json& json() const { return *object_; }
  const std::string& place() const { return place_; }
  /// "run.json: 'final.accuracy' must be ..., but is ..."
  Error wrong(const std::string& key, std::string_view demanded, const Json& found) const;

 private:
  Result<const Json*> find(const char* key) const;
  const Json* object_;
  std::string place_;
  std::string path_;
};

}  // namespace sotto
