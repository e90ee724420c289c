// The stage before the rounds of an LDPFL run: every record becomes a report, once.
//
// Each client trains a network on its own records (or all share one that was trained on public
// data), takes the features of each record, and sends them through the mechanism: Update ->
// Bounded -> Report. What the rounds then train on is made of reports alone, and of labels, which
// pass a mechanism of their own or, as published, none. The features never leave this file's loop.
//
// Everything random is keyed by the seed and the client, so a run that was killed makes the same
// reports again.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "plan/encode_plan.h"
#include "sotto/federation.h"

namespace sotto {

/// Turns features into the bits of a sample. Belongs to one thread.
class RecordEncoder {
 public:
  explicit RecordEncoder(const EncodePlan& plan);

  /// `outputs` are the layer's, plan.outputs of them; `row` has a bit for each of the code.
  void randomize(std::span<const float> outputs, BitSource& bits, std::span<std::uint8_t> row);
  /// The code alone, for test records that never leave a client.
  void encode(std::span<const float> outputs, std::span<std::uint8_t> row);
  /// What a client trains with instead of `label`: that one itself where nothing protects it.
  std::int32_t label(std::int32_t label, BitSource& bits) const;

 private:
  void keep(std::span<const float> outputs);

  const EncodePlan& plan_;
  std::vector<float> features_;
  std::vector<std::uint64_t> words_;
};

/// What the stage did, for claims and run.json.
struct Encoding {
  RecordPrivacy privacy;
  nlohmann::json record;  // "privacy.encode" of run.json
  double seconds = 0.0;
};

/// Client data in, data of the same clients out: samples are bits.
struct EncodedClients {
  DataSplit data;
  Partition partition;
  Preprocess preprocess;
  Encoding encoding;
};

struct ClientRecords {
  const DataSplit& data;
  const Partition& partition;
  const Preprocess& preprocess;
};

/// Test records are dealt out to the clients, and each one is encoded as its client's records are.
Result<EncodedClients> encode_clients(const Recipe& recipe, const ClientRecords& clients,
                                      const RunOptions& options, unsigned threads,
                                      const MakeFactory& make_factory);

}  // namespace sotto
