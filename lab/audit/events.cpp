#include "audit/events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "audit/candidates.h"
#include "base/text.h"

namespace sotto {
namespace {

constexpr std::size_t kBins = 32;
constexpr std::size_t kMostAtoms = std::size_t{1} << 16;  // distinct values that sets are made of
constexpr std::size_t kSingles = 32;                      // exact values that are tried alone
constexpr std::size_t kMostOfFeature = 2;
constexpr double kFirstShare = 0.5;
/// Half of the events are those that still promise most when their rates are doubted by so many
/// standard deviations, the others the luckiest: rare leaks are among them.
constexpr double kDoubt = 2.0;

/// A feature's values: under input 0 and 1, of the proposing half and of the judging half.
struct Values {
  std::vector<double> proposing[2];
  std::vector<double> judging[2];  // sorted, not-a-number left out
  std::uint64_t judged[2] = {0, 0};
};

struct Candidate {
  Event event;
  double sure = 0.0;   // promised with doubt
  double lucky = 0.0;  // and without
  std::uint64_t hits[2] = {0, 0};
};

class Learner {
 public:
  Learner(const std::vector<Feature>& features, const LearningSample& sample,
          const LearningPlan& plan)
      : features_(features), sample_(sample), promise_(plan.tested, plan.error, plan.delta) {}

  std::vector<Event> run() {
    for (std::size_t f = 0; f < features_.size(); ++f) {
      found_.clear();
      feature_ = f;
      fill(features_[f]);
      if (f == 0) {
        exact_values();
      } else {
        thresholds();
        bins();
      }
      keep_best();
    }
    return chosen();
  }

 private:
  void fill(const Feature& feature) {
    for (const bool one : {false, true}) {
      const Outputs& outputs = one ? sample_.one : sample_.zero;
      std::vector<double>& proposing = values_.proposing[one ? 1 : 0];
      std::vector<double>& judging = values_.judging[one ? 1 : 0];
      proposing.clear();
      judging.clear();
      const std::size_t half = outputs.rows() / 2;
      for (std::size_t i = 0; i < outputs.rows(); ++i) {
        const double value = feature.value(outputs.row(i));
        if (!std::isnan(value)) (i < half ? proposing : judging).push_back(value);
      }
      values_.judged[one ? 1 : 0] = outputs.rows() - half;
      std::sort(judging.begin(), judging.end());
    }
  }

  /// Takes the event, and its complement: which of them says "1" is for the judging half to tell.
  void propose(Event event, std::uint64_t hits_zero, std::uint64_t hits_one) {
    const EventRates rates{values_.judged[0], values_.judged[1], hits_zero, hits_one};
    const EventRates other{rates.zeros, rates.ones, rates.zeros - hits_zero, rates.ones - hits_one};
    event.feature = feature_;
    const bool turn = promise_(other, 0.0) > promise_(rates, 0.0);
    event.complement = event.complement != turn;
    const EventRates& taken = turn ? other : rates;
    found_.push_back({std::move(event),
                      promise_(taken, kDoubt),
                      promise_(taken, 0.0),
                      {taken.hits_zero, taken.hits_one}});
  }

  // --- thresholds

  void thresholds() {
    std::vector<double> tried = thresholds_of(values_.proposing[0], values_.proposing[1]);
    tried.push_back(0.0);
    for (const double threshold : tried) {
      Event event;
      event.threshold = threshold;
      propose(std::move(event), above(values_.judging[0], threshold),
              above(values_.judging[1], threshold));
    }
  }

  // --- bins

