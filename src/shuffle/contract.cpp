#include "shuffle/contract.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/sha256.h"

namespace sotto::rpc {
namespace {

constexpr std::string_view kFirstLine = "sotto contract 1\n";
constexpr std::size_t kMostMechanisms = 4096;
constexpr std::size_t kLongestId = 255 + 65;  // an id, and a digest
constexpr const char* kDigits = "0123456789abcdef";

bool is_hex(std::string_view text) {
  return text.find_first_not_of(kDigits) == std::string_view::npos;
}

/// Characters that print, without spaces.
bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  return !text.empty() && code == std::errc() && rest == end;
}

/// Takes "key value" lines off a text.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  /// The value of the next line if it has this key.
  std::optional<std::string_view> next(std::string_view key) {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest_.substr(0, end);
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') {
      return std::nullopt;
    }
    rest_.remove_prefix(end + 1);
    return line.substr(key.size() + 1);
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string to_hex(std::span<const std::byte> bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    hex += kDigits[value >> 4U];
    hex += kDigits[value & 15U];
  }
  return hex;
}

/// Whether every line is there and can be read; what they say is checked afterwards.
bool read_lines(Lines& lines, Contract& contract) {
  const auto run = lines.next("run");
  const auto tag = run ? tag_from_hex(*run) : tag_from_hex("");
  const auto recipe = lines.next("recipe");
  const auto round = lines.next("round");
  const auto group = lines.next("group");
  if (!tag || !recipe || !round || !group) return false;
  while (const auto id = lines.next("mechanism")) {
    if (!is_id(*id) || contract.mechanisms.size() == kMostMechanisms) return false;
    contract.mechanisms.emplace_back(*id);
  }
  const auto chunks = lines.next("chunks");
  const auto bytes = lines.next("chunk-bytes");
  const auto to = lines.next("to");
  const auto key = lines.next("seal-key");
  const auto model = lines.next("model");
  const auto authority = lines.next("authority");
  if (!chunks || !bytes || !to || !key || !model || !authority || !lines.empty()) return false;
  const auto seal_key = identity::key_from_hex(*key);
  if (!seal_key) return false;
  contract.run = *tag;
  contract.recipe = *recipe;
  contract.shuffled = *to == "shuffler";
  contract.seal_key = *seal_key;
  contract.model = *model;
  if (*authority != "none") contract.authority = *authority;
  return read_number(*round, contract.round) && read_number(*group, contract.group) &&
         read_number(*chunks, contract.chunks) && read_number(*bytes, contract.chunk_bytes);
}

}  // namespace

bool is_sha256(std::string_view text) { return text.size() == 64 && is_hex(text); }

std::string tag_hex(const Tag& tag) { return to_hex(tag); }

Result<Tag> tag_from_hex(std::string_view text) {
  Tag tag{};
  if (text.size() != 2 * tag.size() || !is_hex(text)) {
    return fail(ErrorKind::kCorrupt, "a tag is 32 digits of hexadecimal");
  }
  for (std::size_t i = 0; i < tag.size(); ++i) {
    unsigned value = 0;
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16);
    tag[i] = static_cast<std::byte>(value);
  }
  return tag;
}

std::string Contract::text() const {
  std::string out(kFirstLine);
  const auto line = [&](const char* key, const std::string& value) {
    out.append(key).append(1, ' ').append(value).append(1, '\n');
  };
  line("run", tag_hex(run));
  line("recipe", recipe);
  line("round", std::to_string(round));
  line("group", std::to_string(group));
  for (const std::string& id : mechanisms) line("mechanism", id);
  line("chunks", std::to_string(chunks));
  line("chunk-bytes", std::to_string(chunk_bytes));
  line("to", shuffled ? "shuffler" : "server");
  line("seal-key", identity::to_hex(seal_key));
  line("model", model);
  line("authority", authority.empty() ? "none" : authority);
  return out;
}

std::string Contract::digest() const { return sha256_hex(text()); }

Result<Contract> Contract::parse(std::string_view text) {
  const auto bad = [](const char* what) {
    return fail(ErrorKind::kCorrupt, std::string("contract: ") + what);
  };
  if (text.size() > kLongestContract) return bad("longer than 2 MiB");
  if (!text.starts_with(kFirstLine)) return bad("does not begin with 'sotto contract 1'");
  Contract contract;
  Lines lines(text.substr(kFirstLine.size()));
  if (!read_lines(lines, contract)) return bad("a line is missing, or is not what it should be");
  if (!is_sha256(contract.recipe) || !is_sha256(contract.model) ||
      !(contract.authority.empty() || is_sha256(contract.authority))) {
    return bad("recipe, model and authority are 64 digits of hexadecimal");
  }
  if (contract.round == 0) return bad("rounds begin with 1");
  if (contract.mechanisms.empty()) return bad("names no mechanism");
  if (contract.chunks == 0 || contract.chunks > kMostChunks) {
    return bad("a report without chunks, or with too many");
  }
  if (contract.chunk_bytes <= identity::kSealOverhead || contract.chunk_bytes > kLongestChunk) {
    return bad("chunks of impossible size");
  }
  // One text for each contract, so that equal ones have equal digests.
  if (contract.text() != text) return bad("not written as contracts are");
  return contract;
}

std::string contract_mechanism(std::string_view id, std::span<const Range> ranges) {
  std::ostringstream text;
  text << std::hexfloat;
  for (const Range& range : ranges) text << range.centre << ' ' << range.radius << '\n';
  return std::string(id) + ':' + sha256_hex(text.str());
}

Contract make_contract(const Terms& terms, RoundId round, std::size_t group,
                       std::span<const Part> parts, const ReportForm& form, std::string model) {
  Contract contract;
  contract.run = terms.run;
  contract.recipe = terms.recipe;
  contract.round = round;
  contract.group = static_cast<std::uint32_t>(group);
  for (const Part& part : parts) {
    contract.mechanisms.push_back(
        contract_mechanism(part.mechanism->id(), part.mechanism->domain().ranges));
  }
  contract.chunks = form.chunks();
  contract.chunk_bytes = form.sealed_bytes();
  contract.shuffled = terms.shuffled;
  contract.seal_key = terms.seal_key;
  contract.model = std::move(model);
  contract.authority = terms.authority;
  return contract;
}

std::string model_digest(std::span<const float> model) { return sha256_hex(std::as_bytes(model)); }

}  // namespace sotto::rpc
