#include "account/ledger/ledger_entry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/sha256.h"
#include "base/utf8.h"

namespace sotto {
namespace {

constexpr std::size_t kLongestName = 200;

/// Whether a name can stand in a line of text: UTF-8 in the shortest form, no control characters.
bool is_plain(std::string_view name) {
  for (std::size_t i = 0; i < name.size();) {
    const auto lead = static_cast<unsigned char>(name[i]);
    const std::size_t length = character_bytes(name, i);
    if (length == 0 || lead < 0x20 || lead == 0x7F) return false;
    i += length;
  }
  return true;
}

Result<void> check_name(const char* what, std::string_view name) {
  const std::string valid = "; valid: 1 to " + std::to_string(kLongestName) +
                            " bytes of UTF-8 without control characters";
  if (name.empty()) return fail(ErrorKind::kUsage, std::string(what) + " is empty" + valid);
  if (name.size() > kLongestName) {
    return fail(ErrorKind::kUsage,
                std::string(what) + " has " + std::to_string(name.size()) + " bytes" + valid);
  }
  if (!is_plain(name)) {
    return fail(ErrorKind::kUsage, std::string(what) + " is not plain text" + valid);
  }
  return {};
}

Result<void> check_number(const char* what, double value, double most) {
  if (value >= 0.0 && value <= most) return {};
  return fail(ErrorKind::kUsage, std::string(what) + " is " + std::to_string(value) + "; valid: " +
                                     (std::isinf(most) ? "0 or more" : "a number in [0, 1]"));
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Checker {
  Result<void> operator()(const AccountEntry& entry) const {
    return check_name("the account's name", entry.name);
  }
  Result<void> operator()(const LimitsEntry& entry) const {
    const bool owner = entry.client.empty();
    if (!owner) SOTTO_CHECK(check_name("the client's name", entry.client));
    if (!owner || !entry.dataset.empty()) {
      SOTTO_CHECK(check_name("the data set's name", entry.dataset));
    }
    SOTTO_CHECK(check_number("epsilon per round", entry.limits.epsilon_per_round, kInfinite));
    SOTTO_CHECK(check_number("epsilon", entry.limits.epsilon, kInfinite));
    return check_number("delta", entry.limits.delta, 1.0);
  }
  Result<void> operator()(const ChargeEntry& entry) const {
    SOTTO_CHECK(check_name("the client's name", entry.client));
    if (!entry.dataset.empty()) SOTTO_CHECK(check_name("the data set's name", entry.dataset));
    SOTTO_CHECK(check_name("the task's name", entry.task));
    SOTTO_CHECK(check_name("the mechanism's id", entry.mechanism_id));
    SOTTO_CHECK(check_number("the report's epsilon", entry.cost.epsilon, kInfinite));
    SOTTO_CHECK(check_number("the report's delta", entry.cost.delta, 1.0));
    SOTTO_CHECK(check_number("the epsilon of a unit", entry.cost.unit_epsilon, kInfinite));
    if (entry.cost.units == 0) return fail(ErrorKind::kUsage, "a report has at least one unit");
    return {};
  }
  Result<void> operator()(const BindEntry& entry) const {
    if (is_hash(entry.hash)) return {};
    return fail(ErrorKind::kUsage, "'" + entry.hash.substr(0, 80) +
                                       "' is no hash of a report; valid: SHA-256 as 64 "
                                       "hexadecimal digits in lower case");
  }
  Result<void> operator()(const DeliveredEntry& /*entry*/) const { return {}; }
};

template <class Number>
std::string text_of(Number value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

struct Encoder {
  std::string line;
  void put(std::string_view text) {
    if (!line.empty()) line += '\t';
    line += text;  // the first one, a word, is never empty
  }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void put(Number value) { put(std::string_view(text_of(value))); }
  template <class... Fields>
  void put_all(const Fields&... fields) {
    (put(fields), ...);
  }
  void operator()(const AccountEntry& e) { put_all("account", e.name); }
  void operator()(const LimitsEntry& e) {
    put_all("limits", e.client, e.dataset, e.limits.epsilon_per_round, e.limits.epsilon,
            e.limits.delta, e.limits.rounds);
  }
  void operator()(const ChargeEntry& e) {
    put_all("charge", e.client, e.dataset, e.task, e.round, e.mechanism_id, e.cost.epsilon,
            e.cost.delta, e.cost.unit_epsilon, e.cost.units);
  }
  void operator()(const BindEntry& e) {
    put_all("bind", e.charge, e.hash);
    e.size ? put(*e.size) : put("-");
  }
  void operator()(const DeliveredEntry& e) { put_all("delivered", e.charge); }
};

/// Takes fields off a line, one after the other; remembers whether one was missing or bad.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}
  std::string_view text() {
    if (done_) good_ = false;
    const auto tab = rest_.find('\t');
    const std::string_view field = rest_.substr(0, tab);
    done_ = tab == std::string_view::npos;
    rest_.remove_prefix(done_ ? rest_.size() : tab + 1);
    return field;
  }
  template <class Number>
  Number number() {
    return parse<Number>(text());
  }
  std::optional<std::uint64_t> optional_number() {
    const std::string_view field = text();
    return field == "-" ? std::nullopt : std::optional(parse<std::uint64_t>(field));
  }
  bool good() const { return good_ && done_; }

 private:
  template <class Number>
  Number parse(std::string_view field) {
    Number value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) good_ = false;
    return value;
  }
  std::string_view rest_;
  bool good_ = true;
  bool done_ = false;
};

std::optional<Entry> read_fields(Fields& fields) {
  const std::string_view kind = fields.text();
  if (kind == "account") return AccountEntry{std::string(fields.text())};
  if (kind == "limits") {
    LimitsEntry e;
    e.client = fields.text();
    e.dataset = fields.text();
    e.limits.epsilon_per_round = fields.number<double>();
    e.limits.epsilon = fields.number<double>();
    e.limits.delta = fields.number<double>();
    e.limits.rounds = fields.number<std::uint64_t>();
    return e;
  }
  if (kind == "charge") {
    ChargeEntry e;
    e.client = fields.text();
    e.dataset = fields.text();
    e.task = fields.text();
    e.round = fields.number<RoundId>();
    e.mechanism_id = fields.text();
    e.cost.epsilon = fields.number<double>();
    e.cost.delta = fields.number<double>();
    e.cost.unit_epsilon = fields.number<double>();
    e.cost.units = fields.number<std::uint64_t>();
    return e;
  }
  if (kind == "bind") {
    BindEntry e;
    e.charge = fields.number<std::uint64_t>();
    e.hash = fields.text();
    e.size = fields.optional_number();
    return e;
  }
  if (kind == "delivered") return DeliveredEntry{fields.number<std::uint64_t>()};
  return std::nullopt;
}

}  // namespace

Result<void> check(const Entry& entry) { return std::visit(Checker{}, entry); }

Result<void> check_named(const LimitsEntry& entry) {
  SOTTO_CHECK(check_name("the client's name", entry.client));
  SOTTO_CHECK(check_name("the data set's name", entry.dataset));
  return Checker{}(entry);
}

Result<void> check_named(const ChargeEntry& entry) {
  SOTTO_CHECK(check_name("the data set's name", entry.dataset));
  return Checker{}(entry);
}

std::string encode(const Entry& entry) {
  Encoder encoder;
  std::visit(encoder, entry);
  return std::move(encoder.line);
}

std::optional<Entry> decode(std::string_view text) {
  Fields fields(text);
  auto entry = read_fields(fields);
  // Written anew it must be the same text: no second spelling of an entry has a hash of its own.
  if (!entry || !fields.good() || !check(*entry) || encode(*entry) != text) return std::nullopt;
  return entry;
}

const std::string& first_hash() {
  static const std::string kZeros(64, '0');
  return kZeros;
}

std::string next_hash(std::string_view previous, std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(previous)));
  hash.add(std::as_bytes(std::span(text)));
  return hash.hex();
}

bool is_hash(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace sotto
