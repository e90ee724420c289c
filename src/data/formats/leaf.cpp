// LEAF JSON: {"users": [...], "num_samples": [...], "user_data": {USER: {"x": [...], "y": [...]}}}.
//
// Files of this kind are large and mostly numbers, so they are read as a stream of events straight
// into the data set; no tree is built. Where an event is allowed depends on the lists and objects
// around it, which `Place` names.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "data/formats/bytes.h"
#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "data/readers.h"

namespace sotto {
namespace {

constexpr std::size_t kMostDepth = 64;

enum class Place {
  kOutside,
  kRoot,
  kUsers,
  kCounts,
  kUserData,
  kUser,
  kSamples,
  kSample,
  kLabels,
  kIgnored
};

class LeafHandler {
 public:
  using Json = nlohmann::json;

  LeafHandler(Dataset& data, std::map<std::string, std::uint32_t>& user_ids)
      : data_(data), features_(std::get<std::vector<float>>(data.values)), user_ids_(user_ids) {}

  // What the parser calls. False stops it; error_ then says why.
  bool null() { return other("null"); }
  bool boolean(bool) { return other("a truth value"); }
  bool number_integer(Json::number_integer_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return number(static_cast<double>(value)); }
  bool number_float(Json::number_float_t value, const std::string&) { return number(value); }
  bool string(std::string& value) { return text(value); }
  bool binary(Json::binary_t&) { return other("binary data"); }
  bool start_object(std::size_t) { return open(true); }
  bool start_array(std::size_t) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& value);
  bool parse_error(std::size_t position, const std::string&, const Json::exception& problem) {
    return stop("byte " + std::to_string(position) + ": " + printable(problem.what()));
  }

  Result<void> finish() const;
  const std::string& error() const { return error_; }

 private:
  bool stop(std::string why) {
    error_ = std::move(why);
    return false;
  }
  std::string place_text() const;
  Place place() const { return stack_.empty() ? Place::kOutside : stack_.back(); }
  bool open(bool object);
  bool close();
  bool number(double value);
  bool text(const std::string& value);
  bool other(const std::string& what);
  bool end_user();

  Dataset& data_;
  std::vector<float>& features_;
  std::map<std::string, std::uint32_t>& user_ids_;
  std::vector<Place> stack_;
  std::set<std::string> root_keys_;
  std::set<std::string> user_keys_;
  std::string key_;   // the last one of the object we are in
  std::string user_;  // whose data we are in
  std::size_t user_samples_ = 0;
  std::size_t sample_start_ = 0;
  std::vector<std::int32_t> user_labels_;
  std::vector<std::string> users_;
  std::vector<double> counts_;
  std::map<std::string, std::size_t> found_;  // samples of each user in user_data
  std::string error_;
};

std::string LeafHandler::place_text() const {
  switch (place()) {
    case Place::kOutside:
      return "the file";
    case Place::kRoot:
      return "'" + printable(key_) + "'";
    case Place::kUsers:
      return "users";
    case Place::kCounts:
      return "num_samples";
    case Place::kUserData:
      return "user_data, user '" + printable(key_) + "'";
    case Place::kUser:
      return "user '" + printable(user_) + "', '" + printable(key_) + "'";
    case Place::kSamples:
    case Place::kSample:
      return "user '" + printable(user_) + "', sample " + std::to_string(user_samples_);
    case Place::kLabels:
      return "user '" + printable(user_) + "', label " + std::to_string(user_labels_.size());
    case Place::kIgnored:
      break;
  }
  return "an ignored value";
}

bool LeafHandler::key(std::string& value) {
  key_ = std::move(value);
  const Place now = place();
  const bool fresh = now == Place::kRoot       ? root_keys_.insert(key_).second
                     : now == Place::kUser     ? user_keys_.insert(key_).second
                     : now == Place::kUserData ? !found_.contains(key_)
                                               : true;
  return fresh || stop(place_text() + " occurs twice");
}

bool LeafHandler::open(bool object) {
  if (stack_.size() >= kMostDepth) return stop("nested deeper than " + std::to_string(kMostDepth));
  const auto enter = [&](Place next, bool wants_object) {
    if (object != wants_object) {
      return stop(place_text() + ": expected " + (wants_object ? "an object" : "a list"));
    }
    stack_.push_back(next);
    return true;
  };
  switch (place()) {
    case Place::kOutside:
      return enter(Place::kRoot, true);
    case Place::kRoot:
      if (key_ == "users") return enter(Place::kUsers, false);
      if (key_ == "num_samples") return enter(Place::kCounts, false);
      if (key_ == "user_data") return enter(Place::kUserData, true);
      break;
    case Place::kUserData:
      user_ = key_;
      user_keys_.clear();
      user_samples_ = 0;
      user_labels_.clear();
      return enter(Place::kUser, true);
    case Place::kUser:
      if (key_ == "x") return enter(Place::kSamples, false);
      if (key_ == "y") return enter(Place::kLabels, false);
      break;
    case Place::kSamples:
      sample_start_ = features_.size();
      return enter(Place::kSample, false);
    case Place::kIgnored:
      break;
    case Place::kUsers:
    case Place::kCounts:
    case Place::kSample:
    case Place::kLabels:
      return stop(place_text() + ": expected a number or name, found a list");
  }
  stack_.push_back(Place::kIgnored);
  return true;
}

bool LeafHandler::close() {
  const Place left = place();
  if (left == Place::kSample) {
    const std::size_t size = features_.size() - sample_start_;
    if (sample_start_ == 0) data_.shape = {1, 1, static_cast<std::uint32_t>(size)};
    if (size == 0 || size != data_.shape.size()) {
      return stop(place_text() + ": " + std::to_string(size) + " features, expected " +
                  (size == 0 ? "at least 1" : std::to_string(data_.shape.size())));
    }
    ++user_samples_;
  }
  if (left == Place::kUser && !end_user()) return false;
  stack_.pop_back();
  return true;
}

bool LeafHandler::end_user() {
  const std::string shown = "user '" + printable(user_) + "'";
  for (const char* const needed : {"x", "y"}) {
    if (!user_keys_.contains(needed)) return stop(shown + ": has no '" + needed + "'");
  }
  if (user_samples_ != user_labels_.size()) {
    return stop(shown + ": " + std::to_string(user_samples_) + " samples in x, but " +
                std::to_string(user_labels_.size()) + " labels in y");
  }
  found_[user_] = user_samples_;
  if (user_samples_ == 0) return true;  // who has no data is no client
  const auto next = static_cast<std::uint32_t>(user_ids_.size());
  const std::uint32_t id = user_ids_.try_emplace(user_, next).first->second;
  data_.labels.insert(data_.labels.end(), user_labels_.begin(), user_labels_.end());
  data_.users.insert(data_.users.end(), user_samples_, id);
  return true;
}

bool LeafHandler::number(double value) {
  switch (place()) {
    case Place::kCounts:
      counts_.push_back(value);
      return true;
    case Place::kSample:
      if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) {
        return stop(place_text() + ": a feature is not a finite number");
      }
      features_.push_back(static_cast<float>(value));
      return true;
    case Place::kLabels: {
      const auto label = to_label(value);
      if (!label) return stop(place_text() + ": " + label.error().message);
      user_labels_.push_back(*label);
      return true;
    }
    default:
      return other("a number");
  }
}

