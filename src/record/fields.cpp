#include "record/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest.h"
#include "base/utf8.h"

namespace sotto {
namespace {

/// Takes every event and remembers where the text stops being JSON: the exceptions of the parser
/// name a line for broken syntax but not for a number that no double can hold.
class Locator final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::json::exception&) override {
    position_ = position;
    token_ = last_token;
    return false;
  }
  std::size_t position_ = 0;
  std::string token_;
};

/// Without an exponent: "0.5", "1000000000000".
std::string plain(double value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value, std::chars_format::fixed);
  return {std::begin(text), end.ptr};
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& place, std::size_t first_line) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_discarded()) return json;
  Locator locator;
  Json::sax_parse(text.begin(), text.end(), &locator);
  const auto end =
      text.begin() + static_cast<std::ptrdiff_t>(
                         std::min(text.size(), std::max<std::size_t>(1, locator.position_) - 1));
  const auto line = first_line + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
  const bool ended = locator.position_ > text.size();
  return fail(
      ErrorKind::kCorrupt,
      place + ':' + std::to_string(line) + ": not valid JSON: " +
          (ended ? "it ends too early" : "unexpected '" + shorten(locator.token_, 40) + "'"));
}

bool Fields::has(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && !found->is_null();
}

Error Fields::wrong(const std::string& key, std::string_view demanded, const Json& found) const {
  // error_handler_t::replace: an error message must come out whatever bytes were in the file.
  const std::string value = found.dump(-1, ' ', false, Json::error_handler_t::replace);
  return {ErrorKind::kCorrupt, place_ + ": '" + path_ + key + "' must be " + std::string(demanded) +
                                   ", but is " + shorten(value, 60)};
}

Result<const Json*> Fields::find(const char* key) const {
  const auto found = object_->find(key);
  if (found != object_->end()) return &*found;
  std::vector<std::string> names;
  for (const auto& item : object_->items()) names.push_back(item.key());
  const std::string guess = nearest(key, names);
  return fail(ErrorKind::kCorrupt,
              place_ + ": '" + path_ + key + "' is missing" +
                  (guess.empty() ? "" : " (there is '" + shorten(guess, 40) + "')"));
}

Result<std::string> Fields::text(const char* key) const {
  SOTTO_TRY(const Json* const value, find(key));
  if (!value->is_string()) return tl::unexpected(wrong(key, "a string", *value));
  return value->get<std::string>();
}

Result<std::uint64_t> Fields::count(const char* key) const {
  SOTTO_TRY(const Json* const value, find(key));
  if (!value->is_number_unsigned()) {
    return tl::unexpected(wrong(key, "a whole number of 0 or more", *value));
  }
  return value->get<std::uint64_t>();
}

Result<bool> Fields::flag(const char* key) const {
  SOTTO_TRY(const Json* const value, find(key));
  if (!value->is_boolean()) return tl::unexpected(wrong(key, "true or false", *value));
  return value->get<bool>();
}

Result<double> Fields::number(const char* key, double low, double high) const {
  SOTTO_TRY(const Json* const value, find(key));
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= low && number <= high)) {
    const bool open = high >= 1e300;
    const std::string range = low <= -1e300 ? "a number"
                              : open        ? "a number of " + plain(low) + " or more"
                                     : "a number between " + plain(low) + " and " + plain(high);
    return tl::unexpected(wrong(key, range, *value));
  }
  return number;
}

Result<std::optional<double>> Fields::number_or_null(const char* key, double low,
                                                     double high) const {
  SOTTO_TRY(const Json* const value, find(key));
  if (value->is_null()) return std::optional<double>();
  SOTTO_TRY(const double found, number(key, low, high));
  return std::optional(found);
}

Result<Fields> Fields::object(const char* key) const {
  SOTTO_TRY(const Json* const value, find(key));
  if (!value->is_object()) return tl::unexpected(wrong(key, "an object", *value));
  return Fields(*value, place_, path_ + key + '.');
}

Result<const Json*> Fields::array(const char* key) const {
  SOTTO_TRY(const Json* const value, find(key));
  if (!value->is_array()) return tl::unexpected(wrong(key, "an array", *value));
  return value;
}

}  // namespace sotto
