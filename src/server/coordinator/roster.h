// Who is which client of the recipe: a name gets a place, once, and keeps it over restarts.
//
// The file has a line for each client, "PLACE NAME", which is appended and synced before the client
// has its answer: a join costs the same whether it is the first or the ten-thousandth. "free PLACE"
// gives a place back: its client refused to take part, or was gone when another wanted it. A line
// that a crash cut short was answered to nobody and is cut off. Who comes and goes without end is
// refused, so that the file stays short.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/file.h"
#include "sotto/result.h"

namespace sotto::rpc {

/// 1 to 64 characters that print, without spaces.
Result<void> check_name(const std::string& name);

class Roster {
 public:
  /// `clients` places; what `file` remembers is taken over. An empty path remembers nothing.
  static Result<Roster> open(const std::filesystem::path& file, std::size_t clients);

  /// Whether a place may be taken from this name.
  using Gone = std::function<bool(const std::string& name)>;
  /// The place of this name: the one that it has, the wanted one, or the first that is free. A
  /// wanted place that is another's, and any place where none is free, is taken from a holder that
  /// is gone.
  Result<std::uint32_t> join(const std::string& name, std::optional<std::uint32_t> wanted,
                             const Gone& gone = {});
  /// Frees the place of this name, if it has one.
  Result<void> leave(const std::string& name);
  std::optional<std::uint32_t> find(const std::string& name) const;
  /// The place that this name had first in the training.
  std::optional<std::uint32_t> first_place(const std::string& name) const;
  /// Whose place it is, if anybody's.
  std::optional<std::string> holder(std::uint32_t place) const;
  const std::map<std::string, std::uint32_t, std::less<>>& places() const { return places_; }
  std::size_t size() const noexcept { return places_.size(); }
  /// Whether somebody has had two different places: rounds counted by place are then not those of
  /// one client.
  bool moved() const noexcept { return moved_; }

 private:
  explicit Roster(std::size_t clients) : clients_(clients) {}
  Result<void> read(const std::string& text);
  bool take(const std::string& name, std::uint32_t place);
  bool give_back(std::uint32_t place);

  std::optional<AppendedFile> file_;
  std::size_t clients_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
  std::map<std::uint32_t, std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> first_places_;  // of all who ever had one
  std::map<std::string, unsigned, std::less<>> times_;              // that a name has come
  bool moved_ = false;
  std::uint32_t first_free_ = 0;  // no place before it is
};

}  // namespace sotto::rpc
