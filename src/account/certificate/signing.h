// Ed25519 beyond what sotto/certificate.h offers.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

/// Both in hexadecimal. False for whatever is no key or no signature, too.
bool signature_holds(const std::string& public_key, const std::string& signature,
                     std::string_view message);

}  // namespace sotto
