// A program that a test starts, watches and kills.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sotto {

class Child {
 public:
  explicit Child(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
      throw std::runtime_error("cannot start " + words[0]);
    }
  }
  ~Child() {
    if (!status_) {
      kill();
      wait();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() const { ::kill(pid_, SIGKILL); }
  /// Whether it was killed; otherwise exit_code() tells how it ended.
  bool wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0) {
    }
    status_ = status;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  int exit_code() const { return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -1; }

 private:
  pid_t pid_ = 0;
  std::optional<int> status_;
};

}  // namespace sotto
