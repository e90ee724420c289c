#include "experiment/starter.h"

#include <chrono>
#include <thread>

#include "transport/mpi/rank_message.h"

namespace sotto {
namespace {

class RankStarter final : public Starter {
 public:
  RankStarter(std::shared_ptr<Ranks> ranks, unsigned threads)
      : ranks_(std::move(ranks)), threads_(threads) {
    for (unsigned rank = 0; rank < ranks_->size(); ++rank) idle_.insert(rank);
  }

  Result<pid_t> start(const std::vector<std::string>& words,
                      const std::filesystem::path& log) override {
    if (idle_.empty()) return fail(ErrorKind::kInternal, "every rank is at work");
    const unsigned rank = *idle_.begin();
    if (rank == 0) {
      SOTTO_CHECK(own_.start(words, log));
    } else {
      MessageWriter message;
      message.put<std::uint64_t>(words.size());
      for (const std::string& word : words) message.put_text(word);
      message.put_text(log.string());
      ranks_->send(rank, message.bytes());
    }
    idle_.erase(rank);
    return static_cast<pid_t>(rank);
  }

  std::optional<Ended> next_ended() override {
    if (!idle_.contains(0)) {
      if (auto ended = own_.next_ended()) {
        idle_.insert(0);
        ended->child = 0;
        return ended;
      }
    }
    for (unsigned rank = 1; rank < ranks_->size(); ++rank) {
      if (idle_.contains(rank)) continue;
      auto message = ranks_->poll(rank);
      if (!message) continue;
      idle_.insert(rank);
      MessageReader in(std::move(*message));
      const bool good = in.get<bool>();
      return Ended{static_cast<pid_t>(rank), good,
                   "rank " + std::to_string(rank) + ": " + in.get_text()};
    }
    return std::nullopt;
  }

  std::size_t places() const override { return ranks_->size(); }
  unsigned threads() const override { return threads_; }

 private:
  std::shared_ptr<Ranks> ranks_;
  unsigned threads_;
  LocalStarter own_;
  std::set<unsigned> idle_;
};

}  // namespace

LocalStarter::~LocalStarter() { end_children(children_); }

Result<pid_t> LocalStarter::start(const std::vector<std::string>& words,
                                  const std::filesystem::path& log) {
  SOTTO_TRY(const pid_t child, start_program(words, log));
  children_.push_back(child);
  return child;
}

std::optional<Ended> LocalStarter::next_ended() {
  std::optional<Ended> ended = sotto::next_ended(children_);
  if (ended) std::erase(children_, ended->child);
  return ended;
}

std::shared_ptr<Starter> rank_starter(std::shared_ptr<Ranks> ranks, unsigned threads) {
  return std::make_shared<RankStarter>(std::move(ranks), threads);
}

void serve_runs(Ranks& ranks) {
  LocalStarter own;
  for (;;) {
    std::optional<std::vector<std::byte>> message = ranks.poll(0);
    if (message && message->empty()) return;
    if (message) {
      MessageReader in(std::move(*message));
      std::vector<std::string> words(in.get<std::uint64_t>());
      for (std::string& word : words) word = in.get_text();
      const auto child = own.start(words, in.get_text());
      if (!child) {
        ranks.send(0, MessageWriter().put(false).put_text(child.error().message).bytes());
      }
    } else if (const auto ended = own.next_ended()) {
      ranks.send(0, MessageWriter().put(ended->good).put_text(ended->reason).bytes());
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

}  // namespace sotto
