// The folder of a federation's authority:
//
//   ca/ca.pem, ca/ca.key      the authority itself; whoever has ca.key can admit anybody
//   ca/crl.pem                revoked certificates, copied into every bundle of the folder
//   ca/issued/SERIAL.pem      every certificate ever issued: what `list` and `revoke` go by
//   NAME/                     the bundle of a node, to be moved to where the node runs
//
// A certificate is on record before its bundle exists, so that there is none that cannot be
// revoked.
#include <openssl/err.h>

#include <algorithm>
#include <tuple>

#include "base/file.h"
#include "base/nearest.h"
#include "identity/authority_files.h"
#include "identity/key_files.h"
#include "identity/x509.h"

namespace sotto::identity {
namespace {

constexpr int kMostDays = 36500;

std::filesystem::path ca_folder(const std::filesystem::path& folder) { return folder / "ca"; }

Result<FolderLock> lock(const std::filesystem::path& folder) {
  return FolderLock::take(ca_folder(folder) / "lock");
}

Result<CaParts> read_ca(const std::filesystem::path& folder) {
  const auto certificate_file = ca_folder(folder) / "ca.pem";
  const auto key_file = ca_folder(folder) / "ca.key";
  SOTTO_TRY(const std::string certificate_pem, read_text(certificate_file, kLargestPem));
  SOTTO_TRY(const std::string key_pem, read_private(key_file));
  SOTTO_TRY(auto certificate, certificate_from_pem(certificate_pem, certificate_file.string()));
  SOTTO_TRY(auto key, key_from_pem(key_pem, key_file.string()));
  const bool pair = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!pair) return fail(ErrorKind::kCorrupt, key_file.string() + ": not the key of ca.pem");
  return CaParts{std::move(certificate), std::move(key)};
}

Result<RevokedList> read_revoked(const std::filesystem::path& folder) {
  const auto file = ca_folder(folder) / "crl.pem";
  SOTTO_TRY(const std::string pem, read_text(file, kLargestPem));
  return revoked_from_pem(pem, file.string());
}

struct Issued {
  Certificate certificate;
  NodeRecord record;
};

Result<std::vector<Issued>> read_issued(const std::filesystem::path& folder, Time at) {
  SOTTO_TRY(const RevokedList revoked, read_revoked(folder));
  std::vector<Issued> all;
  std::error_code code;
  for (const auto& entry :
       std::filesystem::directory_iterator(ca_folder(folder) / "issued", code)) {
    if (entry.path().extension() != ".pem") continue;
    SOTTO_TRY(const std::string pem, read_text(entry.path(), kLargestPem));
    Issued issued;
    SOTTO_TRY(issued.certificate, certificate_from_pem(pem, entry.path().string()));
    NodeRecord& record = issued.record;
    SOTTO_TRY(record.member, member_of(issued.certificate.get(), entry.path().string()));
    if (is_revoked(revoked.get(), issued.certificate.get())) {
      record.status = NodeRecord::Status::kRevoked;
    } else if (record.member.not_after < at) {
      record.status = NodeRecord::Status::kExpired;
    }
    const auto bundle = folder / record.member.name;
    if (const auto held = read_text(bundle / "cert.pem", kLargestPem); held && *held == pem) {
      record.bundle = bundle;
    }
    all.push_back(std::move(issued));
  }
  if (code) return fail(ErrorKind::kIo, folder.string() + ": " + code.message());
  std::sort(all.begin(), all.end(), [](const Issued& a, const Issued& b) {
    const auto key = [](const Member& member) {
      return std::tie(member.role, member.name, member.not_before, member.serial);
    };
    return key(a.record.member) < key(b.record.member);
  });
  return all;
}

bool is_active(const Issued& issued) { return issued.record.status == NodeRecord::Status::kActive; }

Result<void> check_hosts(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    const bool valid =
        !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '.' || c == ':';
        });
    if (!valid) {
      return fail(ErrorKind::kUsage, "host '" + host +
                                         "': valid is a host name (server.example.org) or an "
                                         "address (192.0.2.1, ::1), without a port");
    }
  }
  return {};
}

Result<void> check_days(int days) {
  if (days >= 1 && days <= kMostDays) return {};
  return fail(ErrorKind::kUsage,
              "days = " + std::to_string(days) + ": valid is 1 to " + std::to_string(kMostDays));
}

