// Secure aggregation end to end: the unmasked sum is the plain one, bit for bit, whoever vanishes;
// below the threshold nothing comes out; what does not belong is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <set>

#include "base/stage_fixture.h"
#include "secure/crypto.h"
#include "secure/simulation.h"

namespace sotto::secure {
namespace {

constexpr RoundId kRound = 4;

BitSource bits_of(Member member) { return BitSource::from_seed(9, "member", {member}); }

std::vector<float> values_of(Member member, std::size_t size) {
  BitSource bits = BitSource::from_seed(8, "values", {member});
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(bits.unit() * 2.0 - 1.0);
  return values;
}

std::shared_ptr<const Mechanism> mechanism_called(const std::string& name, std::size_t size) {
  Parameters parameters;
  if (name != "none") parameters["epsilon"] = 3.0;
  if (name == "gaussian") parameters["delta"] = 1e-5;
  return make_mechanism(name, Domain{flat_layout(size), {Range{0.0, 1.0}}}, parameters).value();
}

void expect_refused(const auto& result, std::string_view part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kRefused);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

struct Case {
  std::string mechanism;
  std::size_t split;
  std::set<Member> vanished;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.mechanism << ", split " << c.split << ", " << c.vanished.size() << " vanished";
}

class SumIsPlain : public testing::TestWithParam<Case> {};

TEST_P(SumIsPlain, BitForBit) {
  const Case& c = GetParam();
  constexpr std::size_t kSize = 2500;  // more than two pieces of a mask
  const Session session{kRound, 7, 4};
  const auto mechanism = mechanism_called(c.mechanism, kSize);
  auto simulation = Simulation::begin(session, bits_of, 2).value();
  Aggregator plain(mechanism, kRound);
  for (Member member = 0; member < session.members; ++member) {
    if (c.vanished.contains(member)) continue;
    const auto envelopes = envelopes_of(*mechanism, values_of(member, kSize), kRound, c.split);
    for (const Envelope& envelope : envelopes) ASSERT_TRUE(plain.accept(envelope));
    ASSERT_TRUE(simulation->submit(member, envelopes));
  }
  const auto sums = simulation->finish(2);
  ASSERT_TRUE(sums) << sums.error().message;
  Aggregator masked(mechanism, kRound);
  for (const SummedEnvelope& sum : *sums) {
    EXPECT_EQ(sum.reports(), session.members - c.vanished.size());
    const auto accepted = masked.accept(sum);
    ASSERT_TRUE(accepted) << accepted.error().message;
  }
  const Released expected = plain.release().value();
  const Released got = masked.release().value();
  EXPECT_EQ(got.reports(), expected.reports());
  EXPECT_TRUE(std::ranges::equal(got.values(), expected.values()));
}

INSTANTIATE_TEST_SUITE_P(All, SumIsPlain,
                         testing::Values(Case{"none", 0, {}}, Case{"none", 0, {0, 3, 6}},
                                         Case{"none", 999, {2}}, Case{"gaussian", 0, {5}},
                                         Case{"srr", 0, {0, 1}}, Case{"two-point", 800, {6}}));

// Every set of clients may vanish: 2^5 of them, of which those with at least 3 survivors release.
TEST(SecureAggregation, ReleasesForEveryLargeEnoughSetOfSurvivors) {
  const Session session{kRound, 5, 3};
  const auto mechanism = mechanism_called("none", 3);
  for (unsigned set = 0; set < 32; ++set) {
    auto simulation = Simulation::begin(session, bits_of, 1).value();
    std::vector<std::int64_t> plain(3, 0);
    std::size_t survivors = 0;
    for (Member member = 0; member < 5; ++member) {
      if ((set >> member & 1) == 0) continue;
      ++survivors;
      const auto envelopes = envelopes_of(*mechanism, values_of(member, 3), kRound);
      for (std::size_t i = 0; i < 3; ++i) plain[i] += envelopes[0].symbols()[i];
      ASSERT_TRUE(simulation->submit(member, envelopes));
    }
    const auto sums = simulation->finish(1);
    ASSERT_EQ(sums.has_value(), survivors >= 3) << set;
    if (!sums) {
      expect_refused(sums, "fewer than the threshold of 3; nothing is unmasked");
      continue;
    }
    EXPECT_TRUE(std::ranges::equal(sums->at(0).sums(), plain)) << set;
  }
}

/// All states by hand, so that a test can interfere between any two.
struct Parties {
  explicit Parties(const Session& session, std::size_t size = 4)
      : mechanism(mechanism_called("none", size)) {
    std::vector<AdvertisingClient> advertising;
    std::vector<BitSource> bits;
    for (Member member = 0; member < session.members; ++member) {
      bits.push_back(bits_of(member));
      advertising.emplace_back(session, member, bits.back());
      roster.push_back(advertising.back().advertisement());
    }
    incoming.resize(session.members);
    for (Member member = 0; member < session.members; ++member) {
      auto shared = std::move(advertising[member]).share(roster, bits[member]).value();
      masking.push_back(std::move(shared.next));
      for (SealedShares& sealed : shared.outgoing) incoming[sealed.to].push_back(sealed);
    }
  }
  MaskingClient::Masked mask(Member member) {
    return std::move(masking[member])
        .mask(envelopes_of(*mechanism, values_of(member, 4), kRound), incoming[member])
        .value();
  }
  std::shared_ptr<const Mechanism> mechanism;
  std::vector<Advertisement> roster;
  std::vector<MaskingClient> masking;
  std::vector<std::vector<SealedShares>> incoming;
};

const Session kThree{kRound, 3, 2};

TEST(SecureAggregation, AMaskedReportLooksUniform) {
  // 4,000 words of one client whose symbols are all zero; each of 64 bits is set about half the
  // time. 7 deviations: a false alarm has a probability of 64 * 2.6e-12.
  const Session session{kRound, 2, 2};
  Parties parties(session);
  const auto mechanism = mechanism_called("none", 4000);
  const auto masked =
      std::move(parties.masking[0])
          .mask(envelopes_of(*mechanism, std::vector<float>(4000), kRound), parties.incoming[0])
          .value();
  for (unsigned bit = 0; bit < 64; ++bit) {
    int set = 0;
    for (const std::uint64_t word : masked.report.words()) set += static_cast<int>(word >> bit & 1);
    EXPECT_NEAR(set, 2000, 7 * std::sqrt(1000.0)) << bit;
  }
}

// Without the own mask, a server that gets a report late, after it has recovered the pairwise key
// of a client that it held for vanished, would read it.
TEST(SecureAggregation, TheOwnMaskRemainsWhenThePairwiseKeyIsKnown) {
  Parties parties(kThree);
  auto late = parties.mask(2);
  const auto envelopes = envelopes_of(*parties.mechanism, values_of(2, 4), kRound);
  SummingServer server(kThree, parties.roster);
  std::vector<UnmaskingClient> clients;
  for (const Member member : {0U, 1U}) {
    auto masked = parties.mask(member);
    ASSERT_TRUE(server.accept(masked.report));
    clients.push_back(std::move(masked.next));
  }
  auto unmasking = std::move(server).close().value();
  for (UnmaskingClient& client : clients) {
    ASSERT_TRUE(unmasking.accept(std::move(client).answer(unmasking.survivors()).value()));
  }
  ASSERT_TRUE(unmasking.release());
  // The server now knows member 2's pairwise masks: both of them, taken off.
  std::vector<std::uint64_t> words(late.report.words().begin(), late.report.words().end());
  BitSource bits = bits_of(2);
  draw_secret(bits);
  const Secret<32> mask_secret = draw_secret(bits);
  for (const Member other : {0U, 1U}) {
    const auto pair = agree(mask_secret, parties.roster[2].mask_key, parties.roster[other].mask_key,
                            "sotto pair mask", kRound);
    apply_mask(*pair, Sign::kAdd, words);  // member 2 subtracted
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(static_cast<std::int64_t>(words[i]), envelopes[0].symbols()[i]);
  }
  // With the own mask off too, nothing hides it: this is all there was.
  apply_mask(draw_secret(bits), Sign::kSubtract, words);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<std::int64_t>(words[i]), envelopes[0].symbols()[i]);
  }
}

