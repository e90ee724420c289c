// Grids: values are parted where they should be, mistakes are named, folders tell values apart.
#include "experiment/sweep_grid.h"

#include <gtest/gtest.h>

#include <set>

namespace sotto {
namespace {

using Values = std::vector<std::string>;

Values values_of(const std::string& text) {
  const Result<Vary> vary = parse_vary(text);
  EXPECT_TRUE(vary.has_value()) << (vary ? "" : vary.error().message);
  return vary ? vary->values : Values{};
}

std::string error_of(const std::string& text) {
  const Result<Vary> vary = parse_vary(text);
  EXPECT_FALSE(vary.has_value()) << text;
  return vary ? "" : vary.error().message;
}

TEST(Vary, CutsAtCommasOutsideBracketsAndQuotes) {
  EXPECT_EQ(values_of("privacy.epsilon=1, 2,3.5"), (Values{"1", "2", "3.5"}));
  EXPECT_EQ(values_of("data.mean=[0.1],[0.2]"), (Values{"[0.1]", "[0.2]"}));
  EXPECT_EQ(values_of("data.resize=[3, 8, 8],[1,8,8]"), (Values{"[3, 8, 8]", "[1,8,8]"}));
  EXPECT_EQ(values_of("data.partition=dirichlet(0.5),iid"), (Values{"dirichlet(0.5)", "iid"}));
  EXPECT_EQ(values_of("data.name=\"a,b\",'c,d'"), (Values{"\"a,b\"", "'c,d'"}));
}

TEST(Vary, NamesWhatIsWrong) {
  EXPECT_NE(error_of("privacy.epsilom=1").find("did you mean 'privacy.epsilon'"),
            std::string::npos);
  EXPECT_NE(error_of("epsilon=1").find("did you mean 'privacy.epsilon'"), std::string::npos);
  EXPECT_NE(error_of("train.seed=1").find("did you mean 'federation.seed'"), std::string::npos);
  EXPECT_NE(error_of("privacy.epsilon").find("write section.key=a,b,c"), std::string::npos);
  EXPECT_NE(error_of("privacy.epsilon=1,,2").find("empty"), std::string::npos);
  EXPECT_NE(error_of("privacy.epsilon=1,2,1").find("'1' is given twice"), std::string::npos);
  EXPECT_NE(error_of("data.mean=[0.1,0.2").find("']' is missing"), std::string::npos);
  EXPECT_NE(error_of("data.name=\"a").find("does not end"), std::string::npos);
  EXPECT_NE(error_of("output.name=a,b").find("[output]"), std::string::npos);
}

TEST(Combinations, AreAllOfThemTheLastKeyFastest) {
  const std::vector<Vary> keys = {{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}};
  const auto all = combinations(keys);
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->size(), 6U);
  EXPECT_EQ((*all)[0], (Combination{{"a", "1"}, {"b", "x"}}));
  EXPECT_EQ((*all)[1], (Combination{{"a", "1"}, {"b", "y"}}));
  EXPECT_EQ((*all)[5], (Combination{{"a", "2"}, {"b", "z"}}));
  EXPECT_EQ(combinations({})->size(), 1U);
  EXPECT_FALSE(combinations({{"a", {"1"}}, {"a", {"2"}}}).has_value());
  EXPECT_FALSE(combinations(keys, 5).has_value());
}

TEST(FolderName, TellsValuesApartAndDoesNotDependOnOthers) {
  const std::vector<Vary> keys = {{"privacy.epsilon", {}}, {"data.mean", {}}};
  EXPECT_EQ(folder_name({{"privacy.epsilon", "3"}}, keys), "epsilon=3");
  EXPECT_EQ(folder_name({{"privacy.epsilon", "3"}, {"data.mean", "[0.1]"}}, keys),
            "epsilon=3_mean=0.1");
  EXPECT_EQ(folder_name({{"data.name", "a"}}, {{"data.name", {}}, {"model.name", {}}}),
            "data.name=a");
  std::set<std::string> names;
  for (const char* value : {"[1, 2]", "[1,2]", "1-2", "1/2", "1_2", "a b", "ab", "../x", "%"}) {
    const std::string name = folder_name({{"data.name", value}}, {});
    EXPECT_EQ(name.find('/'), std::string::npos);
    names.insert(name);
  }
  EXPECT_GE(names.size(), 7U);  // "[1, 2]" and "[1,2]", "a b" and "ab" mean the same to a recipe
  EXPECT_LT(folder_name({{"data.name", std::string(1000, 'x')}}, {}).size(), 200U);
}

}  // namespace
}  // namespace sotto
