#include "adversary/vector_trials.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "audit/candidates.h"
#include "audit/scores.h"
#include "base/clock.h"
#include "base/exact/sums.h"
#include "base/nearest.h"
#include "base/parallel.h"

namespace sotto {
namespace {

constexpr std::size_t kBlock = 4096;

/// Pairs of gradients that are crafted together: few of long ones, so that they stay in memory.
std::uint64_t pairs_together(std::size_t dimension) {
  constexpr std::size_t kMostValues = std::size_t{1} << 22;
  return std::clamp<std::uint64_t>(kMostValues / std::max<std::size_t>(dimension, 1), 1, 16);
}

/// Calls body(narrow symbols, first, padded count) for blocks of a report, zeros behind its end.
/// Symbols of 16 bits are read where they lie.
template <class Body>
void for_narrow_blocks(const PackedSymbols& symbols, Body&& body) {
  std::int16_t narrow[kBlock];
  const std::byte* const bytes = symbols.bytes().data();
  for (std::size_t first = 0; first < symbols.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, symbols.size() - first);
    const std::size_t all = padded(count);
    if (symbols.bits() == 16 && count == all) {
      body(reinterpret_cast<const std::int16_t*>(bytes) + first, first, all);
      continue;
    }
    if (symbols.bits() == 16) {
      std::copy_n(reinterpret_cast<const std::int16_t*>(bytes) + first, count, narrow);
    } else {
      std::copy_n(reinterpret_cast<const std::int8_t*>(bytes) + first, count, narrow);
    }
    std::fill(narrow + count, narrow + all, std::int16_t{0});
    body(narrow, first, all);
  }
}

/// The same for wider symbols, as doubles.
template <class Body>
void for_wide_blocks(const PackedSymbols& symbols, Body&& body) {
  std::vector<Symbol> whole(kBlock);
  std::vector<double> wide(kBlock);
  for (std::size_t first = 0; first < symbols.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, symbols.size() - first);
    symbols.read(first, std::span(whole).first(count));
    std::transform(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(count), wide.begin(),
                   [](Symbol symbol) { return static_cast<double>(symbol); });
    std::fill(wide.begin() + static_cast<std::ptrdiff_t>(count), wide.end(), 0.0);
    body(wide.data(), first, padded(count));
  }
}

template <class Body>
void for_symbol_blocks(const PackedSymbols& symbols, Body&& body) {
  if (symbols.bits() == 16 || symbols.bits() == 8) {
    for_narrow_blocks(symbols, body);
  } else {
    for_wide_blocks(symbols, body);
  }
}

/// One of the two gradients, as the mechanism takes it.
struct Candidate {
  Bounded clipped;
  double norm = 0.0;
};

Candidate candidate(const std::shared_ptr<const Layout>& layout, std::vector<float> gradient,
                    const Domain& domain) {
  Candidate made{bound(Update(layout, std::move(gradient)), domain)};
  double square = 0.0;
  for (const float value : made.clipped.values()) {
    square += static_cast<double>(value) * static_cast<double>(value);
  }
  made.norm = std::sqrt(square);
  return made;
}

struct Candidates {
  Candidate first;
  Candidate second;
  bool opposite = false;
};

Candidates candidates(GradientPair pair, const Domain& domain) {
  const bool opposite = pair.second.empty();
  if (opposite) {
    pair.second = pair.first;
    for (float& value : pair.second) value = -value;
  }
  return {candidate(domain.layout, std::move(pair.first), domain),
          candidate(domain.layout, std::move(pair.second), domain), opposite};
}

double log_likelihood(const Mechanism& mechanism, const PackedSymbols& symbols,
                      const Candidate& from, double product) {
  if (const auto along = mechanism.log_prob_along(product, from.norm)) return *along;
  return mechanism.log_prob(symbols.unpacked(), from.clipped.values());
}

void count(Guesses& guesses, bool second, bool guessed_second) {
  (second ? guesses.ones : guesses.zeros) += 1;
  if (second && !guessed_second) guesses.false_negatives += 1;
  if (!second && guessed_second) guesses.false_positives += 1;
}

