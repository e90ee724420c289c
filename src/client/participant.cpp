#include "client/participant.h"

#include <algorithm>
#include <limits>

#include "account/ledger/ledger_spending.h"
#include "client/own_samples.h"
#include "client/recipe_training.h"
#include "client/work.h"
#include "plan/baselines.h"
#include "plan/budget.h"
#include "plan/feature_statistics.h"
#include "plan/round_plan.h"
#include "server/attendance.h"
#include "shuffle/report_form.h"
#include "sotto/features.h"

namespace sotto::rpc {
namespace {

/// A report that was made for another task must not go under this one's contract: among others it
/// would tell whose it is.
Result<void> check_form(std::span<const Envelope> report, const ReportForm& form) {
  bool same = report.size() == form.chunks();
  for (std::size_t i = 0; same && i < report.size(); ++i) {
    const ChunkSpec spec = form.chunk(i);
    same = report[i].mechanism_id() == spec.mechanism_id && report[i].position() == spec.position &&
           report[i].symbols().size() == spec.symbols && report[i].symbols().bits() == spec.bits;
  }
  if (same) return {};
  return fail(ErrorKind::kRefused,
              "the server asks again for a round's report with other mechanisms or ranges than "
              "those that it was made for");
}

/// What is bound to a charge: the digest of the model that the report was made from, then the
/// report.
std::vector<std::byte> write_made(std::span<const Envelope> envelopes, const std::string& model) {
  const auto digest = std::as_bytes(std::span(model));
  std::vector<std::byte> bytes(digest.begin(), digest.end());
  const std::vector<std::byte> report = write_report(envelopes);
  bytes.insert(bytes.end(), report.begin(), report.end());
  return bytes;
}

/// Under the contract of another model the report would tell whose it is.
Result<std::vector<Envelope>> read_made(std::span<const std::byte> bytes,
                                        const std::string& model) {
  if (bytes.size() < model.size() ||
      !std::ranges::equal(bytes.first(model.size()), std::as_bytes(std::span(model)))) {
    return fail(ErrorKind::kRefused,
                "the server asks again for a round's report with another model than the one that "
                "it was made from");
  }
  return read_report(bytes.subspan(model.size()));
}

/// The client's own data; the recipe says only how a simulation would cut them.
DataRequest own_request(const Recipe& recipe, const ParticipantOptions& options) {
  DataRequest request;
  request.source = options.data;
  request.labels = options.labels;
  request.test_fraction = recipe.data.test_fraction;
  request.folder = options.data_folder;
  return request;
}

/// What training works on, and how much of it there is.
struct Outline {
  Layout layout;
  std::vector<float> initial;  // where ranges follow from it
  identity::Work work;
};

/// Judges the work before anything of its size is made.
Result<Outline> outline_of(const Recipe& recipe, const ParticipantOptions& options,
                           const MakeFactory& make_factory) {
  const identity::WorkLimits limits =
      options.policy ? options.policy->work : identity::WorkLimits{};
  const SampleForm form = *sample_form(recipe);
  SampleShape input = form.shape;
  SOTTO_CHECK(identity::check(limits, work_of(recipe, input)));
  SOTTO_CHECK(check_features(recipe));
  SOTTO_TRY(input, feature_shape(recipe.data.features, input));
  input = recipe_resize(recipe).value_or(input);
  SOTTO_CHECK(identity::check(limits, work_of(recipe, input)));
  Outline outline;
  const auto seed = static_cast<std::uint64_t>(recipe.federation.seed);
  if (options.model_file.empty()) {
    const auto network = find_network(recipe.model.name, input, form.classes);
    if (!network) return fail(ErrorKind::kRefused, network.error().message);
    outline.work = work_of(recipe, *network);
    SOTTO_CHECK(identity::check(limits, outline.work));
    outline.layout = add_feature_tensors(recipe, network->layout(), input.size());
    if (recipe.bound.range != RangeRule::kFixed) {
      BitSource bits = BitSource::from_seed(seed, "initialise");
      outline.initial = network->initialise(bits);
    }
    return outline;
  }
  TrainerRequest request;
  request.file = options.model_file;
  request.input = input;
  request.classes = form.classes;
  SOTTO_TRY(const auto factory, make_factory(request));
  outline.layout = factory->layout();
  outline.initial = factory->initial_weights(seed);
  outline.work = work_of(recipe, input, outline.layout.size());
  SOTTO_CHECK(identity::check(limits, outline.work));
  return outline;
}

/// What a policy can judge of a recipe without computing anything.
identity::PlanFacts named_facts(const Recipe& recipe, const ParticipantOptions& options) {
  identity::PlanFacts facts;
  facts.mechanisms = {recipe.privacy.mechanism};
  if (recipe.statistics.reported()) {
    facts.mechanisms.push_back(statistics_mechanism(recipe).name);
  }
  facts.shuffle = name_of(recipe.shuffle.mode);
  facts.model = recipe.model.file.empty() ? recipe.model.name : recipe.model.file;
  facts.recipe = recipe.fingerprint();
  facts.min_batch = static_cast<std::uint64_t>(recipe.shuffle.min_batch);
  facts.server_key = options.server_key;
  return facts;
}

}  // namespace

Result<std::unique_ptr<Participant>> Participant::make(const Recipe& recipe,
                                                       ParticipantOptions options,
                                                       std::shared_ptr<Ledger> ledger,
                                                       const MakeFactory& make_factory) {
  SOTTO_CHECK(check_remote(recipe));
  if (recipe.model.file.empty() != options.model_file.empty()) {
    return fail(ErrorKind::kUsage,
                recipe.model.file.empty()
                    ? "--model: the recipe has a network of Sotto's, '" + recipe.model.name + "'"
                    : "the recipe trains a network from a file; no code is taken from a server: "
                      "give your own copy with --model FILE.pt");
  }
  if (options.clients != static_cast<std::uint64_t>(recipe.federation.clients)) {
    return fail(ErrorKind::kRefused, "the server names " + std::to_string(options.clients) +
                                         " clients, and its recipe " +
                                         std::to_string(recipe.federation.clients));
  }
  if (options.policy) {
    // What the recipe's text alone decides, before any work is done for it.
    SOTTO_CHECK(identity::check(*options.policy, named_facts(recipe, options)));
  }
  SOTTO_TRY(Outline outline, outline_of(recipe, options, make_factory));
  SOTTO_TRY(Planner planner,
            Planner::make(recipe, outline.layout, outline.initial,
                          share_of_clients(options.clients,
                                           clients_per_round(recipe.federation, options.clients)),
                          options.index));
  std::unique_ptr<Participant> participant(new Participant(
      recipe, std::move(options), std::move(outline.layout), outline.work, std::move(planner)));
  participant->ledger_ = std::move(ledger);
  SOTTO_TRY(participant->whole_, participant->whole_cost());
  SOTTO_CHECK(participant->check_first_rounds());
  SOTTO_CHECK(participant->ledger_->set_limits(participant->options_.name, participant->dataset_,
                                               participant->options_.limits));
  SOTTO_CHECK(participant->set_up(make_factory));
  return participant;
}

Result<void> Participant::set_up(const MakeFactory& make_factory) {
  OwnData own;
  own.request = own_request(recipe_, options_);
  if (options_.share) own.share = options_.index;
  own.note = options_.on_note;
  SOTTO_TRY(samples_, read_own_samples(recipe_, *sample_form(recipe_), own));
  Recipe trained = recipe_;
  trained.model.file = options_.model_file;
  const Dataset& mine = samples_->data.train;
  SOTTO_TRY(Preprocess preprocess, recipe_preprocess(trained, mine));
  SOTTO_TRY(factory_, recipe_factory(trained, mine, preprocess, make_factory));
  if (factory_->layout().fingerprint() != layout_.fingerprint()) {
    return fail(ErrorKind::kInternal, "the trainer's network is not the one that was planned");
  }
  SOTTO_TRY(trainer_, factory_->make());
  if (uses_batch_statistics(recipe_, layout_)) trainer_->use_batch_statistics(true);
  settings_ = recipe_client_settings(trained, mine, std::move(preprocess));
  client_.emplace(settings_, std::make_shared<const Layout>(factory_->layout()), *trainer_);
  client_->on_training_error = [note = options_.on_note](const Error& error) {
    if (note) note(error.message + ": reporting as if without samples");
  };
  return {};
}

Result<Spent> Participant::whole_cost() const {
  Spending spending;
  spending.set_limits(options_.limits);
  const Schedule& schedule = planner_.schedule();
  for (std::size_t slot = 0; slot < schedule.slots().size(); ++slot) {
    SOTTO_TRY(const std::vector<Part> parts,
              planner_.parts(schedule.first_round_of(slot), own_group()));
    const Cost cost = charge_of(parts).cost;
    // Who is picked is the server's choice, so the client counts on being in every round.
    const bool once = recipe_.federation.selection == SelectionRule::kOnce;
    for (std::uint64_t i = once ? 1 : schedule.rounds_of(slot); i > 0; --i) spending.add(cost);
  }
  return spending.spent();
}

Result<void> Participant::check_policy(std::span<const Part> parts) const {
  if (!options_.policy) return {};
  identity::PlanFacts facts = named_facts(recipe_, options_);
  const Cost cost = charge_of(parts).cost;
  facts.epsilon_per_round = cost.epsilon;
  facts.unit_epsilon = cost.unit_epsilon;
  facts.epsilon = whole_.epsilon;
  facts.delta = whole_.delta_sum;
  facts.rounds = whole_.rounds;
  facts.work = work_;
  return identity::check(*options_.policy, facts);
}

/// Of each kind of rounds the first.
Result<void> Participant::check_first_rounds() const {
  const Schedule& schedule = planner_.schedule();
  for (std::size_t slot = 0; slot < schedule.slots().size(); ++slot) {
    SOTTO_TRY(const std::vector<Part> parts,
              planner_.parts(schedule.first_round_of(slot), own_group()));
    SOTTO_CHECK(check_policy(parts));
    SOTTO_TRY(const ReportForm form,
              ReportForm::make(parts, static_cast<std::size_t>(recipe_.shuffle.split)));
    SOTTO_CHECK(check_chunks(form.chunks()));
  }
  return {};
}

/// Small chunks take far more memory than the weights in them.
Result<void> Participant::check_chunks(std::size_t chunks) const {
  constexpr std::size_t kChunkBytes = 512;
  identity::Work work = work_;
  work.memory_mb += chunks * kChunkBytes >> 20U;
  return identity::check(options_.policy ? options_.policy->work : identity::WorkLimits{}, work);
}

std::uint32_t Participant::minimum() const {
  const auto recipe = static_cast<std::uint64_t>(recipe_.shuffle.min_batch);
  const std::uint64_t own = options_.policy ? options_.policy->min_batch : 0;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(kMost, std::max(recipe, own)));
}