TEST(SecureAggregation, AnAnswerNeverHasBothSecretsOfAMember) {
  Parties parties(kThree);
  auto masked = parties.mask(0);
  const std::vector<Member> survivors = {0, 2};
  const Answer answer = std::move(masked.next).answer(survivors).value();
  for (Member member = 0; member < 3; ++member) {
    EXPECT_NE(answer.seeds.contains(member), answer.keys.contains(member)) << member;
  }
  EXPECT_TRUE(answer.keys.contains(1));
}

TEST(SecureAggregation, ClientsRefuseWhatWouldBareAReport) {
  Parties parties(kThree);
  auto a = parties.mask(0);
  auto b = parties.mask(1);
  auto c = parties.mask(2);
  expect_refused(std::move(a.next).answer(std::vector<Member>{0}),
                 "1 reports are fewer than the threshold");
  expect_refused(std::move(b.next).answer(std::vector<Member>{0, 0}), "named twice");
  expect_refused(std::move(c.next).answer(std::vector<Member>{0, 3}), "it is no member");
}

TEST(SecureAggregation, SharesThatWereTamperedWithAreRefused) {
  const auto attempt = [](const auto& spoil) {
    Parties parties(kThree);
    spoil(parties.incoming[0]);
    return std::move(parties.masking[0])
        .mask(envelopes_of(*parties.mechanism, values_of(0, 4), kRound), parties.incoming[0]);
  };
  EXPECT_TRUE(attempt([](auto&) {}));
  expect_refused(attempt([](auto& in) { in[0].box[3] ^= 1; }), "cannot be opened");
  expect_refused(attempt([](auto& in) { in[0].box.clear(); }), "cannot be opened");
  expect_refused(attempt([](auto& in) { in[0].from = 2; }), "member 2: its shares");
  expect_refused(attempt([](auto& in) { in[0].from = 7; }), "not meant for this client");
  expect_refused(attempt([](auto& in) { in[0].to = 1; }), "not meant for this client");
  expect_refused(attempt([](auto& in) { in.push_back(in[0]); }), "came twice");
  expect_refused(attempt([](auto& in) { in.pop_back(); }), "1 members' shares are missing");
}

