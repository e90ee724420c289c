#include "recipe/choice_names.h"

namespace sotto {
namespace {

template <class T>
std::string_view name(T choice) {
  return name_in<T>(names_of(choice), choice);
}

}  // namespace

std::string_view name_of(FederationMode mode) { return name(mode); }
std::string_view name_of(SelectionRule rule) { return name(rule); }
std::string_view name_of(Optimizer optimizer) { return name(optimizer); }
std::string_view name_of(Engine engine) { return name(engine); }
std::string_view name_of(Payload payload) { return name(payload); }
std::string_view name_of(RangeRule rule) { return name(rule); }
std::string_view name_of(BufferRule rule) { return name(rule); }
std::string_view name_of(RateDecay decay) { return name(decay); }
std::string_view name_of(ShuffleMode mode) { return name(mode); }
std::string_view name_of(FeatureLayer layer) { return name(layer); }
std::string_view name_of(TestRecords records) { return name(records); }
std::string_view name_of(StatisticSource source) { return name(source); }

}  // namespace sotto
