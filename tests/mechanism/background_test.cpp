// What the distributions of a mechanism have in common, against its own probabilities. A
// distribution U with respect to which all densities lie between g and g e^eps exists exactly if
// max_x P(y|x) is at most e^eps min_x P(y|x) for every y, the minima sum to g or more and the
// maxima to g e^eps or less: that is checked by enumeration, and that a floor one percent higher
// would be wrong.
#include <set>

#include "mechanism_samples.h"

namespace sotto {
namespace {

struct Extremes {
  double least = 0.0;  // sum over outputs of the least probability of any input
  double most = 0.0;
  double ratio = 0.0;  // the largest log-ratio
};

Extremes extremes(const Mechanism& mechanism, const std::vector<std::vector<Symbol>>& reports,
                  const std::vector<std::vector<float>>& inputs) {
  Extremes all;
  for (const auto& report : reports) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const auto& input : inputs) {
      const double log_prob = mechanism.log_prob(report, input);
      least = std::min(least, log_prob);
      most = std::max(most, log_prob);
    }
    if (std::isinf(most)) continue;  // no input yields this report
    all.least += std::exp(least);
    all.most += std::exp(most);
    all.ratio = std::max(all.ratio, most - least);
  }
  return all;
}

void expect_background(const Background& background, const Extremes& seen, bool tight = true) {
  const double g = background.floor;
  ASSERT_GT(g, 0.0);
  ASSERT_LE(g, 1.0);
  const double slack = 1e-9 * std::max(1.0, background.epsilon);
  EXPECT_LE(seen.ratio, background.epsilon + slack);
  EXPECT_GE(seen.least, g * (1.0 - 1e-9));
  EXPECT_LE(std::log(seen.most), std::log(g) + background.epsilon + slack);
  // The check can fail: a floor that is one percent too high does.
  if (tight) {
    EXPECT_LT(seen.least, 1.01 * g);
  }
}

/// All reports of `bits` bits.
std::vector<std::vector<Symbol>> bit_reports(std::size_t bits) {
  std::vector<std::vector<Symbol>> all;
  for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) {
    std::vector<Symbol> report;
    for (std::size_t i = 0; i < bits; ++i) report.push_back(static_cast<Symbol>(code >> i & 1));
    all.push_back(std::move(report));
  }
  return all;
}

std::vector<std::vector<float>> as_floats(const std::vector<std::vector<Symbol>>& bits) {
  std::vector<std::vector<float>> all;
  for (const auto& row : bits) all.emplace_back(row.begin(), row.end());
  return all;
}

class ValueBackground : public testing::TestWithParam<Sample> {};

