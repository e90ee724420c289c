#include "mechanism/vector/vector.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace sotto {
namespace {

/// The stream of the coins: no block has this number.
constexpr std::uint64_t kCoinBlock = std::uint64_t{1} << 61;

}  // namespace

Result<void> VectorMechanism::check_size(std::string_view name, const Domain& domain) {
  const std::size_t size = domain.layout->size();
  if (size >= 1 && size <= std::size_t{1} << 31) return {};
  return fail(ErrorKind::kUsage, std::string(name) + ": a vector of " + std::to_string(size) +
                                     " coordinates; valid: 1 to 2147483648");
}

VectorMechanism::VectorMechanism(std::string_view version, Domain domain,
                                 const Parameters& parameters)
    : domain_(std::move(domain)), dimension_(domain_.layout->size()) {
  domain_.shape = Shape::kBall;
  domain_.norm = get(parameters, "norm");
  for (Range& range : domain_.ranges) range = Range{0.0, domain_.norm};
  id_ = mechanism_id(version, domain_, parameters);
}

void VectorMechanism::set_lattice(Symbol most, double step) {
  most_ = most;
  step_ = step;
  bits_ = PackedSymbols::width_for(-most, most);
}

void VectorMechanism::set_guarantee(double exact, double delta, double claimed,
                                    std::string statement) {
  guarantee_.epsilon = exact;
  guarantee_.delta = delta;
  guarantee_.statement = std::move(statement);
  guarantee_.unit = GuaranteeUnit::kVector;
  guarantee_.unit_epsilon = exact;
  guarantee_.claimed_epsilon = claimed;
}

std::vector<Symbol> VectorMechanism::alphabet(std::size_t /*output*/) const {
  std::vector<Symbol> all;
  if (2 * static_cast<std::size_t>(most_) >= kMostListed) return all;
  for (Symbol symbol = -most_; symbol <= most_; ++symbol) all.push_back(symbol);
  return all;
}

void VectorMechanism::decode(std::span<const std::int64_t> sums, std::uint64_t reports,
                             std::size_t /*first*/, std::span<double> mean) const {
  const double scale = step_ / static_cast<double>(reports);
  for (std::size_t i = 0; i < sums.size(); ++i) mean[i] = scale * static_cast<double>(sums[i]);
}

VectorMechanism::Lanes VectorMechanism::lanes(const StreamKey& key, unsigned threads) const {
  const auto most = static_cast<unsigned>(std::min<std::size_t>(blocks(), 1024));
  Lanes all(std::clamp(threads, 1U, most));
  for (auto& lane : all) lane = std::make_unique<Lane>(key);
  return all;
}

const float* VectorMechanism::input_of(std::span<const float> x, std::size_t block,
                                       Lane& lane) const {
  const std::size_t count = count_of(block);
  const float* const from = x.data() + block * kBlock;
  if (count == padded(count)) return from;
  std::copy(from, from + count, lane.input.begin());
  std::fill(lane.input.begin() + static_cast<std::ptrdiff_t>(count),
            lane.input.begin() + static_cast<std::ptrdiff_t>(padded(count)), 0.0F);
  return lane.input.data();
}

std::array<std::uint64_t, 4> VectorMechanism::coins(BlockStream& stream) {
  std::array<std::uint64_t, 4> words{};
  stream.seek(kCoinBlock);
  stream.fill(std::span(words));
  return words;
}

MoreBits VectorMechanism::after_coin(Lanes& all, std::size_t which) {
  all.front()->stream.seek(kCoinBlock);
  return all.front()->stream.more(which);
}

WideSum VectorMechanism::total(std::span<const WideSum> sums) {
  WideSum all;
  for (const WideSum& sum : sums) all.add(sum);
  return all;
}

double VectorMechanism::norm_of(std::span<const float> x) const {
  std::array<float, kBlock> piece;
  WideSum square;
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const auto part = x.subspan(first, std::min(kBlock, x.size() - first));
    std::fill(std::copy(part.begin(), part.end(), piece.begin()), piece.end(), 0.0F);
    square.add(quick_dot(piece.data(), piece.data(), padded(part.size())));
  }
  return std::sqrt(square.value());
}

std::uint64_t VectorMechanism::last_plus(double norm_of_x) const {
  const double share = norm_of_x / norm();
  if (!(share < 1.0)) return std::numeric_limits<std::uint64_t>::max();
  return (std::uint64_t{1} << 63) - 1 + static_cast<std::uint64_t>(share * 0x1p63);
}

double VectorMechanism::symbols_dot(std::span<const Symbol> symbols,
                                    std::span<const float> x) const {
  std::array<float, kBlock> piece;
  std::array<std::int16_t, kBlock> narrow;
  WideSum sum;
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, x.size() - first);
    piece.fill(0.0F);
    narrow.fill(0);
    for (std::size_t i = 0; i < count; ++i) {
      piece[i] = x[first + i];
      narrow[i] = static_cast<std::int16_t>(symbols[first + i]);
    }
    sum.add(quick_dot(narrow.data(), piece.data(), padded(count)));
  }
  return sum.value();
}

}  // namespace sotto
