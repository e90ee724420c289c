// What `sotto report` reads of folders that somebody else may have sent: a run's run.json and
// metrics.jsonl, and page.json of findings. The first byte chooses. What is read can be shown.
#include "record/run_record.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/report.h"
#include "scratch.h"

namespace {

using namespace sotto;

/// The record, a zero byte, the metrics.
void read_one_run(const fuzz::Scratch& scratch, std::string_view text) {
  const std::string_view record = text.substr(0, text.find('\0'));
  const std::string_view metrics = text.substr(std::min(record.size() + 1, text.size()));
  scratch.write("run/run.json", std::as_bytes(std::span(record)));
  scratch.write("run/metrics.jsonl", std::as_bytes(std::span(metrics)));
  const auto runs = read_runs({scratch.path() / "run"});
  if (!runs) {
    fuzz::require(!runs.error().message.empty());
    return;
  }
  fuzz::require(!report_json(*runs).empty());
  fuzz::require(!render_report(*runs).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  if (size == 0) return 0;
  const std::uint8_t kind = *data++;
  const ByteSpan bytes = fuzz::input(data, --size);
  if (kind % 2 == 0) {
    read_one_run(scratch, as_text(bytes));
    return 0;
  }
  scratch.write("page/page.json", bytes);
  const auto page = read_findings(scratch.path() / "page");
  if (!page) {
    fuzz::require(!page.error().message.empty());
    return 0;
  }
  for (const auto& row : page->rows) fuzz::require(row.size() == page->columns.size());
  fuzz::require(!render_findings({*page}).empty() && !findings_json({*page}).empty());
  return 0;
}
