// The whole path by the installed headers alone: three clients, two weights, one mean.
#include <sotto/aggregate.h>

#include <cstdio>

namespace {

sotto::Result<void> run() {
  auto layout = std::make_shared<sotto::Layout>();
  layout->add("w", {2}, sotto::TensorRole::kParameter);
  SOTTO_TRY(std::shared_ptr<const sotto::Mechanism> mechanism,
            sotto::make_mechanism("none", {layout, {sotto::Range{0.0, 1.0}}}));
  sotto::Aggregator aggregator(mechanism, 1);
  for (const float shift : {-0.25F, 0.0F, 0.25F}) {
    sotto::BitSource bits = sotto::BitSource::from_system();
    sotto::Update update(layout, {0.5F + shift, -0.25F});
    const auto bounded = sotto::bound(std::move(update), mechanism->domain());
    for (const auto& envelope : sotto::pack(mechanism->perturb(bounded, bits), 1, 1)) {
      SOTTO_TRY(const auto received, sotto::Envelope::parse(envelope.serialize()));
      SOTTO_CHECK(aggregator.accept(received));
    }
  }
  SOTTO_TRY(const auto mean, aggregator.release());
  std::printf("mean of %d reports: %g %g\n", static_cast<int>(mean.reports()), mean.values()[0],
              mean.values()[1]);
  return {};
}

}  // namespace

int main() {
  const auto result = run();
  if (!result) std::fprintf(stderr, "%s\n", result.error().message.c_str());
  return result ? 0 : 1;
}
