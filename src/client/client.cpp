#include "client/client.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "base/clock.h"
#include "bound/fill_ball.h"
#include "plan/feature_statistics.h"

namespace sotto {

Client::Client(const ClientSettings& settings, std::shared_ptr<const Layout> layout,
               Trainer& trainer)
    : settings_(settings), layout_(std::move(layout)), trainer_(trainer) {
  for (std::size_t i = 0; i < layout_->tensors().size(); ++i) {
    if (layout_->tensors()[i].role != TensorRole::kBuffer) continue;
    buffers_.push_back(i);
    if (settings_.keep_buffers) buffer_values_ += layout_->tensors()[i].size;
  }
}

Result<ClientOutcome> Client::run(const RoundPlan& plan, const ClientGroup& group,
                                  std::span<const float> model, ClientTask task,
                                  const EnvelopeSink& sink) {
  ClientOutcome outcome;
  SOTTO_TRY(outcome.train_seconds, train_or_keep_still(plan, model, task, outcome.state));
  SOTTO_CHECK(send(plan, group, task, sink, outcome));
  return outcome;
}

Result<double> Client::train_or_keep_still(const RoundPlan& plan, std::span<const float> model,
                                           ClientTask& task, std::vector<float>& state) {
  if (!on_training_error) return train(plan, model, task, state);
  auto trained = [&]() -> Result<double> {
    try {
      return train(plan, model, task, state);
    } catch (const std::exception& problem) {  // too little memory for so many samples, say
      return fail(ErrorKind::kInternal, std::string("training: ") + problem.what());
    }
  }();
  if (trained) return trained;
  on_training_error(trained.error());
  keep_still(plan, model);
  return 0.0;
}

/// The model, with what the client has kept of its own in place of the model's.
Result<void> Client::load(std::span<const float> model, const ClientTask& task) {
  if (!settings_.keeps_state()) return trainer_.load(model);
  weights_.assign(model.begin(), model.end());
  std::size_t used = 0;
  if (settings_.keep_buffers && !task.state.empty()) {
    for (const std::size_t i : buffers_) {
      const TensorSpec& tensor = layout_->tensors()[i];
      std::copy_n(task.state.begin() + static_cast<std::ptrdiff_t>(used), tensor.size,
                  weights_.begin() + static_cast<std::ptrdiff_t>(tensor.offset));
      used += tensor.size;
    }
  }
  if (settings_.keep_optimizer) {
    trainer_.set_optimizer_state(std::span(task.state).subspan(used));
  }
  return trainer_.load(weights_);
}

std::vector<float> Client::kept_state() const {
  std::vector<float> state;
  if (settings_.keep_buffers) {
    for (const std::size_t i : buffers_) {
      const TensorSpec& tensor = layout_->tensors()[i];
      const auto first = weights_.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
      state.insert(state.end(), first, first + static_cast<std::ptrdiff_t>(tensor.size));
    }
  }
  if (settings_.keep_optimizer) {
    const std::vector<float> optimizer = trainer_.optimizer_state();
    state.insert(state.end(), optimizer.begin(), optimizer.end());
  }
  return state;
}

void Client::keep_still(const RoundPlan& plan, std::span<const float> model) {
  if (plan.payload == Payload::kWeights) {
    weights_.assign(model.begin(), model.end());
  } else {
    weights_.assign(layout_->size(), 0.0F);
  }
}

/// The rows of the data that hold the samples and their views.
std::span<const std::uint32_t> Client::rows_of(std::span<const std::uint32_t> samples) {
  const std::uint32_t views = settings_.data->views;
  if (views == 1) return samples;
  rows_.clear();
  for (const std::uint32_t sample : samples) {
    for (std::uint32_t v = 0; v < views; ++v) rows_.push_back(sample * views + v);
  }
  return rows_;
}

/// Fills the place of the features' mean in weights_ with that of the client's own: over its
/// samples and their views, in one fixed order.
void Client::report_features(std::span<const std::uint32_t> rows) {
  const TensorSpec& mean = layout_->tensors()[feature_tensors(*layout_).mean];
  features_.resize(mean.size);
  std::vector<double> sums(mean.size, 0.0);
  std::int64_t label = 0;
  for (const std::uint32_t row : rows) {
    fill_batch(*settings_.data, std::span(&row, 1), settings_.preprocess, nullptr, features_,
               std::span(&label, 1));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(features_[i]);
  }
  const auto share = 1.0 / static_cast<double>(rows.size());
  weights_.assign(layout_->size(), 0.0F);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    weights_[mean.offset + i] = static_cast<float>(sums[i] * share);
  }
}

