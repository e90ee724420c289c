#include "child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/text.h"

namespace sotto::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = std::size_t{1} << 16;
constexpr std::size_t kMostOutput = std::size_t{1} << 30;
constexpr std::size_t kQuoted = 500;  // bytes of its standard error
constexpr int kCannotStart = 127;

std::string system_error() { return std::strerror(errno); }

/// One end of a pipe.
class End {
 public:
  End() = default;
  explicit End(int file) : file_(file) {}
  End(End&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  End& operator=(End&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~End() { close(); }
  void close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  int file() const { return file_; }
  bool open() const { return file_ >= 0; }

 private:
  int file_ = -1;
};

struct Pipe {
  End read;
  End write;
  /// Not inherited: a child that held another's standard input open would keep it waiting.
  static Result<Pipe> make() {
    int files[2];
    if (::pipe2(files, O_CLOEXEC) != 0) {
      return fail(ErrorKind::kIo, "cannot make a pipe: " + system_error());
    }
    return Pipe{End(files[0]), End(files[1])};
  }
};

/// A started program. Kills its whole group and reaps it, if that has not happened yet.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill();
    int status = 0;
    if (!reaped_) ::waitpid(pid_, &status, 0);
  }
  void kill() const { ::kill(-pid_, SIGKILL); }
  /// How it ended, when it does before the deadline.
  bool ended(Clock::time_point deadline, int& status) {
    do {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        reaped_ = true;
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } while (Clock::now() < deadline);
    return false;
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

class Conversation {
 public:
  Conversation(const ChildProgram& program, std::string_view input,
               const std::function<bool(std::string_view)>& enough)
      : program_(program), input_(input), enough_(enough) {}

  Result<std::string> hold() {
    SOTTO_TRY(Pipe in, Pipe::make());
    SOTTO_TRY(Pipe out, Pipe::make());
    SOTTO_TRY(Pipe err, Pipe::make());
    const pid_t pid = start(in, out, err);
    if (pid < 0) return fail(ErrorKind::kIo, "cannot start a process: " + system_error());
    Child child(pid);
    in.read.close();
    out.write.close();
    err.write.close();
    to_ = std::move(in.write);
    from_ = std::move(out.read);
    errors_ = std::move(err.read);
    for (const End* end : {&to_, &from_, &errors_}) {
      ::fcntl(end->file(), F_SETFL, ::fcntl(end->file(), F_GETFL) | O_NONBLOCK);
    }
    SOTTO_CHECK(talk());
    int status = 0;
    if (!child.ended(deadline(), status)) {
      return complain("printed everything and then did not end within " + seconds());
    }
    if (WIFSIGNALED(status)) {
      return complain("was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
                      ::strsignal(WTERMSIG(status)) + ")");
    }
    if (WEXITSTATUS(status) != 0) {
      return complain("ended with exit code " + std::to_string(WEXITSTATUS(status)));
    }
    return std::move(output_);
  }

 private:
  /// Between fork and exec nothing may take memory or locks: other threads run.
  pid_t start(const Pipe& in, const Pipe& out, const Pipe& err) const {
    const char* const arguments[] = {"sh", "-c", program_.command.c_str(), nullptr};
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid != 0) {
      if (pid > 0) ::setpgid(pid, pid);
      return pid;
    }
    ::setpgid(0, 0);
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (::getppid() != parent) ::_exit(kCannotStart);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(in.read.file(), STDIN_FILENO);
    ::dup2(out.write.file(), STDOUT_FILENO);
    ::dup2(err.write.file(), STDERR_FILENO);
    ::execv("/bin/sh", const_cast<char* const*>(arguments));
    ::_exit(kCannotStart);
  }

  Clock::time_point deadline() const {
    return last_ + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(program_.timeout_seconds));
  }
  std::string seconds() const { return short_number(program_.timeout_seconds) + " s"; }

  tl::unexpected<Error> complain(const std::string& what) {
    // What it said about its end is on its way.
    read(errors_, quoted_);
    std::string text = "the program " + what;
    while (!quoted_.empty() && (quoted_.back() == '\n' || quoted_.back() == ' '))
      quoted_.pop_back();
    if (!quoted_.empty()) text += "; it said: " + quoted_;
    return fail(ErrorKind::kIo, text);
  }

  Result<void> talk() {
    if (input_.empty()) to_.close();
    while (from_.open()) {
      std::array<pollfd, 3> files = {pollfd{to_.file(), POLLOUT, 0},
                                     pollfd{from_.file(), POLLIN, 0},
                                     pollfd{errors_.file(), POLLIN, 0}};
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline() - Clock::now());
      if (left.count() <= 0) {
        return complain("hung: no byte for " + seconds() + " (--timeout), after " +
                        with_commas(output_.size()) + " bytes");
      }
      // poll() passes over closed ends, whose file is -1.
      ::poll(files.data(), files.size(),
             static_cast<int>(std::min<std::int64_t>(left.count(), 1000)) + 1);
      if (files[0].revents != 0) write();
      if (files[2].revents != 0) read(errors_, quoted_);
      if (quoted_.size() > kQuoted) quoted_.erase(0, quoted_.size() - kQuoted);
      if (files[1].revents == 0) continue;
      const std::size_t before = output_.size();
      read(from_, output_);
      const bool much =
          output_.size() > before && enough_(std::string_view(output_).substr(before));
      if (much || output_.size() > kMostOutput) {
        return complain("printed more than one output for each input");
      }
    }
    return {};
  }

  void write() {
    const ssize_t count = ::write(to_.file(), input_.data(), std::min(input_.size(), kPiece));
    if (count > 0) {
      input_.remove_prefix(static_cast<std::size_t>(count));
      last_ = Clock::now();
    }
    // A program may stop reading; whether it printed enough is seen in the end.
    const bool gone = count < 0 && errno != EAGAIN && errno != EINTR;
    if (input_.empty() || gone) to_.close();
  }

  void read(End& end, std::string& into) {
    if (!end.open()) return;
    std::array<char, kPiece> piece;
    const ssize_t count = ::read(end.file(), piece.data(), piece.size());
    if (count > 0) {
      into.append(piece.data(), static_cast<std::size_t>(count));
      last_ = Clock::now();
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      end.close();
    }
  }

  const ChildProgram& program_;
  std::string_view input_;
  const std::function<bool(std::string_view)>& enough_;
  End to_;
  End from_;
  End errors_;
  std::string output_;
  std::string quoted_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace

Result<std::string> ChildProgram::run(std::string_view input,
                                      const std::function<bool(std::string_view)>& enough) const {
  return Conversation(*this, input, enough).hold();
}

}  // namespace sotto::cli
