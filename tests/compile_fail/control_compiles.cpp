// expect: compiles
// The proper path. It shows that a refusal of the other files is not a missing header or flag.
#include "sotto/aggregate.h"

sotto::Result<sotto::Released> whole_path(sotto::Update update,
                                          std::shared_ptr<const sotto::Mechanism> mechanism,
                                          sotto::BitSource& bits) {
  sotto::Bounded bounded = sotto::bound(std::move(update), mechanism->domain());
  sotto::Report report = mechanism->perturb(bounded, bits);
  sotto::Aggregator aggregator(mechanism, 1);
  for (const sotto::Envelope& envelope : sotto::pack(std::move(report), 1)) {
    SOTTO_TRY(const auto received, sotto::Envelope::parse(envelope.serialize()));
    SOTTO_CHECK(aggregator.accept(received));
  }
  return aggregator.release();
}