/// Fills weights_ with the client's payload; returns the seconds that training took.
Result<double> Client::train(const RoundPlan& plan, std::span<const float> model, ClientTask& task,
                             std::vector<float>& state) {
  // A client's own features need no network; loading one costs a device more than they do.
  if (plan.reported == Reported::kPayload) SOTTO_CHECK(load(model, task));
  weights_.resize(layout_->size());
  if (task.samples.empty()) {
    state = std::move(task.state);
    keep_still(plan, model);
    return 0.0;
  }
  const Stopwatch training;
  if (plan.reported == Reported::kFeatureMean) {
    report_features(rows_of(task.samples));
    state = std::move(task.state);
    return training.seconds();
  }
  if (plan.payload == Payload::kGradient) {
    SOTTO_CHECK(
        trainer_.gradient(*settings_.data, rows_of(task.samples), settings_.preprocess, weights_));
    state = std::move(task.state);
    return training.seconds();
  }
  SOTTO_CHECK(trainer_.train(*settings_.data, task.samples, settings_.preprocess, settings_.options,
                             task.bits("train")));
  const double seconds = training.seconds();
  SOTTO_CHECK(trainer_.store(weights_));
  state = kept_state();
  if (plan.payload == Payload::kDelta) {
    for (std::size_t i = 0; i < model.size(); ++i) weights_[i] -= model[i];
  }
  return seconds;
}

Result<void> Client::send(const RoundPlan& plan, const ClientGroup& group, ClientTask& task,
                          const EnvelopeSink& sink, ClientOutcome& outcome) {
  Sha256 hash;
  BitSource noise = task.bits("perturb");
  std::optional<BitSource> delays;
  if (plan.latency > 0.0) delays = task.bits("latency");
  const EnvelopeSink delayed = [&](const Envelope& envelope) -> Result<void> {
    if (delays) {
      outcome.delay_seconds = std::max(outcome.delay_seconds, plan.latency * delays->unit());
    }
    return sink(envelope);
  };
  for (std::size_t next = 0; next < group.parts.size();) {
    const Part& part = group.parts[next];
    const bool whole = part.tensors.size() == layout_->tensors().size();
    std::vector<float>& values = whole ? weights_ : slice_;
    if (!whole) {
      slice_.clear();
      for (const std::size_t i : part.tensors) {
        const TensorSpec& tensor = layout_->tensors()[i];
        const auto first = weights_.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
        slice_.insert(slice_.end(), first, first + static_cast<std::ptrdiff_t>(tensor.size));
      }
    }
    const Domain& domain = part.mechanism->domain();
    if (plan.fills_ball) fill_ball(values, domain.norm, plan.fill_floor);
    Bounded bounded = bound(Update(domain.layout, std::move(values)), domain);
    // Further messages of the same tensors are drawn anew from the same values.
    for (; next < group.parts.size() && group.parts[next].tensors == part.tensors; ++next) {
      const Part& message = group.parts[next];
      Report report = message.mechanism->perturb(bounded, noise);
      if (observer != nullptr) {
        observer->on_report(plan, task.client, message, bounded.values(), report);
      }
      SOTTO_CHECK(send_report(std::move(report), plan, hashes_reports ? &hash : nullptr, delayed));
    }
    values = std::move(bounded).take();
  }
  if (hashes_reports) outcome.report_hash = hash.hex();
  return {};
}

Result<void> send_report(Report report, const RoundPlan& plan, Sha256* hash,
                         const EnvelopeSink& sink) {
  for (const Envelope& envelope : pack(std::move(report), plan.round, plan.split)) {
    if (hash != nullptr) hash->add(envelope.serialize());
    SOTTO_CHECK(sink(envelope));
  }
  return {};
}

}  // namespace sotto
