// Locks that end with their process, and permissions of files.
#include "base/lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& file) {
  struct stat info {};
  EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
  return info.st_mode & 0777U;
}

TEST(UseLock, ASecondUserIsToldWhoHasIt) {
  const TemporaryFolder folder;
  const fs::path file = folder / "made" / "run.lock";
  {
    const auto first = UseLock::take(file, "this folder");
    ASSERT_TRUE(first);
    const auto second = UseLock::take(file, "this folder");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kRefused);
    EXPECT_NE(second.error().message.find(file.string() + ": this folder is in use by process " +
                                          std::to_string(::getpid())),
              std::string::npos)
        << second.error().message;
    EXPECT_EQ(mode_of(file), 0600U);
  }
  EXPECT_FALSE(fs::exists(folder / "made"));  // nothing was put into it
  EXPECT_TRUE(UseLock::take(file, "this folder"));
}

TEST(UseLock, AKilledProcessLeavesNone) {
  const TemporaryFolder folder;
  const fs::path file = folder / "lock";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = UseLock::take(file, "x");
    const auto also = UseLock::take_folder(folder.path(), "y");
    const char byte = lock && also ? 1 : 0;
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 1);
  const auto refused = UseLock::take(file, "x");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("process " + std::to_string(child)), std::string::npos);
  EXPECT_FALSE(UseLock::take_folder(folder.path(), "y"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_TRUE(UseLock::take(file, "x"));
  EXPECT_TRUE(UseLock::take_folder(folder.path(), "y"));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(Permissions, AreNarrowedOrRefused) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0);
  ASSERT_TRUE(make_private_folder(folder / "new" / "state/"));
  EXPECT_EQ(mode_of(folder / "new" / "state"), 0700U);
  ASSERT_EQ(::chmod((folder / "new" / "state").c_str(), 0777), 0);
  ASSERT_TRUE(make_private_folder(folder / "new" / "state"));
  EXPECT_EQ(mode_of(folder / "new" / "state"), 0700U);
  const fs::path file = folder.write("file", "x");
  for (const mode_t mode : {0600, 0644, 0640, 0444}) {
    ::chmod(file.c_str(), mode);
    EXPECT_TRUE(check_only_owner_writes(file, "this policy"));
  }
  for (const mode_t mode : {0620, 0602, 0666}) {
    ::chmod(file.c_str(), mode);
    const auto refused = check_only_owner_writes(file, "this policy");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              file.string() +
                  ": others than its owner may change this policy; check what it holds, then run: "
                  "chmod go-w " +
                  file.string());
  }
  ASSERT_TRUE(narrow_to_owner(file));
  EXPECT_EQ(mode_of(file), 0600U);
  EXPECT_TRUE(narrow_to_owner(folder / "nothing"));
  ::umask(before);
}

}  // namespace
}  // namespace sotto
