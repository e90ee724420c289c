#include "secure/shamir.h"

#include <algorithm>
#include <set>

namespace sotto::secure {
namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
constexpr std::size_t kChunkBytes = 7;
constexpr std::uint64_t kChunkEnd = std::uint64_t{1} << (8 * kChunkBytes);

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;  // below 2^62
  return sum >= kPrime ? sum - kPrime : sum;
}

std::uint64_t subtract(std::uint64_t a, std::uint64_t b) { return add(a, kPrime - b); }

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;  // 2^61 = 1 in this field: the halves add up
  const auto low = static_cast<std::uint64_t>(product) & kPrime;
  return add(low, static_cast<std::uint64_t>(product >> 61));
}

/// a^(p - 2) = 1 / a, by Fermat.
std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t result = 1;
  for (std::uint64_t power = kPrime - 2; power > 0; power >>= 1) {
    if ((power & 1) != 0) result = multiply(result, a);
    a = multiply(a, a);
  }
  return result;
}

std::array<std::uint64_t, kShareWords> chunks_of(const Secret<32>& secret) {
  std::array<std::uint64_t, kShareWords> chunks{};
  for (std::size_t i = 0; i < secret.size(); ++i) {
    chunks[i / kChunkBytes] |= std::uint64_t{secret.data()[i]} << (8 * (i % kChunkBytes));
  }
  return chunks;
}

/// Lagrange's weights of the first `threshold` shares for the value at `x`.
std::vector<std::uint64_t> weights_at(std::uint64_t x, std::span<const Share> shares) {
  std::vector<std::uint64_t> weights;
  for (const Share& one : shares) {
    std::uint64_t above = 1;
    std::uint64_t below = 1;
    for (const Share& other : shares) {
      if (other.x == one.x) continue;
      above = multiply(above, subtract(x, other.x));
      below = multiply(below, subtract(one.x, other.x));
    }
    weights.push_back(multiply(above, inverse(below)));
  }
  return weights;
}

std::uint64_t value_at(std::span<const std::uint64_t> weights, std::span<const Share> shares,
                       std::size_t chunk) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    value = add(value, multiply(weights[i], shares[i].values[chunk]));
  }
  return value;
}

}  // namespace

std::vector<Share> split(const Secret<32>& secret, std::uint32_t threshold, std::uint32_t count,
                         BitSource& bits) {
  std::vector<Share> shares(count);
  for (std::uint32_t i = 0; i < count; ++i) shares[i].x = i + 1;
  const auto chunks = chunks_of(secret);
  std::vector<std::uint64_t> coefficients(threshold);
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    coefficients[0] = chunks[chunk];
    for (std::uint32_t i = 1; i < threshold; ++i) coefficients[i] = bits.below(kPrime);
    for (Share& share : shares) {
      std::uint64_t value = 0;
      for (std::uint32_t i = threshold; i-- > 0;) {
        value = add(multiply(value, share.x), coefficients[i]);
      }
      share.values[chunk] = value;
    }
  }
  return shares;
}

Result<Secret<32>> recover(std::span<const Share> shares, std::uint32_t threshold) {
  const auto refuse = [](const std::string& what) {
    return fail(ErrorKind::kRefused, "secret sharing: " + what);
  };
  if (threshold == 0 || shares.size() < threshold) {
    return refuse(std::to_string(shares.size()) + " shares; " + std::to_string(threshold) +
                  " are needed");
  }
  std::set<std::uint32_t> seen;
  for (const Share& share : shares) {
    if (share.x == 0 || !seen.insert(share.x).second) {
      return refuse("share " + std::to_string(share.x) + " is there twice or has no number");
    }
    if (std::ranges::any_of(share.values, [](std::uint64_t v) { return v >= kPrime; })) {
      return refuse("share " + std::to_string(share.x) + " has a value outside the field");
    }
  }
  const std::span<const Share> enough = shares.first(threshold);
  for (const Share& further : shares.subspan(threshold)) {
    const auto weights = weights_at(further.x, enough);
    for (std::size_t chunk = 0; chunk < kShareWords; ++chunk) {
      if (value_at(weights, enough, chunk) != further.values[chunk]) {
        return refuse("the shares do not belong to one secret");
      }
    }
  }
  Secret<32> secret;
  const auto weights = weights_at(0, enough);
  for (std::size_t chunk = 0; chunk < kShareWords; ++chunk) {
    const std::uint64_t value = value_at(weights, enough, chunk);
    const std::size_t first = chunk * kChunkBytes;
    const std::size_t bytes = std::min(kChunkBytes, secret.size() - first);
    if (value >= kChunkEnd || (bytes < kChunkBytes && value >> (8 * bytes) != 0)) {
      return refuse("the shares do not belong to one secret");
    }
    for (std::size_t i = 0; i < bytes; ++i) {
      secret.data()[first + i] = static_cast<unsigned char>(value >> (8 * i));
    }
  }
  return secret;
}

}  // namespace sotto::secure
