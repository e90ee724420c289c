// Downloads the files of a known set: resumable, and in place only when their hash is right.
//
// A file grows as FILE.part beside its place; when it is complete and its SHA-256 is the catalogued
// one, it is synced and renamed. What has the right name therefore has the right content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "sotto/data.h"

namespace sotto {

/// Called while a file arrives; `total` is 0 until the server has told it.
using FetchProgress =
    std::function<void(const DataFile& file, std::uint64_t done, std::uint64_t total)>;

/// Downloads into `folder` the files of the set's first variant that are not there already with
/// the right hash. `mirror` replaces the official addresses: a file is then asked for as
/// MIRROR/PATH with its path below the data folder.
Result<void> fetch_set(const KnownSet& set, const std::filesystem::path& folder,
                       const FetchProgress& progress, const std::string& mirror = "");

}  // namespace sotto
