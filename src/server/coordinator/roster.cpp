#include "server/coordinator/roster.h"

#include <algorithm>
#include <charconv>

namespace sotto::rpc {
namespace {

constexpr std::string_view kFree = "free ";
/// More often nobody joins a training.
constexpr unsigned kMostTimes = 1000;

std::string free_line(std::uint32_t place) {
  return std::string(kFree) + std::to_string(place) + '\n';
}

}  // namespace

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
    const bool freed = std::string_view(text).substr(begin, end - begin).starts_with(kFree);
    std::uint32_t place = 0;
    const auto [rest, code] =
        std::from_chars(text.data() + begin + (freed ? kFree.size() : 0), last, place);
    begin = end + 1;
    if (code != std::errc() || place >= clients_) return bad();
    if (freed) {
      if (rest != last || !give_back(place)) return bad();
      continue;
    }
    if (rest == last || *rest != ' ') return bad();
    const std::string name(rest + 1, last);
    if (!check_name(name) || !take(name, place)) return bad();
  }
  return {};
}

bool Roster::take(const std::string& name, std::uint32_t place) {
  if (names_.contains(place) || !places_.emplace(name, place).second) return false;
  names_.emplace(place, name);
  ++times_[name];
  const auto [first, fresh] = first_places_.try_emplace(name, place);
  moved_ |= !fresh && first->second != place;
  while (names_.contains(first_free_)) ++first_free_;
  return true;
}

bool Roster::give_back(std::uint32_t place) {
  const auto it = names_.find(place);
  if (it == names_.end()) return false;
  places_.erase(it->second);
  names_.erase(it);
  first_free_ = std::min(first_free_, place);
  return true;
}

Result<void> Roster::leave(const std::string& name) {
  const auto place = find(name);
  if (!place) return {};
  if (file_) SOTTO_CHECK(file_->append(free_line(*place)));
  give_back(*place);
  return {};
}

std::optional<std::string> Roster::holder(std::uint32_t place) const {
  const auto it = names_.find(place);
  return it == names_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<std::uint32_t> Roster::first_place(const std::string& name) const {
  const auto it = first_places_.find(name);
  return it == first_places_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<std::uint32_t> Roster::find(const std::string& name) const {
  const auto it = places_.find(name);
  return it == places_.end() ? std::nullopt : std::optional(it->second);
}

Result<std::uint32_t> Roster::join(const std::string& name, std::optional<std::uint32_t> wanted,
                                   const Gone& gone) {
  SOTTO_CHECK(check_name(name));
  if (const auto place = find(name)) {
    if (!wanted || *wanted == *place) return *place;
    return fail(ErrorKind::kRefused, "'" + name + "' is client " + std::to_string(*place) +
                                         " already and cannot be client " +
                                         std::to_string(*wanted) + " too");
  }
  if (const auto times = times_.find(name); times != times_.end() && times->second >= kMostTimes) {
    return fail(ErrorKind::kRefused,
                "'" + name + "' has joined and left " + std::to_string(kMostTimes) + " times");
  }
  const auto is_gone = [&](std::uint32_t place) { return gone && gone(names_.at(place)); };
  if (wanted && (*wanted >= clients_ || (names_.contains(*wanted) && !is_gone(*wanted)))) {
    return fail(ErrorKind::kRefused, "client " + std::to_string(*wanted) +
                                         (*wanted >= clients_ ? " is not one of the recipe's "
                                                              : " is another's place of the ") +
                                         std::to_string(clients_));
  }
  std::uint32_t place = wanted.value_or(first_free_);
  // Whoever comes back has its old place again where that is to be had.
  if (const auto before = first_places_.find(name); !wanted && before != first_places_.end()) {
    const bool taken = names_.contains(before->second);
    if (!taken || is_gone(before->second)) place = before->second;
  }
  if (place >= clients_) {
    const auto left =
        std::ranges::find_if(names_, [&](const auto& entry) { return gone && gone(entry.second); });
    if (left == names_.end()) {
      return fail(ErrorKind::kRefused,
                  "all " + std::to_string(clients_) + " clients of the recipe are here");
    }
    place = left->first;
  }
  const bool taken = names_.contains(place);
  const std::string line = std::to_string(place) + ' ' + name + '\n';
  if (file_) SOTTO_CHECK(file_->append(taken ? free_line(place) + line : line));
  if (taken) give_back(place);
  take(name, place);
  return place;
}

}  // namespace sotto::rpc
