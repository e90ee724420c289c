// Files are written whole or not at all, and a failure leaves nothing behind.
#include "base/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

/// No file may grow beyond `bytes` while this lives: what a full disk looks like to write().
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  sighandler_t handler_;
  rlimit before_{};
};

TEST(WriteFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "new" / "deep" / "file.txt";
  ASSERT_TRUE(write_file_atomically(path, std::string_view("first")));
  EXPECT_EQ(read_text(path).value(), "first");
  ASSERT_TRUE(write_file_atomically(path, std::string_view("2")));
  EXPECT_EQ(read_text(path).value(), "2");
  ASSERT_TRUE(write_file_atomically(path, std::string_view("")));
  EXPECT_EQ(read_text(path).value(), "");
  EXPECT_EQ(TemporaryFolder::entries(path.parent_path()), 1);
}

TEST(WriteFile, AFullDiskKeepsTheOldFileAndLeavesNoTemporary) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file.txt";
  ASSERT_TRUE(write_file_atomically(path, std::string_view("old")));
  Result<void> result;
  {
    const SmallFiles limit(1000);
    result = write_file_atomically(path, std::string(5000, 'x'));
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kIo);
  EXPECT_NE(result.error().message.find(path.string() + ": cannot be written"), std::string::npos);
  EXPECT_EQ(read_text(path).value(), "old");
  EXPECT_EQ(TemporaryFolder::entries(folder.path()), 1);
}

TEST(WriteFile, AFolderInTheWayIsAnError) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "taken");
  const auto result = write_file_atomically(folder.path() / "taken", std::string_view("x"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kIo);
  EXPECT_EQ(TemporaryFolder::entries(folder.path()), 1);
}

TEST(WriteFile, AFileInPlaceOfAParentIsAnError) {
  const TemporaryFolder folder;
  folder.write("file", "x");
  const auto result =
      write_file_atomically(folder.path() / "file" / "below", std::string_view("x"));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find((folder.path() / "file").string()), std::string::npos);
  EXPECT_EQ(read_text(folder.path() / "file").value(), "x");
}

TEST(WriteFile, AFolderThatTakesNoFilesIsAnError) {
  const auto result = write_file_atomically("/proc/sotto.txt", std::string_view("x"));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("cannot be created"), std::string::npos);
}

TEST(WriteFile, AReadOnlyFolderIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write everywhere";
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto result = write_file_atomically(folder.path() / "x", std::string_view("x"));
  fs::permissions(folder.path(), fs::perms::owner_all);
  ASSERT_FALSE(result);
  EXPECT_EQ(TemporaryFolder::entries(folder.path()), 0);
}

// A rename over /dev/stdout or a pipe would put a plain file in the place of a device.
TEST(WriteFile, WhatIsNotARegularFileIsNotReplaced) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto result = write_file_atomically(pipe, std::string_view("x"));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("not a regular file"), std::string::npos);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(TemporaryFolder::entries(folder.path()), 1);
}

TEST(WriteFile, ALinkStaysALink) {
  const TemporaryFolder folder;
  folder.write("deep/real", "old");
  const fs::path link = folder.path() / "link";
  fs::create_symlink("deep/real", link);
  ASSERT_TRUE(write_file_atomically(link, std::string_view("new")));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_text(folder.path() / "deep/real").value(), "new");
  fs::remove(folder.path() / "deep/real");
  EXPECT_FALSE(write_file_atomically(link, std::string_view("new")));
  EXPECT_TRUE(fs::is_symlink(link));
  ASSERT_EQ(::mkfifo((folder.path() / "deep/real").c_str(), 0600), 0);
  EXPECT_FALSE(write_file_atomically(link, std::string_view("new")));
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST(FolderCheck, TellsWhatWouldFailAndMakesNothing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(check_folder_can_be_written(folder.path()));
  EXPECT_TRUE(check_folder_can_be_written(folder.path() / "a" / "b"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
  ASSERT_TRUE(write_file_atomically(folder.path() / "file", std::string_view("x")));
  for (const char* below : {"file", "file/run", "file/run/deeper"}) {
    const auto checked = check_folder_can_be_written(folder.path() / below);
    ASSERT_FALSE(checked) << below;
    EXPECT_NE(checked.error().message.find("is not a folder"), std::string::npos);
  }
}

TEST(ReadFile, DoesNotWaitForAPipe) {
  const TemporaryFolder folder;
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto read = read_file(pipe);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("not a regular file"), std::string::npos);
  EXPECT_FALSE(sha256_file(pipe));
}

TEST(ReadFile, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const auto missing = read_file(folder.path() / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  const auto is_folder = read_file(folder.path());
  ASSERT_FALSE(is_folder);
  EXPECT_NE(is_folder.error().message.find("not a regular file"), std::string::npos);
  EXPECT_FALSE(read_file("/dev/full"));  // endless, were it read
  folder.write("file", "12345");
  EXPECT_TRUE(read_file(folder.path() / "file", 5));
  const auto large = read_file(folder.path() / "file", 4);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::kCorrupt);
  EXPECT_NE(large.error().message.find("5 bytes, more than the limit of 4"), std::string::npos);
}

}  // namespace
}  // namespace sotto