/// Whether the name can be given, and whom the node will seal for.
Result<std::optional<PublicKey>> check_issue(const std::filesystem::path& folder,
                                             const std::vector<Issued>& all,
                                             const NodeOptions& node) {
  std::optional<PublicKey> server;
  for (const Issued& issued : all) {
    if (!is_active(issued)) continue;
    const Member& member = issued.record.member;
    if (member.name == node.name) {
      return fail(ErrorKind::kRefused, "'" + node.name + "' has a valid certificate (" +
                                           std::string(name_of(member.role)) +
                                           "); revoke it first: sotto keys revoke " +
                                           folder.string() + " " + node.name);
    }
    if (member.role == Role::kServer) {
      if (node.role == Role::kServer) {
        return fail(ErrorKind::kRefused, "the server is '" + member.name +
                                             "', and clients seal for one server; revoke it first");
      }
      server = member.seal_key;
    }
  }
  if (node.role != Role::kServer && !server) {
    return fail(ErrorKind::kRefused,
                "there is no valid server, whose key every other node needs; issue one first: "
                "sotto keys issue " +
                    folder.string() + " --role server --name server");
  }
  std::error_code code;
  if (std::filesystem::exists(std::filesystem::symlink_status(folder / node.name, code))) {
    return fail(ErrorKind::kRefused, (folder / node.name).string() +
                                         ": is there already, and keys are never overwritten; "
                                         "move it away first");
  }
  return server;
}

Result<void> write_bundle(const Staging& stage, const std::filesystem::path& folder,
                          const std::string& certificate_pem, const std::string& key_pem,
                          const SignKey& sign_key, const std::optional<SealKey>& seal_key,
                          const std::optional<PublicKey>& server_key) {
  SOTTO_TRY(const std::string ca, read_text(ca_folder(folder) / "ca.pem", kLargestPem));
  SOTTO_TRY(const std::string crl, read_text(ca_folder(folder) / "crl.pem", kLargestPem));
  SOTTO_CHECK(stage.write("ca.pem", ca, Readers::kEveryone));
  SOTTO_CHECK(stage.write("crl.pem", crl, Readers::kEveryone));
  SOTTO_CHECK(stage.write("cert.pem", certificate_pem, Readers::kEveryone));
  SOTTO_CHECK(stage.write("key.pem", key_pem, Readers::kOwner));
  SOTTO_CHECK(stage.write("sign.key", sign_key_text(sign_key), Readers::kOwner));
  if (seal_key) SOTTO_CHECK(stage.write("seal.key", seal_key_text(*seal_key), Readers::kOwner));
  const PublicKey& server = seal_key ? seal_key->public_key : *server_key;
  SOTTO_CHECK(stage.write("server.pub", server_key_text(server), Readers::kEveryone));
  return {};
}

}  // namespace

std::string_view name_of(NodeRecord::Status status) {
  switch (status) {
    case NodeRecord::Status::kActive:
      return "active";
    case NodeRecord::Status::kExpired:
      return "expired";
    default:
      return "revoked";
  }
}

Result<Authority> Authority::open(const std::filesystem::path& folder) {
  std::error_code code;
  if (!std::filesystem::exists(ca_folder(folder) / "ca.pem", code)) {
    return fail(ErrorKind::kNotFound, folder.string() +
                                          ": no authority here (ca/ca.pem is missing); make one: "
                                          "sotto keys init " +
                                          folder.string());
  }
  return Authority(folder);
}

Result<Authority> Authority::create(const std::filesystem::path& folder,
                                    const std::vector<NodeOptions>& nodes, int days) {
  SOTTO_CHECK(check_days(days));
  std::error_code code;
  if (std::filesystem::exists(std::filesystem::symlink_status(folder, code)) &&
      !std::filesystem::is_empty(folder, code)) {
    return fail(ErrorKind::kRefused, folder.string() +
                                         ": is there already, and keys are never overwritten; "
                                         "'sotto keys issue' adds nodes to it");
  }
  SOTTO_TRY(Staging stage, Staging::beside(folder));
  SOTTO_TRY(const CaParts ca, make_ca(days));
  SOTTO_TRY(const RevokedList revoked, make_revoked(ca, nullptr, nullptr));
  for (const char* const name : {"ca", "ca/issued"}) {
    std::filesystem::create_directory(stage.folder() / name, code);
    std::filesystem::permissions(stage.folder() / name, std::filesystem::perms::owner_all, code);
    if (code) return fail(ErrorKind::kIo, stage.folder().string() + ": " + code.message());
  }
  SOTTO_CHECK(stage.write("ca/ca.key", to_pem(ca.key.get()), Readers::kOwner));
  SOTTO_CHECK(stage.write("ca/ca.pem", to_pem(ca.certificate.get()), Readers::kEveryone));
  SOTTO_CHECK(stage.write("ca/crl.pem", to_pem(revoked.get()), Readers::kEveryone));
  for (const NodeOptions& node : nodes) SOTTO_CHECK(Authority(stage.folder()).issue(node));
  SOTTO_CHECK(stage.finish());
  return Authority(folder);
}

