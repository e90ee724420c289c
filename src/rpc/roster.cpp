#include "rpc/roster.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace sotto::rpc {

Result<void> check_name(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const bool prints = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (!name.empty() && name.size() <= kLongest && prints) return {};
  return fail(ErrorKind::kUsage,
              "a name of a federation's member has 1 to 64 printable characters and no spaces");
}

Result<Roster> Roster::open(std::filesystem::path file, std::size_t clients) {
  Roster roster(std::move(file), clients);
  if (roster.file_.empty() || !std::filesystem::exists(roster.file_)) return roster;
  SOTTO_TRY(const std::string text, read_text(roster.file_));
  const auto bad = [&] {
    return fail(ErrorKind::kCorrupt, roster.file_.string() + ": not a list of clients and places");
  };
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return bad();
  for (const auto& [name, place] : json.items()) {
    if (!check_name(name) || !place.is_number_unsigned() || place.get<std::uint64_t>() >= clients) {
      return bad();
    }
    const auto index = place.get<std::uint32_t>();
    if (!roster.names_.emplace(index, name).second) return bad();
    roster.places_[name] = index;
  }
  return roster;
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
  std::uint32_t place = wanted.value_or(0);
  if (!wanted) {
    while (names_.contains(place)) ++place;
    if (place >= clients_) {
      return fail(ErrorKind::kRefused,
                  "all " + std::to_string(clients_) + " clients of the recipe are here");
    }
  }
  places_[name] = place;
  names_[place] = name;
  if (auto kept = keep(); !kept) {
    places_.erase(name);
    names_.erase(place);
    return tl::unexpected(kept.error());
  }
  return place;
}

Result<void> Roster::keep() const {
  if (file_.empty()) return {};
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, place] : places_) json[name] = place;
  return write_file_atomically(file_, json.dump(2) + '\n');
}

}  // namespace sotto::rpc
