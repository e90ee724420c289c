#include "load_child.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "base/clock.h"

namespace sotto::cli {
namespace {

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The child's life: until the pipe ends.
void work(std::FILE* in, std::FILE* out, const rpc::LoadReport& report) {
  std::unique_ptr<rpc::Crowd> crowd;
  std::array<char, 512> line;
  while (std::fgets(line.data(), line.size(), in) != nullptr) {
    std::istringstream words(line.data());
    std::string what;
    std::string address;
    std::uint32_t clients = 0;
    unsigned streams = 1;
    words >> what >> address >> clients >> streams;
    Result<double> done = 0.0;
    const double before = processor_seconds();
    if (what == "hold") {
      const Stopwatch clock;
      auto joined = rpc::Crowd::join(address, clients);
      if (joined) {
        crowd = std::move(*joined);
        done = clock.seconds();
      } else {
        done = tl::unexpected(joined.error());
      }
    } else {
      done = rpc::send_load(address,
                            what == "drain" ? rpc::LoadTarget::kDrain : rpc::LoadTarget::kServer,
                            report, clients, streams);
    }
    fmt::print(out, "{}\n",
               done ? fmt::format("ok {} {}", *done, processor_seconds() - before)
                    : "no " + done.error().message);
    std::fflush(out);
  }
}

}  // namespace

Result<LoadChild> LoadChild::start(const rpc::LoadReport& report) {
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  if (::pipe(down.data()) != 0 || ::pipe(up.data()) != 0) {
    return fail(ErrorKind::kIo, "bench federation: no pipe for the clients' process");
  }
  LoadChild parent;
  parent.child_ = ::fork();
  if (parent.child_ < 0) return fail(ErrorKind::kIo, "bench federation: cannot fork");
  if (parent.child_ == 0) {
    ::close(down[1]);
    ::close(up[0]);
    work(::fdopen(down[0], "r"), ::fdopen(up[1], "w"), report);
    ::_exit(0);
  }
  ::close(down[0]);
  ::close(up[1]);
  parent.to_ = down[1];
  parent.from_ = up[0];
  return parent;
}

LoadChild::LoadChild(LoadChild&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)) {}

LoadChild::~LoadChild() {
  if (child_ <= 0) return;
  ::close(to_);
  ::close(from_);
  ::waitpid(child_, nullptr, 0);
}

Result<LoadTime> LoadChild::ask(const std::string& line) {
  const std::string text = line + '\n';
  std::string answer;
  const double before = processor_seconds();
  if (::write(to_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    char c = 0;
    while (::read(from_, &c, 1) == 1 && c != '\n') answer += c;
  }
  if (answer.starts_with("ok ")) {
    LoadTime time;
    std::istringstream(answer.substr(3)) >> time.seconds >> time.processor_seconds;
    time.processor_seconds += processor_seconds() - before;
    return time;
  }
  return fail(ErrorKind::kIo, "bench federation: the clients' process: " +
                                  (answer.empty() ? "it has ended" : answer.substr(3)));
}

Result<LoadTime> LoadChild::hold(const std::string& address, std::uint32_t clients) {
  return ask(fmt::format("hold {} {}", address, clients));
}

Result<LoadTime> LoadChild::send(const std::string& address, rpc::LoadTarget target,
                                 std::uint32_t clients, unsigned streams) {
  return ask(fmt::format("{} {} {} {}", target == rpc::LoadTarget::kDrain ? "drain" : "send",
                         address, clients, streams));
}

}  // namespace sotto::cli