/// What the recipe asks this client for, with the ranges of the task where ranges adapt.
Result<std::vector<Part>> Participant::parts_of(const TaskHeader& task) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorKind::kRefused,
                "the task of round " + std::to_string(task.round) + " is refused: " + what);
  };
  if (task.group != own_group()) {
    return refuse("the recipe gives this client another budget");
  }
  if (planner_.adapts()) {
    std::vector<Range> ranges = planner_.ranges();
    for (const TaskHeader::Part& part : task.parts) {
      for (std::size_t i = 0; i < part.tensors.size(); ++i) {
        if (part.tensors[i] >= ranges.size()) return refuse("a tensor that the network lacks");
        ranges[part.tensors[i]] = part.ranges[i];
      }
    }
    SOTTO_CHECK(planner_.restore_ranges(std::move(ranges)));
  }
  Result<std::vector<Part>> planned = planner_.parts(task.round, task.group);
  // Ranges are the server's word: those that no mechanism can be made for are its mistake.
  if (!planned) return refuse(planned.error().message);
  std::vector<Part> parts = std::move(*planned);
  const bool same =
      std::ranges::equal(parts, task.parts, [](const Part& mine, const TaskHeader::Part& asked) {
        return mine.mechanism->id() == asked.mechanism_id && mine.tensors == asked.tensors;
      });
  if (!same) return refuse("its mechanisms are not those of the recipe");
  return parts;
}