TEST_P(ValueBackground, IsWhatEnumerationFinds) {
  const auto mechanism = *GetParam().make(1);
  const Background background = mechanism->background(0, 1);
  EXPECT_EQ(background.epsilon, mechanism->guarantee().unit_epsilon);
  EXPECT_EQ(background.coupling, 0.0);
  std::vector<std::vector<Symbol>> reports;
  for (const Symbol symbol : mechanism->alphabet(0)) reports.push_back({symbol});
  if (reports.empty() || reports.size() > 300'000) {
    EXPECT_EQ(background.floor > 0.0, background.epsilon < 1000.0);
    return;  // too many to enumerate
  }
  std::vector<std::vector<float>> inputs;
  const auto centre = static_cast<float>(mechanism->domain().ranges[0].centre);
  for (const float input : spread(*mechanism, reports.size() < 5'000 ? 201 : 5)) {
    // A little beyond the range: the grid's last value may lie there.
    inputs.push_back({centre + 1.2F * (input - centre)});
  }
  // Where neighbouring slots of a window share a value, no input leaves all of them outside.
  const bool tight = GetParam().mechanism != "optimal";
  expect_background(background, extremes(*mechanism, reports, inputs), tight);
}

std::vector<Sample> value_samples() {
  std::vector<Sample> all;
  for (const Sample& sample : samples()) {
    const auto info = find_mechanism(sample.mechanism);
    if (sample.mechanism != "none" && (*info)->kind == MechanismKind::kValue) all.push_back(sample);
  }
  // Groups beyond the middle rank, and a single one; one grid value.
  all.push_back({"srr",
                 {{"epsilon", 2.0}, {"precision", 1}, {"groups", 3}, {"step", -4}},
                 {0, 1},
                 "srr, narrow last"});
  all.push_back({"srr",
                 {{"epsilon", 2.0}, {"precision", 1}, {"groups", 1}, {"step", 0}},
                 {0, 1},
                 "srr, one group"});
  all.push_back({"grr", {{"epsilon", 2.0}, {"precision", 0}}, {0, 0.2}, "grr of one value"});
  all.push_back({"em", {{"epsilon", 2.0}, {"precision", 0}}, {0, 0.2}, "em of one value"});
  all.push_back(
      {"laplace", {{"epsilon", 2.0}, {"precision", 0}}, {0, 0.2}, "laplace of one value"});
  all.push_back(
      {"piecewise", {{"epsilon", 2.0}, {"precision", 0}}, {0, 0.2}, "piecewise of one value"});
  return all;
}

std::string case_name(const testing::TestParamInfo<Sample>& param) {
  std::string name = param.param.label;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, ValueBackground, testing::ValuesIn(value_samples()), case_name);

TEST(Background, KnownFloors) {
  const double e = std::exp(1.0);
  EXPECT_NEAR(made("two-point", {{"epsilon", 1.0}})->background(0, 1).floor, 2.0 / (1.0 + e),
              1e-12);
  EXPECT_NEAR(made("grr", {{"epsilon", 1.0}, {"precision", 1}})->background(0, 1).floor,
              21.0 / (20.0 + e), 1e-12);
  EXPECT_NEAR(made("laplace", {{"epsilon", 1.0}})->background(0, 1).floor, std::exp(-0.5), 1e-12);
  EXPECT_NEAR(made("em", {{"epsilon", 1.0}, {"precision", 8}})->background(0, 1).floor,
              2.0 / (1.0 + std::exp(0.5)), 1e-6);
  const auto bits = made("rappor", {{"epsilon", 1.0}}, {0.0, 1.0}, 5);
  EXPECT_NEAR(bits->background(0, 5).floor, std::exp(-0.5), 1e-12);
  const auto unary = made("oue", {{"epsilon", 1.0}}, {0.0, 1.0}, 5);
  EXPECT_NEAR(unary->background(0, 5).floor, 0.5 * (1.0 + e) / e, 1e-12);
  const auto side = made("ldp-sgd", {{"epsilon", 1.0}}, {0.0, 1.0}, 5);
  EXPECT_NEAR(side->background(0, 5).floor, 2.0 / (1.0 + e), 1e-12);
}

TEST(Background, AChunkOfWeightsIsAProductOverTensors) {
  auto layout = std::make_shared<Layout>();
  layout->add("a", {3}, TensorRole::kParameter);
  layout->add("empty", {0}, TensorRole::kParameter);
  layout->add("b", {4}, TensorRole::kParameter);
  const Domain domain{layout, {{0.0, 1.0}, {0.0, 1.0}, {0.0, 0.1}}};
  const auto mechanism = *make_mechanism("grr", domain, {{"epsilon", 2.0}, {"precision", 1}});
  const Background a = mechanism->background(0, 1), b = mechanism->background(3, 1);
  ASSERT_NE(a.floor, b.floor);
  EXPECT_NEAR(a.floor, 21.0 / (20.0 + std::exp(2.0)), 1e-12);
  for (std::size_t first = 0; first <= 7; ++first) {
    for (std::size_t count = 0; first + count <= 7; ++count) {
      double floor = 1.0, epsilon = 0.0;
      for (std::size_t i = first; i < first + count; ++i) {
        floor *= i < 3 ? a.floor : b.floor;
        epsilon += i < 3 ? a.epsilon : b.epsilon;
      }
      const Background chunk = mechanism->background(first, count);
      EXPECT_NEAR(chunk.floor, floor, 1e-14);
      EXPECT_NEAR(chunk.epsilon, epsilon, 1e-12);
    }
  }
  EXPECT_EQ(mechanism->background(0, 7).epsilon, mechanism->guarantee().epsilon);
  // Rounded outward: a floor of many is never above the product, nor does it underflow below zero.
  const auto many = made("two-point", {{"epsilon", 5.0}}, {0.0, 1.0}, 1'000'000);
  EXPECT_EQ(many->background(0, 1'000'000).floor, 0.0);
  EXPECT_EQ(many->background(0, 1'000'000).epsilon, many->guarantee().epsilon);
  EXPECT_GT(many->background(17, 100).floor, 0.0);
}

struct BitCase {
  std::string mechanism;
  Parameters parameters;
  std::size_t size;
};

TEST(Background, BitsAreWhatEnumerationFinds) {
  const BitCase cases[] = {{"rappor", {{"epsilon", 2.0}}, 8},
                           {"oue", {{"epsilon", 2.0}}, 4},
                           {"oue", {{"epsilon", 8.0}}, 2},
                           {"oue", {{"epsilon", 2.0}}, 1},
                           {"rr-bits", {{"epsilon", 2.0}}, 7},
                           {"ldpfl-1", {{"epsilon", 2.0}, {"coefficient", 0.5}}, 6},
                           {"ldpfl-2", {{"epsilon", 2.0}, {"coefficient", 4.0}}, 5},
                           {"ldpfl-exact", {{"epsilon", 3.0}}, 5},
                           {"ldpfl-exact", {{"epsilon", 3.0}, {"classes", 4}}, 4}};
  for (const BitCase& each : cases) {
    SCOPED_TRACE(each.mechanism + " of " + std::to_string(each.size));
    const auto mechanism = made(each.mechanism, each.parameters, {0.0, 1.0}, each.size);
    const std::size_t outputs = mechanism->outputs();
    std::vector<std::vector<float>> inputs = as_floats(bit_reports(each.size));
    if (mechanism->domain().shape == Shape::kOneHot) {
      std::erase_if(inputs,
                    [](const auto& row) { return std::count(row.begin(), row.end(), 1.0F) != 1; });
    }
    if (each.parameters.contains("classes")) {
      const auto once = inputs;
      for (const auto& row : once) {
        for (const float label : {2.0F, 3.0F}) {
          inputs.push_back(row);
          inputs.back().back() = label;
        }
      }
    }
    const Background background = mechanism->background(0, outputs);
    EXPECT_EQ(background.epsilon, mechanism->guarantee().epsilon);
    expect_background(background, extremes(*mechanism, bit_reports(outputs), inputs));
  }
}

TEST(Background, ChunksOfBits) {
  const auto mechanism = made("ldpfl-2", {{"epsilon", 2.0}, {"coefficient", 4.0}}, {0.5, 0.5}, 9);
  const Background whole = mechanism->background(0, 9);
  for (std::size_t cut = 0; cut <= 9; ++cut) {
    const Background left = mechanism->background(0, cut),
                     right = mechanism->background(cut, 9 - cut);
    EXPECT_NEAR(left.floor * right.floor, whole.floor, 1e-12 * whole.floor) << cut;
    EXPECT_NEAR(left.epsilon + right.epsilon, whole.epsilon, 1e-12) << cut;
  }
  // Even and odd positions differ.
  EXPECT_NE(mechanism->background(0, 1).epsilon, mechanism->background(1, 1).epsilon);
  EXPECT_EQ(mechanism->background(1, 1).epsilon, mechanism->background(3, 1).epsilon);

  const auto labelled = made("ldpfl-exact", {{"epsilon", 3.0}, {"classes", 4}}, {0.5, 0.5}, 4);
  ASSERT_EQ(labelled->outputs(), 7U);  // three bits and four classes
  EXPECT_GT(labelled->background(0, 3).floor, 0.0);
  EXPECT_GT(labelled->background(3, 4).floor, 0.0);
  EXPECT_NEAR(labelled->background(0, 3).floor * labelled->background(3, 4).floor,
              labelled->background(0, 7).floor, 1e-14);
  EXPECT_EQ(labelled->background(2, 3).floor, 0.0);
  EXPECT_EQ(labelled->background(4, 3).floor, 0.0);
  EXPECT_EQ(labelled->background(4, 3).epsilon, labelled->guarantee().epsilon);
  const auto unary = made("oue", {{"epsilon", 1.0}}, {0.0, 1.0}, 5);
  EXPECT_EQ(unary->background(0, 4).floor, 0.0);
  EXPECT_EQ(unary->background(0, 4).epsilon, unary->guarantee().epsilon);
}

TEST(Background, VectorsAgainstTheUniformDistribution) {
  for (const std::string name : {"ldp-sgd", "privunit"}) {
    for (const double epsilon : {0.5, 4.0, 12.0}) {
      SCOPED_TRACE(name);
      const auto single = made(name, {{"epsilon", epsilon}});
      const Symbol end = single->largest_symbol();
      expect_background(single->background(0, 1),
                        extremes(*single, {{-end}, {end}}, {{-1.0F}, {0.0F}, {0.3F}, {1.0F}}));

      const auto mechanism = made(name, {{"epsilon", epsilon}}, {0.0, 1.0}, 50);
      const Background background = mechanism->background(0, 50);
      EXPECT_EQ(background.epsilon, mechanism->guarantee().epsilon);
      EXPECT_EQ(background.coupling > 0.0, name == "privunit");
      EXPECT_LE(background.coupling, mechanism->guarantee().delta);
      EXPECT_EQ(mechanism->background(0, 49).floor, 0.0);
      EXPECT_EQ(mechanism->background(1, 49).epsilon, background.epsilon);
      // log_prob is relative to the uniform distribution, for ldp-sgd with both signs as one.
      const double base = name == "ldp-sgd" ? std::log(2.0) : 0.0;
      double least = std::numeric_limits<double>::infinity(), most = -least;
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::vector<float> x(50, 0.0F);
        x[seed % 50] = 1.0F;
        const auto report = drawn(*mechanism, x, seed);
        for (const float sign : {1.0F, -1.0F}) {
          x[seed % 50] = sign;
          const double density = base + mechanism->log_prob(report, x);
          least = std::min(least, density);
          most = std::max(most, density);
        }
      }
      EXPECT_GE(least, std::log(background.floor) - 1e-9);
      EXPECT_LE(most, std::log(background.floor) + background.epsilon + 1e-9);
      EXPECT_LT(least, std::log(background.floor) + 0.01);
    }
  }
}

