// A small round for tests of the roles: two parts of a report, cut into chunks.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "flat_layout.h"
#include "shuffle/report_form.h"
#include "sotto/bits.h"
#include "sotto/mechanism.h"

namespace sotto::rpc {

inline const std::string kTestRecipe(64, 'a');
inline const std::string kTestTask = task_name(kTestRecipe, std::array<std::byte, 16>{});

inline Part make_part(std::size_t size, double epsilon) {
  Domain domain{flat_layout(size), {Range{0.0, 1.0}}};
  const Parameters parameters{{"epsilon", epsilon}};
  return {make_mechanism("two-point", domain, parameters).value(),
          {0},
          {"two-point", parameters, domain}};
}

/// Clients 0, 1 and 2; ten weights in chunks of four, and three in one.
inline RoundPlan small_plan(RoundId round = 1) {
  RoundPlan plan;
  plan.round = round;
  plan.split = 4;
  plan.groups.push_back({{0, 1, 2}, {make_part(10, 1.0), make_part(3, 2.0)}});
  return plan;
}

/// A client's envelopes, as its transport makes them.
inline std::vector<Envelope> envelopes_of(const RoundPlan& plan, std::uint64_t seed) {
  std::vector<Envelope> all;
  for (const Part& part : plan.groups[0].parts) {
    BitSource bits = BitSource::from_seed(seed, "test", {all.size()});
    const Domain& domain = part.mechanism->domain();
    const std::vector<float> values(domain.layout->size(), 0.5F);
    Report report = part.mechanism->perturb(bound(Update(domain.layout, values), domain), bits);
    for (Envelope& envelope : pack(std::move(report), plan.round, plan.split)) {
      all.push_back(std::move(envelope));
    }
  }
  return all;
}

inline std::vector<std::vector<std::byte>> sealed_report(const RoundPlan& plan, std::uint64_t seed,
                                                         const PublicKey& key) {
  const ReportForm form = ReportForm::make(plan.groups[0].parts, plan.split).value();
  const identity::ChunkPlan chunks{kTestTask, plan.round, form.largest_envelope()};
  std::vector<std::vector<std::byte>> sealed;
  for (const Envelope& envelope : envelopes_of(plan, seed)) {
    sealed.push_back(identity::seal(envelope, chunks, key).value());
  }
  return sealed;
}

}  // namespace sotto::rpc