TEST(SecureAggregation, ServerRefusesWhatDoesNotBelong) {
  Parties parties(kThree);
  auto first = parties.mask(0);
  auto second = parties.mask(1);
  SummingServer server(kThree, parties.roster);
  ASSERT_TRUE(server.accept(first.report));
  expect_refused(server.accept(first.report), "came twice");
  const auto longer = mechanism_called("none", 5);
  expect_refused(
      server.accept(std::move(parties.masking[2])
                        .mask(envelopes_of(*longer, values_of(2, 5), kRound), parties.incoming[2])
                        .value()
                        .report),
      "other places");
  ASSERT_TRUE(server.accept(second.report));
  auto unmasking = std::move(server).close().value();
  const std::vector<Member> survivors = unmasking.survivors();
  EXPECT_EQ(survivors, (std::vector<Member>{0, 1}));
  const Answer good = std::move(first.next).answer(survivors).value();
  Answer both = good;
  both.keys[0] = both.seeds[0];
  expect_refused(unmasking.accept(both), "not about the clients");
  Answer stranger = good;
  stranger.member = 2;
  expect_refused(unmasking.accept(stranger), "who sent no report");
  Answer borrowed = good;
  borrowed.seeds[0].x = 3;
  expect_refused(unmasking.accept(borrowed), "not its own");
  ASSERT_TRUE(unmasking.accept(good));
  expect_refused(unmasking.accept(good), "came twice");
  expect_refused(unmasking.release(), "1 answers are fewer than the threshold of 2");
  Answer wrong = std::move(second.next).answer(survivors).value();
  wrong.keys[2].values[1] ^= 1;  // X25519 ignores the lowest bits of a secret
  ASSERT_TRUE(unmasking.accept(wrong));
  expect_refused(unmasking.release(), "do not give the key that it announced");
}

TEST(SecureAggregation, WrongSeedsAreSeen) {
  Parties parties(kThree);
  SummingServer server(kThree, parties.roster);
  std::vector<UnmaskingClient> clients;
  for (Member member = 0; member < 3; ++member) {
    auto masked = parties.mask(member);
    ASSERT_TRUE(server.accept(masked.report));
    clients.push_back(std::move(masked.next));
  }
  auto unmasking = std::move(server).close().value();
  for (const Member member : {0U, 2U}) {
    Answer answer = std::move(clients[member]).answer(unmasking.survivors()).value();
    if (member == 2) answer.seeds[1].values[2] ^= 4;
    ASSERT_TRUE(unmasking.accept(answer));
  }
  expect_refused(unmasking.release(), "do not give the seed that it announced");
}

TEST(SecureAggregation, RostersAndSessionsAreChecked) {
  Parties parties(kThree);
  RosterServer keys(kThree);
  ASSERT_TRUE(keys.accept(parties.roster[0]));
  expect_refused(keys.accept(parties.roster[0]), "came twice");
  Advertisement stranger = parties.roster[1];
  stranger.member = 3;
  expect_refused(keys.accept(stranger), "no such member");
  ASSERT_TRUE(keys.accept(parties.roster[1]));
  expect_refused(keys.roster(), "keys of 2 members instead of 3");
  Advertisement copied = parties.roster[0];
  copied.member = 2;
  ASSERT_TRUE(keys.accept(copied));
  expect_refused(keys.roster(), "a key that is another's too");
  EXPECT_FALSE(check({kRound, 3, 1}));
  EXPECT_FALSE(check({kRound, 3, 4}));
  EXPECT_FALSE(check({kRound, 1, 1}));
  EXPECT_EQ(threshold_of(0.66, 50), 33U);
  EXPECT_EQ(threshold_of(0.66, 9), 6U);
  EXPECT_EQ(threshold_of(0.1, 3), 2U);
  EXPECT_EQ(threshold_of(1.0, 7), 7U);
}

// A public key of small order would make every shared secret known.
TEST(SecureAggregation, KeysOfSmallOrderAreRefused) {
  BitSource bits = bits_of(0);
  const Secret<32> secret = draw_secret(bits);
  EXPECT_FALSE(agree(secret, public_key(secret), PublicKey{}, "test", kRound));
  PublicKey one{};
  one[0] = 1;
  EXPECT_FALSE(agree(secret, public_key(secret), one, "test", kRound));
}

TEST(SecureAggregation, PairsAgreeAndPurposesAndRoundsDiffer) {
  BitSource bits = bits_of(0);
  const Secret<32> a = draw_secret(bits);
  const Secret<32> b = draw_secret(bits);
  const auto shared = agree(a, public_key(a), public_key(b), "x", 1);
  EXPECT_EQ(shared, agree(b, public_key(b), public_key(a), "x", 1));
  EXPECT_NE(shared, agree(a, public_key(a), public_key(b), "y", 1));
  EXPECT_NE(shared, agree(a, public_key(a), public_key(b), "x", 2));
}

}  // namespace
}  // namespace sotto::secure