  void bins() {
    // thresholds() has sorted the proposing halves.
    std::vector<double> both = values_.proposing[0];
    both.insert(both.end(), values_.proposing[1].begin(), values_.proposing[1].end());
    std::sort(both.begin(), both.end());
    std::vector<double> edges;
    for (std::size_t i = 1; i < kBins && !both.empty(); ++i) {
      const double edge = both[both.size() * i / kBins];
      // Bins are (previous, edge]: a value that many share has a bin of its own.
      const double before = std::nextafter(edge, -std::numeric_limits<double>::infinity());
      if (edges.empty() || before > edges.back()) edges.push_back(before);
      if (edge > edges.back()) edges.push_back(edge);
    }
    if (edges.size() < 2) return;
    const auto counts = [&](const std::vector<double>& sorted) {
      std::vector<std::uint64_t> in(edges.size() + 1);
      std::uint64_t left = sorted.size();
      for (std::size_t i = 0; i < edges.size(); ++i) {
        const std::uint64_t rest = above(sorted, edges[i]);
        in[i] = left - rest;
        left = rest;
      }
      in.back() = left;
      return in;
    };
    const auto zero = counts(values_.proposing[0]);
    const auto one = counts(values_.proposing[1]);
    const auto judged_zero = counts(values_.judging[0]);
    const auto judged_one = counts(values_.judging[1]);
    std::vector<std::size_t> order(zero.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto ratio = [&](std::size_t i) {
      return (static_cast<double>(one[i]) + 0.5) / (static_cast<double>(zero[i]) + 0.5);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return ratio(a) > ratio(b); });
    Event event;
    event.edges = edges;
    event.marked.assign(order.size(), 0);
    std::uint64_t hits[2] = {0, 0};
    for (std::size_t k = 0; k + 1 < order.size(); ++k) {
      event.marked[order[k]] = 1;
      hits[0] += judged_zero[order[k]];
      hits[1] += judged_one[order[k]];
      propose(event, hits[0], hits[1]);
    }
  }

  // --- exact values

  struct Atom {
    double value = 0.0;
    std::uint64_t proposed[2] = {0, 0};
    std::uint64_t judged[2] = {0, 0};
    std::size_t row = 0;  // where it was seen first
    bool of_one = false;
  };

  std::vector<Atom> atoms() const {
    std::unordered_map<double, Atom> seen;
    for (const int one : {0, 1}) {
      const std::vector<double>& values = values_.proposing[one];
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto [it, fresh] = seen.try_emplace(values[i]);
        if (fresh) {
          it->second.value = values[i];
          it->second.row = i;
          it->second.of_one = one == 1;
        }
        ++it->second.proposed[one];
      }
    }
    for (const int one : {0, 1}) {
      for (const double value : values_.judging[one]) {
        if (const auto it = seen.find(value); it != seen.end()) ++it->second.judged[one];
      }
    }
    std::vector<Atom> all;
    all.reserve(seen.size());
    for (const auto& entry : seen) all.push_back(entry.second);
    // The likeliest under input 1 first; the order of a hash table must not matter.
    const auto ratio = [](const Atom& atom) {
      return (static_cast<double>(atom.proposed[1]) + 0.5) /
             (static_cast<double>(atom.proposed[0]) + 0.5);
    };
    std::sort(all.begin(), all.end(), [&](const Atom& a, const Atom& b) {
      const double ra = ratio(a), rb = ratio(b);
      return ra != rb ? ra > rb : a.value < b.value;
    });
    return all;
  }

  void exact_values() {
    const std::vector<Atom> all = atoms();
    if (all.size() < 2) return;
    single_values(all);
    if (all.size() > kMostAtoms) return;
    sets_of_values(all);
    for (const int one : {0, 1}) unseen(all, one);
  }

  static std::shared_ptr<const std::unordered_set<double>> set_of(std::unordered_set<double> set) {
    return std::make_shared<const std::unordered_set<double>>(std::move(set));
  }

  void single_values(const std::vector<Atom>& all) {
    for (std::size_t k = 0; k < 2 * kSingles && k < all.size(); ++k) {
      // From both ends of the order, by turns.
      const Atom& atom = k % 2 == 0 ? all[k / 2] : all[all.size() - 1 - k / 2];
      const Outputs& outputs = atom.of_one ? sample_.one : sample_.zero;
      Event event;
      event.text = "the output is exactly " + output_text(outputs.row(atom.row));
      event.values = set_of({atom.value});
      propose(std::move(event), atom.judged[0], atom.judged[1]);
    }
  }

