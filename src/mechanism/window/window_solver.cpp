#include "mechanism/window/window_solver.h"

#include <algorithm>
#include <cmath>

#include "base/exact/exact.h"

namespace sotto {
namespace {

using Vector = std::vector<double>;

/// A symmetric matrix of which the lower triangle is kept, row by row.
class Lower {
 public:
  explicit Lower(std::size_t size) : size_(size), data_(size * size, 0.0) {}
  double* row(std::size_t i) { return data_.data() + i * size_; }

  /// Adds factor * vector * vector^T.
  void add(double factor, const Vector& vector) {
    for (std::size_t i = 0; i < size_; ++i) {
      const double f = factor * vector[i];
      double* const to = row(i);
      for (std::size_t j = 0; j <= i; ++j) to[j] += f * vector[j];
    }
  }

  /// In place, column by column: A = L L^T. A pivot that rounding made too small is raised.
  void factor() {
    Vector column(size_);
    for (std::size_t k = 0; k < size_; ++k) {
      double& pivot = row(k)[k];
      pivot = std::sqrt(std::max(pivot, 1e-300));
      for (std::size_t i = k + 1; i < size_; ++i) column[i] = row(i)[k] /= pivot;
      for (std::size_t i = k + 1; i < size_; ++i) {
        double* const to = row(i);
        for (std::size_t j = k + 1; j <= i; ++j) to[j] -= column[i] * column[j];
      }
    }
  }

  Vector solved(Vector b) {
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < i; ++j) b[i] -= row(i)[j] * b[j];
      b[i] /= row(i)[i];
    }
    for (std::size_t i = size_; i-- > 0;) {
      b[i] /= row(i)[i];
      for (std::size_t j = 0; j < i; ++j) b[j] -= row(i)[j] * b[i];
    }
    return b;
  }

