#include "shuffle/spool.h"

#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "shuffle/ticket.h"
#include "sotto/bits.h"

namespace sotto::rpc {
namespace {

/// Rounds that are over whose comparison is kept for clients.
constexpr std::size_t kPastRounds = 16;

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(ErrorKind::kRefused, "report refused: " + what);
}

}  // namespace

std::vector<std::size_t> largest_agreed(const std::vector<std::uint32_t>& minimums,
                                        std::uint64_t least) {
  std::vector<std::size_t> agreed(minimums.size());
  for (std::size_t i = 0; i < agreed.size(); ++i) agreed[i] = i;
  // Whoever asks for more than all can give stands in no set; without it there are fewer.
  while (std::erase_if(
             agreed, [&, size = agreed.size()](std::size_t i) { return minimums[i] > size; }) > 0) {
  }
  if (agreed.size() < std::max<std::uint64_t>(1, least)) agreed.clear();
  return agreed;
}

Result<Spool> Spool::open(std::filesystem::path folder) {
  SOTTO_CHECK(make_private_folder(folder));
  SOTTO_TRY(UseLock lock, UseLock::take(folder / "shuffler.lock", "the state of this shuffler"));
  SOTTO_TRY(spool_files::Memory memory, spool_files::read_memory(folder));
  return Spool(std::move(folder), std::move(lock), std::move(memory));
}

std::filesystem::path Spool::round_folder() const {
  return spool_files::round_folder(folder_, {round_.run, round_.round});
}

std::filesystem::path Spool::batch_folder(const std::string& contract) const {
  return round_folder() / contract;
}

Spool::Batch* Spool::batch_of(std::size_t group) {
  return const_cast<Batch*>(std::as_const(*this).batch_of(group));
}

const Spool::Batch* Spool::batch_of(std::size_t group) const {
  if (left_ || group >= round_.contracts.size()) return nullptr;
  const auto found = batches_.find(round_.contracts[group]);
  // A batch goes for the group that its members signed and for no other.
  if (found == batches_.end() || found->second.contract.group != group) return nullptr;
  return &found->second;
}

bool Spool::over(const Tag& run, RoundId round) const {
  const auto floor = memory_.floors.find(run);
  return floor != memory_.floors.end() && round < floor->second;
}

Result<void> Spool::begin(const SpoolRound& round) {
  if (over(round.run, round.round)) {
    return fail(ErrorKind::kRefused,
                "round " + std::to_string(round.round) +
                    " of this training is over: its reports, or those of a later round, were "
                    "collected before, and a batch never comes again");
  }
  if (!left_ && round.run == round_.run && round.round == round_.round) {
    round_.contracts = round.contracts;
    return {};
  }
  // The one that a process before this one collected goes on, or is seen once more before it goes.
  const spool_files::RoundName name{round.run, round.round};
  if (memory_.current != name) {
    if (round_.round == 0 && memory_.current) {
      round_ = {memory_.current->run, memory_.current->round, {}};
      load();
    }
    SOTTO_CHECK(leave());
  }
  round_ = round;
  left_ = false;
  batches_.clear();
  others_.clear();
  left_out_.clear();
  load();
  return {};
}

Result<void> Spool::remember() {
  const spool_files::RoundName name{round_.run, round_.round};
  if (memory_.current == name) return {};
  spool_files::Memory next = memory_;
  next.current = name;
  next.closed.clear();
  next.floors[name.run] = name.round;
  SOTTO_CHECK(spool_files::write_memory(folder_, next));
  memory_ = std::move(next);
  return {};
}

/// What there is of rounds before is over: first that is remembered, then they are deleted.
Result<void> Spool::leave() {
  if (memory_.current) {
    spool_files::Memory next = memory_;
    const spool_files::RoundName name = *memory_.current;
    next.floors[name.run] = std::uint64_t{name.round} + 1;  // never 0 again
    next.current.reset();
    next.closed.clear();
    next.past.push_back({name, asked(name.run, name.round)});
    if (next.past.size() > kPastRounds) next.past.erase(next.past.begin());
    SOTTO_CHECK(spool_files::write_memory(folder_, next));
    memory_ = std::move(next);
  }
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, code)) {
    if (!entry.path().filename().string().starts_with("round-")) continue;
    std::error_code ignored;
    std::filesystem::remove_all(entry.path(), ignored);
  }
  left_ = true;
  return {};
}

Result<void> Spool::finish() {
  if (round_.round == 0 && !memory_.current) return {};
  return leave();
}

/// What a process before this one has left of the round.
void Spool::load() {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(round_folder(), code)) {
    const std::string name = entry.path().filename().string();
    if (is_sha256(name)) load_batch(name);
  }
  if (memory_.current == spool_files::RoundName{round_.run, round_.round}) {
    for (const std::string& digest : memory_.closed) {
      if (!batches_.contains(digest)) load_batch(digest);
    }
  }
  others_ = spool_files::read_others(round_folder());
}

