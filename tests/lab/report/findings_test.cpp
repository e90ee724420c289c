// Findings of audits and attacks: what is written is read again, and damage is named.
#include "report/findings.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace sotto {
namespace {

class Findings : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(folder_ / file, text));
  }
  std::string error() {
    const auto read = read_findings(folder_);
    return read ? "" : read.error().message;
  }

  std::filesystem::path folder_;
  FindingsPage page_{"An <audit>",
                     "today",
                     "quick",
                     {"what", "found"},
                     {{"epsilon", "at least 1"}},
                     {"a note"},
                     {{"a.svg", "<svg>one</svg>\n"}}};
};

TEST_F(Findings, AreReadAsTheyWereWritten) {
  EXPECT_FALSE(holds_findings(folder_));
  ASSERT_TRUE(write_findings_page(folder_, page_));
  EXPECT_TRUE(holds_findings(folder_));
  const auto read = read_findings(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->rows, page_.rows);
  EXPECT_EQ(read->figures.front().svg, page_.figures.front().svg);
  EXPECT_EQ(render_findings({*read}), render_findings({page_}));
  EXPECT_EQ(read_text(folder_ / "report.html").value(), render_findings({page_}));
  const std::string html = render_findings({page_});
  EXPECT_NE(html.find("An &lt;audit&gt;"), std::string::npos);
  EXPECT_NE(html.find("<svg>one</svg>"), std::string::npos);
  EXPECT_NE(render_findings({page_, page_}).find("2 findings"), std::string::npos);
  // A run is shown as a run.
  write("run.json", "{}");
  EXPECT_FALSE(holds_findings(folder_));
}

TEST_F(Findings, DamageIsNamed) {
  ASSERT_TRUE(write_findings_page(folder_, page_));
  const std::string whole = read_text(folder_ / "page.json").value();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    write("page.json", text);
    return error();
  };
  EXPECT_NE(with("sotto.page.v1", "sotto.page.v9").find("sotto.page.v9"), std::string::npos);
  EXPECT_NE(with("\"columns\"", "\"column\"").find("columns"), std::string::npos);
  EXPECT_NE(with("\"at least 1\"", "\"1\", \"2\"").find("3 cells"), std::string::npos);
  EXPECT_NE(with("\"at least 1\"", "7").find("rows"), std::string::npos);
  EXPECT_NE(with("a.svg", "../a.svg").find("of this folder"), std::string::npos);
  EXPECT_NE(with("a.svg", "b.svg").find("b.svg"), std::string::npos);
  write("page.json", whole.substr(0, whole.size() / 2));
  EXPECT_NE(error(), "");
  write("page.json", whole);
  write("a.svg", "<script>");
  EXPECT_NE(error().find("not a picture"), std::string::npos);
}

}  // namespace
}  // namespace sotto
