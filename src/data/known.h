// Where the files of a known set lie on this machine.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "sotto/data.h"

namespace sotto {

/// The folders that are searched for known sets: `folder` alone when given, else $SOTTO_DATA (where
/// set) and the cache.
std::vector<std::filesystem::path> data_folders(const std::filesystem::path& folder);

struct FoundSet {
  std::filesystem::path folder;
  const DataVariant* variant;
};

/// The first variant whose files are all there, in the first folder that has one.
std::optional<FoundSet> find_files(const KnownSet& set, const std::filesystem::path& folder);

/// True when every file of the variant has an official address.
bool has_address(const DataVariant& variant);

/// The variant that is downloaded: the first, since it is the official one where one exists.
const DataVariant& variant_to_fetch(const KnownSet& set);

/// "not found": where it was looked for, and the commands that get it.
Error missing_set(const KnownSet& set, const std::filesystem::path& folder);

/// "no such set", with the nearest valid name.
Error unknown_set(std::string_view name);

}  // namespace sotto
