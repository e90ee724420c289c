#include "data/fetch.h"

#include <fcntl.h>
#include <httplib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/file.h"
#include "base/sha256.h"
#include "data/known.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

constexpr int kOk = 200;
constexpr int kPartialContent = 206;
constexpr int kRangeNotSatisfiable = 416;
constexpr int kConnectSeconds = 20;
constexpr int kSilenceSeconds = 60;  // a connection that says nothing for so long is dead

struct Address {
  std::string host;  // with scheme and port: "https://example.org:8443"
  std::string path;  // "/a/b.gz"
};

Result<Address> parse_address(const std::string& url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme) || url.size() == scheme.size()) continue;
    const std::size_t slash = url.find('/', scheme.size());
    if (slash == std::string::npos) return Address{url, "/"};
    if (slash > scheme.size()) return Address{url.substr(0, slash), url.substr(slash)};
  }
  return fail(ErrorKind::kUsage, "'" + url +
                                     "': not an address of the form http://HOST/PATH or "
                                     "https://HOST/PATH");
}

/// The growing file. Every byte that arrived stays there when a download breaks off.
class PartFile {
 public:
  static Result<PartFile> open(const fs::path& path) {
    PartFile part(path);
    part.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (part.fd_ < 0) return part.refused("cannot be opened");
    const off_t end = ::lseek(part.fd_, 0, SEEK_END);
    if (end < 0) return part.refused("cannot be read");
    part.size_ = static_cast<std::uint64_t>(end);
    return part;
  }
  PartFile(PartFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  std::uint64_t size() const { return size_; }
  const fs::path& path() const { return path_; }

  bool append(const char* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t n = ::write(fd_, bytes, count);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes += n;
      count -= static_cast<std::size_t>(n);
      size_ += static_cast<std::uint64_t>(n);
    }
    return true;
  }

  bool restart() {
    size_ = 0;
    return ::ftruncate(fd_, 0) == 0 && ::lseek(fd_, 0, SEEK_SET) == 0;
  }

  Result<void> move_to(const fs::path& place) {
    if (::fsync(fd_) != 0 || ::rename(path_.c_str(), place.c_str()) != 0) {
      return refused("cannot be moved to " + place.string());
    }
    sync_folder(place.parent_path());
    return {};
  }

  tl::unexpected<Error> refused(const std::string& what) const {
    return fail(ErrorKind::kIo, path_.string() + ": " + what + ": " + std::strerror(errno));
  }

 private:
  explicit PartFile(fs::path path) : path_(std::move(path)) {}

