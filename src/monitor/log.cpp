#include "monitor/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

namespace sotto::monitor {

Result<std::unique_ptr<Log>> Log::open(const std::string& file) {
  if (file == "-") return std::unique_ptr<Log>(new Log(STDERR_FILENO, false));
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (descriptor < 0) {
    return fail(ErrorKind::kIo, "--log " + file + ": cannot be opened: " + std::strerror(errno));
  }
  return std::unique_ptr<Log>(new Log(descriptor, true));
}

Log::~Log() {
  if (own_) ::close(descriptor_);
}

bool Log::write(const std::string& line) {
  // One call with O_APPEND: lines of several threads or processes do not mix.
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  return written == static_cast<ssize_t>(line.size());
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_text(double unix_seconds) {
  const auto whole = static_cast<std::time_t>(std::floor(unix_seconds));
  const auto milliseconds =
      static_cast<int>(std::floor((unix_seconds - static_cast<double>(whole)) * 1000.0));
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string digits = std::to_string(1000 + milliseconds);
  return std::string(text, length) + '.' + digits.substr(1) + 'Z';
}

std::string log_line(double time, const std::string& role, const Event& event,
                     std::uint64_t suppressed) {
  nlohmann::ordered_json json = {{"time", utc_text(time)}, {"role", role}};
  json.update(to_json(event));
  if (suppressed > 0) json["suppressed"] = suppressed;
  // A reason may quote a stranger's bytes, and logs are read on terminals: nothing but ASCII.
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace sotto::monitor
