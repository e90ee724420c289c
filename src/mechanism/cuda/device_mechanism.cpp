#include "mechanism/cuda/device_mechanism.h"

#include <algorithm>

#include "mechanism/cuda/aes_tables.h"
#include "mechanism/cuda/device_state.h"

namespace sotto {
namespace {

using cuda::check;
using cuda::DeviceMemory;

/// Symbols that come to the host together, of as many clients as have so many.
constexpr std::size_t kReportWeights = std::size_t{1} << 26;

const ValueMechanism* value_mechanism(const Mechanism& mechanism) {
  return dynamic_cast<const ValueMechanism*>(&mechanism);
}

}  // namespace

DeviceMechanism::DeviceMechanism(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceMechanism::~DeviceMechanism() = default;

bool DeviceMechanism::takes(const Mechanism& mechanism) {
  if (mechanism.outputs() > 0 && privunit_parts(mechanism) != nullptr) return true;
  const ValueMechanism* const values = value_mechanism(mechanism);
  if (values == nullptr || values->outputs() == 0) return false;
  return !std::holds_alternative<std::monostate>(values->channel_of(0).kernel());
}

Result<std::unique_ptr<DeviceMechanism>> DeviceMechanism::make(
    std::shared_ptr<const Mechanism> mechanism, unsigned threads) {
  if (!takes(*mechanism)) {
    return fail(ErrorKind::kUsage, std::string(mechanism->id()) +
                                       " has no kernel for a CUDA device; valid: the value "
                                       "mechanisms (sotto mechanisms) and privunit");
  }
  auto state = std::make_unique<State>();
  state->mechanism = std::move(mechanism);
  if (privunit_parts(*state->mechanism) != nullptr) {
    SOTTO_TRY(state->vector, cuda::DeviceVector::make(*state->mechanism, threads));
    return std::unique_ptr<DeviceMechanism>(new DeviceMechanism(std::move(state)));
  }
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

Result<void> DeviceMechanism::add(std::span<const Place> tensors, std::span<const StreamKey> keys,
                                  const Filling& filling) {
  if (keys.empty()) return {};
  State& state = *state_;
  if (state.vector) {
    SOTTO_CHECK(state.vector->add(tensors, keys, filling));
    state.reports += keys.size();
    return {};
  }
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
  if (state.vector) {
    SOTTO_TRY(sum.sums_, state.vector->take_sums());
    sum.reports_ = std::exchange(state.reports, 0);
    return sum;
  }
  SOTTO_TRY(sum.sums_, state.sums.copy(state.outputs()));
  for (const auto& [index, symbol] : state.late) sum.sums_[index] += symbol;
  sum.reports_ = std::exchange(state.reports, 0);
  state.late.clear();
  SOTTO_CHECK(state.sums.clear());
  return sum;
}

Result<std::vector<Report>> DeviceMechanism::reports(std::span<const Place> tensors,
                                                     std::span<const StreamKey> keys,
                                                     const Filling& filling) {
  State& state = *state_;
  const std::size_t each = state.outputs();
  if (state.vector) {
    std::vector<Report> drawn;
    SOTTO_CHECK(state.vector->draw(
        tensors, keys, filling, [&](std::uint32_t, std::span<const std::int32_t> symbols) {
          PackedSymbols packed(each, state.mechanism->symbol_bits());
          packed.write(0, symbols);
          drawn.push_back(Report(std::string(state.mechanism->id()), std::move(packed)));
        }));
    return drawn;
  }
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

std::uint64_t DeviceMechanism::redrawn() const {
  return state_->vector ? state_->vector->redrawn() : 0;
}

Result<std::vector<Symbol>> DeviceMechanism::draw(std::span<const float> values,
                                                  const StreamKey& key) {
  DeviceMemory<float> input;
  SOTTO_CHECK(input.copy_from(values));
  std::vector<Place> places;
  for (const TensorSpec& tensor : state_->mechanism->domain().layout->tensors()) {
    places.push_back({input.data() + tensor.offset});
  }
  SOTTO_TRY(const std::vector<Report> drawn, reports(places, {&key, 1}));
  return drawn.front().symbols().unpacked();
}

}  // namespace sotto