bool LeafHandler::text(const std::string& value) {
  switch (place()) {
    case Place::kUsers:
      users_.push_back(value);
      return true;
    case Place::kSamples:
    case Place::kSample:
      return stop(place_text() + ": is text; only numeric features are supported");
    case Place::kLabels:
      return stop(place_text() + ": is text; only numeric labels are supported");
    default:
      return other("a text");
  }
}

// A scalar that is welcome only where its value is not looked at.
bool LeafHandler::other(const std::string& what) {
  const bool needed = (place() == Place::kRoot &&
                       (key_ == "users" || key_ == "num_samples" || key_ == "user_data")) ||
                      (place() == Place::kUser && (key_ == "x" || key_ == "y"));
  if (place() == Place::kIgnored || place() == Place::kRoot || place() == Place::kUser) {
    if (!needed) return true;
  }
  return stop(place_text() + ": unexpected " + what);
}

Result<void> LeafHandler::finish() const {
  for (const char* const needed : {"users", "num_samples", "user_data"}) {
    if (!root_keys_.contains(needed)) return corrupt("has no '" + std::string(needed) + "'");
  }
  if (users_.size() != counts_.size()) {
    return corrupt(std::to_string(users_.size()) + " users, but " + std::to_string(counts_.size()) +
                   " entries in num_samples");
  }
  std::set<std::string_view> listed;
  for (std::size_t i = 0; i < users_.size(); ++i) {
    const std::string shown = "user '" + printable(users_[i]) + "'";
    if (!listed.insert(users_[i]).second) return corrupt(shown + ": occurs twice in users");
    const auto found = found_.find(users_[i]);
    if (found == found_.end()) return corrupt(shown + ": has no user_data");
    if (static_cast<double>(found->second) != counts_[i]) {
      return corrupt(shown + ": has " + std::to_string(found->second) +
                     " samples, but num_samples says otherwise");
    }
  }
  for (const auto& [name, count] : found_) {
    if (!listed.contains(name)) return corrupt("user '" + printable(name) + "': not in users");
  }
  return {};
}

Result<std::vector<std::filesystem::path>> json_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code code;
  std::filesystem::directory_iterator entries(folder, code);
  for (; !code && entries != std::filesystem::directory_iterator(); entries.increment(code)) {
    if (entries->path().extension() == ".json") files.push_back(entries->path());
  }
  if (code) return fail(ErrorKind::kIo, folder.string() + ": " + code.message());
  if (files.empty()) return fail(ErrorKind::kNotFound, folder.string() + ": has no .json files");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<void> parse_leaf(std::string_view text, Dataset& data,
                        std::map<std::string, std::uint32_t>& user_ids) {
  LeafHandler handler(data, user_ids);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) {
    return corrupt(handler.error());
  }
  return handler.finish();
}

Result<Dataset> read_leaf(const std::filesystem::path& file_or_folder) {
  std::vector<std::filesystem::path> files = {file_or_folder};
  std::error_code code;
  if (std::filesystem::is_directory(file_or_folder, code)) {
    SOTTO_TRY(files, json_files(file_or_folder));
  }
  Dataset data;
  data.values = std::vector<float>();
  std::map<std::string, std::uint32_t> user_ids;
  // Each file may unpack to as much as a small one may; all together must not.
  std::size_t packed = 0;
  std::size_t unpacked = 0;
  for (const auto& file : files) {
    const std::uintmax_t size = std::filesystem::file_size(file, code);
    if (!code) packed += static_cast<std::size_t>(size);
    SOTTO_CHECK(parse_file(file, [&](ByteSpan bytes) -> Result<void> {
      unpacked += bytes.size();
      if (unpacked > most_unpacked(packed)) return corrupt(refuse_unpacking(packed));
      return parse_leaf(as_text(bytes), data, user_ids);
    }));
  }
  if (data.labels.empty()) return corrupt(file_or_folder.string() + ": holds no samples");
  data.classes = count_classes(data.labels);
  return data;
}

}  // namespace sotto
