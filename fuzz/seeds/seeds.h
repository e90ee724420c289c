// Where the first inputs of fuzz targets go.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "data/formats/make.h"

namespace sotto::fuzz {

class SeedFolder {
 public:
  explicit SeedFolder(std::filesystem::path root) : root_(std::move(root)) {}
  void add(const std::string& target, const std::string& name, const make::Bytes& content) const {
    std::filesystem::create_directories(root_ / target);
    std::ofstream(root_ / target / name, std::ios::binary) << as_text(content);
  }

 private:
  std::filesystem::path root_;
};

/// Of the targets that read keys, certificates, policies, signatures and sealed chunks.
void write_identity(const SeedFolder& seeds, const make::Bytes& envelope);
/// Of the targets that read what a federation sends and keeps.
void write_federation(const SeedFolder& seeds, const make::Bytes& envelope);

}  // namespace sotto::fuzz