/// One run of the real mechanism and what both distinguishers make of its report.
void try_once(const TrialPlan& plan, std::size_t kind, const Candidates& pair, bool second,
              BitSource& bits, Tally& tally) {
  const Mechanism& mechanism = *plan.mechanisms[kind];
  const Report report =
      mechanism.perturb(second ? pair.second.clipped : pair.first.clipped, bits, 1);
  const PackedSymbols& symbols = report.symbols();
  const double one = product_with(symbols, pair.first.clipped.values());
  const double other = pair.opposite ? -one : product_with(symbols, pair.second.clipped.values());
  const auto share = [](double product, double norm) { return norm > 0.0 ? product / norm : 0.0; };
  const double along = share(one, pair.first.norm);
  count(tally.cosine, second, along < share(other, pair.second.norm));
  const double ratio = log_likelihood_ratio(log_likelihood(mechanism, symbols, pair.second, other),
                                            log_likelihood(mechanism, symbols, pair.first, one));
  count(tally.likelihood, second, ratio > (plan.thresholds.empty() ? 0.0 : plan.thresholds[kind]));
  if (plan.learning) tally.scores[second ? 1 : 0].push_back(ratio);
  if (plan.similarities)
    tally.similarities.add(share(along, std::sqrt(square_of(symbols))), second);
}

/// What a thread needs for a chunk.
struct Worker {
  std::unique_ptr<Trainer> trainer;
};

Result<void> prepare(Worker& worker, const Scene& scene) {
  if (worker.trainer || !scene.factory) return {};
  SOTTO_TRY(worker.trainer, scene.factory->make());
  return worker.trainer->load(scene.weights);
}

Tally empty_tally(std::size_t dimension) {
  Tally tally;
  tally.similarities.reach = std::min(1.0, 6.0 / std::sqrt(static_cast<double>(dimension)));
  return tally;
}

}  // namespace

std::string_view name_of(Distinguisher distinguisher) {
  return distinguisher == Distinguisher::kCosine ? "cosine" : "likelihood";
}

Result<Distinguisher> find_distinguisher(std::string_view name) {
  const std::vector<std::string> names = {"cosine", "likelihood"};
  if (name == names[0]) return Distinguisher::kCosine;
  if (name == names[1]) return Distinguisher::kLikelihood;
  return fail(ErrorKind::kUsage, "unknown distinguisher '" + std::string(name) + "'" +
                                     did_you_mean(name, names) + "; valid: " + join(names));
}

void Similarities::add(double cosine, bool second) {
  const double at = (cosine / reach + 1.0) / 2.0 * static_cast<double>(kBins);
  const double last = static_cast<double>(kBins) - 1.0;
  ++(second ? of_second : of_first)[static_cast<std::size_t>(std::clamp(at, 0.0, last))];
}

void Similarities::add(const Similarities& other) {
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    of_first[bin] += other.of_first[bin];
    of_second[bin] += other.of_second[bin];
  }
}

void Tally::add(const Tally& other) {
  cosine += other.cosine;
  likelihood += other.likelihood;
  similarities.add(other.similarities);
  for (const std::size_t second : {0U, 1U}) {
    scores[second].insert(scores[second].end(), other.scores[second].begin(),
                          other.scores[second].end());
  }
}

double product_with(const PackedSymbols& symbols, std::span<const float> x) {
  WideSum sum;
  float tail[kBlock];
  for_symbol_blocks(symbols, [&](const auto* values, std::size_t first, std::size_t all) {
    const float* from = x.data() + first;
    if (first + all > x.size()) {
      std::fill(std::copy(from, x.data() + x.size(), tail), tail + all, 0.0F);
      from = tail;
    }
    if constexpr (std::is_same_v<decltype(values), const double*>) {
      sum.add(dot(values, from, all));
    } else {
      sum.add(quick_dot(values, from, all));
    }
  });
  return sum.value();
}

double square_of(const PackedSymbols& symbols) {
  WideSum sum;
  for_symbol_blocks(symbols, [&](const auto* values, std::size_t /*first*/, std::size_t all) {
    sum.add(dot(values, values, all));
  });
  return sum.value();
}