void Spool::load_batch(const std::string& digest) {
  const std::filesystem::path folder = batch_folder(digest);
  Batch batch;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (entry.path().extension() != ".report") continue;
    const auto facts = spool_files::check_report(entry.path());
    if (!facts || facts->contract.digest() != digest) {
      notes_.push_back(facts ? entry.path().string() + ": of another contract"
                             : facts.error().message + "; it is left out");
      continue;
    }
    batch.contract = facts->contract;
    batch.reports[facts->sender] = {facts->minimum, true};
  }
  if (spool_files::has_batch(folder)) {
    batch.state = BatchState::kClosed;
    auto closed = spool_files::read_batch(folder);
    if (closed) {
      batch.closed = std::move(*closed);
      for (const std::string& sender : batch.closed.senders) {
        batch.reports.try_emplace(sender, Report{0, false});
      }
      judge(batch, folder);
    } else {
      // Nobody knows its members and order any more: sent again it would be another batch.
      notes_.push_back(closed.error().message + "; nothing more of this batch leaves");
      batch.state = BatchState::kStopped;
    }
  }
  if (batch.state == BatchState::kCollecting && memory_.closed.contains(digest)) {
    notes_.push_back(folder.string() +
                     ": the list of a closed batch is missing; nothing more of it leaves");
    batch.state = BatchState::kStopped;
  }
  // Of a folder without one sound report nothing is known, but that its batch is closed.
  if (batch.contract.chunks == 0 && batch.state == BatchState::kCollecting) return;
  if (batch.contract.chunks == 0) batch.state = BatchState::kStopped;
  batches_.insert_or_assign(digest, std::move(batch));
}

void Spool::judge(Batch& batch, const std::filesystem::path& folder) {
  const auto sound = std::ranges::count_if(batch.closed.senders, [&](const std::string& sender) {
    return batch.reports.at(sender).sound;
  });
  if (batch.state != BatchState::kClosed) return;
  if (static_cast<std::size_t>(sound) == batch.closed.senders.size()) return;
  if (spool_files::has_begun(folder)) {
    // What stands in a report's place would show which chunks it had before.
    batch.state = BatchState::kStopped;
    notes_.push_back(
        "a report of a closed batch is damaged, and some of it may have left; nothing more of it "
        "leaves");
    return;
  }
  if (static_cast<std::uint64_t>(sound) >= std::max<std::uint64_t>(1, batch.closed.minimum)) return;
  batch.state = BatchState::kStopped;
  notes_.push_back("damaged reports leave a closed batch with " + std::to_string(sound) + " of " +
                   std::to_string(batch.closed.minimum) +
                   " that it must have; nothing more of it leaves");
}

bool Spool::holds(const std::string& sender) const {
  return !left_ && std::ranges::any_of(batches_, [&](const auto& entry) {
    return entry.second.reports.contains(sender);
  });
}

Result<bool> Spool::add(const std::string& sender, const Contract& contract, std::uint32_t minimum,
                        std::vector<std::byte> report) {
  if (round_.round == 0) return refuse("no round is collected");
  if (left_ || over(contract.run, contract.round)) return refuse("the round is over");
  if (contract.run != round_.run || contract.round != round_.round) {
    return refuse("of another round than the one that is collected");
  }
  const std::string digest = contract.digest();
  if (contract.group >= round_.contracts.size() || round_.contracts[contract.group] != digest) {
    return refuse("of a contract that is not collected");
  }
  if (holds(sender)) return false;
  if (left_out_.contains(sender)) return refuse("its sender has declined the round");
  const auto found = batches_.find(digest);
  if (found != batches_.end() && found->second.state != BatchState::kCollecting) {
    return refuse("the batch is closed");
  }
  if (report.size() != contract.chunks * contract.chunk_bytes) {
    return refuse("its chunks are not as many or not as long as its contract says");
  }
  SOTTO_CHECK(remember());
  SOTTO_CHECK(spool_files::write_report(batch_folder(digest), {sender, minimum, contract},
                                        std::move(report)));
  Batch& batch = batches_[digest];
  batch.contract = contract;
  batch.reports[sender] = {minimum, true};
  return true;
}

Result<void> Spool::note_other(const std::string& sender, const Contract& contract) {
  if (left_ || round_.round == 0 || contract.run != round_.run || contract.round != round_.round ||
      others_.contains(sender)) {
    return {};
  }
  SOTTO_CHECK(remember());
  const std::string digest = contract.digest();
  SOTTO_CHECK(spool_files::write_other(round_folder(), sender, digest, contract.group));
  others_[sender] = {digest, contract.group, 1};
  return {};
}

void Spool::leave_out(std::size_t group, const std::string& sender) {
  left_out_.insert(sender);
  Batch* const batch = batch_of(group);
  if (batch == nullptr || batch->state != BatchState::kCollecting) return;
  if (batch->reports.erase(sender) == 0) return;
  std::error_code ignored;
  std::filesystem::remove(spool_files::report_file(batch_folder(round_.contracts[group]), sender),
                          ignored);
}

std::vector<std::string> Spool::senders(std::size_t group) const {
  const Batch* const batch = batch_of(group);
  if (batch == nullptr) return {};
  if (batch->state != BatchState::kCollecting) return batch->closed.senders;
  std::vector<std::string> all;
  for (const auto& [sender, report] : batch->reports) all.push_back(sender);
  return all;
}

