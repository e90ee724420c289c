// The window channel, of which `piecewise`, `hybrid` and `optimal` are instances.
//
// N slots lie in a row; slot k carries the integer v(k), odd around the middle: v(N-1-k) = -v(k).
// An input has a window of n neighbouring slots. With probability M_in / 2^64 the slot is drawn
// uniformly from the window, with M_out / 2^64 from the other N - n slots. So one slot has
// probability hi = M_in / (n 2^64) inside and lo = M_out / ((N - n) 2^64) outside, and with
//
//   M_in (N - n) <= e^eps M_out n      (decided in exact arithmetic)
//
// every likelihood ratio is at most hi / lo <= e^eps, wherever the windows are.
//
// As the v(k) sum to zero, the mean for the window that starts at slot s is (hi - lo) A(s) with
// A(s) = v(s) + ... + v(s + n - 1), an integer that grows with s from -A to A = A(N - n). An input
// x (a grid index in -R .. R) lies between two of the means R A(s) / A and takes window s or s + 1
// at random, such that the mean is x: unbiased whatever the v(k) are, but for the rounding of that
// probability to F / 2^32. A slot is then inside with weight 1, 0 or, for the two slots in which
// the windows differ, F / 2^32 or its complement: a mixture, so the bound above stays.
//
// Besides the window there may be a *pair*: with the remaining probability the answer is +-a, plus
// with T / 2^64, T = 2^63 + floor(x 2^63 / (value of a)), as in two_point.cpp. Its symbols are none
// of the slots', so the two answers are distinguishable and each must be eps-LDP alone.
#pragma once

#include "mechanism/registration.h"
#include "mechanism/value/channel.h"
#include "mechanism/value/grid.h"
#include "mechanism/window/window_kernel.h"

namespace sotto {

/// Everything that a window channel is, up to the range of its inputs.
struct WindowPlan {
  std::int32_t slots = 2;   // N
  std::int32_t window = 1;  // n, at most N / 2
  /// v(k), nondecreasing and odd; empty: the equally spaced 2k - (N - 1).
  std::vector<std::int32_t> values;
  std::uint64_t inside = 0;   // M_in
  std::uint64_t outside = 0;  // M_out
  std::uint64_t pair = 0;     // of the pair; the three sum to 2^64
  std::int32_t pair_symbol = 0;
  double pair_most = 0.0;  // of |T - 2^63|
};

/// Splits what the pair leaves of 2^64 into the most that M_in may be and M_out.
void set_masses(WindowPlan& plan, double epsilon);

/// Equal spacing with N - n = 2^k, so that drawing outside rejects nothing. The window is the share
/// odds / (1 + odds) of all slots, rounded, and has at least 32 slots unless N reaches its limit.
WindowPlan linear_plan(double odds, double epsilon);

/// Two slots, one of them the window: the two-point mechanism.
WindowPlan two_slot_plan(double epsilon);

/// Adds a pair of the probability share / 2^64 and of the least magnitude that epsilon allows.
void add_pair(WindowPlan& plan, std::uint64_t share, double epsilon);

/// The mean of the symbol for the last window, given that the slot is drawn from the window or its
/// outside: what an input at the end of the range decodes to.
double window_reach(const WindowPlan& plan);

/// A mechanism that has this plan for every range. `parameters` have epsilon and precision.
Result<std::unique_ptr<Mechanism>> make_window_mechanism(std::string_view version, Domain domain,
                                                         const Parameters& parameters,
                                                         const WindowPlan& plan);

class WindowChannel final : public Channel {
 public:
  WindowChannel(WindowPlan plan, const DecimalGrid& grid);

  Symbol smallest() const noexcept override { return -largest(); }
  Symbol largest() const noexcept override;
  Decoding decoding() const noexcept override { return {grid_.value(0), scale_}; }
  WorstCase worst_case() const override;
  unsigned words() const noexcept override { return 2; }
  Symbol draw(float weight, Words words, MoreBits& more) const override;
  void draw_block(const BlockDraw& block, std::int32_t* out) const override;
  ChannelKernel kernel() const override { return kernel_; }
  double log_prob(Symbol symbol, float weight) const override;
  Moments moments(float weight) const override;
  bool sums_to_one(float weight) const override;
  std::vector<Symbol> alphabet() const override;
  Background background() const override;
  std::vector<Constant> constants() const override;

 private:
  /// The window that starts at `slot`, or with probability `next` / 2^32 the one after it.
  struct Position {
    std::int64_t slot;
    std::uint32_t next;
  };
  struct Slots {
    std::int64_t begin;
    std::int64_t end;
  };
  Position position_of(std::int64_t index) const;
  std::uint64_t pair_threshold(std::int64_t index) const;
  Symbol value(std::int64_t slot) const;
  Slots slots_of(Symbol symbol) const;
  /// How much of these slots the window covers, in units of 2^-32 of a slot.
  std::uint64_t covered(const Position& position, const Slots& slots) const;
  /// Sum over the slots of (v - centre)^2.
  double squares(const Slots& slots, double centre) const;
  void make_nodes();
  void make_buckets();

  WindowPlan plan_;
  DecimalGrid grid_;
  WindowKernel kernel_{};
  double scale_ = 0.0;           // of a symbol, decoded
  std::vector<double> sums_;     // A(s); empty for equal spacing
  std::vector<double> nodes_;    // R A(s) / A, and infinity after the last
  std::vector<double> inverse_;  // of the distances between nodes
  std::vector<std::int32_t> starts_;
  std::vector<double> positions_;  // of every index, where these are few
  double log_inside_ = 0.0;        // of one slot
  double log_outside_ = 0.0;
};

}  // namespace sotto
