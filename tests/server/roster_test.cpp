#include "server/coordinator/roster.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace sotto::rpc {
namespace {

TEST(Roster, ANameKeepsItsPlaceOverRestarts) {
  const TemporaryFolder folder;
  {
    Roster roster = Roster::open(folder / "roster.txt", 3).value();
    EXPECT_EQ(roster.join("ada", std::nullopt), 0U);
    EXPECT_EQ(roster.join("bob", 2U), 2U);
    EXPECT_EQ(roster.join("ada", std::nullopt), 0U);
  }
  Roster roster = Roster::open(folder / "roster.txt", 3).value();
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

TEST(Roster, APlaceThatIsGivenBackIsFreeAlsoAfterARestart) {
  const TemporaryFolder folder;
  {
    Roster roster = Roster::open(folder / "roster.txt", 2).value();
    EXPECT_EQ(roster.join("ada", std::nullopt), 0U);
    EXPECT_EQ(roster.join("bob", std::nullopt), 1U);
    EXPECT_FALSE(roster.join("cyd", std::nullopt));
    EXPECT_TRUE(roster.leave("ada"));
    EXPECT_TRUE(roster.leave("ada"));  // no harm
    EXPECT_EQ(roster.find("ada"), std::nullopt);
    EXPECT_EQ(roster.join("cyd", 0U), 0U);
  }
  Roster roster = Roster::open(folder / "roster.txt", 2).value();
  EXPECT_EQ(roster.find("cyd"), 0U);
  EXPECT_EQ(roster.find("bob"), 1U);
  EXPECT_EQ(roster.holder(0), "cyd");
  EXPECT_EQ(roster.size(), 2U);
}

TEST(Roster, APlaceIsTakenOnlyFromWhoIsGone) {
  const TemporaryFolder folder;
  const auto file = folder / "roster.txt";
  {
    Roster roster = Roster::open(file, 2).value();
    ASSERT_TRUE(roster.join("ada", 0U));
    ASSERT_TRUE(roster.join("bob", 1U));
    const Roster::Gone nobody = [](const std::string&) { return false; };
    const Roster::Gone bob = [](const std::string& name) { return name == "bob"; };
    EXPECT_FALSE(roster.join("cyd", std::nullopt, nobody));
    EXPECT_FALSE(roster.join("cyd", 0U, bob));
    EXPECT_EQ(roster.join("cyd", std::nullopt, bob), 1U);
    EXPECT_EQ(roster.find("bob"), std::nullopt);
    // Who has a place keeps it, whatever is said of it.
    EXPECT_EQ(roster.join("cyd", std::nullopt, [](const std::string&) { return true; }), 1U);
  }
  EXPECT_EQ(read_text(file).value(), "0 ada\n1 bob\nfree 1\n1 cyd\n");
  EXPECT_EQ(Roster::open(file, 2).value().holder(1), "cyd");
}

TEST(Roster, RefusesAFileThatIsNoRoster) {
  const TemporaryFolder folder;
  for (const char* text :
       {"\n", "[]\n", "{\"a\": 1}\n", "-1 a\n", "3 a\n", "1 a\n1 b\n", "1 a\n2 a\n", "1\n", "1 \n",
        "1 a b\n", "99999999999 a\n", "free\n", "free 1\n", "free \n", "1 a\nfree 2\n",
        "1 a\nfree 1 a\n", "1 a\nfree 1\nfree 1\n"}) {
    EXPECT_FALSE(Roster::open(folder.write("r", text), 3)) << text;
  }
}

TEST(Roster, AJoinThatWasCutShortWasNeverTold) {
  const TemporaryFolder folder;
  for (const char* rest : {"", "1", "1 ", "1 bo"}) {
    const auto file = folder.write("r", std::string("0 ada\n") + rest);
    {
      Roster roster = Roster::open(file, 3).value();
      EXPECT_EQ(roster.size(), 1U);
      EXPECT_EQ(roster.join("cyd", std::nullopt), 1U);
    }
    EXPECT_EQ(read_text(file).value(), "0 ada\n1 cyd\n");
  }
}

/// Each join adds its own line and leaves the others alone.
TEST(Roster, WhoComesBackHasItsOldPlaceWhereItIsFree) {
  const TemporaryFolder folder;
  {
    Roster roster = Roster::open(folder / "roster", 3).value();
    ASSERT_EQ(roster.join("ada", std::nullopt), 0U);
    ASSERT_EQ(roster.join("bob", std::nullopt), 1U);
    ASSERT_TRUE(roster.leave("ada"));
    ASSERT_TRUE(roster.leave("bob"));
    EXPECT_EQ(roster.join("bob", std::nullopt), 1U);
    EXPECT_FALSE(roster.moved());
    EXPECT_EQ(roster.join("cyd", std::nullopt), 0U);
    EXPECT_EQ(roster.join("ada", std::nullopt), 2U);
    EXPECT_TRUE(roster.moved());
  }
  EXPECT_TRUE(Roster::open(folder / "roster", 3).value().moved());
}

TEST(Roster, NobodyComesAndGoesWithoutEnd) {
  const TemporaryFolder folder;
  Roster roster = Roster::open({}, 3).value();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(roster.join("ada", std::nullopt)) << i;
    ASSERT_TRUE(roster.leave("ada"));
  }
  EXPECT_FALSE(roster.join("ada", std::nullopt));
  EXPECT_TRUE(roster.join("bob", std::nullopt));
}

TEST(Roster, AJoinIsOneLineMore) {
  const TemporaryFolder folder;
  const auto file = folder / "roster.txt";
  Roster roster = Roster::open(file, 2000).value();
  std::size_t size = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "client-" + std::to_string(i);
    ASSERT_EQ(roster.join(name, std::nullopt), static_cast<std::uint32_t>(i));
    size += std::to_string(i).size() + 1 + name.size() + 1;
    ASSERT_EQ(std::filesystem::file_size(file), size);
  }
  EXPECT_EQ(Roster::open(file, 2000).value().size(), 300U);
}

}  // namespace
}  // namespace sotto::rpc
