#include "cuda/device_mechanism.h"

#include <algorithm>
#include <limits>

#include "cuda/aes_tables.h"
#include "cuda/device_memory.h"
#include "cuda/job.h"
#include "mechanism/value.h"

namespace sotto {
namespace {

using cuda::check;
using cuda::DeviceMemory;

/// Of all weights, the share that there is room for when their words leave them open: 2^-11 of them
/// are, by the poorest of the windows, and of geometric noise on a fine grid four times the error
/// that the fast way must reckon with.
double open_share(const ChannelKernel& kernel) {
  double share = 0x1p-6;
  if (const auto* const k = std::get_if<GeometricKernel>(&kernel)) {
    share += 8.0 * (k->fixed + k->relative * k->bound + k->unit);
  }
  return std::min(share, 1.0);
}
constexpr double kOpenLeast = 0x1p16;
/// Symbols that come to the host together, of as many clients as have so many.
constexpr std::size_t kReportWeights = std::size_t{1} << 26;

/// One channel's numbers with its tables copied to the device, which `tables` keeps.
struct Uploads {
  std::vector<DeviceMemory<double>> doubles;
  std::vector<DeviceMemory<std::int32_t>> integers;

  Result<const double*> keep(const double* values, std::int32_t count) {
    if (values == nullptr || count == 0) return nullptr;
    doubles.emplace_back();
    SOTTO_CHECK(doubles.back().copy_from({values, static_cast<std::size_t>(count)}));
    return doubles.back().data();
  }
  Result<const std::int32_t*> keep(const std::int32_t* values, std::int32_t count) {
    if (values == nullptr || count == 0) return nullptr;
    integers.emplace_back();
    SOTTO_CHECK(integers.back().copy_from({values, static_cast<std::size_t>(count)}));
    return integers.back().data();
  }

  template <class Kernel>
  Result<Kernel> upload(const Kernel& kernel) {
    return kernel;
  }
  Result<StaircaseView> upload(StaircaseView kernel) {
    SOTTO_TRY(kernel.upper, keep(kernel.upper, kernel.padded));
    SOTTO_TRY(kernel.size, keep(kernel.size, kernel.padded));
    SOTTO_TRY(kernel.begin, keep(kernel.begin, kernel.padded));
    return kernel;
  }
  Result<WindowKernel> upload(WindowKernel kernel) {
    SOTTO_TRY(kernel.positions, keep(kernel.positions, kernel.position_count));
    SOTTO_TRY(kernel.nodes, keep(kernel.nodes, kernel.node_count));
    SOTTO_TRY(kernel.inverse, keep(kernel.inverse, kernel.node_count - 1));
    SOTTO_TRY(kernel.starts, keep(kernel.starts, kernel.start_count));
    SOTTO_TRY(kernel.values, keep(kernel.values, static_cast<std::int32_t>(kernel.slots)));
    return kernel;
  }
};

const ValueMechanism* value_mechanism(const Mechanism& mechanism) {
  return dynamic_cast<const ValueMechanism*>(&mechanism);
}

const Channel& channel_at(const ValueMechanism& mechanism, const TensorSpec& tensor) {
  return mechanism.channel_of(tensor.offset);
}

}  // namespace

struct DeviceMechanism::State {
  std::shared_ptr<const Mechanism> mechanism;
  const ValueMechanism* values = nullptr;
  bool wide = false;
  unsigned words = 0;
  double share = 0.0;  // of weights that may stay open
  Uploads tables;
  /// One array of the kernels of all tensors; all are of one kind.
  DeviceMemory<std::byte> channels;
  std::size_t kind = 0;  // index of ChannelKernel
  std::vector<cuda::Tensor> tensors;
  std::vector<std::size_t> numbers;  // of those tensors that have elements, in the layout
  DeviceMemory<cuda::Tensor> device_tensors;
  DeviceMemory<cuda::Piece> pieces;
  DeviceMemory<std::uint32_t> first_piece;
  DeviceMemory<std::uint32_t> table;
  DeviceMemory<std::uint32_t> round_keys;
  DeviceMemory<cuda::OpenWeight> open;
  DeviceMemory<std::uint32_t> open_count;
  std::uint32_t blocks = 0;
  DeviceMemory<std::int64_t> sums;
  DeviceMemory<std::int32_t> narrow_symbols;
  DeviceMemory<std::int64_t> wide_symbols;
  std::vector<std::pair<std::uint64_t, Symbol>> late;  // drawn here, for take_sum()
  std::uint64_t reports = 0;

