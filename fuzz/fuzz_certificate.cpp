// Certificates: the form and the fields. What is read can be written again; nothing is derived
// here, since building a mechanism costs more than a fuzzer has time for.
#include "account/certificate/certificate_form.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const std::string_view text = as_text(fuzz::input(data, size));
  const auto json = parse_certificate(text);
  if (!json) return 0;
  fuzz::require(certificate_text(*json) == text);
  const auto content = certificate_content(*json);
  if (!content) return 0;
  for (const MechanismSpec& spec : content->content.mechanisms) {
    fuzz::require(spec.domain.layout->size() <= std::uint64_t{1} << 40);
  }
  fuzz::require(content->variants.size() == content->content.exposure.turns.size());
  return 0;
}