Result<TrialCounts> run_trials(const Scene& scene, const Adversary& adversary,
                               const TrialPlan& plan) {
  const Domain& domain = plan.mechanisms.front()->domain();
  for (const Mechanism* const mechanism : plan.mechanisms) {
    if (mechanism->outputs() != scene.dimension ||
        mechanism->domain().fingerprint() != domain.fingerprint()) {
      return fail(ErrorKind::kInternal, "an audit's mechanisms must have the gradient's domain");
    }
  }
  const Stopwatch clock;
  std::optional<Candidates> constant;
  if (adversary.constant()) {
    GradientPair pair;
    BitSource none = BitSource::from_seed(plan.seed, "audit-craft");
    SOTTO_CHECK(adversary.craft(scene, nullptr, none, std::span(&pair, 1)));
    constant = candidates(std::move(pair), domain);
  }
  const unsigned lanes = constant || !scene.factory
                             ? plan.threads
                             : std::min(plan.threads, scene.factory->parallelism());
  std::vector<Worker> workers(std::max(1U, lanes));
  std::mutex telling;
  std::uint64_t told = 0;
  const std::uint64_t wanted = plan.trials * plan.measurements;
  const std::size_t kinds = plan.mechanisms.size();

  const auto run_chunk = [&](Worker& worker, std::uint64_t measurement, std::uint64_t chunk,
                             std::vector<Tally>& tallies) -> Result<void> {
    if (!constant) SOTTO_CHECK(prepare(worker, scene));
    const auto stream = [&](std::string_view purpose) {
      return BitSource::from_seed(plan.seed, purpose, {plan.stream, measurement, chunk});
    };
    BitSource bits = stream(plan.learning ? "audit-learn-trial" : "audit-trial");
    BitSource craft = stream(plan.learning ? "audit-learn-craft" : "audit-craft");
    const std::uint64_t begin = chunk * TrialPlan::kChunk;
    const std::uint64_t end = std::min(plan.trials, begin + TrialPlan::kChunk);
    tallies.assign(kinds, empty_tally(scene.dimension));
    std::vector<GradientPair> pairs;
    std::size_t next = 0;  // of them
    for (std::uint64_t trial = begin; trial < end; ++trial) {
      std::optional<Candidates> crafted;
      if (!constant) {
        if (next == pairs.size()) {
          pairs.resize(std::min(end - trial, pairs_together(scene.dimension)));
          SOTTO_CHECK(adversary.craft(scene, worker.trainer.get(), craft, pairs));
          next = 0;
        }
        crafted = candidates(std::move(pairs[next++]), domain);
      }
      const bool second = (bits.next_u64() & 1) != 0;
      for (std::size_t kind = 0; kind < kinds; ++kind) {
        try_once(plan, kind, constant ? *constant : *crafted, second, bits, tallies[kind]);
      }
    }
    if (plan.progress) {
      const std::scoped_lock lock(telling);
      told += end - begin;
      plan.progress(told, wanted);
    }
    return {};
  };

  TrialCounts counts;
  counts.total.assign(kinds, empty_tally(scene.dimension));
  counts.measured.resize(kinds);
  const std::uint64_t chunks = (plan.trials + TrialPlan::kChunk - 1) / TrialPlan::kChunk;
  constexpr std::uint64_t kTogether = TrialPlan::kGroup / TrialPlan::kChunk;
  for (std::uint64_t measurement = 0; measurement < plan.measurements; ++measurement) {
    std::vector<Tally> here(kinds, empty_tally(scene.dimension));
    for (std::uint64_t first = 0; first < chunks && !counts.stopped; first += kTogether) {
      const std::uint64_t count = std::min(kTogether, chunks - first);
      std::vector<std::vector<Tally>> parts(count);
      SOTTO_CHECK(parallel_for(static_cast<unsigned>(workers.size()), count,
                               [&](unsigned lane, std::size_t index) -> Result<void> {
                                 return run_chunk(workers[lane], measurement, first + index,
                                                  parts[index]);
                               }));
      for (const std::vector<Tally>& part : parts) {
        for (std::size_t kind = 0; kind < kinds; ++kind) {
          here[kind].add(part[kind]);
          counts.total[kind].add(part[kind]);
        }
      }
      const bool last = measurement + 1 == plan.measurements && first + count == chunks;
      counts.stopped = !last && plan.enough && plan.enough(counts.total);
    }
    for (std::size_t kind = 0; kind < kinds; ++kind) counts.measured[kind].push_back(here[kind]);
    if (counts.stopped) break;
  }
  counts.trials = counts.total.front().cosine.trials();
  counts.seconds = clock.seconds();
  return counts;
}

Result<std::vector<double>> learn_thresholds(const Scene& scene, const Adversary& adversary,
                                             const TrialPlan& plan, std::uint64_t trials,
                                             double confidence) {
  TrialPlan learning = plan;
  learning.learning = true;
  learning.trials = trials;
  learning.measurements = 1;
  learning.similarities = false;
  learning.enough = {};
  SOTTO_TRY(TrialCounts counts, run_trials(scene, adversary, learning));
  std::vector<double> thresholds;
  for (std::size_t kind = 0; kind < plan.mechanisms.size(); ++kind) {
    const Promise promise(plan.trials * plan.measurements / 2, 1.0 - confidence,
                          plan.mechanisms[kind]->guarantee().delta);
    Tally& tally = counts.total[kind];
    thresholds.push_back(best_threshold(tally.scores[0], tally.scores[1], promise));
  }
  return thresholds;
}

}  // namespace sotto