Result<NodeRecord> Authority::issue(const NodeOptions& node) const {
  SOTTO_CHECK(check_name(node.name));
  SOTTO_CHECK(check_hosts(node.hosts));
  SOTTO_CHECK(check_days(node.days));
  SOTTO_TRY(const FolderLock held, lock(folder_));
  SOTTO_TRY(const auto all, read_issued(folder_, now()));
  SOTTO_TRY(const std::optional<PublicKey> server, check_issue(folder_, all, node));
  SOTTO_TRY(const CaParts ca, read_ca(folder_));

  const SignKey sign_key = SignKey::generate();
  std::optional<SealKey> seal_key;
  if (node.role == Role::kServer) seal_key = SealKey::generate();
  Member member;
  member.name = node.name;
  member.role = node.role;
  member.sign_key = sign_key.public_key;
  if (seal_key) member.seal_key = seal_key->public_key;
  if (node.role != Role::kClient) {
    member.hosts = node.hosts;
    if (member.hosts.empty()) member.hosts = {"localhost", "127.0.0.1", "::1"};
  }
  SOTTO_TRY(const KeyPair key, make_key());
  SOTTO_TRY(const Certificate certificate, make_certificate(ca, key.get(), member, node.days));
  SOTTO_TRY(member, member_of(certificate.get(), node.name));
  const std::string pem = to_pem(certificate.get());

  SOTTO_TRY(Staging stage, Staging::beside(folder_ / node.name));
  SOTTO_CHECK(write_bundle(stage, folder_, pem, to_pem(key.get()), sign_key, seal_key, server));
  SOTTO_CHECK(write_file_atomically(ca_folder(folder_) / "issued" / (member.serial + ".pem"), pem));
  SOTTO_CHECK(stage.finish());
  return NodeRecord{std::move(member), NodeRecord::Status::kActive, folder_ / node.name};
}

Result<NodeRecord> Authority::revoke(std::string_view name) const {
  SOTTO_TRY(const FolderLock held, lock(folder_));
  SOTTO_TRY(auto all, read_issued(folder_, now()));
  const Issued* found = nullptr;
  std::vector<std::string> names;
  for (const Issued& issued : all) {
    names.push_back(issued.record.member.name);
    // The newest one, unless an older one is still valid.
    if (names.back() == name && (found == nullptr || !is_active(*found))) found = &issued;
  }
  if (found == nullptr) {
    return fail(ErrorKind::kNotFound, folder_.string() + ": no certificate of '" +
                                          std::string(name) + "'" + did_you_mean(name, names));
  }
  NodeRecord record = found->record;
  if (record.status != NodeRecord::Status::kRevoked) {
    SOTTO_TRY(const CaParts ca, read_ca(folder_));
    SOTTO_TRY(const RevokedList before, read_revoked(folder_));
    SOTTO_TRY(const RevokedList list, make_revoked(ca, before.get(), found->certificate.get()));
    SOTTO_CHECK(write_file_atomically(crl_file(), to_pem(list.get())));
    record.status = NodeRecord::Status::kRevoked;
  }
  // Also when it was revoked before: whoever was interrupted here runs the command again.
  SOTTO_TRY(const std::string pem, read_text(crl_file(), kLargestPem));
  for (const Issued& issued : all) {
    if (issued.record.bundle.empty()) continue;
    SOTTO_CHECK(write_file_atomically(issued.record.bundle / "crl.pem", pem));
  }
  return record;
}

Result<std::vector<NodeRecord>> Authority::list(Time at) const {
  SOTTO_TRY(auto all, read_issued(folder_, at));
  std::vector<NodeRecord> records;
  for (Issued& issued : all) records.push_back(std::move(issued.record));
  return records;
}

}  // namespace sotto::identity
