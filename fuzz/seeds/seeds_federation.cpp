// First inputs of the targets that read what a federation sends and keeps: messages, recipes,
// checkpoints, ledgers, states of roles, records of runs. A leading byte chooses the decoder.
#include "account/ledger/ledger_entry.h"
#include "base/file.h"
#include "base/sha256.h"
#include "seeds.h"
#include "server/checkpoint.h"
#include "sotto/v2/federation.pb.h"
#include "transport/mpi/mpi_protocol.h"

namespace sotto::fuzz {
namespace {

using make::Bytes;

Bytes with_kind(char kind, std::string_view content) {
  return make::bytes_of(std::string(1, kind) + std::string(content));
}

const std::string kHash(64, 'a');
const std::string kTag(16, 't');

void write_messages(const SeedFolder& seeds, const Bytes& envelope) {
  v2::JoinReply join;
  join.set_index(1);
  join.set_recipe("[federation]\nclients = 3\n");
  join.add_settings("federation.rounds=2");
  join.set_recipe_hash(kHash);
  join.set_seal_key(std::string(32, 'k'));
  join.set_run(kTag);
  join.set_clients(3);
  seeds.add("messages", "join", with_kind(0, join.SerializeAsString()));

  v2::Task task;
  task.set_round(1);
  task.set_attempt(kTag);
  task.set_recipe_hash(kHash);
  task.set_weights(10);
  task.set_deadline_ms(1000);
  v2::TaskPart& part = *task.add_parts();
  part.set_mechanism_id("srr.v1");
  for (const std::uint32_t tensor : {0U, 2U}) {
    part.add_tensors(tensor);
    part.add_centres(0.5);
    part.add_radii(1.5);
  }
  seeds.add("messages", "task", with_kind(1, task.SerializeAsString()));

  v2::SubmitHeader header;
  header.set_name("client-1");
  const std::string contract =
      "sotto contract 1\nrun " + std::string(32, '1') + "\nrecipe " + kHash +
      "\nround 1\ngroup 0\nmechanism srr.v1\nchunks 2\nchunk-bytes 1000\n" +
      "to shuffler\nseal-key " + kHash + "\nmodel " + kHash + "\nauthority none\n";
  header.set_contract(contract);
  header.set_minimum(5);
  header.set_ticket(std::string(32, 'k'));
  header.set_digest(kHash);
  seeds.add("messages", "submission", with_kind(2, header.SerializeAsString()));

  v2::OpenReply open;
  open.set_round(1);
  open.set_attempt(kTag);
  open.set_run(kTag);
  open.set_ticket_key(std::string(32, 'k'));
  open.set_deadline_ms(10);
  v2::OpenGroup& group = *open.add_groups();
  group.set_expected(3);
  group.set_contract(kHash);
  group.add_declined(std::string(32, 'd'));
  seeds.add("messages", "open", with_kind(3, open.SerializeAsString()));

  v2::SubmitRequest request;
  request.mutable_header()->set_body(header.SerializeAsString());
  request.mutable_header()->set_token(std::string(89, 'n'));
  seeds.add("messages", "signed", with_kind(4, request.SerializeAsString()));

  v2::CompareReply compared;
  v2::Asked& asked = *compared.add_asked();
  asked.set_contract(kHash);
  asked.set_reports(3);
  seeds.add("messages", "compared", with_kind(5, compared.SerializeAsString()));
  seeds.add("messages", "contract", with_kind(6, contract));

  Bytes report = with_kind(7, "");
  for (int i = 0; i < 2; ++i) {
    make::put_little(report, envelope.size(), 8);
    report.insert(report.end(), envelope.begin(), envelope.end());
  }
  seeds.add("messages", "report", report);
}

void write_kept(const SeedFolder& seeds) {
  Checkpoint checkpoint;
  checkpoint.recipe = kHash;
  checkpoint.layout = kHash;
  checkpoint.weights = {1.5F, -2.25F};
  checkpoint.velocity = {0.25F, 0.5F};
  checkpoint.ranges = {{1, {{0.5, 0.125}}}};
  checkpoint.states = {{3, {7.0F}}};
  checkpoint.refused = {{1, {2}}};
  checkpoint.attendance = {{1, {{3, 3}}}};
  checkpoint.rounds.resize(1);
  checkpoint.rounds.front().round = 1;
  const auto file = std::filesystem::temp_directory_path() / "sotto-seed-checkpoint";
  if (write_checkpoint(file, checkpoint)) {
    Bytes bytes = read_file(file).value();
    bytes.resize(bytes.size() - 64);  // the target puts the hash behind it
    seeds.add("checkpoint", "one_round", bytes);
  }
  std::error_code code;
  std::filesystem::remove(file, code);

  ChargeEntry charge;
  charge.client = "a";
  charge.dataset = "d";
  charge.task = "t";
  charge.round = 1;
  charge.mechanism_id = "srr.v1";
  charge.cost = {1.5, 1e-6, 0.25, 6};
  seeds.add("ledger", "charge", with_kind(0, encode(charge)));
  seeds.add("ledger", "bind", with_kind(0, encode(BindEntry{1, kHash, 7})));
  seeds.add("ledger", "limits", with_kind(0, encode(LimitsEntry{"a", "d", {}})));
  seeds.add("ledger", "head", with_kind(1, "sotto ledger head 1 4 " + kHash + '\n'));
  seeds.add("ledger", "file", with_kind(2, std::string("SQLite format 3\0", 16)));

  std::string batch = R"({"key":[1,2,3,4],"minimum":2,"senders":["A","B"]})";
  batch.replace(batch.find('A'), 1, sha256_hex("a"));
  batch.replace(batch.find('B'), 1, sha256_hex("b"));
  seeds.add("state", "roster", with_kind(0, "0 a\n3 b\n"));
  seeds.add("state", "batch", with_kind(1, batch));
  seeds.add("state", "memory",
            with_kind(3, R"({"current":{"round":3,"run":"11111111111111111111111111111111"},)"
                         R"("floors":{"11111111111111111111111111111111":3},)"
                         R"("format":"sotto.spool.v2","past":[{"asked":[{"contract":"a","group":0,)"
                         R"("reports":2}],"round":2,"run":"11111111111111111111111111111111"}]})"));
  seeds.add("state", "kept_report", with_kind(4, "chunks"));
  seeds.add("state", "spent", with_kind(2, R"({"round":3,"epsilon":1.5,"delta":1e-6})"));
}

Bytes rank_message(char kind, const MessageWriter& message) {
  Bytes out = with_kind(kind, "");
  out.insert(out.end(), message.bytes().begin(), message.bytes().end());
  return out;
}

void write_ranks(const SeedFolder& seeds) {
  mpi::Task task;
  task.round = 1;
  task.ranges = {{0.5, 1.0}};
  task.clients = {{1, 2}, {3}};
  task.states = {{1, {0.5F}}};
  MessageWriter asked;
  put(asked, task);
  seeds.add("ranks", "task", rank_message(1, asked));
  mpi::Done done;
  done.hashes = {{1, kHash}};
  done.states = {{1, {0.5F}}};
  MessageWriter answered;
  put(answered, done);
  seeds.add("ranks", "done", rank_message(2, answered));
  seeds.add("ranks", "shares", rank_message(0, MessageWriter()));
}

void write_texts(const SeedFolder& seeds) {
  seeds.add("recipe", "small", make::bytes_of(R"(# a federation
[data]
name = "embedded"
[model]
name = "linear"
[train]
lr = 0.05
[federation]
clients = 20
rounds = 3
[privacy]
mechanism = "srr"
epsilon = 1.5
[[tensor]]
match = "*.bias"
radius = 0.5
[shuffle]
mode = "shuffler"
)"));
  seeds.add(
      "recipe", "settings",
      make::bytes_of(std::string("[data]\nname = \"embedded\"\n[model]\nname = \"linear\"\n") +
                     '\0' + "train.lr=0.1" + '\0' + "data.partition=iid"));
  seeds.add(
      "record", "run",
      with_kind(
          0,
          std::string(R"({"format":"sotto.run.v2","name":"n",
"recipe":{"data":{"name":"mnist"},"privacy":{"ranges":[0.5,1]}},"recipe_file":"r.toml","seed":1,
"threads":2,"versions":{"sotto":"0.1.0"},"started":"2026-01-01T10:00:00Z","status":"finished",
"stopped":"rounds","model":{"name":"m","parameters":10,"device":"cpu"},
"data":{"name":"mnist","train":10,"test":10,"clients":10,"partition":"iid"},
"timings":{"total_seconds":1.5},"final":{"round":1,"accuracy":0.5,"loss":1.0},"best":null,
"privacy":{"mechanism":"srr","claims":[{"scope":"client, whole training","epsilon":null,"delta":0,
"theorem":"t","assumption":"a","source":"sotto","vacuous":true,"unit":"client","period":"training",
"view":"reports","colluders":"none","status":"proven"}]}})") +
              '\0' +
              R"({"round":1,"clients":1,"reports":1,"accuracy":0.5,"loss":null,"round_seconds":1,)"
              R"("train_seconds":1,"evaluate_seconds":0.2,"bytes_up":12})" +
              '\n'));
  seeds.add("record", "findings", with_kind(1, R"({"format":"sotto.page.v1","heading":"h",
"below":"b","warning":"","columns":["a","b"],"rows":[["1","2"]],"notes":["n"],"figures":[]})"));
}

}  // namespace

void write_federation(const SeedFolder& seeds, const Bytes& envelope) {
  write_messages(seeds, envelope);
  write_kept(seeds);
  write_ranks(seeds);
  write_texts(seeds);
}

}  // namespace sotto::fuzz