  void sets_of_values(const std::vector<Atom>& all) {
    std::unordered_set<double> set;
    std::uint64_t hits[2] = {0, 0};
    std::size_t next = 2;
    for (std::size_t k = 0; k + 1 < all.size(); ++k) {
      set.insert(all[k].value);
      hits[0] += all[k].judged[0];
      hits[1] += all[k].judged[1];
      if (k + 1 < next && all.size() - 1 - k > kSingles / 2) continue;
      next = 2 * (k + 1);
      Event event;
      event.text = "the output is one of " + std::to_string(k + 1) + " exact values";
      event.values = set_of(set);
      propose(std::move(event), hits[0], hits[1]);
    }
  }

  /// "Never seen under input `one`": what is impossible under one input, or off its grid.
  void unseen(const std::vector<Atom>& all, int one) {
    std::unordered_set<double> set;
    std::uint64_t hits[2] = {values_.judged[0], values_.judged[1]};
    for (const Atom& atom : all) {
      if (atom.proposed[one] == 0) continue;
      set.insert(atom.value);
      hits[0] -= atom.judged[0];
      hits[1] -= atom.judged[1];
    }
    Event event;
    event.text = "the output is one of the " + std::to_string(set.size()) +
                 " values seen with the " + (one == 1 ? "second" : "first") + " input";
    event.values = set_of(std::move(set));
    event.complement = true;
    propose(std::move(event), hits[0], hits[1]);
  }

  // --- the choice

  using Order = bool (*)(const Candidate&, const Candidate&);
  static bool surer(const Candidate& a, const Candidate& b) { return a.sure > b.sure; }
  static bool luckier(const Candidate& a, const Candidate& b) { return a.lucky > b.lucky; }

  /// Moves the best ones over, at most `most`. As many hits on both sides: the same event seen in
  /// another way, of which one is enough.
  static void take(std::vector<Candidate>& from, std::vector<Candidate>& to, Order order,
                   std::size_t most) {
    std::stable_sort(from.begin(), from.end(), order);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < from.size() && taken < most; ++i) {
      const bool known = std::any_of(to.begin(), to.end(), [&](const Candidate& other) {
        return other.hits[0] == from[i].hits[0] && other.hits[1] == from[i].hits[1];
      });
      if (known || (from[i].lucky <= 0.0 && !to.empty())) continue;
      to.push_back(from[i]);
      ++taken;
    }
  }

  void keep_best() {
    take(found_, best_, surer, kMostOfFeature);
    take(found_, best_, luckier, kMostOfFeature);
  }

  /// Late, as most events are not chosen. Sets of exact values have said what they are.
  void describe(Event& event) const {
    const std::string& name = features_[event.feature].name;
    if (!event.edges.empty()) {
      event.text = name + " is in " +
                   std::to_string(std::count(event.marked.begin(), event.marked.end(), 1)) +
                   " of " + std::to_string(event.marked.size()) + " intervals";
    } else if (!event.values) {
      event.text = name + " is above " + short_number(event.threshold);
    }
    if (event.complement) event.text = "not: " + event.text;
  }

  std::vector<Event> chosen() {
    std::vector<Candidate> all;
    take(best_, all, surer, kMostEvents / 2);
    take(best_, all, luckier, kMostEvents - all.size());
    std::vector<Event> events;
    const auto others = static_cast<double>(all.size()) - 1.0;
    for (Candidate& candidate : all) {
      Event& event = candidate.event;
      const bool first = events.empty();
      describe(event);
      event.share = others == 0.0 ? 1.0 : first ? kFirstShare : (1.0 - kFirstShare) / others;
      events.push_back(std::move(event));
    }
    return events;
  }

  const std::vector<Feature>& features_;
  const LearningSample& sample_;
  Promise promise_;
  std::size_t feature_ = 0;
  Values values_;
  std::vector<Candidate> found_;
  std::vector<Candidate> best_;
};

}  // namespace

bool Event::contains(double value) const {
  bool inside = false;
  if (values) {
    inside = values->contains(value);
  } else if (!edges.empty()) {
    const auto bin = std::lower_bound(edges.begin(), edges.end(), value) - edges.begin();
    inside = !std::isnan(value) && marked[static_cast<std::size_t>(bin)] != 0;
  } else {
    inside = value > threshold;
  }
  return inside != complement;
}

std::vector<Event> learn_events(const std::vector<Feature>& features, const LearningSample& sample,
                                const LearningPlan& plan) {
  return Learner(features, sample, plan).run();
}

}  // namespace sotto
