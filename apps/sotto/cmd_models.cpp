// sotto models: the networks that recipes can name.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "sotto/network.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string name;
  bool json = false;
  bool pytorch = false;
  std::vector<std::uint32_t> input;
  std::int64_t classes = 0;
};

nlohmann::json to_json(const Network& network, const std::string& summary) {
  const Layout layout = network.layout();
  nlohmann::json tensors = nlohmann::json::array();
  for (const TensorSpec& tensor : layout.tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"size", tensor.size},
                       {"role", tensor.role == TensorRole::kParameter ? "parameter" : "buffer"}});
  }
  return {{"name", network.name},
          {"summary", summary},
          {"input", {network.input.channels, network.input.height, network.input.width}},
          {"classes", network.classes},
          {"parameters", layout.parameter_count()},
          {"buffers", layout.size() - layout.parameter_count()},
          {"layers", network.describe()},
          {"tensors", tensors}};
}

/// The listed example stands for the family.
std::string example_of(const NetworkInfo& info) {
  return info.name.starts_with("mlp(") ? "mlp(200)" : info.name;
}

Result<int> list_all(bool json) {
  nlohmann::json all = nlohmann::json::array();
  Table table({"network", "parameters", "input", "classes", "from"});
  std::string layers;
  for (const NetworkInfo& info : networks()) {
    SOTTO_TRY(const Network network, find_network(example_of(info), info.input, info.classes));
    all.push_back(to_json(network, info.summary));
    table.add({info.name, with_commas(network.layout().parameter_count()), shape_text(info.input),
               std::to_string(info.classes), info.summary});
    layers += fmt::format("  {}: {}\n", network.name, network.describe());
  }
  if (json) {
    fmt::print("{}\n", nlohmann::json{{"models", all}}.dump(2));
  } else {
    fmt::print("{}\nLayers:\n{}\nA TorchScript file of your own: [model] file = \"net.pt\"\n",
               table.text(), layers);
  }
  return 0;
}

Result<int> show_one(const Arguments& arguments) {
  SampleShape input{1, 28, 28};
  std::int64_t classes = 10;
  std::string summary;
  for (const NetworkInfo& info : networks()) {
    if (info.name == arguments.name) {
      input = info.input;
      classes = info.classes;
      summary = info.summary;
    }
  }
  if (!arguments.input.empty()) {
    input = {arguments.input[0], arguments.input[1], arguments.input[2]};
  }
  if (arguments.classes > 0) classes = arguments.classes;
  SOTTO_TRY(const Network network, find_network(arguments.name, input, classes));
  if (arguments.pytorch) {
    fmt::print("{}\n", network.pytorch());
  } else if (arguments.json) {
    fmt::print("{}\n", to_json(network, summary).dump(2));
  } else {
    const Layout layout = network.layout();
    Table table({"tensor", "shape", "size", "role"});
    for (const TensorSpec& tensor : layout.tensors()) {
      table.add({tensor.name, fmt::format("{}", fmt::join(tensor.shape, "x")),
                 with_commas(tensor.size),
                 tensor.role == TensorRole::kParameter ? "parameter" : "buffer"});
    }
    fmt::print("{} for {} and {} classes: {} parameters\n{}\n\n{}", network.name, shape_text(input),
               classes, with_commas(layout.parameter_count()), network.describe(), table.text());
  }
  return 0;
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  CLI::App* const sub = app.add_subcommand("models", "List the networks, their layers and counts");
  auto arguments = std::make_shared<Arguments>();
  sub->add_option("name", arguments->name, "show this network's tensors")->type_name("NAME");
  sub->add_option("--input", arguments->input, "sample shape: channels height width")
      ->expected(3)
      ->check(CLI::Range(1, 100000))
      ->type_name("C H W");
  sub->add_option("--classes", arguments->classes, "number of classes")
      ->check(CLI::Range(2, 100000))
      ->type_name("N");
  sub->add_flag("--pytorch", arguments->pytorch,
                "print the PyTorch module that model.pt loads into");
  sub->add_flag("--json", arguments->json, "print JSON");
  sub->footer(
      "Examples:\n"
      "  sotto models\n"
      "  sotto models srr-cifar\n"
      "  sotto models 'mlp(200,100)' --input 3 32 32 --classes 10\n"
      "  sotto models srr-mnist --pytorch");
  sub->callback([&action, arguments] {
    action = [arguments]() -> Result<int> {
      if (!arguments->name.empty()) return show_one(*arguments);
      if (arguments->pytorch) return fail(ErrorKind::kUsage, "models: --pytorch needs a name");
      return list_all(arguments->json);
    };
  });
}

}  // namespace sotto::cli
