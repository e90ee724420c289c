// Who is which client of the recipe: a name gets a place, once, and keeps it over restarts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "sotto/result.h"

namespace sotto::rpc {

/// 1 to 64 characters that print, without spaces.
Result<void> check_name(const std::string& name);

class Roster {
 public:
  /// `clients` places; what `file` remembers is taken over. An empty path remembers nothing.
  static Result<Roster> open(std::filesystem::path file, std::size_t clients);

  /// The place of this name: the one that it has, the wanted one, or the first that is free.
  Result<std::uint32_t> join(const std::string& name, std::optional<std::uint32_t> wanted);
  std::optional<std::uint32_t> find(const std::string& name) const;
  std::size_t size() const noexcept { return places_.size(); }

 private:
  Roster(std::filesystem::path file, std::size_t clients)
      : file_(std::move(file)), clients_(clients) {}
  Result<void> keep() const;

  std::filesystem::path file_;
  std::size_t clients_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
  std::map<std::uint32_t, std::string> names_;
};

}  // namespace sotto::rpc
