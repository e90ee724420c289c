// sotto perturb: one array through a mechanism, from any language that writes .npy.
//
// The whole array is one client's report, or with --rows every row is one of its own. What is
// written is what an aggregator would take this one report for (decoded values), the bits of a bit
// mechanism, or with --symbols the integers that would travel. Nothing is written before everything
// is computed.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "base/file.h"
#include "data/formats/npy.h"
#include "mechanism_options.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  MechanismOptions mechanism;
  std::string in = "-";
  std::string out = "-";
  bool symbols = false;
  bool rows = false;
  bool quiet = false;
  unsigned threads = 1;
  std::optional<std::uint64_t> seed;
};

constexpr std::size_t kMostBytes = std::size_t{1} << 33;

Result<std::vector<std::byte>> read_input(const std::string& path) {
  if (path != "-") return read_file(path, kMostBytes);
  if (::isatty(STDIN_FILENO) == 1) {
    return fail(ErrorKind::kUsage,
                "perturb: no input: give a .npy file or pipe one in, as in 'sotto perturb "
                "--mechanism two-point --epsilon 1 in.npy out.npy'");
  }
  std::vector<std::byte> bytes;
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (;;) {
    const std::size_t count = std::fread(piece.data(), 1, piece.size(), stdin);
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
    if (bytes.size() > kMostBytes) {
      return fail(ErrorKind::kRefused, "standard input: larger than " + byte_size(kMostBytes));
    }
    if (count < piece.size()) break;
  }
  if (std::ferror(stdin) != 0) return fail(ErrorKind::kIo, "standard input cannot be read");
  return bytes;
}

Result<void> write_output(const std::string& path, std::span<const std::byte> bytes) {
  if (path != "-") return write_file_atomically(path, bytes);
  // main() flushes and reports what cannot be written.
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    return fail(ErrorKind::kIo, "standard output cannot be written");
  }
  return {};
}

/// As float, what is finite staying finite; NaN and infinities are left for bound() to replace.
std::vector<float> as_floats(const std::vector<double>& values) {
  constexpr double kMost = std::numeric_limits<float>::max();
  std::vector<float> floats(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    floats[i] = static_cast<float>(std::isfinite(value) ? std::clamp(value, -kMost, kMost) : value);
  }
  return floats;
}

template <class T>
std::vector<std::byte> file_of(char kind, std::span<const std::uint64_t> shape,
                               const std::vector<T>& elements) {
  return npy_file(kind, sizeof(T), shape, std::as_bytes(std::span(elements)));
}

/// The shape of the input; with one more dimension where each value has several outputs. A label
/// has as many as there are classes, so with one all outputs of a report are in one row.
std::vector<std::uint64_t> output_shape(const Arguments& arguments, const NpyArray& array,
                                        std::size_t outputs, std::size_t reports) {
  std::vector<std::uint64_t> shape = array.shape;
  if (arguments.mechanism.classes() > 0) {
    shape.resize(arguments.rows ? shape.size() - 1 : 0);
    shape.push_back(reports == 0 ? 0 : outputs / reports);
  } else if (array.size() > 0 && outputs != array.size()) {
    shape.push_back(outputs / array.size());
  }
  return shape;
}

std::vector<std::byte> output_file(const Arguments& arguments, const NpyArray& array,
                                   const std::vector<Symbol>& symbols, std::size_t reports,
                                   const Mechanism& mechanism, MechanismKind kind) {
  const std::vector<std::uint64_t> shape = output_shape(arguments, array, symbols.size(), reports);
  if (arguments.symbols) return file_of('i', shape, symbols);
  if (kind == MechanismKind::kBits) {
    return file_of('u', shape, std::vector<std::uint8_t>(symbols.begin(), symbols.end()));
  }
  std::vector<double> values(symbols.size());
  for (std::size_t first = 0; first < symbols.size(); first += mechanism.outputs()) {
    mechanism.decode(std::span(symbols).subspan(first, mechanism.outputs()), 1, 0,
                     std::span(values).subspan(first, mechanism.outputs()));
  }
  if (array.kind == 'f' && array.width == 8) return file_of('f', shape, values);
  return file_of('f', shape, std::vector<float>(values.begin(), values.end()));
}

void print_guarantee(const Arguments& arguments, const Mechanism& mechanism, std::size_t values,
                     std::size_t reports) {
  const Guarantee guarantee = mechanism.guarantee();
  const double report = values == 0 ? 0.0 : guarantee.epsilon;
  const std::string which = arguments.rows ? fmt::format("each of {} reports", with_commas(reports))
                                           : std::string("this whole report");
  fmt::print(stderr, "{}: epsilon {} a {}, {} for {} of {} values{}\n", arguments.mechanism.name,
             epsilon_text(guarantee.unit_epsilon), name_of(guarantee.unit), epsilon_text(report),
             which, with_commas(values),
             guarantee.delta > 0.0 ? fmt::format(" (delta {})", guarantee.delta) : "");
}

