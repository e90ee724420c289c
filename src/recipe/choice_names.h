// The names of a recipe's choices: the one table from which recipes are read and written.
//
// The order is that of "must be one of" in errors and of the reference.
#pragma once

#include "base/names.h"
#include "sotto/choices.h"
#include "sotto/statistics.h"

namespace sotto {

inline constexpr Name<FederationMode> kFederationModeNames[] = {
    {FederationMode::kFederated, "federated"}, {FederationMode::kLocal, "local"}};
inline constexpr Name<SelectionRule> kSelectionRuleNames[] = {
    {SelectionRule::kServer, "server"},
    {SelectionRule::kAnonymous, "anonymous"},
    {SelectionRule::kOnce, "once"},
};
inline constexpr Name<Optimizer> kOptimizerNames[] = {
    {Optimizer::kSgd, "sgd"}, {Optimizer::kAdam, "adam"}, {Optimizer::kRmsprop, "rmsprop"}};
inline constexpr Name<Engine> kEngineNames[] = {
    {Engine::kAuto, "auto"}, {Engine::kNative, "native"}, {Engine::kTorch, "torch"}};
inline constexpr Name<Payload> kPayloadNames[] = {
    {Payload::kWeights, "weights"}, {Payload::kDelta, "delta"}, {Payload::kGradient, "gradient"}};
inline constexpr Name<RangeRule> kRangeRuleNames[] = {{RangeRule::kFixed, "fixed"},
                                                      {RangeRule::kInitial, "initial"},
                                                      {RangeRule::kAdaptive, "adaptive"}};
inline constexpr Name<BufferRule> kBufferRuleNames[] = {{BufferRule::kPerturb, "perturb"},
                                                        {BufferRule::kLocal, "local"},
                                                        {BufferRule::kReset, "reset"}};
inline constexpr Name<RateDecay> kRateDecayNames[] = {{RateDecay::kNone, "none"},
                                                      {RateDecay::kCosine, "cosine"}};
inline constexpr Name<ShuffleMode> kShuffleModeNames[] = {{ShuffleMode::kNone, "none"},
                                                          {ShuffleMode::kLatency, "latency"},
                                                          {ShuffleMode::kShuffler, "shuffler"}};
inline constexpr Name<FeatureLayer> kFeatureLayerNames[] = {{FeatureLayer::kFlatten, "flatten"},
                                                            {FeatureLayer::kScores, "scores"}};
inline constexpr Name<TestRecords> kTestRecordsNames[] = {{TestRecords::kRandomized, "randomized"},
                                                          {TestRecords::kPlain, "plain"}};
inline constexpr Name<StatisticSource> kStatisticSourceNames[] = {
    {StatisticSource::kNone, "none"},
    {StatisticSource::kPrivate, "private"},
    {StatisticSource::kPublic, "public"},
};

/// The table of a choice, by its type.
constexpr std::span<const Name<FederationMode>> names_of(FederationMode) {
  return kFederationModeNames;
}
constexpr std::span<const Name<SelectionRule>> names_of(SelectionRule) {
  return kSelectionRuleNames;
}
constexpr std::span<const Name<Optimizer>> names_of(Optimizer) { return kOptimizerNames; }
constexpr std::span<const Name<Engine>> names_of(Engine) { return kEngineNames; }
constexpr std::span<const Name<Payload>> names_of(Payload) { return kPayloadNames; }
constexpr std::span<const Name<RangeRule>> names_of(RangeRule) { return kRangeRuleNames; }
constexpr std::span<const Name<BufferRule>> names_of(BufferRule) { return kBufferRuleNames; }
constexpr std::span<const Name<RateDecay>> names_of(RateDecay) { return kRateDecayNames; }
constexpr std::span<const Name<ShuffleMode>> names_of(ShuffleMode) { return kShuffleModeNames; }
constexpr std::span<const Name<FeatureLayer>> names_of(FeatureLayer) { return kFeatureLayerNames; }
constexpr std::span<const Name<TestRecords>> names_of(TestRecords) { return kTestRecordsNames; }
constexpr std::span<const Name<StatisticSource>> names_of(StatisticSource) {
  return kStatisticSourceNames;
}

/// The choice that is called `name`; nothing where none is.
template <class T>
std::optional<T> choice_of(std::string_view name) {
  return value_in<T>(names_of(T{}), name);
}

}  // namespace sotto