TEST(Background, NothingIsKnownOfWhatIsNotPure) {
  for (const std::string name : {"gaussian", "none"}) {
    const auto mechanism =
        made(name, name == "none" ? Parameters{} : Parameters{{"epsilon", 1.0}, {"delta", 1e-6}});
    EXPECT_TRUE(std::isinf(mechanism->background(0, 1).epsilon)) << name;
    EXPECT_EQ(mechanism->background(0, 1).floor, 0.0) << name;
    EXPECT_EQ(mechanism->background(0, 1).coupling > 0.0, name == "gaussian");
  }
}

TEST(Guarantee, GaussianTellsItsRatio) {
  for (const double epsilon : {0.5, 5.0}) {
    const auto mechanism =
        made("gaussian", {{"epsilon", epsilon}, {"delta", 1e-5}, {"norm", 3.0}}, {0.0, 1.0}, 100);
    const Guarantee guarantee = mechanism->guarantee();
    const double sigma = std::sqrt(mechanism->moments(std::vector<float>(100, 0.0F), 0).variance /
                                   (1.0 + 1.0 / (256.0 * 12.0)));
    EXPECT_NEAR(guarantee.gaussian_ratio, 6.0 / sigma, 1e-6 * guarantee.gaussian_ratio);
    EXPECT_GE(guarantee.gaussian_ratio, 6.0 / sigma * (1.0 + 0x1p-40));
    EXPECT_GT(mechanism->background(0, 100).coupling, 0.0);
    EXPECT_LT(mechanism->background(0, 100).coupling, 1e-8);
  }
}

