// policy.toml: what is read can be written and read again, and means the same.
#include "sotto/policy.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const auto policy = identity::parse_policy(as_text(fuzz::input(data, size)), "policy.toml");
  if (!policy) {
    fuzz::require(!policy.error().message.empty());
    return 0;
  }
  fuzz::require(policy->epsilon > 0.0 && policy->epsilon_per_round > 0.0 && policy->rounds > 0);
  const std::string text = identity::policy_text(*policy);
  const auto again = identity::parse_policy(text, "policy.toml");
  fuzz::require(again && identity::policy_text(*again) == text);
  return 0;
}
