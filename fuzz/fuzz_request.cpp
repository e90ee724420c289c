// The signature beside a request, and the certificate of its sender: nobody's bytes are admitted.
#include "sotto/identity.h"
#include "target.h"

namespace {

using namespace sotto;

struct Scene {
  std::filesystem::path folder;
  identity::Trust trust;
  identity::Bundle bundle;
  identity::ReplayGuard guard = identity::ReplayGuard::in_memory();

  static Scene make() {
    std::string name = (std::filesystem::temp_directory_path() / "sotto-fuzz-XXXXXX").string();
    fuzz::require(::mkdtemp(name.data()) != nullptr);
    const std::filesystem::path fed = std::filesystem::path(name) / "fed";
    using identity::Role;
    const auto made =
        identity::Authority::create(fed, {{Role::kServer, "server"}, {Role::kClient, "a"}});
    fuzz::require(made.has_value());
    identity::Bundle bundle = identity::Bundle::read(fed / "a", Role::kClient).value();
    return {name, bundle.trust().value(), std::move(bundle)};
  }
  ~Scene() {
    std::error_code code;
    std::filesystem::remove_all(folder, code);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scene scene = Scene::make();
  const auto bytes = fuzz::input(data, size);
  const identity::RequestFacts facts{"server", "method", "a", 1, ""};
  // As a token beside a genuine certificate; then as a certificate.
  const auto by_token =
      identity::verify_request(scene.trust, scene.guard, identity::Role::kClient,
                               scene.bundle.certificate_pem, {data, size}, facts, bytes);
  fuzz::require(!by_token.has_value() && !by_token.error().message.empty());
  const auto member = scene.trust.identify(as_text(bytes));
  fuzz::require(!member.has_value() && !member.error().message.empty());
  return 0;
}
