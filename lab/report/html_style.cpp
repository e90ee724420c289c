// The style sheet of the report page. Its papers are those of svg.cpp, so that a chart and the card
// around it are one surface.
#include <fmt/format.h>

#include "report/html_parts.h"
#include "report/svg.h"

namespace sotto {
namespace {

constexpr std::string_view kLight = R"css(
:root{color-scheme:light dark;--ink:#1b2733;--soft:#5b6b7b;--line:#e3e8ee;--page:#f3f5f8;
--paper:#ffffff;--head:#f8fafc;--link:#0b62a8;--bad:#a3231d;--bad-paper:#fdf0ef;--bad-line:#f0c4c1;
--warn:#7a5200;--warn-paper:#fdf6e3;--warn-line:#ecd9a4;--good:#0b6b4b;--good-paper:#ecf8f3;
--good-line:#b5e0cf}
)css";

constexpr std::string_view kDark = R"css(
@media screen and (prefers-color-scheme:dark){
:root{--ink:#e8eef4;--soft:#a3b1bf;--line:#2a3541;--page:#0d1319;--paper:#161d25;--head:#1b242e;
--link:#7cc0f5;--bad:#ff9d96;--bad-paper:#2b1718;--bad-line:#5c2a2a;--warn:#f3c969;
--warn-paper:#2a2211;--warn-line:#574620;--good:#6fdcb2;--good-paper:#11261f;--good-line:#1f4c3c}
)css";

constexpr std::string_view kRules = R"css(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);line-height:1.5;font-size:15px;
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
main{max-width:1200px;margin:0 auto;padding:40px 24px 48px}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
.eyebrow{margin:0;color:var(--soft);font-size:12px;font-weight:600;letter-spacing:.09em;
text-transform:uppercase}
h1{margin:4px 0 6px;font-size:34px;line-height:1.2;letter-spacing:-.015em;overflow-wrap:anywhere}
h2{margin:0;font-size:22px;letter-spacing:-.01em;overflow-wrap:anywhere}
h3{margin:0 0 12px;font-size:15px}
.lead{margin:0 0 28px;color:var(--soft);font-size:16px;overflow-wrap:anywhere}
.card{background:var(--paper);border:1px solid var(--line);border-radius:12px;padding:20px 22px;
margin:0 0 20px;min-width:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:14px;
margin:0 0 20px}
.tile{background:var(--paper);border:1px solid var(--line);border-radius:12px;padding:15px 18px;margin:0}
.tile dt{color:var(--soft);font-size:13px}
.tile dd{margin:2px 0 0;font-size:25px;font-weight:650;line-height:1.25;letter-spacing:-.01em;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tile dd.note{margin:2px 0 0;color:var(--soft);font-size:13px;font-weight:400;letter-spacing:0}
.tile dd.text{font-size:17px;padding:4px 0 2px}
.charts{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:20px;margin:0 0 20px}
.chart{margin:0;padding:8px;overflow-x:auto}
.chart svg{display:block;width:100%;min-width:430px;height:auto}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{padding:8px 22px 8px 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}
tr>:last-child{padding-right:0}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--soft);font-size:12px;font-weight:600;white-space:nowrap}
tbody th{font-weight:600}
.n{text-align:right;white-space:nowrap}
.wide td,.wide th{white-space:nowrap;vertical-align:middle}
.swatch{display:inline-block;width:11px;height:11px;border-radius:50%;background:currentColor;
margin-right:8px}
.chip{display:inline-block;padding:1px 10px;border-radius:99px;border:1px solid var(--line);
font-size:13px;font-weight:600;white-space:nowrap}
.bad{color:var(--bad);background:var(--bad-paper);border-color:var(--bad-line)}
.warn{color:var(--warn);background:var(--warn-paper);border-color:var(--warn-line)}
.good{color:var(--good);background:var(--good-paper);border-color:var(--good-line)}
.banner{border-width:1px;border-style:solid;border-radius:10px;padding:12px 16px;margin:0 0 16px}
.banner b{display:block}
.banner span{color:var(--ink)}
.run{margin-top:44px}
.run>header{display:flex;flex-wrap:wrap;align-items:center;gap:6px 12px;margin:0 0 4px}
.run>.lead{font-size:14px;margin-bottom:16px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(280px,1fr));gap:0 20px}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(250px,1fr));gap:22px 36px}
.recipe h4{margin:0 0 4px;font-size:12px;font-weight:600;letter-spacing:.07em;
text-transform:uppercase;color:var(--soft)}
.recipe table{font-size:13.5px}
.recipe th{font-weight:400;color:var(--soft);padding-top:5px;padding-bottom:5px;
overflow-wrap:anywhere}
.recipe td{padding-top:5px;padding-bottom:5px;text-align:right;overflow-wrap:anywhere}
.facts{display:grid;grid-template-columns:auto 1fr;gap:6px 18px;margin:0;font-size:14px}
.facts dt{color:var(--soft)}
.facts dd{margin:0;text-align:right;overflow-wrap:anywhere}
.bar{display:flex;height:14px;border-radius:7px;overflow:hidden;margin:2px 0 14px;
background:var(--line)}
.bar span{background:currentColor;-webkit-print-color-adjust:exact;print-color-adjust:exact}
summary{cursor:pointer;font-weight:600;font-size:15px}
details[open] summary{margin-bottom:12px}
footer{margin-top:44px;color:var(--soft);font-size:13px}
@media (max-width:900px){.charts{grid-template-columns:minmax(0,1fr)}}
@media (max-width:520px){main{padding:24px 14px 32px}h1{font-size:27px}
.card{padding:16px}.tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}
.tile{padding:12px 14px}.tile dd:first-of-type{font-size:21px}.tile dd.text{font-size:16px}.chart{padding:4px}}
@media print{body{background:#fff;font-size:12px}main{max-width:none;padding:0}
.card,.tile,.chart{break-inside:avoid}.chart svg{min-width:0}.scroll{overflow:visible}
h2,h3{break-after:avoid}.wide{font-size:10px}.wide td,.wide th{white-space:normal;padding-right:6px}
.swatch,.bad,.warn,.good{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";

}  // namespace

std::string report_style() {
  std::string light;
  std::string dark;
  for (std::size_t i = 0; i < kPalette.size(); ++i) {
    light += fmt::format(".c{}{{color:{}}}\n", i, kPalette[i].light);
    dark += fmt::format(".c{}{{color:{}}}\n", i, kPalette[i].dark);
  }
  // The dark colours come after the light ones, which they replace.
  return std::string(kLight) + light + std::string(kDark) + dark + "}" + std::string(kRules);
}

}  // namespace sotto
