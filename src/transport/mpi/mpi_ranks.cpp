// Ranks over MPI. One thread of a process calls it, the one that joined.
//
// MPI's own waiting spins on a core, which ranks that share a machine need for each other's work:
// where a wait may be long we look, sleep and look again. Collective calls happen only after a
// message has told everybody that the others are there.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>

#include "transport/mpi/launcher.h"

namespace sotto::cluster {
namespace {

constexpr int kLength = 1;
constexpr int kBody = 2;
constexpr std::size_t kPiece = std::size_t{1} << 28;  // elements; MPI counts in int
bool joined = false;

/// The launcher ends all ranks when one is lost; what it says of it, it says in words of its own.
void on_end(int /*signal*/) {
  constexpr std::string_view kText =
      "sotto: this job is being ended: a rank was lost (killed, out of memory, machine down) or "
      "somebody stopped it.\nsotto: finished rounds are kept: the same command with --resume and "
      "its --out goes on from the last checkpoint\n";
  static_cast<void>(!::write(STDERR_FILENO, kText.data(), kText.size()));
  ::_exit(1);
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = static_cast<unsigned>(rank);
    size_ = static_cast<unsigned>(size);
  }
  ~MpiRanks() override {
    if (leads()) {
      for (unsigned rank = 1; rank < size_; ++rank) send(rank, {});
    } else {
      while (!left_) receive(0);
    }
    MPI_Finalize();
    joined = false;
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  unsigned rank() const noexcept override { return rank_; }
  unsigned size() const noexcept override { return size_; }

  void send(unsigned to, std::span<const std::byte> message) override {
    const std::uint64_t length = message.size();
    MPI_Send(&length, 1, MPI_UINT64_T, static_cast<int>(to), kLength, MPI_COMM_WORLD);
    for (std::size_t first = 0; first < message.size(); first += kPiece) {
      const std::size_t count = std::min(kPiece, message.size() - first);
      MPI_Send(message.data() + first, static_cast<int>(count), MPI_BYTE, static_cast<int>(to),
               kBody, MPI_COMM_WORLD);
    }
  }

  std::vector<std::byte> receive(unsigned from) override {
    constexpr std::chrono::microseconds kLongest(1000);
    for (std::chrono::microseconds pause(10);; pause = std::min(kLongest, 2 * pause)) {
      if (auto message = poll(from)) return std::move(*message);
      std::this_thread::sleep_for(pause);
    }
  }

  std::optional<std::vector<std::byte>> poll(unsigned from) override {
    int arrived = 0;
    MPI_Iprobe(static_cast<int>(from), kLength, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
    if (arrived == 0) return std::nullopt;
    std::uint64_t length = 0;
    MPI_Recv(&length, 1, MPI_UINT64_T, static_cast<int>(from), kLength, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    std::vector<std::byte> message(length);
    left_ = from == 0 && length == 0;
    for (std::size_t first = 0; first < length; first += kPiece) {
      const std::size_t count = std::min<std::size_t>(kPiece, length - first);
      MPI_Recv(message.data() + first, static_cast<int>(count), MPI_BYTE, static_cast<int>(from),
               kBody, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return message;
  }

  void broadcast(std::span<float> values) override {
    for (std::size_t first = 0; first < values.size(); first += kPiece) {
      const std::size_t count = std::min(kPiece, values.size() - first);
      MPI_Bcast(values.data() + first, static_cast<int>(count), MPI_FLOAT, 0, MPI_COMM_WORLD);
    }
  }

  void add_up(std::span<std::int64_t> values) override {
    for (std::size_t first = 0; first < values.size(); first += kPiece) {
      const auto count = static_cast<int>(std::min(kPiece, values.size() - first));
      std::int64_t* const at = values.data() + first;
      MPI_Reduce(leads() ? MPI_IN_PLACE : at, leads() ? at : nullptr, count, MPI_INT64_T, MPI_SUM,
                 0, MPI_COMM_WORLD);
    }
  }

 private:
  unsigned rank_ = 0;
  unsigned size_ = 1;
  bool left_ = false;  // rank 0 has
};

}  // namespace

Result<std::shared_ptr<Ranks>> join() {
  if (!under_mpi()) return std::shared_ptr<Ranks>();
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    return fail(ErrorKind::kInternal, "MPI cannot be started beside threads");
  }
  joined = true;
  auto ranks = std::make_shared<MpiRanks>();
  if (ranks->leads()) std::signal(SIGTERM, on_end);
  if (ranks->size() == 1) return std::shared_ptr<Ranks>();
  return std::shared_ptr<Ranks>(std::move(ranks));
}

void abandon(int exit_code) {
  if (joined) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace sotto::cluster
