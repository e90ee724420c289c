// A small federation of its own for every test.
#pragma once

#include <gtest/gtest.h>

#include "base/file.h"
#include "sotto/identity.h"
#include "temporary_folder.h"

namespace sotto::identity {

inline std::vector<NodeOptions> small_federation() {
  std::vector<NodeOptions> nodes(4);
  nodes[0].role = Role::kServer;
  nodes[0].name = "server";
  nodes[1].role = Role::kShuffler;
  nodes[1].name = "shuffler";
  nodes[2].name = "alice";
  nodes[3].name = "bob";
  return nodes;
}

class Federation : public ::testing::Test {
 protected:
  TemporaryFolder home_;
  std::filesystem::path folder_ = home_ / "fed";
  Authority authority_ = Authority::create(folder_, small_federation()).value();

  Bundle bundle(const std::string& name, Role role = Role::kClient) const {
    return Bundle::read(folder_ / name, role).value();
  }
};

/// The error's message holds every part.
template <class T>
void expect_error(const Result<T>& result, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result.has_value());
  for (const std::string& part : parts) {
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  }
}

}  // namespace sotto::identity