 private:
  std::size_t size_;
  Vector data_;
};

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Minimise t subject to V_s(u) / unit <= t for the windows s up to the middle (the others are
/// their mirror images) and mean(u) = 1, over u, the values of the upper half.
class Minimax {
 public:
  Minimax(double exp_epsilon, int slots, int window)
      : half_(static_cast<std::size_t>(slots / 2)),
        count_(static_cast<std::size_t>((slots - window) / 2) + 1) {
    const double lo = 1.0 / (slots - window + window * exp_epsilon);
    const double hi = exp_epsilon * lo;
    for (std::size_t s = 0; s < count_; ++s) {
      Vector mean(half_), weight(half_);
      const std::size_t end = s + static_cast<std::size_t>(window);
      for (std::size_t j = 0; j < half_; ++j) {
        const std::size_t up = half_ + j, down = half_ - 1 - j;
        const double p_up = up >= s && up < end ? hi : lo;
        const double p_down = down >= s && down < end ? hi : lo;
        mean[j] = p_up - p_down;
        weight[j] = p_up + p_down;
      }
      mean_.push_back(std::move(mean));
      weight_.push_back(std::move(weight));
    }
    last_ = mean_[0];
    for (double& value : last_) value = -value;
    start();
  }

  const Vector& solve() {
    constexpr int kMostSteps = 60;
    const auto count = static_cast<double>(count_);
    for (int step = 0; step < kMostSteps; ++step) {
      const double gap = dot(slack_, dual_);
      double off = 0.0;
      for (const double value : off_) off = std::max(off, std::abs(value));
      if (gap < 1e-4 * bound_ && off < 1e-4 * bound_) break;
      advance(gap / (10.0 * count));
    }
    return u_;
  }

 private:
  void start() {
    u_.resize(half_);
    for (std::size_t j = 0; j < half_; ++j) {
      u_[j] = 0.2 + 0.8 * (static_cast<double>(j) + 0.5) / static_cast<double>(half_);
    }
    const double mean = dot(last_, u_);
    for (double& value : u_) value /= mean;
    unit_ = 1.0;
    const Vector start = variances();
    unit_ = *std::max_element(start.begin(), start.end());
    bound_ = 1.5;
    for (const double value : start) slack_.push_back(bound_ - value / unit_);
    off_.assign(count_, 0.0);
    double sum = 0.0;
    for (const double slack : slack_) sum += 1.0 / slack;
    for (const double slack : slack_) dual_.push_back(1.0 / (slack * sum));
  }

  Vector variances() const {
    Vector result(count_);
    for (std::size_t s = 0; s < count_; ++s) {
      const double mean = dot(mean_[s], u_);
      double square = 0.0;
      for (std::size_t j = 0; j < half_; ++j) square += weight_[s][j] * u_[j] * u_[j];
      result[s] = (square - mean * mean) / unit_;
    }
    return result;
  }

  /// Half the gradient of V_s / unit.
  Vector gradient(std::size_t s, const Vector& u) const {
    const double mean = dot(mean_[s], u);
    Vector g(half_);
    for (std::size_t j = 0; j < half_; ++j) {
      g[j] = (weight_[s][j] * u[j] - mean_[s][j] * mean) / unit_;
    }
    return g;
  }

  /// One Newton step on the optimality conditions with complementarity `target`.
  void advance(double target) {
    Lower matrix(half_ + 1);
    Vector right(half_ + 1, 0.0), diagonal(half_, 0.0), extended(half_ + 1);
    right[half_] = -1.0;
    std::vector<Vector> gradients;
    for (std::size_t s = 0; s < count_; ++s) {
      gradients.push_back(gradient(s, u_));
      const Vector& g = gradients.back();
      const double force = (target + dual_[s] * off_[s]) / slack_[s];
      for (std::size_t j = 0; j < half_; ++j) {
        extended[j] = 2.0 * g[j];
        diagonal[j] += 2.0 * dual_[s] * weight_[s][j] / unit_;
        right[j] -= force * extended[j];
      }
      extended[half_] = -1.0;
      right[half_] += force;
      matrix.add(dual_[s] / slack_[s], extended);
      for (std::size_t j = 0; j < half_; ++j) extended[j] = mean_[s][j];
      extended[half_] = 0.0;
      matrix.add(-2.0 * dual_[s] / unit_, extended);
    }
    for (std::size_t j = 0; j < half_; ++j) matrix.row(j)[j] += diagonal[j];
    matrix.factor();

    // The constraint mean(u) = 1 holds already and is kept: its price is what makes last . du = 0.
    Vector constraint = last_;
    constraint.push_back(0.0);
    const Vector along = matrix.solved(right);
    const Vector across = matrix.solved(constraint);
    const double price = dot(constraint, along) / dot(constraint, across);
    Vector du(half_);
    for (std::size_t j = 0; j < half_; ++j) du[j] = along[j] - price * across[j];
    const double dt = along[half_] - price * across[half_];

    // Slacks are unknowns of their own, V_s + slack_s = t holds only at the end: so the curvature
    // of V_s never shortens a step, only the signs of slacks and duals do.
    Vector dual_step(count_), slack_step(count_);
    double step = 1.0;
    for (std::size_t s = 0; s < count_; ++s) {
      slack_step[s] = dt - 2.0 * dot(gradients[s], du) - off_[s];
      dual_step[s] = (target - dual_[s] * slack_step[s]) / slack_[s] - dual_[s];
      if (dual_step[s] < 0.0) step = std::min(step, -0.99 * dual_[s] / dual_step[s]);
      if (slack_step[s] < 0.0) step = std::min(step, -0.99 * slack_[s] / slack_step[s]);
    }
    for (std::size_t j = 0; j < half_; ++j) u_[j] += step * du[j];
    bound_ += step * dt;
    const Vector now = variances();
    for (std::size_t s = 0; s < count_; ++s) {
      slack_[s] += step * slack_step[s];
      dual_[s] += step * dual_step[s];
      off_[s] = now[s] + slack_[s] - bound_;
    }
  }

  std::size_t half_, count_;
  std::vector<Vector> mean_, weight_;
  Vector last_;  // the mean for the last window
  Vector u_, slack_, dual_;
  Vector off_;  // V_s / unit + slack_s - t
  double unit_ = 1.0, bound_ = 0.0;
};

}  // namespace

double portable_exp(double epsilon) {
  const exact::Integer scaled =
      exact::floor_times_exp(exact::Rational(exact::Integer(1) << 128), epsilon);
  return std::ldexp(scaled.convert_to<double>(), -128);
}

