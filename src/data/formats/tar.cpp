#include "data/formats/tar.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace sotto {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMostNameBytes = 4096;

struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kSize{124, 12};
constexpr Field kChecksum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic{257, 5};
constexpr Field kPrefix{345, 155};

bool all_zero(ByteSpan bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::string_view text_field(ByteSpan header, Field field) {
  const std::string_view text = as_text(header.subspan(field.offset, field.size));
  return text.substr(0, text.find('\0'));
}

// Octal digits, or GNU's base 256 when the first bit is set.
std::optional<std::uint64_t> number_field(ByteSpan header, Field field) {
  const ByteSpan bytes = header.subspan(field.offset, field.size);
  if ((bytes[0] & std::byte{0x80}) != std::byte{0}) {
    std::uint64_t value = std::to_integer<std::uint64_t>(bytes[0] & std::byte{0x7f});
    for (const std::byte b : bytes.subspan(1)) {
      if (value >> 56 != 0) return std::nullopt;
      value = value << 8 | std::to_integer<std::uint64_t>(b);
    }
    return value;
  }
  std::string_view text = text_field(header, field);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool checksum_matches(ByteSpan header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool inside = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.size;
    sum += inside ? ' ' : std::to_integer<std::uint64_t>(header[i]);
  }
  return number_field(header, kChecksum) == sum;
}

std::string header_name(ByteSpan header) {
  std::string name(text_field(header, kName));
  if (as_text(header.subspan(kMagic.offset, kMagic.size)) != "ustar") return name;
  // GNU tar ("ustar  ") keeps times where POSIX keeps the prefix.
  if (header[kMagic.offset + kMagic.size] != std::byte{0}) return name;
  const std::string_view prefix = text_field(header, kPrefix);
  return prefix.empty() ? name : std::string(prefix) + "/" + name;
}

// Drops "." and empty components; refuses what would lead out of the archive's folder.
Result<std::string> safe_name(const std::string& raw) {
  if (raw.empty()) return corrupt("an entry without a name");
  if (raw.front() == '/') return corrupt("entry '" + printable(raw) + "': absolute name");
  std::string clean;
  std::string_view rest = raw;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (part == "..") return corrupt("entry '" + printable(raw) + "': '..' in the name");
    if (part.empty() || part == ".") continue;
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return clean;
}

struct PaxOverrides {
  std::string path;
  std::optional<std::uint64_t> size;
};

// Records "LENGTH KEY=VALUE\n", where LENGTH counts the whole record.
Result<PaxOverrides> parse_pax(ByteSpan content) {
  PaxOverrides overrides;
  std::string_view text = as_text(content);
  while (!text.empty()) {
    std::uint64_t length = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
    const std::size_t digits = static_cast<std::size_t>(end - text.data());
    if (code != std::errc{} || length > text.size() || length < digits + 2 || text[digits] != ' ' ||
        text[length - 1] != '\n') {
      return corrupt("malformed pax header");
    }
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return corrupt("malformed pax header");
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") {
      if (value.find('\0') != std::string_view::npos) return corrupt("pax path with a NUL byte");
      overrides.path = value;
    } else if (key == "size") {
      std::uint64_t size = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), size);
      if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size()) {
        return corrupt("malformed pax size '" + printable(value) + "'");
      }
      overrides.size = size;
    } else if (key.starts_with("GNU.sparse")) {
      return corrupt("sparse files are not supported");
    }
  }
  return overrides;
}

std::string type_text(char type) {
  switch (type) {
    case '1':
      return "hard link";
    case '2':
      return "symbolic link";
    case '3':
    case '4':
      return "device";
    case '6':
      return "pipe";
    case 'K':
      return "long link name";
    case 'S':
      return "sparse file";
    default:
      return "entry of type '" + printable(std::string_view(&type, 1)) + "'";
  }
}

}  // namespace

Result<ByteSpan> TarReader::take_content(std::uint64_t size, const std::string& name) {
  const std::size_t left = archive_.size() - position_;
  if (size > left) {
    return corrupt("entry '" + printable(name) + "': claims " + std::to_string(size) +
                   " bytes, but only " + std::to_string(left) + " follow");
  }
  const ByteSpan content = archive_.subspan(position_, size);
  const std::size_t padded = (size + kBlock - 1) / kBlock * kBlock;
  if (padded > left) return corrupt("entry '" + printable(name) + "': truncated padding");
  position_ += padded;
  return content;
}

Result<void> TarReader::check_end() const {
  const ByteSpan rest = archive_.subspan(position_);
  if (rest.size() < kBlock) return corrupt("truncated: ends within its end mark");
  if (!all_zero(rest)) {
    return corrupt("data after the end mark at byte " + std::to_string(position_));
  }
  return {};
}

Result<bool> TarReader::next(TarEntry& entry) {
  PaxOverrides overrides;
  std::string long_name;
  for (;;) {
    const std::string place = "byte " + std::to_string(position_);
    if (archive_.size() - position_ < kBlock) {
      return corrupt("truncated: " + place + ": no end mark");
    }
    const ByteSpan header = archive_.subspan(position_, kBlock);
    position_ += kBlock;
    if (all_zero(header)) {
      SOTTO_CHECK(check_end());
      position_ -= kBlock;  // a further call finds the end mark again
      return false;
    }
    if (!checksum_matches(header)) return corrupt(place + ": wrong tar header checksum");
    std::string name = header_name(header);
    const auto claimed = number_field(header, kSize);
    if (!claimed) return corrupt("entry '" + printable(name) + "': malformed size");

    const char type = static_cast<char>(header[kType]);
    if (type == 'x' || type == 'g') {
      SOTTO_TRY(const ByteSpan content, take_content(*claimed, name));
      auto parsed = parse_pax(content);
      if (!parsed) return at("entry '" + printable(name) + "'", parsed.error());
      if (type == 'x') overrides = std::move(*parsed);
      continue;
    }
    if (type == 'L') {
      if (*claimed > kMostNameBytes) return corrupt(place + ": name of more than 4096 bytes");
      SOTTO_TRY(const ByteSpan content, take_content(*claimed, name));
      const std::string_view text = as_text(content);
      long_name = text.substr(0, text.find('\0'));
      continue;
    }

    if (!long_name.empty()) name = long_name;
    if (!overrides.path.empty()) name = overrides.path;
    SOTTO_TRY(std::string safe, safe_name(name));
    const bool folder = type == '5' || (type == '\0' && name.back() == '/');
    if (!folder && type != '0' && type != '\0' && type != '7') {
      return corrupt("entry '" + printable(name) + "': " + type_text(type) +
                     "; only files and folders are read");
    }
    if (!folder && safe.empty()) return corrupt("entry '" + printable(name) + "': not a file name");
    const std::uint64_t size = folder ? 0 : overrides.size.value_or(*claimed);
    SOTTO_TRY(const ByteSpan content, take_content(size, name));
    entry = {std::move(safe), folder, content};
    return true;
  }
}

}  // namespace sotto
