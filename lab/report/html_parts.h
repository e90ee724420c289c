// The pieces of the report page, each a function from records to markup; pages of several runs and
// of studies are made of them.
#pragma once

#include <string>
#include <string_view>

#include "record/run_record.h"

namespace sotto {

/// A whole page around `body` (markup); `heading` and `below`, the line under it, are text.
std::string report_page(const std::string& heading, const std::string& below,
                        const std::string& body);

/// The style sheet of the page, with the colours of kPalette as .c0, .c1, ...
std::string report_style();

/// A dot in the colour that the charts give to the run with this index.
std::string swatch(std::size_t index);

enum class PrivacyLevel { kNone, kVacuous, kClaimed };
PrivacyLevel privacy_level(const RunRecord& run);

/// "infinite (no privacy)", "8.2", "8.2, delta 1e-05", "1200 (vacuous)": what a client is promised.
std::string client_epsilon(const RunRecord& run);

/// The same as markup, coloured by what it is worth.
std::string epsilon_chip(const RunRecord& run);

/// "finished", "finished early: patience", "running": how far the run got.
std::string status_words(const RunRecord& run);

/// Banner in plain words and the table of claims.
std::string privacy_section(const RunRecord& run);

/// Everything about one run, below the comparison.
std::string run_section(const RunRecord& run, const std::string& label, std::size_t index);

/// "<dt>label</dt><dd>value</dd>"; both are text.
std::string fact(std::string_view label, std::string_view value);

}  // namespace sotto
