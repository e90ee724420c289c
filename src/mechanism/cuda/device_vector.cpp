#include "mechanism/cuda/device_vector.h"

#include <algorithm>

#include "base/parallel.h"
#include "mechanism/cuda/aes_tables.h"

namespace sotto::cuda {
namespace {

constexpr std::size_t kBlock = 4096;
/// Of the device's memory, for the coordinates of the clients that are drawn together.
constexpr std::size_t kBytesTogether = std::size_t{2} << 30;
constexpr std::size_t kMostTogether = 32768;  // their symbols add up in 31 bits
/// Clients that a thread takes at once.
constexpr std::size_t kTogether = 64;

Result<void> checked(int error, const char* what) {
  return check(static_cast<cudaError_t>(error), what);
}

/// Calls body(i) for every i below count; nothing of it can fail.
template <class Body>
void for_all(unsigned threads, std::size_t count, const Body& body) {
  const std::size_t parts = (count + kTogether - 1) / kTogether;
  const auto done =
      parallel_for(threads, parts, [&](unsigned /*lane*/, std::size_t part) -> Result<void> {
        const std::size_t end = std::min(count, (part + 1) * kTogether);
        for (std::size_t i = part * kTogether; i < end; ++i) body(i);
        return {};
      });
  static_cast<void>(done);
}

}  // namespace

Result<std::unique_ptr<DeviceVector>> DeviceVector::make(const Mechanism& mechanism,
                                                         unsigned threads) {
  std::unique_ptr<DeviceVector> made(
      new DeviceVector(mechanism, *privunit_parts(mechanism), std::max(1U, threads)));
  const auto& tensors = mechanism.domain().layout->tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].size == 0) continue;
    made->numbers_.push_back(t);
    made->tensors_.push_back({nullptr, nullptr, tensors[t].offset, tensors[t].size});
  }
  VectorJob& job = made->job_;
  job.dimension = mechanism.outputs();
  job.blocks = static_cast<std::uint32_t>((job.dimension + kBlock - 1) / kBlock);
  job.row = padded(job.dimension);
  job.norm = mechanism.domain().norm;
  job.most = static_cast<double>(mechanism.largest_symbol());
  SOTTO_CHECK(made->table_.copy_from(aes_table()));
  SOTTO_CHECK(made->sums_.reserve(job.dimension));
  SOTTO_CHECK(made->sums_.clear());
  made->late_.assign(job.dimension, 0);
  return made;
}

template <class Run>
Result<void> DeviceVector::in_turns(std::span<const Place> tensors, std::span<const StreamKey> keys,
                                    const Filling& filling, const Run& run) {
  const std::size_t each = job_.row * (sizeof(float) + sizeof(double));
  const std::size_t most = std::clamp<std::size_t>(kBytesTogether / each, 1, kMostTogether);
  const std::size_t turns = (keys.size() + most - 1) / most;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const std::size_t first = keys.size() * turn / turns;
    const std::size_t end = keys.size() * (turn + 1) / turns;
    const auto some = keys.subspan(first, end - first);
    SOTTO_CHECK(prepare(tensors, first, some, filling));
    SOTTO_CHECK(run(some, first));
  }
  return {};
}

Result<void> DeviceVector::prepare(std::span<const Place> tensors, std::size_t first,
                                   std::span<const StreamKey> keys, const Filling& filling) {
  const std::size_t clients = keys.size();
  const std::size_t all = clients * job_.blocks;
  SOTTO_CHECK(input_.reserve(clients * job_.row));
  SOTTO_CHECK(noise_.reserve(clients * job_.row));
  SOTTO_CHECK(zero_.reserve(clients));
  SOTTO_CHECK(scaling_.reserve(clients));
  SOTTO_CHECK(bound_sums_.reserve(2 * all));
  SOTTO_CHECK(block_sums_.reserve(all));
  SOTTO_CHECK(unsure_.reserve(clients));
  SOTTO_CHECK(unsure_.clear());
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const Place& place = tensors[numbers_[t]];
    tensors_[t].payload = place.payload + first * tensors_[t].size;
    tensors_[t].model = place.model;
  }
  SOTTO_CHECK(device_tensors_.copy_from(tensors_));
  std::vector<std::uint32_t> round(clients * kRoundKeys);
  for_all(threads_, clients, [&](std::size_t c) {
    std::ranges::copy(aes_round_keys(keys[c]),
                      round.begin() + static_cast<std::ptrdiff_t>(c * kRoundKeys));
  });
  SOTTO_CHECK(round_keys_.copy_from(round));
  job_.clients = static_cast<std::uint32_t>(clients);
  job_.tensors = device_tensors_.data();
  job_.table = table_.data();
  job_.round_keys = round_keys_.data();
  job_.fills = filling.fills;
  job_.floor = filling.floor;
  job_.input = input_.data();
  job_.noise = noise_.data();
  job_.zero = zero_.data();
  job_.scaling = scaling_.data();
  job_.bound_sums = bound_sums_.data();
  job_.sums = block_sums_.data();
  job_.unsure = unsure_.data();
  SOTTO_CHECK(checked(start_normals(job_), "drawing deviates on the device"));
  SOTTO_CHECK(checked(start_bound(job_), "bounding on the device"));
  SOTTO_CHECK(checked(start_sums(job_), "adding on the device"));
  // While the device works.
  std::vector<PrivUnitParts::Coins> coins(clients);
  for_all(threads_, clients, [&](std::size_t c) { coins[c] = parts_.coins_of(keys[c]); });
  return plan(coins);
}