Result<std::vector<Envelope>> Participant::report(const TaskHeader& task,
                                                  std::span<const float> model) {
  SOTTO_TRY(std::vector<Part> parts, parts_of(task));
  SOTTO_CHECK(check_policy(parts));
  SOTTO_TRY(const ReportForm form,
            ReportForm::make(parts, static_cast<std::size_t>(recipe_.shuffle.split)));
  const Terms terms{options_.run, recipe_.fingerprint(),
                    recipe_.shuffle.mode == ShuffleMode::kShuffler, options_.server_key,
                    options_.authority};
  contract_ = make_contract(terms, task.round, task.group, parts, form, model_digest(model));
  const RoundCharge cost = charge_of(parts);
  SOTTO_TRY(last_, ledger_->charge({options_.name, dataset_, options_.task, task.round,
                                    cost.mechanism_id, cost.cost}));
  if (last_.state != ChargeState::kCharged) {
    auto bytes = ledger_->report(last_);
    if (!bytes && bytes.error().kind == ErrorKind::kNotFound) {
      // A server that lost its last rounds asks for them again. There is one report for a round.
      return fail(ErrorKind::kRefused, bytes.error().message + "; the round is declined");
    }
    if (!bytes) return tl::unexpected(bytes.error());
    SOTTO_TRY(std::vector<Envelope> made, read_made(*bytes, contract_.model));
    SOTTO_CHECK(check_form(made, form));
    return made;
  }
  const std::uint32_t self = options_.share ? options_.index : 0;
  RoundPlan plan = recipe_plan(recipe_, task.round);
  plan.latency = 0.0;  // whoever sends the envelopes delays them
  plan.groups.push_back({{self}, std::move(parts)});
  ClientTask work;
  work.client = self;
  work.samples = samples_->partition.client(self);
  work.bits = [&](std::string_view purpose) {
    if (!options_.rehearsal) return BitSource::from_system();
    const auto seed = static_cast<std::uint64_t>(recipe_.federation.seed);
    return BitSource::from_seed(seed, purpose, {task.round, self});
  };
  std::vector<Envelope> envelopes;
  const EnvelopeSink keep = [&](const Envelope& envelope) -> Result<void> {
    envelopes.push_back(envelope);
    return {};
  };
  SOTTO_CHECK(client_->run(plan, plan.groups.front(), model, std::move(work), keep));
  SOTTO_CHECK(ledger_->bind(last_, write_made(envelopes, contract_.model)));
  return envelopes;
}

Result<void> Participant::delivered() { return ledger_->delivered(last_); }

}  // namespace sotto::rpc