std::vector<Asked> Spool::asked(const Tag& run, RoundId round) const {
  if (left_ || run != round_.run || round != round_.round) {
    for (const spool_files::Memory::Past& past : memory_.past) {
      if (past.name == spool_files::RoundName{run, round}) return past.asked;
    }
    return {};
  }
  std::map<std::string, Asked> all;
  for (const auto& [digest, batch] : batches_) {
    all[digest] = {digest, batch.contract.group, batch.reports.size()};
  }
  for (const auto& [sender, other] : others_) {
    Asked& sum =
        all.try_emplace(other.contract, Asked{other.contract, other.group, 0}).first->second;
    ++sum.reports;
  }
  std::vector<Asked> list;
  for (auto& [digest, one] : all) list.push_back(std::move(one));
  return list;
}

BatchState Spool::state(std::size_t group) const {
  if (left_) return BatchState::kOver;
  const Batch* const batch = batch_of(group);
  return batch == nullptr ? BatchState::kNone : batch->state;
}

const Contract* Spool::contract(std::size_t group) const {
  const Batch* const batch = batch_of(group);
  return batch == nullptr ? nullptr : &batch->contract;
}

Result<std::uint64_t> Spool::close(std::size_t group, std::uint64_t least) {
  Batch* const batch = batch_of(group);
  if (batch == nullptr || batch->state == BatchState::kStopped) return std::uint64_t{0};
  if (batch->state == BatchState::kClosed) return batch->closed.senders.size();
  const std::filesystem::path folder = batch_folder(round_.contracts[group]);
  for (;;) {
    std::vector<std::string> all;
    std::vector<std::uint32_t> minimums;
    for (const auto& [sender, report] : batch->reports) {
      all.push_back(sender);
      minimums.push_back(report.minimum);
    }
    const std::vector<std::size_t> agreed = largest_agreed(minimums, least);
    if (agreed.empty()) return std::uint64_t{0};
    spool_files::BatchFacts closed;
    closed.minimum = least;
    // What goes is looked at once more, while it can still be left out.
    bool damaged = false;
    for (const std::size_t i : agreed) {
      const auto facts = spool_files::check_report(spool_files::report_file(folder, all[i]));
      if (!facts) {
        notes_.push_back(facts.error().message + "; it is left out");
        batch->reports.erase(all[i]);
        damaged = true;
      }
      closed.senders.push_back(all[i]);
      closed.minimum = std::max<std::uint64_t>(closed.minimum, minimums[i]);
    }
    if (damaged) continue;
    BitSource bits = BitSource::from_system();
    for (std::uint64_t& word : closed.key) word = bits.next_u64();
    SOTTO_CHECK(spool_files::write_batch(folder, closed));
    // Remembered apart: should the file be lost, the batch must not open again.
    spool_files::Memory next = memory_;
    next.closed.insert(round_.contracts[group]);
    SOTTO_CHECK(spool_files::write_memory(folder_, next));
    memory_ = std::move(next);
    batch->closed = std::move(closed);
    batch->state = BatchState::kClosed;
    return batch->closed.senders.size();
  }
}

Result<std::vector<std::vector<std::byte>>> Spool::batch(std::size_t group, std::size_t position) {
  Batch* const batch = batch_of(group);
  if (batch == nullptr || batch->state != BatchState::kClosed) {
    return fail(ErrorKind::kRefused, "there is no closed batch to pass on");
  }
  const std::uint64_t size = batch->contract.chunk_bytes;
  if (position >= batch->contract.chunks) return refuse("there is no such position");
  SOTTO_CHECK(spool_files::note_begun(batch_folder(round_.contracts[group])));
  const auto stream_of = [&](const char* purpose, std::uint64_t number) {
    const auto& key = batch->closed.key;
    return BitSource::from_seed(key[0], purpose, {key[1], key[2], key[3], position, number});
  };
  std::vector<std::vector<std::byte>> chunks;
  for (const std::string& sender : batch->closed.senders) {
    std::vector<std::byte> chunk(size);
    Report& report = batch->reports.at(sender);
    if (report.sound) {
      const auto path = spool_files::report_file(batch_folder(round_.contracts[group]), sender);
      std::ifstream file(path, std::ios::binary);
      file.seekg(static_cast<std::streamoff>(position * size));
      if (!file.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(size))) {
        notes_.push_back(path.string() + ": cannot be read any more");
        report.sound = false;
        judge(*batch, batch_folder(round_.contracts[group]));
      }
    }
    if (!report.sound) stream_of("damaged", chunks.size()).fill(chunk);
    chunks.push_back(std::move(chunk));
  }
  if (batch->state != BatchState::kClosed) {
    return fail(ErrorKind::kRefused, "too few sound reports are left of a closed batch");
  }
  BitSource bits = stream_of("shuffle", 0);
  shuffle(std::span(chunks), bits);
  return chunks;
}

}  // namespace sotto::rpc
