#include "rpc/roster.h"

#include <algorithm>
#include <charconv>

namespace sotto::rpc {

Result<void> check_name(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const bool prints = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (!name.empty() && name.size() <= kLongest && prints) return {};
  return fail(ErrorKind::kUsage,
              "a name of a federation's member has 1 to 64 printable characters and no spaces");
}

Result<Roster> Roster::open(const std::filesystem::path& file, std::size_t clients) {
  Roster roster(clients);
  if (file.empty()) return roster;
  std::string text;
  if (std::filesystem::exists(file)) {
    SOTTO_TRY(text, read_text(file));
  }
  // Behind the last end of a line is what was never told.
  text.resize(text.rfind('\n') + 1);
  if (!roster.read(text)) {
    return fail(ErrorKind::kCorrupt, file.string() + ": not a list of places and clients");
  }
  SOTTO_TRY(roster.file_, AppendedFile::open(file, text.size()));
  return roster;
}

Result<void> Roster::read(const std::string& text) {
  const auto bad = [] { return fail(ErrorKind::kCorrupt, "not a list of places and clients"); };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const char* const last = text.data() + end;
    std::uint32_t place = 0;
    const auto [rest, code] = std::from_chars(text.data() + begin, last, place);
    if (code != std::errc() || rest == last || *rest != ' ') return bad();
    const std::string name(rest + 1, last);
    if (!check_name(name) || place >= clients_ || !take(name, place)) return bad();
    begin = end + 1;
  }
  return {};
}

bool Roster::take(const std::string& name, std::uint32_t place) {
  if (names_.contains(place) || !places_.emplace(name, place).second) return false;
  names_.emplace(place, name);
  while (names_.contains(first_free_)) ++first_free_;
  return true;
}

std::optional<std::uint32_t> Roster::find(const std::string& name) const {
  const auto it = places_.find(name);
  return it == places_.end() ? std::nullopt : std::optional(it->second);
}

Result<std::uint32_t> Roster::join(const std::string& name, std::optional<std::uint32_t> wanted) {
  SOTTO_CHECK(check_name(name));
  if (const auto place = find(name)) {
    if (!wanted || *wanted == *place) return *place;
    return fail(ErrorKind::kRefused, "'" + name + "' is client " + std::to_string(*place) +
                                         " already and cannot be client " +
                                         std::to_string(*wanted) + " too");
  }
  if (wanted && (*wanted >= clients_ || names_.contains(*wanted))) {
    return fail(ErrorKind::kRefused, "client " + std::to_string(*wanted) +
                                         (*wanted >= clients_ ? " is not one of the recipe's "
                                                              : " is another's place of the ") +
                                         std::to_string(clients_));
  }
  const std::uint32_t place = wanted.value_or(first_free_);
  if (place >= clients_) {
    return fail(ErrorKind::kRefused,
                "all " + std::to_string(clients_) + " clients of the recipe are here");
  }
  if (file_) SOTTO_CHECK(file_->append(std::to_string(place) + ' ' + name + '\n'));
  take(name, place);
  return place;
}

}  // namespace sotto::rpc