/// How many values a report has: all of them, or those of the last axis.
Result<std::size_t> report_size(const Arguments& arguments, const NpyArray& array) {
  const auto dimensions = array.shape.size();
  if (!arguments.rows) return array.size();
  if (dimensions > 0) return static_cast<std::size_t>(array.shape.back());
  return fail(ErrorKind::kUsage, "perturb: --rows needs an array of one dimension or more");
}

Result<int> perturb_command(const Arguments& arguments) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(arguments.mechanism.name));
  // Errors in the parameters are reported before any input is read.
  if (info->kind == MechanismKind::kValue) {
    if (const auto checked = arguments.mechanism.make(1); !checked) {
      return tl::unexpected(checked.error());
    }
  }
  if (arguments.out == "-" && ::isatty(STDOUT_FILENO) == 1) {
    return fail(ErrorKind::kUsage,
                "perturb: the output is binary: name a file or pipe it, as in 'sotto perturb ... "
                "in.npy out.npy'");
  }
  const std::string place = arguments.in == "-" ? "standard input" : arguments.in;
  SOTTO_TRY(const std::vector<std::byte> bytes, read_input(arguments.in));
  const auto parsed = parse_npy_array_any_order(bytes);
  if (!parsed) return at(place, parsed.error());
  const NpyArray& array = *parsed;

  // An array of nothing is a report of nothing, whatever the mechanism is.
  SOTTO_TRY(const std::size_t size, report_size(arguments, array));
  const std::size_t reports = size == 0 ? 0 : array.size() / size;
  SOTTO_TRY(const auto mechanism, arguments.mechanism.make(std::max<std::size_t>(1, size)));
  if (mechanism->domain().shape == Shape::kOneHot && array.shape.size() > 1 && !arguments.rows) {
    return fail(ErrorKind::kUsage,
                "perturb: " + arguments.mechanism.name +
                    " takes one category: an array of one dimension, or --rows for one category "
                    "in each row");
  }
  const std::vector<float> values = as_floats(values_row_by_row(array));
  BitSource bits =
      arguments.seed ? BitSource::from_seed(*arguments.seed, "perturb") : BitSource::from_system();
  std::vector<Symbol> symbols;
  for (std::size_t row = 0; row < reports; ++row) {
    const auto part = std::span(values).subspan(row * size, size);
    Update update(mechanism->domain().layout, std::vector<float>(part.begin(), part.end()));
    const Bounded bounded = bound(std::move(update), mechanism->domain());
    const auto drawn = mechanism->perturb(bounded, bits, arguments.threads).symbols().unpacked();
    symbols.insert(symbols.end(), drawn.begin(), drawn.end());
  }
  const std::vector<std::byte> file =
      output_file(arguments, array, symbols, reports, *mechanism, info->kind);
  if (arguments.seed) {
    fmt::print(stderr,
               "sotto: --seed {}: this output is reproducible and therefore NOT private; use it "
               "for tests only\n",
               *arguments.seed);
  }
  SOTTO_CHECK(write_output(arguments.out, file));
  if (!arguments.quiet) print_guarantee(arguments, *mechanism, size, reports);
  return 0;
}

}  // namespace

void add_perturb(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("perturb", "Pass a NumPy array through a mechanism, as one report");
  auto arguments = std::make_shared<Arguments>();
  sub->add_option("in", arguments->in, "array to read; - is standard input")
      ->capture_default_str()
      ->type_name("IN.npy");
  sub->add_option("out", arguments->out, "array to write; - is standard output")
      ->capture_default_str()
      ->type_name("OUT.npy");
  sub->add_option("--mechanism", arguments->mechanism.name, "which one (see 'sotto mechanisms')")
      ->required()
      ->type_name("MECH");
  add_parameter_options(*sub, arguments->mechanism);
  sub->add_flag("--symbols", arguments->symbols,
                "write the integers that would travel (int64) instead of decoded values");
  sub->add_flag("--rows", arguments->rows,
                "every row (along the last axis) is a report of its own, not the whole array");
  sub->add_option("--seed", arguments->seed,
                  "reproducible output, which is NOT private; default: the system's generator")
      ->type_name("N");
  sub->add_option("--threads", arguments->threads, "does not change the output for a seed")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_flag("--quiet", arguments->quiet, "do not tell the report's epsilon on stderr");
  sub->footer(
      "The array may have any shape and any integer or float type. Values outside the range are\n"
      "clipped, NaN and infinities become its centre. The output has the same shape: float64 for\n"
      "float64, else float32; uint8 bits for bit mechanisms. The whole array is one report: its\n"
      "epsilon, on stderr, is that of all its values together. With --rows there are as many\n"
      "reports as rows.\n\n"
      "Examples:\n"
      "  sotto perturb --mechanism two-point --epsilon 5 --range 0,0.075 in.npy out.npy\n"
      "  sotto perturb --mechanism two-point --epsilon 1 < in.npy > out.npy\n"
      "  sotto perturb --mechanism two-point --epsilon 1 --symbols in.npy bits.npy\n"
      "  sotto perturb --mechanism oue --epsilon 1 --rows one-hot.npy bits.npy");
  sub->callback(
      [&action, arguments] { action = [arguments] { return perturb_command(*arguments); }; });
}

}  // namespace sotto::cli
