// Secret sharing: any t shares recover, fewer tell nothing, wrong ones are refused.
#include "secure/shamir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "secure/crypto.h"

namespace sotto::secure {
namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

void expect_refused(const Result<Secret<32>>& result, std::string_view part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kRefused);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST(Shamir, AnySubsetOfThresholdSharesRecovers) {
  BitSource bits = BitSource::from_seed(1, "shamir");
  const Secret<32> secret = draw_secret(bits);
  const std::vector<Share> shares = split(secret, 3, 6, bits);
  for (unsigned subset = 0; subset < 64; ++subset) {
    std::vector<Share> some;
    for (unsigned i = 0; i < 6; ++i) {
      if ((subset >> i & 1) != 0) some.push_back(shares[i]);
    }
    const auto recovered = recover(some, 3);
    ASSERT_EQ(recovered.has_value(), some.size() >= 3) << subset;
    if (recovered) {
      EXPECT_EQ(*recovered, secret) << subset;
    }
  }
}

TEST(Shamir, ExtremeSecrets) {
  BitSource bits = BitSource::from_seed(2, "shamir");
  for (const unsigned char byte : {0x00, 0xFF, 0x80}) {
    Secret<32> secret;
    std::fill_n(secret.data(), secret.size(), byte);
    for (const std::uint32_t threshold : {1U, 2U, 40U}) {
      std::vector<Share> shares = split(secret, threshold, 40, bits);
      std::reverse(shares.begin(), shares.end());
      EXPECT_EQ(recover(shares, threshold), secret);
    }
  }
}

TEST(Shamir, RefusesWhatIsNotAShareOfTheSecret) {
  BitSource bits = BitSource::from_seed(3, "shamir");
  const std::vector<Share> shares = split(draw_secret(bits), 3, 5, bits);
  expect_refused(recover(std::span(shares).first(2), 3), "2 shares; 3 are needed");
  expect_refused(recover({}, 0), "0 shares");
  std::vector<Share> twice = {shares[0], shares[1], shares[1]};
  expect_refused(recover(twice, 3), "share 2 is there twice");
  std::vector<Share> zero = {shares[0], shares[1], shares[2]};
  zero[1].x = 0;
  expect_refused(recover(zero, 3), "has no number");
  std::vector<Share> outside = {shares[0], shares[1], shares[2]};
  outside[2].values[4] = kPrime;
  expect_refused(recover(outside, 3), "outside the field");
  // One changed value among more than t shares is always seen, whichever it is.
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::size_t word = 0; word < kShareWords; ++word) {
      std::vector<Share> changed = shares;
      changed[i].values[word] ^= 1;
      expect_refused(recover(changed, 3), "do not belong to one secret");
    }
  }
}

// With t - 1 shares every secret is equally likely: over the coefficients' draws, a share has the
// same distribution whatever the secret. Here: the top four bits of share 1 for two secrets that
// differ in every bit, each uniform over 16 classes. 16,000 draws; a chi-square of 15 degrees
// beyond 60 has a probability of 2e-7, and a share whose top bits had 3 % more of one class would
// be seen.
TEST(Shamir, OneShareBelowTheThresholdIsUniform) {
  BitSource bits = BitSource::from_seed(4, "shamir");
  for (const unsigned char byte : {0x00, 0xFF}) {
    Secret<32> secret;
    std::fill_n(secret.data(), secret.size(), byte);
    std::array<double, 16> counts{};
    constexpr int kDraws = 16000;
    for (int i = 0; i < kDraws; ++i) {
      const std::vector<Share> shares = split(secret, 2, 2, bits);
      counts[shares[0].values[0] >> 57] += 1.0;
    }
    double chi = 0.0;
    for (const double count : counts) chi += (count - 1000.0) * (count - 1000.0) / 1000.0;
    EXPECT_LT(chi, 60.0);
  }
}

// The algebra behind it: given t - 1 shares and any candidate, there is a share that completes them
// to exactly this candidate.
TEST(Shamir, EveryCandidateFitsFewerShares) {
  BitSource bits = BitSource::from_seed(5, "shamir");
  const std::vector<Share> shares = split(draw_secret(bits), 2, 3, bits);
  const Secret<32> candidate = draw_secret(bits);
  // The line through (0, candidate) and share 1, at x = 2: 2 share - candidate, chunk by chunk.
  const std::vector<Share> line = split(candidate, 1, 1, bits);  // the candidate's own chunks
  Share completing{2, {}};
  for (std::size_t i = 0; i < kShareWords; ++i) {
    completing.values[i] = (2 * shares[0].values[i] % kPrime + kPrime - line[0].values[i]) % kPrime;
  }
  const std::vector<Share> two = {shares[0], completing};
  EXPECT_EQ(recover(two, 2), candidate);
}

}  // namespace
}  // namespace sotto::secure
