// Downloads from a real server on the loopback interface: whole, resumed, refused. In every case
// the final name appears only with the right content.
#include "data/fetch.h"

#include <gtest/gtest.h>
#include <httplib.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/sha256.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

class Fetch : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < content_.size(); ++i) {
      content_[i] = static_cast<char>((i * 2654435761U) >> 24);
    }
    serve();
    port_ = server_.bind_to_any_port("127.0.0.1");
    ASSERT_GT(port_, 0);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }

  void TearDown() override {
    server_.stop();
    thread_.join();
    fs::remove_all(folder_);
  }

  void serve() {
    const auto remember = [this](const httplib::Request& request) {
      const std::lock_guard lock(mutex_);
      ranges_.push_back(request.get_header_value("Range"));
    };
    const auto whole = [this, remember](const httplib::Request& request,
                                        httplib::Response& answer) {
      remember(request);
      answer.set_content(content_, "application/gzip");
    };
    server_.Get("/good/toy/file.gz", whole);
    server_.Get(
        "/deaf/toy/file.gz", [whole](const httplib::Request& request, httplib::Response& answer) {
          whole(request, answer);
          const_cast<httplib::Request&>(request).ranges.clear();  // a server that knows no ranges
        });
    server_.Get("/wrong/toy/file.gz", [](const httplib::Request&, httplib::Response& answer) {
      answer.set_content("something else", "application/gzip");
    });
    server_.Get("/moved/toy/file.gz", [](const httplib::Request&, httplib::Response& answer) {
      answer.set_redirect("/good/toy/file.gz");
    });
    server_.Get("/cut/toy/file.gz", [this, remember](const httplib::Request& request,
                                                     httplib::Response& answer) {
      remember(request);
      answer.set_content_provider(content_.size(), "application/gzip",
                                  [this](std::size_t offset, std::size_t, httplib::DataSink& sink) {
                                    if (offset >= kCutAt) return false;
                                    sink.write(content_.data() + offset, kCutAt - offset);
                                    return true;
                                  });
    });
    server_.Get(
        "/shifted/toy/file.gz", [this](const httplib::Request& request, httplib::Response& answer) {
          answer.status = 206;
          answer.set_header("Content-Range", "bytes 5-9/" + std::to_string(content_.size()));
          answer.set_content(content_.substr(5, 5), "application/gzip");
          const_cast<httplib::Request&>(request).ranges.clear();
        });
    server_.Get("/failing/toy/file.gz", [](const httplib::Request&, httplib::Response& answer) {
      answer.status = 503;
      answer.set_content("the server is ill", "text/plain");
    });
  }

  KnownSet set() const {
    KnownSet set{};
    set.name = "toy";
    set.variants = {
        {.name = "only", .caution = "", .files = {{"toy/file.gz", sha256_hex(content_), ""}}}};
    return set;
  }

  Result<void> fetch(const std::string& from) {
    return fetch_set(
        set(), folder_,
        [this](const DataFile&, std::uint64_t done, std::uint64_t total) {
          EXPECT_FALSE(fs::exists(final_)) << "in place before it was verified";
          EXPECT_LE(done, total);
          progress_calls_++;
        },
        "http://127.0.0.1:" + std::to_string(port_) + "/" + from);
  }

  void put(const fs::path& path, std::string_view text) {
    ASSERT_TRUE(write_file_atomically(path, text));
  }

  std::string text(const fs::path& path) { return read_text(path).value_or("(no file)"); }

  static constexpr std::size_t kCutAt = 150'000;
  std::string content_ = std::string(400'000, '\0');
  httplib::Server server_;
  std::thread thread_;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<std::string> ranges_;
  int progress_calls_ = 0;
  fs::path folder_ = fs::temp_directory_path() / ("sotto-fetch-" + std::to_string(::getpid()));
  fs::path final_ = folder_ / "toy/file.gz";
  fs::path part_ = folder_ / "toy/file.gz.part";
};

TEST_F(Fetch, DownloadsAndVerifies) {
  const auto done = fetch("good");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(text(final_), content_);
  EXPECT_FALSE(fs::exists(part_));
  EXPECT_GT(progress_calls_, 0);
  EXPECT_EQ(ranges_, std::vector<std::string>{""});
}

TEST_F(Fetch, TrailingSlashOfTheMirrorDoesNotMatter) { EXPECT_TRUE(fetch("good/")); }

TEST_F(Fetch, DoesNotDownloadWhatIsThere) {
  put(final_, content_);
  server_.stop();
  EXPECT_TRUE(fetch("good"));
}

