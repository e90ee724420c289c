#include "experiment/process.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "transport/mpi/launcher.h"

extern char** environ;

namespace sotto {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";
constexpr int kCannotStart = 127;

std::string system_error() { return std::strerror(errno); }

/// This process's, without what would make the child take itself for a rank of an MPI job.
std::vector<char*> child_environment() {
  const std::vector<std::string> left_out = cluster::launcher_variables();
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::find(left_out, name) == left_out.end()) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

Result<pid_t> start_program(const std::vector<std::string>& arguments,
                            const std::filesystem::path& errors) {
  std::error_code code;
  std::filesystem::create_directories(errors.parent_path(), code);
  // Everything that takes memory happens before the fork.
  std::vector<std::string> words = {"sotto"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::vector<char*> environment = child_environment();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (null < 0 || file < 0) {
    const std::string why = system_error();
    if (null >= 0) ::close(null);
    if (file >= 0) ::close(file);
    return fail(ErrorKind::kIo, errors.string() + ": " + why);
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (::getppid() != parent) ::_exit(kCannotStart);  // it died before the line above
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execve(kThisProgram, pointers.data(), environment.data());
    ::_exit(kCannotStart);
  }
  const std::string why = child < 0 ? system_error() : "";
  ::close(null);
  ::close(file);
  if (child < 0) return fail(ErrorKind::kIo, "cannot start a process: " + why);
  return child;
}

std::optional<Ended> next_ended(const std::vector<pid_t>& children) {
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) != child) continue;
    if (WIFEXITED(status)) {
      const int exit_code = WEXITSTATUS(status);
      return Ended{child, exit_code == 0, "exit code " + std::to_string(exit_code)};
    }
    const int signal = WTERMSIG(status);
    return Ended{child, false,
                 "killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")"};
  }
  return std::nullopt;
}

void end_children(const std::vector<pid_t>& children) {
  for (const pid_t child : children) ::kill(child, SIGKILL);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
  }
}

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  using Clock = std::chrono::steady_clock;
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return fail(ErrorKind::kIo, folder.string() + ": " + code.message());
  const std::filesystem::path path = folder / ".lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0666);  // inherited on purpose
  if (file < 0) return fail(ErrorKind::kIo, path.string() + ": " + system_error());
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      const std::string why = system_error();
      ::close(file);
      return fail(ErrorKind::kIo, path.string() + ": " + why);
    }
    if (Clock::now() > end) {
      ::close(file);
      return fail(ErrorKind::kUsage,
                  folder.string() +
                      ": another sotto is at work there; wait for it or choose another --out");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return FolderLock(file);
}

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace sotto
