// The live page: one file, drawn by its own script from the state that the server sends. It asks
// nobody else for anything, follows the reader's choice of light or dark, and fits a phone.
#include <nlohmann/json.hpp>

#include "monitor/web.h"

namespace sotto::monitor {
namespace {

constexpr std::string_view kHead = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Sotto</title>
<link rel="icon" href="data:,">
<style>
:root{color-scheme:light dark;--ink:#1b2733;--soft:#5b6b7b;--line:#e3e8ee;--page:#f3f5f8;
--paper:#fff;--mark:#0072b2;--bad:#a3231d;--bad-paper:#fdf0ef;--warn:#7a5200;--warn-paper:#fdf6e3;
--good:#0b6b4b;--good-paper:#ecf8f3}
@media (prefers-color-scheme:dark){:root{--ink:#e8eef4;--soft:#a3b1bf;--line:#2a3541;--page:#0d1319;
--paper:#161d25;--mark:#4aa8e0;--bad:#ff9d96;--bad-paper:#2b1718;--warn:#f3c969;--warn-paper:#2a2211;
--good:#6fdcb2;--good-paper:#11261f}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,
'Segoe UI',Roboto,Arial,sans-serif}
main{max-width:1100px;margin:0 auto;padding:32px 24px}
header{display:flex;flex-wrap:wrap;align-items:center;gap:6px 14px;margin:0 0 20px}
h1{margin:0;font-size:28px;letter-spacing:-.015em;overflow-wrap:anywhere}
h2{margin:0 0 10px;font-size:15px}
.chip{padding:1px 11px;border-radius:99px;font-size:13px;font-weight:600}
.good{color:var(--good);background:var(--good-paper)}
.warn{color:var(--warn);background:var(--warn-paper)}
.bad{color:var(--bad);background:var(--bad-paper)}
.soft{color:var(--soft);font-size:13px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:14px;margin:0 0 18px}
.card{background:var(--paper);border:1px solid var(--line);border-radius:12px;padding:16px 18px;margin:0}
.tiles dt{color:var(--soft);font-size:13px}
.tiles dd{margin:0;font-size:23px;font-weight:650;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tiles dd.note{font-size:13px;font-weight:400;color:var(--soft)}
.bar{height:6px;border-radius:3px;background:var(--line);margin:8px 0 0;overflow:hidden}
.bar i{display:block;height:100%;background:var(--mark)}
.wide{margin:0 0 18px}
svg{display:block;width:100%;height:auto;font:12px system-ui,sans-serif}
svg text{fill:var(--soft)}
ol{list-style:none;margin:0;padding:0;font-size:14px}
li{display:flex;flex-wrap:wrap;gap:0 12px;padding:6px 0;border-top:1px solid var(--line)}
li:first-child{border-top:0}
li time{color:var(--soft);font-variant-numeric:tabular-nums}
li b{font-weight:600}
li span{overflow-wrap:anywhere;min-width:0}
@media (max-width:520px){main{padding:20px 14px}h1{font-size:23px}.card{padding:12px 14px}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}.tiles dd{font-size:21px}}
</style></head><body><main>
<header><h1 id="title">Sotto</h1><span id="status" class="chip good">running</span>
<span id="link" class="soft" role="status">connecting</span></header>
<dl class="tiles" id="tiles"></dl>
<section class="card wide"><h2>Accuracy on the public test set</h2><div id="curve"></div></section>
<section class="card wide"><h2>Events</h2><ol id="events"></ol></section>
<p class="soft">Nothing on this page comes from a client's data: rounds and reports are counted, the
accuracy is measured on public samples, and the budget follows from the recipe.</p>
</main><script>
"use strict";
const first =)html";

constexpr std::string_view kTail = R"html(;
const at = id => document.getElementById(id);
const make = (name, text, kind) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const percent = value => value === null ? "–" : (100 * value).toFixed(2) + " %";
const number = value => value.toLocaleString("en");
// An epsilon is never shown as less than it is.
const up = value => value === null ? "–" : (Math.ceil(value * 1000) / 1000).toLocaleString("en");

function tile(label, value, note, share) {
  const box = make("div", undefined, "card");
  box.append(make("dt", label), make("dd", value), make("dd", note, "note"));
  if (share !== undefined) {
    const bar = make("div", undefined, "bar"), fill = make("i");
    fill.style.width = Math.min(100, 100 * share) + "%";
    bar.append(fill);
    box.append(bar);
  }
  return box;
}

function tiles(state) {
  const last = state.curve.filter(point => point.accuracy !== null).at(-1);
  const best = Math.max(...state.curve.map(point => point.accuracy ?? 0), 0);
  at("tiles").replaceChildren(
    tile("Round", number(state.round) + (state.rounds ? " / " + number(state.rounds) : ""),
         number(state.round_reports) + " of " + number(state.asked) + " reports are in",
         state.rounds ? state.round / state.rounds : undefined),
    tile("Accuracy", last ? percent(last.accuracy) : "–",
         last ? "best " + percent(best) : "not measured yet"),
    tile("Clients", number(state.joined) + (state.clients ? " / " + number(state.clients) : ""),
         "have joined; " + number(state.declined) + " declined a round",
         state.clients ? state.joined / state.clients : undefined),
    tile("Budget spent", state.epsilon === null ? "–" : "ε ≤ " + up(state.epsilon),
         (state.delta > 0 ? "δ ≤ " + state.delta + "; " : "") + "a client of every round"
           + (state.epsilon > 50 ? "; vacuous" : "")),
    tile("Reports", number(state.accepted),
         "taken; " + number(state.refused) + " refused"));
}

function curve(state) {
  const points = state.curve.filter(point => point.accuracy !== null);
  if (!points.length) {
    at("curve").replaceChildren(make("p", "The first round has not ended yet.", "soft"));
    return;
  }
  const width = Math.max(320, at("curve").clientWidth), height = 300, left = 52, right = 14, top = 12, bottom = 30;
  const last = Math.max(state.rounds, points.at(-1).round, 2);
  const x = round => left + (width - left - right) * (round - 1) / (last - 1);
  const y = value => top + (height - top - bottom) * (1 - value);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const draw = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    svg.append(element);
  };
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "accuracy by round, now " + percent(points.at(-1).accuracy));
  for (const value of [0, .25, .5, .75, 1]) {
    draw("line", {x1: left, x2: width - right, y1: y(value), y2: y(value), stroke: "var(--line)"});
    draw("text", {x: left - 8, y: y(value) + 4, "text-anchor": "end"}, 100 * value + " %");
  }
  const steps = Math.min(last, Math.floor(width / 110));
  for (let i = 0; i < steps; ++i) {
    const round = Math.round(1 + (last - 1) * i / Math.max(1, steps - 1));
    draw("text", {x: x(round), y: height - 8, "text-anchor": "middle"}, round);
  }
  draw("path", {d: points.map((p, i) => (i ? "L" : "M") + x(p.round) + " " + y(p.accuracy)).join(""),
                fill: "none", stroke: "var(--mark)", "stroke-width": 2.5, "stroke-linejoin": "round"});
  for (const point of points.length > 60 ? points.slice(-1) : points) {
    draw("circle", {cx: x(point.round), cy: y(point.accuracy), r: 4, fill: "var(--mark)"});
  }
  at("curve").replaceChildren(svg);
}

function events(state) {
  const skip = new Set(["time", "event"]);
  at("events").replaceChildren(...state.events.slice().reverse().map(event => {
    const row = make("li"), when = make("time", event.time.slice(11, 19));
    when.dateTime = event.time;
    const rest = Object.entries(event).filter(([key]) => !skip.has(key)).map(([key, value]) =>
      key === "text" ? value : key === "accuracy" ? "accuracy " + percent(value)
        : key === "seconds" || key === "loss" ? key + " " + Number(value).toFixed(3)
        : key === "epsilon" ? "epsilon " + up(value) : key + " " + value);
    row.append(when, make("b", event.event), make("span", rest.join(" · ")));
    return row;
  }));
}

function show(state) {
  document.title = `${state.title}: round ${state.round}`;
  at("title").textContent = state.title;
  const [word, kind] = state.finished ? ["finished", "good"] : state.stopping ? ["stopping", "warn"]
    : state.round ? ["running", "good"] : ["waiting for clients", "warn"];
  at("status").textContent = word;
  at("status").className = "chip " + kind;
  tiles(state);
  curve(state);
  events(state);
}

show(first);
const source = new EventSource("/events");
source.addEventListener("state", event => {
  const state = JSON.parse(event.data);
  at("link").textContent = state.finished ? "nothing more will come" : "live";
  show(state);
  if (state.finished) source.close();
});
source.onerror = () => { at("link").textContent = "no connection; trying again"; };
</script></body></html>
)html";

}  // namespace

std::string live_page(const State& state) {
  std::string json =
      to_json(state).dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  // Inside a script nothing may look like its end.
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return std::string(kHead) + safe + std::string(kTail);
}

}  // namespace sotto::monitor