TEST_F(Fetch, DoesNotOverwriteAFileWithAnotherContent) {
  put(final_, "mine");
  const auto done = fetch("good");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(text(final_), "mine");
  EXPECT_TRUE(ranges_.empty());
}

TEST_F(Fetch, ResumesAfterACutConnection) {
  const auto cut = fetch("cut");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::kIo);
  EXPECT_NE(cut.error().message.find("are kept"), std::string::npos) << cut.error().message;
  EXPECT_FALSE(fs::exists(final_));
  const auto size = fs::file_size(part_);
  ASSERT_GT(size, 0U);
  ASSERT_LE(size, kCutAt);

  const auto done = fetch("good");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(ranges_.back(), "bytes=" + std::to_string(size) + "-");
  EXPECT_EQ(text(final_), content_);
  EXPECT_FALSE(fs::exists(part_));
}

TEST_F(Fetch, RestartsWhereTheServerKnowsNoRanges) {
  put(part_, "some old beginning that is not even right");
  const auto done = fetch("deaf");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(ranges_.back(), "bytes=41-");
  EXPECT_EQ(text(final_), content_);
}

TEST_F(Fetch, RefusesAnAnswerThatStartsElsewhere) {
  put(part_, content_.substr(0, 100));
  ASSERT_FALSE(fetch("shifted"));
  EXPECT_FALSE(fs::exists(final_));
  EXPECT_EQ(text(part_), content_.substr(0, 100));
}

TEST_F(Fetch, RenamesAPartThatIsComplete) {
  put(part_, content_);
  const auto done = fetch("good");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(text(final_), content_);
}

TEST_F(Fetch, RestartsAPartThatIsTooLong) {
  put(part_, content_ + "and more");
  const auto done = fetch("good");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(text(final_), content_);
}

TEST_F(Fetch, WrongHashDeletesThePartAlone) {
  put(folder_ / "toy/neighbour", "stays");
  const auto done = fetch("wrong");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kCorrupt);
  EXPECT_NE(done.error().message.find(sha256_hex("something else")), std::string::npos);
  EXPECT_NE(done.error().message.find("file.gz.part was deleted"), std::string::npos);
  EXPECT_FALSE(fs::exists(final_));
  EXPECT_FALSE(fs::exists(part_));
  EXPECT_EQ(text(folder_ / "toy/neighbour"), "stays");
}

TEST_F(Fetch, CorruptPartIsFoundByTheHash) {
  put(part_, std::string(1000, 'x'));
  const auto done = fetch("good");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kCorrupt);
  EXPECT_FALSE(fs::exists(final_));
  EXPECT_TRUE(fetch("good"));
  EXPECT_EQ(text(final_), content_);
}

TEST_F(Fetch, SaysWhatTheServerAnswered) {
  put(part_, "abc");
  const auto gone = fetch("nowhere");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(gone.error().message.find("404"), std::string::npos);
  const auto failing = fetch("failing");
  ASSERT_FALSE(failing);
  EXPECT_NE(failing.error().message.find("503"), std::string::npos);
  EXPECT_EQ(text(part_), "abc") << "an error page is not data";
  EXPECT_FALSE(fs::exists(final_));
}

TEST_F(Fetch, LeavesNothingWhereNothingArrived) {
  ASSERT_FALSE(fetch("nowhere"));
  EXPECT_TRUE(fs::is_empty(folder_ / "toy"));
}

TEST_F(Fetch, FollowsRedirects) {
  put(part_, content_.substr(0, 1000));
  const auto done = fetch("moved");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(text(final_), content_);
  EXPECT_EQ(ranges_.back(), "bytes=1000-");
}

TEST_F(Fetch, NobodyListening) {
  server_.stop();
  const auto done = fetch("good");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kIo);
}

TEST_F(Fetch, OnlyHttpAndHttps) {
  for (const char* mirror :
       {"ftp://127.0.0.1", "file:///etc", "127.0.0.1", "http://", "http:///x"}) {
    const auto done = fetch_set(set(), folder_, {}, mirror);
    ASSERT_FALSE(done) << mirror;
    EXPECT_EQ(done.error().kind, ErrorKind::kUsage) << mirror << ": " << done.error().message;
  }
}

TEST_F(Fetch, SetsWithoutAnAddressNeedAMirror) {
  const auto done = fetch_set(set(), folder_, {});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("--mirror"), std::string::npos);
}

TEST_F(Fetch, UnwritableFolderIsReported) {
  put(folder_ / "toy", "a file where a folder must be");
  const auto done = fetch("good");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kIo);
}

}  // namespace
}  // namespace sotto
