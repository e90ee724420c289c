// Keys of libsodium and their files: one line of text, a word that says what it is and 64 digits.
#pragma once

#include <filesystem>
#include <string>

#include "sotto/identity.h"

namespace sotto::identity {

/// Ends the program where libsodium does not work: nobody must go on without it.
void sodium_ready();

std::string sign_key_text(const SignKey& key);
std::string seal_key_text(const SealKey& key);
std::string server_key_text(const PublicKey& key);

/// `place` stands for the file name in errors.
Result<SignKey> parse_sign_key(std::string_view text, const std::string& place);
Result<SealKey> parse_seal_key(std::string_view text, const std::string& place);
Result<PublicKey> parse_server_key(std::string_view text, const std::string& place);

/// A file that only its owner may read; refuses one that others can.
Result<std::string> read_private(const std::filesystem::path& file);

}  // namespace sotto::identity
