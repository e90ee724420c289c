// What reports cost together: composition, sampling, shuffling. All arithmetic rounds outward, so
// an epsilon that is returned is never below the truth of its model.
//
// PrivacyLoss is the workhorse: a pair of distributions (P, Q) that dominates what an adversary
// sees under two neighbouring inputs, kept as the distribution of the loss ln P/Q on a grid. The
// functions further down answer single questions with every bound that is known, each with its
// theorem, its assumption and, outside its validity, the reason why it is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sotto/mechanism.h"

namespace sotto {

class PrivacyLoss {
 public:
  /// Nothing is released.
  PrivacyLoss() = default;
  /// Randomized response: dominates every epsilon-LDP mechanism.
  static PrivacyLoss pure(double epsilon);
  /// Dominates every (epsilon, delta)-LDP mechanism.
  static PrivacyLoss approximate(double epsilon, double delta);
  /// N(ratio, 1) against N(0, 1): Gaussian noise, ratio = sensitivity / sigma.
  static PrivacyLoss gaussian(double ratio);
  /// One report among those of `clients` clients (this one included), in an order that tells
  /// nothing, against an adversary who knows the data of all others. Without a floor (0): the
  /// generic bound, for any mechanism with this epsilon.
  static PrivacyLoss shuffled(const Background& background, std::uint64_t clients);
  /// The same batch, but the question is whether the client sent a report on its data or pure
  /// noise, a draw from the background that its mechanism has. pure() without a floor.
  static PrivacyLoss shuffled_noise(const Background& background, std::uint64_t clients);
  /// The older generic bound, where another client is a clone with probability e^-epsilon only.
  static PrivacyLoss shuffled_clones(double epsilon, std::uint64_t clients);
  /// Binary randomized response where all others hold the same value: exact, both directions; no
  /// bound that holds for every epsilon-LDP mechanism can be below it.
  static PrivacyLoss shuffled_binary(double epsilon, std::uint64_t clients);

  /// `count` independent releases, and this one followed by another. Holds also if later ones are
  /// chosen after seeing earlier ones, as long as each is dominated by what is given here.
  PrivacyLoss times(std::uint64_t count) const;
  PrivacyLoss with(const PrivacyLoss& other) const;
  /// The client takes part with probability `rate`, and the adversary does not see whether (a fixed
  /// number of clients, all sets equally likely).
  PrivacyLoss sampled(double rate) const;
  /// One of several, drawn with these probabilities whatever the data; the adversary sees which.
  struct Weighted;
  static PrivacyLoss one_of(const std::vector<Weighted>& parts);
  /// Of (P, Q) with a record against without it: every record is drawn on its own with probability
  /// `rate`, and nobody sees which were. P is that of this loss's first direction.
  PrivacyLoss poisson(double rate) const;

  /// The larger one of both directions, rounded up. epsilon() is infinite where no epsilon has this
  /// delta.
  double delta(double epsilon) const;
  double epsilon(double delta) const;
  /// Rényi divergence of an order above 1, the larger one of both directions, rounded up.
  double renyi(double order) const;

 private:
  friend class LossBuilder;
  /// One direction: probabilities of losses (first + i) * step; what is left of one is nothing.
  struct Side {
    double step = 0.0;  // a power of two; 0: only the loss 0
    std::int64_t first = 0;
    std::vector<double> probabilities = {1.0};
    double infinite = 0.0;  // probability of an output that gives the input away
    double slack = 0.0;     // relative error of all probabilities, at most
  };
  static void coarsen(Side& side);
  static void trim(Side& side);
  static Side convolve(Side a, Side b);
  static Side power(Side side, std::uint64_t count);
  static Side sampled(const Side& side, double rate);
  static double delta_of(const Side& side, double epsilon);

  Side forward_;
  std::optional<Side> backward_;  // where it differs from forward_
};

struct PrivacyLoss::Weighted {
  double probability = 0.0;
  PrivacyLoss loss;
};

/// The loss of one report of the mechanism. Of Gaussian noise: that of the exact distribution, to
/// which the sampler's arithmetic adds Background::coupling.
PrivacyLoss loss_of(const Mechanism& mechanism);

/// An answer, by name. `epsilon` is missing where the bound does not apply; `reason` says why.
struct Bound {
  std::string name;
  std::optional<double> epsilon;
  double delta = 0.0;
  std::string theorem;
  std::string assumption;
  std::string reason;
  bool upper = true;  // false: a value that no valid bound can be below

  bool valid() const noexcept { return epsilon.has_value(); }
};

/// The valid upper bound with the least epsilon, or nothing.
const Bound* best_of(const std::vector<Bound>& bounds);

/// `count` releases of a mechanism with epsilon0, each pure: "sequential", "optimal"
/// (Kairouz, Oh, Viswanath), "advanced", "renyi", "loss-distribution".
std::vector<Bound> composition_bounds(double epsilon0, std::uint64_t count, double delta);

/// What a batch of the shuffler gives away, composed over `count` batches (chunks times rounds).
struct ShuffleQuestion {
  double epsilon0 = 0.0;      // of what one client puts into one batch
  std::uint64_t clients = 0;  // of a batch; where they are sampled, in the mean
  double delta = 1e-6;
  std::uint64_t count = 1;
  /// Probability to take part, each client on its own, where nobody sees who does. The size of a
  /// batch is then random and seen.
  double sampling = 1.0;
  std::optional<Background> mechanism;  // where more than epsilon0 is known
  /// Batches of one round, of these `count`: a client is in all of them or in none.
  std::uint64_t chunks = 1;
};
/// "none" (no amplification), "erlingsson", "closed-form", "clones", "generic", "background", and
/// "exact-binary", which is a lower bound. Closed forms are composed by the optimal theorem.
std::vector<Bound> shuffle_bounds(const ShuffleQuestion& question);

/// The least epsilon at `delta` of `count` pure mechanisms (Kairouz-Oh-Viswanath), rounded up; and
/// the delta at an epsilon.
double optimal_epsilon(double epsilon0, std::uint64_t count, double delta);
double optimal_delta(double epsilon0, std::uint64_t count, double epsilon);

/// Rényi divergence of randomized response, an upper bound for every epsilon-LDP mechanism, and the
/// epsilon that (order, divergence) guarantees at delta; both rounded up.
double renyi_of_pure(double epsilon, double order);
double renyi_to_epsilon(double order, double divergence, double delta);

}  // namespace sotto