  fs::path path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// What one request came to.
struct Outcome {
  int status = 0;  // 0: no answer
  httplib::Error failure = httplib::Error::Success;
  bool disk_refused = false;
  std::uint64_t total = 0;  // 0: the server did not say
};

std::uint64_t content_length(const httplib::Response& response) {
  return response.get_header_value<std::uint64_t>("Content-Length");
}

/// True when a 206 answer starts where `part` ends.
bool continues(const httplib::Response& response, const PartFile& part) {
  return response.get_header_value("Content-Range")
      .starts_with("bytes " + std::to_string(part.size()) + "-");
}

/// Asks for what `part` lacks and appends it. A server that sends the whole file instead restarts
/// the part; one that answers otherwise leaves it alone.
Outcome request_rest(const Address& address, const DataFile& file, PartFile& part,
                     const FetchProgress& progress) {
  httplib::Client client(address.host);
  client.set_follow_location(true);
  client.set_decompress(false);  // the hash is that of the .gz
  client.set_connection_timeout(kConnectSeconds);
  client.set_read_timeout(kSilenceSeconds);
  httplib::Headers headers = {{"Accept-Encoding", "identity"}};
  if (part.size() > 0) headers.emplace("Range", "bytes=" + std::to_string(part.size()) + "-");

  Outcome outcome;
  const auto on_answer = [&](const httplib::Response& response) {
    outcome.status = response.status;
    if (response.status == kOk) {
      outcome.total = content_length(response);
      outcome.disk_refused = !part.restart();
      return !outcome.disk_refused;
    }
    if (response.status != kPartialContent) return false;
    outcome.total = part.size() + content_length(response);
    return continues(response, part);
  };
  const auto on_bytes = [&](const char* bytes, std::size_t count) {
    outcome.disk_refused = !part.append(bytes, count);
    if (progress) progress(file, part.size(), outcome.total);
    return !outcome.disk_refused;
  };
  const auto answer = client.Get(address.path, headers, on_answer, on_bytes);
  outcome.failure = answer.error();
  return outcome;
}

std::string kept(const PartFile& part) {
  return part.size() == 0 ? ""
                          : "; " + std::to_string(part.size()) +
                                " bytes are kept and the next attempt goes on from there";
}

Result<void> complete(const std::string& url, const DataFile& file, PartFile& part,
                      const FetchProgress& progress) {
  SOTTO_TRY(const Address address, parse_address(url));
  Outcome outcome = request_rest(address, file, part, progress);
  if (outcome.status == kRangeNotSatisfiable) {
    // The part is as long as the file, or longer. Complete if the hash says so; else from zero.
    SOTTO_TRY(const std::string hash, sha256_file(part.path()));
    if (hash == file.sha256) return {};
    if (!part.restart()) return part.refused("cannot be truncated");
    outcome = request_rest(address, file, part, progress);
  }
  if (outcome.disk_refused) return part.refused("cannot be written");
  if (outcome.status == 0) {
    return fail(ErrorKind::kIo, url + ": cannot be reached (" +
                                    httplib::to_string(outcome.failure) + ")" + kept(part));
  }
  if (outcome.status != kOk && outcome.status != kPartialContent) {
    const auto kind = outcome.status == 404 ? ErrorKind::kNotFound : ErrorKind::kIo;
    return fail(kind, url + ": the server answered with status " + std::to_string(outcome.status));
  }
  if (outcome.failure != httplib::Error::Success ||
      (outcome.total != 0 && part.size() != outcome.total)) {
    return fail(ErrorKind::kIo, url + ": the connection broke off" + kept(part));
  }
  return {};
}

Result<void> fetch_file(const std::string& url, const DataFile& file, const fs::path& place,
                        const FetchProgress& progress) {
  std::error_code code;
  if (fs::exists(place, code)) {
    SOTTO_TRY(const std::string hash, sha256_file(place));
    if (hash == file.sha256) return {};
    return fail(ErrorKind::kCorrupt, place.string() + ": its sha256 is " + hash + ", not " +
                                         file.sha256 + "; move it away to download it again");
  }
  fs::create_directories(place.parent_path(), code);
  if (code) return fail(ErrorKind::kIo, place.parent_path().string() + ": " + code.message());

  SOTTO_TRY(PartFile part, PartFile::open(place.string() + ".part"));
  if (auto arrived = complete(url, file, part, progress); !arrived) {
    if (part.size() == 0) fs::remove(part.path(), code);
    return arrived;
  }
  SOTTO_TRY(const std::string hash, sha256_file(part.path()));
  if (hash != file.sha256) {
    fs::remove(part.path(), code);
    return fail(ErrorKind::kCorrupt, url + ": the sha256 of what arrived is " + hash + ", not " +
                                         file.sha256 + "; " + part.path().string() +
                                         " was deleted, nothing else was touched");
  }
  return part.move_to(place);
}

}  // namespace

Result<void> fetch_set(const KnownSet& set, const fs::path& folder, const FetchProgress& progress,
                       const std::string& mirror) {
  const std::string name(set.name);
  if (set.variants.empty()) return {};  // generated
  const DataVariant& variant = variant_to_fetch(set);
  if (mirror.empty() && !has_address(variant)) {
    return fail(ErrorKind::kNotFound,
                name + ": has no official address; --mirror URL names a server that has " +
                    variant.files.front().path);
  }
  std::string base = mirror;
  while (base.ends_with('/')) base.pop_back();
  for (const DataFile& file : variant.files) {
    const std::string url = mirror.empty() ? file.url : base + "/" + file.path;
    SOTTO_CHECK(fetch_file(url, file, folder / file.path, progress));
  }
  return {};
}

}  // namespace sotto