namespace {

/// The largest variance over all inputs, those between two windows included, for reach 1.
double largest_variance(double exp_epsilon, const WindowShape& shape) {
  const int slots = shape.slots, window = shape.window, half = slots / 2;
  const double lo = 1.0 / (slots - window + window * exp_epsilon);
  const double gain = (exp_epsilon - 1.0) * lo;
  const auto value = [&](int k) {
    return k >= half ? shape.upper[static_cast<std::size_t>(k - half)]
                     : -shape.upper[static_cast<std::size_t>(half - 1 - k)];
  };
  double all = 0.0, sum = 0.0, square = 0.0, worst = 0.0, mean = 0.0, variance = 0.0;
  for (int k = 0; k < slots; ++k) all += value(k) * value(k);
  for (int k = 0; k < window; ++k) {
    sum += value(k);
    square += value(k) * value(k);
  }
  for (int s = 0; s + window <= slots; ++s) {
    const double before = mean, variance_before = variance;
    mean = gain * sum;
    variance = lo * all + gain * square - mean * mean;
    worst = std::max(worst, variance);
    if (s > 0) {
      const double step = mean - before;
      worst = std::max(worst, (variance + variance_before) / 2.0 + step * step / 4.0);
    }
    if (s + window == slots) break;
    sum += value(s + window) - value(s);
    square += value(s + window) * value(s + window) - value(s) * value(s);
  }
  return worst / (mean * mean);
}

/// Goes from `window` to a neighbour as long as `variance_of` falls: it has one valley.
template <class Variance>
int descend(int window, int most, const Variance& variance_of) {
  double here = variance_of(window);
  for (const int step : {-1, 1}) {
    const int from = window;
    for (int next = window + step; next >= 1 && next <= most; next += step) {
      const double there = variance_of(next);
      if (there >= here) break;
      here = there;
      window = next;
    }
    if (window != from) break;
  }
  return window;
}

/// Near which share of the slots the best window is: fits the minima for epsilon from 0.5 to 12.
double window_share(double epsilon) {
  return std::min(0.5, 1.0 / (1.1 + 0.73 * portable_exp(epsilon / 3.0)));
}

WindowShape solved_shape(double epsilon) {
  constexpr double kLeastSlots = 256.0, kMostSlots = 400.0, kWindow = 16.0;
  const double e = portable_exp(epsilon);
  const double share = window_share(epsilon);
  const int half = static_cast<int>(std::clamp(kWindow / share, kLeastSlots, kMostSlots) / 2.0);
  const int start = std::max(1, static_cast<int>(std::round(2.0 * half * share)));
  WindowShape best;
  descend(start, half, [&](int window) {
    WindowShape shape = least_variance(e, 2 * half, window);
    if (best.upper.empty() || shape.variance < best.variance) best = shape;
    return shape.variance;
  });
  return best;
}

WindowShape equally_spaced_shape(double epsilon) {
  constexpr int kLeastLog = 12, kMostLog = 20;
  constexpr double kWindow = 64.0;
  const double e = portable_exp(epsilon);
  const double share = window_share(epsilon);
  int log = kLeastLog;
  while (log < kMostLog && std::ldexp(share, log) < kWindow) ++log;
  const int outside = 1 << log;
  const int start = std::max(1, static_cast<int>(std::ldexp(share, log)));
  const int window = descend(start, outside, [&](int n) {
    return equal_spacing_variance(e, outside + static_cast<double>(n), n);
  });
  return {outside + window, window, {}, equal_spacing_variance(e, outside + window, window)};
}

}  // namespace

double equal_spacing_variance(double exp_epsilon, double slots, double window) {
  const double outside = slots - window;
  const double lo = 1.0 / (outside + window * exp_epsilon);
  const double hi = exp_epsilon * lo;
  const double reach = (hi - lo) * window * outside;
  // Of `count` neighbours in steps of 2 around `middle`, the sum of squares about `mean`.
  const auto squares = [](double count, double middle, double mean) {
    return count * ((middle - mean) * (middle - mean) + (count * count - 1.0) / 3.0);
  };
  const double at_end =
      hi * squares(window, -outside, -reach) + lo * squares(outside, window, -reach);
  const double at_centre = hi * squares(window, 0.0, 0.0) +
                           lo * 2.0 * squares(outside / 2.0, slots / 2.0 + window / 2.0, 0.0);
  const double step = 2.0 * reach / outside;
  return (std::max(at_end, at_centre) + step * step / 4.0) / (reach * reach);
}

WindowShape least_variance(double exp_epsilon, int slots, int window) {
  WindowShape shape{slots, window, Minimax(exp_epsilon, slots, window).solve(), 0.0};
  for (double& value : shape.upper) value = std::max(value, 0.0);
  std::sort(shape.upper.begin(), shape.upper.end());
  shape.variance = largest_variance(exp_epsilon, shape);
  return shape;
}

WindowShape best_window_shape(double epsilon) {
  // Below, two slots are within eps^2 / 6 of the optimum; above, the solver's slots are too few;
  // beyond the largest, nothing but e^epsilon would change.
  constexpr double kSmall = 0.1, kLarge = 10.0, kTooLarge = 16.0, kLargest = 600.0;
  if (epsilon < kSmall) return {};
  if (epsilon <= kLarge) return solved_shape(epsilon);
  WindowShape even = equally_spaced_shape(std::min(epsilon, kLargest));
  if (epsilon > kTooLarge) return even;
  WindowShape solved = solved_shape(epsilon);
  return solved.variance < even.variance ? solved : even;
}

}  // namespace sotto