std::string text_of(const std::vector<Constant>& constants) {
  std::string text;
  for (const Constant& constant : constants) text += constant.name + '=' + constant.value + '\n';
  return text;
}

class Constants : public testing::TestWithParam<Sample> {};

TEST_P(Constants, DecideTheDistributionAndNothingElse) {
  const auto mechanism = *GetParam().make(3);
  const auto constants = mechanism->constants();
  EXPECT_EQ(constants.empty(), GetParam().mechanism == "none");
  std::set<std::string> names;
  for (const Constant& constant : constants) {
    EXPECT_TRUE(names.insert(constant.name).second) << constant.name;
    const bool hex = constant.value.find("0x") != std::string::npos;
    EXPECT_TRUE(hex || constant.value.find_first_not_of("-0123456789") == std::string::npos)
        << constant.value;
  }
  EXPECT_EQ(text_of(constants), text_of((*GetParam().make(3))->constants()));
  // Any other epsilon has other constants.
  Sample other = GetParam();
  const auto epsilon = other.parameters.find("epsilon");
  if (epsilon == other.parameters.end()) return;
  epsilon->second *= 1.0 + 1e-6;
  EXPECT_NE(text_of(constants), text_of((*other.make(3))->constants()));
}
INSTANTIATE_TEST_SUITE_P(All, Constants, testing::ValuesIn(samples()), case_name);

TEST(Constants, OneSetForEachRange) {
  auto layout = std::make_shared<Layout>();
  layout->add("a", {3}, TensorRole::kParameter);
  layout->add("b", {4}, TensorRole::kParameter);
  layout->add("c", {4}, TensorRole::kParameter);
  const Domain domain{layout, {{0.0, 1.0}, {0.0, 1.0}, {0.0, 0.1}}};
  const auto constants = (*make_mechanism("two-point", domain, {{"epsilon", 2.0}}))->constants();
  ASSERT_EQ(constants.size(), 6U);
  EXPECT_EQ(constants[0].name, "tensor 0: most");
  EXPECT_EQ(constants[3].name, "tensor 2: most");
}

}  // namespace
}  // namespace sotto