  Result<void> upload_channels();
  template <class Kernel>
  Result<void> upload_kind(std::span<const ChannelKernel> kernels);
  Result<void> upload_pieces();
  Result<cuda::PerturbJob> job(std::span<const Place> places, std::span<const StreamKey> keys);
  int start(const cuda::PerturbJob& job, const cuda::PerturbOutput& output) const;
  Result<std::vector<cuda::OpenWeight>> opened(const cuda::PerturbJob& job) const;
  Symbol finish(const cuda::OpenWeight& open, std::span<const StreamKey> keys) const;
  std::size_t outputs() const { return mechanism->outputs(); }
};

template <class Kernel>
Result<void> DeviceMechanism::State::upload_kind(std::span<const ChannelKernel> kernels) {
  std::vector<Kernel> all;
  for (const ChannelKernel& kernel : kernels) {
    SOTTO_TRY(const Kernel copied, tables.upload(std::get<Kernel>(kernel)));
    all.push_back(copied);
  }
  return channels.copy_from(std::as_bytes(std::span(all)));
}

Result<void> DeviceMechanism::State::upload_channels() {
  std::vector<ChannelKernel> kernels;
  for (const std::size_t t : numbers) {
    const TensorSpec& tensor = mechanism->domain().layout->tensors()[t];
    const Channel& channel = channel_at(*values, tensor);
    const Range& range = mechanism->domain().ranges[t];
    kernels.push_back(channel.kernel());
    wide = wide || channel.wide();
    words = channel.words();
    share = std::max(share, open_share(kernels.back()));
    tensors.push_back({.payload = nullptr,
                       .model = nullptr,
                       .offset = tensor.offset,
                       .size = tensor.size,
                       .low = static_cast<float>(range.centre - range.radius),
                       .centre = static_cast<float>(range.centre),
                       .high = static_cast<float>(range.centre + range.radius),
                       .channel = static_cast<std::uint32_t>(kernels.size() - 1)});
  }
  kind = kernels.front().index();
  if (std::holds_alternative<FixedKernel>(kernels.front()))
    return upload_kind<FixedKernel>(kernels);
  if (std::holds_alternative<TwoPointKernel>(kernels.front())) {
    return upload_kind<TwoPointKernel>(kernels);
  }
  if (std::holds_alternative<StaircaseView>(kernels.front())) {
    return upload_kind<StaircaseView>(kernels);
  }
  if (std::holds_alternative<WindowKernel>(kernels.front())) {
    return upload_kind<WindowKernel>(kernels);
  }
  return upload_kind<GeometricKernel>(kernels);
}

Result<void> DeviceMechanism::State::upload_pieces() {
  std::vector<cuda::Piece> all;
  std::vector<std::uint32_t> first;
  std::size_t t = 0;
  for (std::size_t begin = 0; begin < outputs(); begin += ValueMechanism::kBlock) {
    const std::size_t end = std::min(outputs(), begin + ValueMechanism::kBlock);
    first.push_back(static_cast<std::uint32_t>(all.size()));
    std::uint32_t word = 0;
    for (std::size_t at = begin; at < end;) {
      while (tensors[t].offset + tensors[t].size <= at) ++t;
      const std::size_t until = std::min<std::size_t>(end, tensors[t].offset + tensors[t].size);
      const auto count = static_cast<std::uint32_t>(until - at);
      all.push_back(
          {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(at - begin), count, word});
      word += count * words;
      at = until;
    }
  }
  blocks = static_cast<std::uint32_t>(first.size());
  first.push_back(static_cast<std::uint32_t>(all.size()));
  SOTTO_CHECK(pieces.copy_from(all));
  return first_piece.copy_from(first);
}

Result<cuda::PerturbJob> DeviceMechanism::State::job(std::span<const Place> places,
                                                     std::span<const StreamKey> keys) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].payload = places[numbers[i]].payload;
    tensors[i].model = places[numbers[i]].model;
  }
  SOTTO_CHECK(device_tensors.copy_from(tensors));
  std::vector<std::uint32_t> round;
  for (const StreamKey& key : keys) {
    const auto expanded = cuda::aes_round_keys(key);
    round.insert(round.end(), expanded.begin(), expanded.end());
  }
  SOTTO_CHECK(round_keys.copy_from(round));
  const auto weights = static_cast<double>(outputs() * keys.size());
  SOTTO_CHECK(
      open.reserve(static_cast<std::size_t>(std::min(weights, share * weights + kOpenLeast))));
  SOTTO_CHECK(open_count.reserve(1));
  SOTTO_CHECK(open_count.clear());
  return cuda::PerturbJob{.clients = static_cast<std::uint32_t>(keys.size()),
                          .blocks = blocks,
                          .tensors = device_tensors.data(),
                          .pieces = pieces.data(),
                          .first_piece = first_piece.data(),
                          .table = table.data(),
                          .round_keys = round_keys.data(),
                          .open = open.data(),
                          .open_count = open_count.data(),
                          .open_room = static_cast<std::uint32_t>(open.size())};
}

