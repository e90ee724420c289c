// One suite for every registered mechanism: what is drawn is what log_prob and moments say, what is
// private in the data stays out of errors and sizes, and bad parameters are named.
#include <set>
#include <stdexcept>

#include "mechanism_samples.h"
#include "sotto/aggregate.h"

namespace sotto {
namespace {

std::vector<float> bounded_values(const Mechanism& mechanism, std::vector<float> values) {
  return bound(Update(mechanism.domain().layout, std::move(values)), mechanism.domain()).take();
}

class Conformance : public testing::TestWithParam<Sample> {
 protected:
  std::shared_ptr<const Mechanism> make(std::size_t size) const {
    auto mechanism = GetParam().make(size);
    EXPECT_TRUE(mechanism) << (mechanism ? "" : mechanism.error().message);
    return mechanism ? std::move(*mechanism) : nullptr;
  }
  bool published_claim_is_wrong() const {
    return GetParam().mechanism == "ldpfl-1" || GetParam().mechanism == "ldpfl-2";
  }
};

TEST_P(Conformance, SaysWhatItIs) {
  const auto mechanism = make(3);
  const std::string id(mechanism->id());
  EXPECT_EQ(id.substr(0, GetParam().mechanism.size() + 2), GetParam().mechanism + ".v");
  EXPECT_TRUE(PackedSymbols::valid_width(mechanism->symbol_bits()));
  EXPECT_GE(mechanism->symbol_bits(),
            PackedSymbols::width_for(mechanism->smallest_symbol(), mechanism->largest_symbol()));
  const WorstCase worst = mechanism->worst_case();
  for (const std::string& text : {worst.input, worst.other_input, worst.output}) {
    EXPECT_FALSE(text.empty());
  }
}

TEST_P(Conformance, GuaranteeIsExactAndHoldsWhatWasAsked) {
  const auto mechanism = make(3);
  const Guarantee guarantee = mechanism->guarantee();
  EXPECT_FALSE(guarantee.statement.empty());
  EXPECT_EQ(guarantee.unit_epsilon, mechanism->worst_case().epsilon);
  EXPECT_GE(guarantee.epsilon, guarantee.unit_epsilon);
  EXPECT_GE(guarantee.unit_epsilon, 0.0);
  if (published_claim_is_wrong()) {
    EXPECT_GT(guarantee.unit_epsilon, guarantee.claimed_epsilon);
  } else {
    EXPECT_LE(guarantee.unit_epsilon, guarantee.claimed_epsilon);
  }
  if (GetParam().mechanism != "none") {
    EXPECT_TRUE(std::isfinite(guarantee.epsilon));
    EXPECT_LT(guarantee.delta, 1e-3);
  }
  const auto info = find_mechanism(GetParam().mechanism);
  ASSERT_TRUE(info);
  if ((*info)->kind == MechanismKind::kValue && std::isfinite(guarantee.epsilon)) {
    // Weights compose one after the other: three of them spend three times as much.
    EXPECT_NEAR(guarantee.epsilon, 3.0 * guarantee.unit_epsilon, 1e-9 * guarantee.epsilon);
  }
}

TEST_P(Conformance, EverySymbolCanBeDrawnAndTheReportTravels) {
  const auto mechanism = make(50);
  Aggregator aggregator(mechanism, 1);
  const std::vector<float> values = GetParam().inputs(50);
  const std::vector<float> x = bounded_values(*mechanism, values);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    BitSource bits = BitSource::from_seed(seed, "travel");
    Report report = mechanism->perturb(
        bound(Update(mechanism->domain().layout, values), mechanism->domain()), bits);
    ASSERT_EQ(report.symbols().size(), mechanism->outputs());
    const double log_prob = mechanism->log_prob(report.symbols().unpacked(), x);
    EXPECT_FALSE(std::isinf(log_prob) || std::isnan(log_prob)) << seed;
    for (const Envelope& envelope : pack(std::move(report), 1, 17)) {
      const auto parsed = Envelope::parse(envelope.serialize());
      ASSERT_TRUE(parsed) << parsed.error().message;
      const auto accepted = aggregator.accept(*parsed);
      ASSERT_TRUE(accepted) << accepted.error().message;
    }
  }
  EXPECT_TRUE(aggregator.release());
}

// The mean of 3,000 reports against moments(), at each output: a deviation of 6.5 standard errors
// has a probability below 1e-10, so all outputs of all samples together alarm falsely below 1e-6; a
// bias of 0.17 standard deviations of one report is found with a probability above 99 %.
TEST_P(Conformance, TheMeanOfManyReportsIsWhatMomentsSay) {
  constexpr std::uint64_t kReports = 3'000;
  const auto mechanism = make(24);
  const std::vector<float> values = GetParam().inputs(24);
  const std::vector<float> x = bounded_values(*mechanism, values);
  Aggregator aggregator(mechanism, 1);
  BitSource bits = BitSource::from_seed(11, "many reports");
  for (std::uint64_t i = 0; i < kReports; ++i) {
    Report report = mechanism->perturb(
        bound(Update(mechanism->domain().layout, values), mechanism->domain()), bits);
    for (const Envelope& envelope : pack(std::move(report), 1)) {
      ASSERT_TRUE(aggregator.accept(envelope));
    }
  }
  const auto released = aggregator.release();
  ASSERT_TRUE(released);
  ASSERT_EQ(released->values().size(), mechanism->outputs());
  for (std::size_t i = 0; i < mechanism->outputs(); ++i) {
    const Moments moments = mechanism->moments(x, i);
    EXPECT_GE(moments.variance, 0.0);
    const double error = std::sqrt(moments.variance / static_cast<double>(kReports));
    EXPECT_NEAR(released->values()[i], moments.mean, 6.5 * error + 1e-9) << "output " << i;
  }
}

// Pearson's test at three inputs with 60,000 draws each: false alarm 1e-6 a test. A cell of
// probability p that is off by 6 sqrt(p / 60,000) is found, that is 2.4 % of a cell with p = 0.01.
class CountableConformance : public Conformance {};

TEST_P(CountableConformance, FrequenciesAreThoseOfLogProb) {
  const auto single = make(1);
  if (single->alphabet(0).empty()) GTEST_SKIP() << "too many symbols to count";
  const auto many = make(60'000);
  std::uint64_t seed = 100;
  for (const float input : spread(*single, 3)) {
    EXPECT_GT(frequency_p(*many, *single, input, seed++), 1e-6) << "input " << input;
  }
}

/// Samples of value mechanisms: their weights are draws of one distribution.
std::vector<Sample> countable_samples() {
  std::vector<Sample> countable;
  for (const Sample& sample : samples()) {
    const auto info = find_mechanism(sample.mechanism);
    if (sample.mechanism == "none" || !info || (*info)->kind != MechanismKind::kValue) continue;
    countable.push_back(sample);
  }
  return countable;
}

TEST_P(Conformance, ValuesThatAreNoNumbersBecomeTheCentre) {
  const auto mechanism = make(40);
  // The centre of a ball is zero; in a one-hot vector all that is no number is as good as another.
  const bool box = mechanism->domain().shape == Shape::kBox;
  const auto centre = box ? static_cast<float>(mechanism->domain().ranges[0].centre) : 0.0F;
  const std::vector<float> at_centre(40, centre);
  const auto expected = drawn(*mechanism, at_centre, 5);
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(drawn(*mechanism, std::vector<float>(40, odd), 5), expected);
  }
}

TEST_P(Conformance, BadParametersAreNamedWithTheirInterval) {
  const auto info = find_mechanism(GetParam().mechanism);
  ASSERT_TRUE(info);
  for (const ParameterInfo& parameter : (*info)->parameters) {
    EXPECT_FALSE(parameter.meaning.empty()) << parameter.name;
    for (const double bad :
         {parameter.low - 1.0, parameter.high * 2.0 + 1.0, std::numeric_limits<double>::quiet_NaN(),
          std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
      Parameters parameters = GetParam().parameters;
      parameters[std::string(parameter.name)] = bad;
      const auto result = try_make(GetParam().mechanism, parameters, GetParam().range, 3);
      ASSERT_FALSE(result) << parameter.name << " = " << bad;
      EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
      EXPECT_NE(result.error().message.find(std::string(parameter.name) + " = "), std::string::npos)
          << result.error().message;
      EXPECT_NE(result.error().message.find("valid: " + parameter.valid()), std::string::npos)
          << result.error().message;
    }
  }
  Parameters unknown = GetParam().parameters;
  unknown["epsilonn"] = 1.0;
  const auto result = try_make(GetParam().mechanism, unknown, GetParam().range, 3);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("takes no 'epsilonn'"), std::string::npos);
  for (const Range range : {Range{0.0, 0.0}, Range{0.0, -1.0}, Range{NAN, 1.0}, Range{0.0, NAN},
                            Range{0.0, INFINITY}, Range{INFINITY, 1.0}}) {
    const auto bad_range = try_make(GetParam().mechanism, GetParam().parameters, range, 3);
    ASSERT_FALSE(bad_range) << range.centre << ' ' << range.radius;
    EXPECT_NE(bad_range.error().message.find("a radius above 0"), std::string::npos);
  }
}

TEST_P(Conformance, TakesOnlyWhatWasBoundedForIt) {
  const auto mechanism = make(4);
  Domain other = mechanism->domain();
  other.shape = Shape::kBox;
  other.ranges[0] = Range{0.0, 12345.0};
  BitSource bits = BitSource::from_seed(1, "foreign");
  const Bounded foreign = bound(Update(other.layout, {1, 2, 3, 4}), other);
  EXPECT_THROW((void)mechanism->perturb(foreign, bits), std::invalid_argument);
}

TEST_P(Conformance, AnEmptyVectorHasAnEmptyReport) {
  const auto mechanism = GetParam().make(0);
  if (mechanism) {
    EXPECT_TRUE(drawn(**mechanism, {}, 1).empty());
  } else {  // what treats a whole vector or a category needs one
    EXPECT_EQ(mechanism.error().kind, ErrorKind::kUsage) << mechanism.error().message;
  }
}

std::string name_of_case(const testing::TestParamInfo<Sample>& param) {
  std::string name = param.param.label;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, testing::ValuesIn(samples()), name_of_case);
INSTANTIATE_TEST_SUITE_P(All, CountableConformance, testing::ValuesIn(countable_samples()),
                         name_of_case);

TEST(Registry, EveryMechanismHasASampleAndAllItsTexts) {
  std::set<std::string> sampled;
  std::set<std::string> labels;
  for (const Sample& sample : samples()) {
    sampled.insert(sample.mechanism);
    EXPECT_TRUE(labels.insert(sample.label).second) << "two samples named " << sample.label;
  }
  for (const MechanismInfo& info : mechanisms()) {
    EXPECT_TRUE(sampled.contains(std::string(info.name))) << info.name << " has no sample";
    for (const std::string_view text :
         {info.summary, info.input, info.output, info.guarantee, info.bias, info.reference}) {
      EXPECT_FALSE(text.empty()) << info.name;
    }
    EXPECT_EQ(info.unbiased, info.bias.starts_with("unbiased")) << info.name;
  }
}

TEST(Registry, AnotherEpsilonRangeOrLayoutHasAnotherId) {
  const auto id = [](double epsilon, Range range, std::size_t size) {
    return std::string(made("two-point", {{"epsilon", epsilon}}, range, size)->id());
  };
  const std::string one = id(1.0, {0.0, 1.0}, 5);
  EXPECT_EQ(id(1.0, {0.0, 1.0}, 5), one);
  EXPECT_NE(id(1.0000001, {0.0, 1.0}, 5), one);
  EXPECT_NE(id(1.0, {0.0, 1.5}, 5), one);
  EXPECT_NE(id(1.0, {0.1, 1.0}, 5), one);
  EXPECT_NE(id(1.0, {0.0, 1.0}, 6), one);
}

}  // namespace
}  // namespace sotto