Result<void> DeviceVector::plan(std::span<const PrivUnitParts::Coins> coins) {
  const std::size_t blocks = job_.blocks;
  SOTTO_TRY(const std::vector<VectorSums> sums, block_sums_.copy(coins.size() * blocks));
  SOTTO_TRY(const std::vector<std::uint32_t> zero, zero_.copy(coins.size()));
  std::vector<VectorPlan> plans(coins.size());
  std::vector<double> flats(coins.size() * blocks);
  for_all(threads_, coins.size(), [&](std::size_t c) {
    thread_local std::vector<PrivUnitParts::BlockSums> own;
    thread_local std::vector<Uncertainty> off;
    own.resize(blocks);
    off.resize(blocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      const VectorSums& from = sums[c * blocks + b];
      own[b] = {{from.square[0], from.square[1]},
                {from.product[0], from.product[1]},
                {from.input[0], from.input[1]},
                {from.least, from.most}};
    }
    const Combination how = parts_.plan_of(coins[c], zero[c] != 0, own, off);
    plans[c] = {how.a, how.b, off[0].of_value, off[0].of_input};
    for (std::size_t b = 0; b < blocks; ++b) flats[c * blocks + b] = off[b].flat;
  });
  SOTTO_CHECK(plans_.copy_from(plans));
  SOTTO_CHECK(flats_.copy_from(flats));
  job_.plans = plans_.data();
  job_.flats = flats_.data();
  return {};
}

Result<std::vector<std::uint32_t>> DeviceVector::undecided() const {
  SOTTO_TRY(const std::vector<std::uint32_t> unsure, unsure_.copy(job_.clients));
  std::vector<std::uint32_t> clients;
  if (job_.dimension == 1) return clients;  // its two symbols are far from every boundary
  for (std::uint32_t c = 0; c < job_.clients; ++c) {
    if (unsure[c] != 0) clients.push_back(c);
  }
  return clients;
}

Result<std::vector<Symbol>> DeviceVector::redraw(std::uint32_t client, const StreamKey& key) {
  ++redrawn_;
  std::vector<float> bounded(job_.dimension);
  SOTTO_CHECK(check(cudaMemcpy(bounded.data(), job_.input + client * job_.row,
                               bounded.size() * sizeof(float), cudaMemcpyDeviceToHost),
                    "copying from the device"));
  std::uint32_t is_zero = 0;
  SOTTO_CHECK(
      check(cudaMemcpy(&is_zero, job_.zero + client, sizeof(is_zero), cudaMemcpyDeviceToHost),
            "copying from the device"));
  if (is_zero != 0) std::ranges::fill(bounded, 0.0F);
  return parts_.symbols_of(bounded, key).unpacked();
}

Result<void> DeviceVector::add(std::span<const Place> tensors, std::span<const StreamKey> keys,
                               const Filling& filling) {
  return in_turns(
      tensors, keys, filling,
      [&](std::span<const StreamKey> some, std::size_t /*first*/) -> Result<void> {
        SOTTO_CHECK(checked(start_symbols(job_, 0, job_.clients, 1, sums_.data(), nullptr),
                            "rounding on the device"));
        SOTTO_TRY(const std::vector<std::uint32_t> again, undecided());
        for (const std::uint32_t client : again) {
          SOTTO_CHECK(checked(start_symbols(job_, client, 1, -1, sums_.data(), nullptr),
                              "rounding on the device"));
          SOTTO_TRY(const std::vector<Symbol> symbols, redraw(client, some[client]));
          for (std::size_t i = 0; i < symbols.size(); ++i) late_[i] += symbols[i];
        }
        return {};
      });
}

Result<std::vector<std::int64_t>> DeviceVector::take_sums() {
  SOTTO_TRY(std::vector<std::int64_t> sums, sums_.copy(job_.dimension));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += std::exchange(late_[i], 0);
  SOTTO_CHECK(sums_.clear());
  return sums;
}

Result<void> DeviceVector::draw(std::span<const Place> tensors, std::span<const StreamKey> keys,
                                const Filling& filling, const TakeSymbols& take) {
  return in_turns(
      tensors, keys, filling,
      [&](std::span<const StreamKey> some, std::size_t first) -> Result<void> {
        const std::size_t each = job_.dimension;
        SOTTO_CHECK(symbols_.reserve(some.size() * each));
        SOTTO_CHECK(checked(start_symbols(job_, 0, job_.clients, 1, nullptr, symbols_.data()),
                            "rounding on the device"));
        SOTTO_TRY(const std::vector<std::uint32_t> again, undecided());
        SOTTO_TRY(std::vector<std::int32_t> rows, symbols_.copy(some.size() * each));
        for (const std::uint32_t client : again) {
          SOTTO_TRY(const std::vector<Symbol> symbols, redraw(client, some[client]));
          std::ranges::transform(symbols, rows.begin() + static_cast<std::ptrdiff_t>(client * each),
                                 [](Symbol symbol) { return static_cast<std::int32_t>(symbol); });
        }
        for (std::size_t c = 0; c < some.size(); ++c) {
          take(static_cast<std::uint32_t>(first + c),
               std::span<const std::int32_t>(rows).subspan(c * each, each));
        }
        return {};
      });
}

}  // namespace sotto::cuda