int DeviceMechanism::State::start(const cuda::PerturbJob& job,
                                  const cuda::PerturbOutput& output) const {
  const auto run = [&]<class Kernel>(const Kernel* kernels) {
    return cuda::start_perturb(job, kernels, outputs(), output);
  };
  const void* const all = channels.data();
  switch (kind) {
    case 1:
      return run(static_cast<const FixedKernel*>(all));
    case 2:
      return run(static_cast<const TwoPointKernel*>(all));
    case 3:
      return run(static_cast<const StaircaseView*>(all));
    case 4:
      return run(static_cast<const WindowKernel*>(all));
    default:
      return run(static_cast<const GeometricKernel*>(all));
  }
}

/// Waits for the kernel.
Result<std::vector<cuda::OpenWeight>> DeviceMechanism::State::opened(
    const cuda::PerturbJob& job) const {
  SOTTO_TRY(const std::vector<std::uint32_t> count, open_count.copy(1));
  if (count[0] > job.open_room) {
    return fail(ErrorKind::kInternal,
                "the device left more weights open than there is room for: nothing is released");
  }
  return open.copy(count[0]);
}

Symbol DeviceMechanism::State::finish(const cuda::OpenWeight& weight,
                                      std::span<const StreamKey> keys) const {
  BlockStream stream(keys[weight.client]);
  stream.seek(weight.index / ValueMechanism::kBlock);
  MoreBits more = stream.more(weight.index % ValueMechanism::kBlock);
  return values->channel_of(weight.index).draw(weight.weight, {weight.words, 1}, more);
}

DeviceMechanism::DeviceMechanism(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceMechanism::~DeviceMechanism() = default;

bool DeviceMechanism::takes(const Mechanism& mechanism) {
  const ValueMechanism* const values = value_mechanism(mechanism);
  if (values == nullptr || values->outputs() == 0) return false;
  return !std::holds_alternative<std::monostate>(values->channel_of(0).kernel());
}

Result<std::unique_ptr<DeviceMechanism>> DeviceMechanism::make(
    std::shared_ptr<const Mechanism> mechanism) {
  if (!takes(*mechanism)) {
    return fail(ErrorKind::kUsage, std::string(mechanism->id()) +
                                       " has no kernel for a CUDA device; valid: the value "
                                       "mechanisms (sotto mechanisms)");
  }
  auto state = std::make_unique<State>();
  state->mechanism = std::move(mechanism);
  state->values = value_mechanism(*state->mechanism);
  const auto& tensors = state->mechanism->domain().layout->tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].size > 0) state->numbers.push_back(t);
  }
  SOTTO_CHECK(state->upload_channels());
  SOTTO_CHECK(state->upload_pieces());
  SOTTO_CHECK(state->table.copy_from(cuda::aes_table()));
  SOTTO_CHECK(state->sums.reserve(state->outputs()));
  SOTTO_CHECK(state->sums.clear());
  return std::unique_ptr<DeviceMechanism>(new DeviceMechanism(std::move(state)));
}

