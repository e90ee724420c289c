#include "server/combine.h"

#include <algorithm>
#include <map>

namespace sotto {
namespace {

/// Variance of the decoded value of one report, for each tensor of the part.
std::vector<double> noise_of(const Mechanism& mechanism) {
  const Domain& domain = mechanism.domain();
  std::vector<float> centre(domain.layout->size(), 0.0F);
  for (std::size_t t = 0; t < domain.ranges.size(); ++t) {
    const TensorSpec& tensor = domain.layout->tensors()[t];
    std::fill_n(centre.begin() + static_cast<std::ptrdiff_t>(tensor.offset), tensor.size,
                static_cast<float>(domain.ranges[t].centre));
  }
  std::vector<double> variances;
  for (const TensorSpec& tensor : domain.layout->tensors()) {
    variances.push_back(mechanism.moments(centre, tensor.offset).variance);
  }
  return variances;
}

struct Share {
  std::span<const double> values;
  double reports = 0.0;
  double variance = 0.0;  // of one report
};

/// One without noise takes all: any weight on another would add noise.
double weight_of(const Share& share, bool exact) {
  if (exact) return share.variance > 0.0 ? 0.0 : share.reports;
  return share.reports / share.variance;
}

TensorMean weighted(std::size_t tensor, const std::vector<Share>& shares) {
  const bool exact =
      std::ranges::any_of(shares, [](const Share& share) { return !(share.variance > 0.0); });
  TensorMean mean;
  mean.tensor = tensor;
  if (shares.size() == 1) {
    mean.values.assign(shares[0].values.begin(), shares[0].values.end());
    mean.noise_variance = shares[0].variance / shares[0].reports;
    return mean;
  }
  double total = 0.0;
  for (const Share& share : shares) total += weight_of(share, exact);
  mean.values.assign(shares.front().values.size(), 0.0);
  for (const Share& share : shares) {
    const double weight = weight_of(share, exact) / total;
    for (std::size_t i = 0; i < share.values.size(); ++i) {
      mean.values[i] += weight * share.values[i];
    }
    mean.noise_variance += weight * weight * share.variance / share.reports;
  }
  return mean;
}

}  // namespace

std::vector<TensorMean> combine(const RoundPlan& plan, const CollectedRound& collected,
                                bool tell_noise) {
  std::map<std::size_t, std::vector<Share>> shares;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const CollectedGroup& group = collected.groups[g];
    for (std::size_t p = 0; p < group.released.size(); ++p) {
      const Part& part = plan.groups[g].parts[p];
      const bool needed = tell_noise || plan.groups.size() > 1;
      const std::vector<double> noise =
          needed ? noise_of(*part.mechanism) : std::vector<double>(part.tensors.size(), 0.0);
      const std::vector<TensorSpec>& tensors = part.mechanism->domain().layout->tensors();
      for (std::size_t t = 0; t < part.tensors.size(); ++t) {
        shares[part.tensors[t]].push_back(
            {group.released[p].values().subspan(tensors[t].offset, tensors[t].size),
             static_cast<double>(group.reports), noise[t]});
      }
    }
  }
  std::vector<TensorMean> means;
  for (const auto& [tensor, parts] : shares) means.push_back(weighted(tensor, parts));
  return means;
}

}  // namespace sotto
