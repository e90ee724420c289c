#include "rpc/roster.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace sotto::rpc {
namespace {

TEST(Roster, ANameKeepsItsPlaceOverRestarts) {
  const TemporaryFolder folder;
  {
    Roster roster = Roster::open(folder / "roster.json", 3).value();
    EXPECT_EQ(roster.join("ada", std::nullopt), 0U);
    EXPECT_EQ(roster.join("bob", 2U), 2U);
    EXPECT_EQ(roster.join("ada", std::nullopt), 0U);
  }
  Roster roster = Roster::open(folder / "roster.json", 3).value();
  EXPECT_EQ(roster.join("bob", std::nullopt), 2U);
  EXPECT_EQ(roster.join("cyd", std::nullopt), 1U);
  EXPECT_FALSE(roster.join("dan", std::nullopt));  // full
}

TEST(Roster, RefusesAnothersPlaceAndPlacesThatAreNotThere) {
  Roster roster = Roster::open({}, 3).value();
  ASSERT_TRUE(roster.join("ada", 1U));
  EXPECT_FALSE(roster.join("bob", 1U));
  EXPECT_FALSE(roster.join("bob", 3U));
  EXPECT_FALSE(roster.join("ada", 2U));
  for (const char* name : {"", "two words", "line\n", "\xff"}) {
    EXPECT_FALSE(roster.join(name, std::nullopt)) << name;
  }
  EXPECT_FALSE(roster.join(std::string(65, 'a'), std::nullopt));
}

TEST(Roster, RefusesAFileThatIsNoRoster) {
  const TemporaryFolder folder;
  for (const char* text : {"", "[]", "{\"a\": -1}", "{\"a\": 3}", "{\"a\": 1, \"b\": 1}", "{"}) {
    EXPECT_FALSE(Roster::open(folder.write("r", text), 3)) << text;
  }
}

}  // namespace
}  // namespace sotto::rpc