Result<void> DeviceMechanism::add(std::span<const Place> tensors, std::span<const StreamKey> keys) {
  if (keys.empty()) return {};
  State& state = *state_;
  SOTTO_TRY(const cuda::PerturbJob job, state.job(tensors, keys));
  SOTTO_CHECK(check(static_cast<cudaError_t>(state.start(job, {.sums = state.sums.data()})),
                    "perturbing on the device"));
  SOTTO_TRY(const auto open, state.opened(job));
  for (const cuda::OpenWeight& weight : open) {
    state.late.emplace_back(weight.index, state.finish(weight, keys));
  }
  state.reports += keys.size();
  return {};
}

Result<SummedEnvelope> DeviceMechanism::take_sum(RoundId round) {
  State& state = *state_;
  SummedEnvelope sum;
  sum.round_ = round;
  sum.mechanism_id_ = state.mechanism->id();
  SOTTO_TRY(sum.sums_, state.sums.copy(state.outputs()));
  for (const auto& [index, symbol] : state.late) sum.sums_[index] += symbol;
  sum.reports_ = std::exchange(state.reports, 0);
  state.late.clear();
  SOTTO_CHECK(state.sums.clear());
  return sum;
}

Result<std::vector<Report>> DeviceMechanism::reports(std::span<const Place> tensors,
                                                     std::span<const StreamKey> keys) {
  State& state = *state_;
  const std::size_t each = state.outputs();
  const std::size_t together = std::max<std::size_t>(1, kReportWeights / each);
  std::vector<Report> all;
  std::vector<Place> places(tensors.begin(), tensors.end());
  const auto& specs = state.mechanism->domain().layout->tensors();
  for (std::size_t first = 0; first < keys.size(); first += together) {
    const auto some = keys.subspan(first, std::min(together, keys.size() - first));
    for (std::size_t t = 0; t < places.size(); ++t) {
      places[t].payload = tensors[t].payload + first * specs[t].size;
    }
    SOTTO_TRY(const cuda::PerturbJob job, state.job(places, some));
    const std::size_t weights = each * some.size();
    SOTTO_CHECK(state.wide ? state.wide_symbols.reserve(weights)
                           : state.narrow_symbols.reserve(weights));
    SOTTO_CHECK(check(static_cast<cudaError_t>(state.start(
                          job, {.narrow = state.wide ? nullptr : state.narrow_symbols.data(),
                                .wide = state.wide_symbols.data()})),
                      "perturbing on the device"));
    SOTTO_TRY(const auto open, state.opened(job));
    const auto pack_rows = [&](auto rows) {
      for (const cuda::OpenWeight& weight : open) {
        rows[weight.client * each + weight.index] =
            static_cast<typename decltype(rows)::value_type>(state.finish(weight, some));
      }
      for (std::size_t c = 0; c < some.size(); ++c) {
        PackedSymbols packed(each, state.mechanism->symbol_bits());
        packed.write(0, std::span(std::as_const(rows)).subspan(c * each, each));
        all.push_back(Report(std::string(state.mechanism->id()), std::move(packed)));
      }
    };
    if (state.wide) {
      SOTTO_TRY(auto rows, state.wide_symbols.copy(weights));
      pack_rows(std::move(rows));
    } else {
      SOTTO_TRY(auto rows, state.narrow_symbols.copy(weights));
      pack_rows(std::move(rows));
    }
  }
  return all;
}

Result<std::vector<Symbol>> DeviceMechanism::draw(std::span<const float> values,
                                                  const StreamKey& key) {
  State& state = *state_;
  DeviceMemory<float> input;
  SOTTO_CHECK(input.copy_from(values));
  std::vector<Place> places;
  for (const TensorSpec& tensor : state.mechanism->domain().layout->tensors()) {
    places.push_back({input.data() + tensor.offset});
  }
  SOTTO_TRY(const cuda::PerturbJob job, state.job(places, {&key, 1}));
  DeviceMemory<std::int32_t> narrow;
  DeviceMemory<std::int64_t> wide;
  SOTTO_CHECK(state.wide ? wide.reserve(state.outputs()) : narrow.reserve(state.outputs()));
  SOTTO_CHECK(check(
      static_cast<cudaError_t>(state.start(job, {.narrow = narrow.data(), .wide = wide.data()})),
      "perturbing on the device"));
  SOTTO_TRY(const auto open, state.opened(job));
  std::vector<Symbol> symbols;
  if (state.wide) {
    SOTTO_TRY(symbols, wide.copy(state.outputs()));
  } else {
    SOTTO_TRY(const auto drawn, narrow.copy(state.outputs()));
    symbols.assign(drawn.begin(), drawn.end());
  }
  for (const cuda::OpenWeight& weight : open) {
    symbols[weight.index] = state.finish(weight, {&key, 1});
  }
  return symbols;
}

Result<DeviceMechanism::Times> DeviceMechanism::measure(std::span<const float> values,
                                                        unsigned clients, int turns) {
  State& state = *state_;
  const std::size_t weights = state.outputs() * clients;
  const std::size_t symbol_bytes = state.wide ? 8 : 4;
  DeviceMemory<float> input;
  DeviceMemory<std::int32_t> narrow;
  DeviceMemory<std::int64_t> wide;
  DeviceMemory<std::byte> from;
  DeviceMemory<std::byte> to;
  const std::size_t copied = weights * (sizeof(float) + symbol_bytes) / 2;
  SOTTO_CHECK(input.reserve(weights));
  SOTTO_CHECK(state.wide ? wide.reserve(weights) : narrow.reserve(weights));
  SOTTO_CHECK(from.reserve(copied));
  SOTTO_CHECK(to.reserve(copied));
  std::vector<Place> places;
  for (const TensorSpec& tensor : state.mechanism->domain().layout->tensors()) {
    float* const rows = input.data() + clients * tensor.offset;
    for (unsigned c = 0; c < clients; ++c) {
      SOTTO_CHECK(check(cudaMemcpy(rows + c * tensor.size, values.data() + tensor.offset,
                                   tensor.size * sizeof(float), cudaMemcpyHostToDevice),
                        "copying to the device"));
    }
    places.push_back({rows});
  }
  std::vector<StreamKey> keys;
  BitSource bits = BitSource::from_seed(3, "bench");
  for (unsigned c = 0; c < clients; ++c) keys.emplace_back(bits);
  SOTTO_TRY(const cuda::PerturbJob job, state.job(places, keys));
  DeviceMemory<std::uint32_t> sink;
  SOTTO_CHECK(sink.reserve(1));

  cudaEvent_t begin{};
  cudaEvent_t end{};
  SOTTO_CHECK(check(cudaEventCreate(&begin), "making a timer"));
  SOTTO_CHECK(check(cudaEventCreate(&end), "making a timer"));
  /// The fastest of several turns: other work can only slow one down.
  const auto fastest = [&](auto&& start) -> Result<double> {
    double best = std::numeric_limits<double>::infinity();
    for (int turn = 0; turn <= turns; ++turn) {
      cudaEventRecord(begin);
      const auto error = static_cast<cudaError_t>(start());
      cudaEventRecord(end);
      SOTTO_CHECK(check(error, "starting a kernel"));
      SOTTO_CHECK(check(cudaEventSynchronize(end), "measuring on the device"));
      float milliseconds = 0.0F;
      cudaEventElapsedTime(&milliseconds, begin, end);
      if (turn > 0) best = std::min(best, 1e-3 * static_cast<double>(milliseconds));
    }
    return best;
  };
  Times times;
  SOTTO_TRY(times.perturb, fastest([&] {
              return state.start(job, {.narrow = narrow.data(), .wide = wide.data()});
            }));
  if (state.words > 0) {
    SOTTO_TRY(times.words,
              fastest([&] { return cuda::start_words(job, state.words, sink.data()); }));
  }
  SOTTO_TRY(times.copy, fastest([&] {
              return static_cast<int>(
                  cudaMemcpyAsync(to.data(), from.data(), copied, cudaMemcpyDeviceToDevice));
            }));
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return times;
}

}  // namespace sotto
