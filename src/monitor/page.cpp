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
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:14px;margin:0 0 18px}
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
table{border-collapse:collapse;width:100%;font-size:14px}
th{text-align:left;font-weight:400;color:var(--soft);font-size:13px}
th,td{padding:5px 12px 5px 0;border-top:1px solid var(--line);overflow-wrap:anywhere;vertical-align:top}
tr:first-child th{border-top:0}
.count{text-align:right;font-variant-numeric:tabular-nums}
.loud{border:2px solid var(--bad);border-radius:12px;padding:14px 18px;margin:0 0 18px;color:var(--bad);
background:var(--bad-paper)}
.loud b{display:block;font-size:20px}
@media (max-width:520px){main{padding:20px 14px}h1{font-size:23px}.card{padding:12px 14px}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}.tiles dd{font-size:21px}}
</style></head><body><main>
<header><h1 id="title">Sotto</h1><span id="status" class="chip good">running</span>
<span id="link" class="soft" role="status">connecting</span></header>
<div id="warnings" role="alert"></div>
<dl class="tiles" id="tiles"></dl>
<section class="card wide"><h2>Accuracy on the public test set</h2><div id="curve"></div></section>
<section class="card wide"><h2>Refusals</h2><div id="refusals"></div></section>
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

// What nobody may overlook: a training that protects nobody.
function warnings(state) {
  const loud = [], promise = state.promise;
  if (state.rehearsal) {
    loud.push(["Rehearsal: protects nobody", "All noise comes from a seed that everybody knows."]);
  }
  if (promise && promise.epsilon === null) {
    loud.push(["No privacy: epsilon is infinite", "The recipe promises its clients nothing."]);
  } else if (promise && promise.vacuous) {
    loud.push(["Vacuous: ε " + up(promise.epsilon) + " for a client over the whole training",
               "Above 50 a promise says nothing: e^50 protects nobody. Nothing bounds what the reports "
               + "of this training tell about a client's data."]);
  } else if (!promise && state.epsilon > 50) {
    loud.push(["Vacuous: ε " + up(state.epsilon) + " spent", "Above 50 a promise says nothing."]);
  }
  at("warnings").replaceChildren(...loud.map(([head, text]) => {
    const box = make("p", undefined, "loud");
    box.append(make("b", head), text);
    return box;
  }));
}

// Time that is left of the round; the server says how much, the page counts down by itself.
let ends = null;
const clock = seconds => seconds >= 3600 ? (seconds / 3600).toFixed(1) + " h"
  : Math.floor(seconds / 60) + ":" + String(Math.floor(seconds % 60)).padStart(2, "0");
function left(state) {
  if (state.finished) return ["–", "the training is over"];
  if (ends === null) return ["–", state.round ? "the clock starts with the first client" : "no round yet"];
  const seconds = (ends - performance.now()) / 1000;
  return seconds > 0 ? [clock(seconds), "until the round's deadline"]
    : ["0:00", state.shuffled ? "deadline is over; waiting for the batch" : "deadline is over"];
}

function tiles(state) {
  const here = Math.max(state.held, state.round_reports);
  const waits = state.shuffled && state.held > state.round_reports;
  const last = state.curve.filter(point => point.accuracy !== null).at(-1);
  const best = Math.max(...state.curve.map(point => point.accuracy ?? 0), 0);
  at("tiles").replaceChildren(
    tile("Round", number(state.round) + (state.rounds ? " / " + number(state.rounds) : ""),
         state.rounds ? "planned by the recipe" : "",
         state.rounds ? state.round / state.rounds : undefined),
    tile("Reports of the round", number(here) + " / " + number(state.asked),
         (waits ? "held by the shuffler; " : "are in; ") + number(state.accepted) + " taken so far",
         state.asked ? here / state.asked : undefined),
    tile("Time left", ...left(state)),
    tile("Accuracy", last ? percent(last.accuracy) : "–",
         last ? "best " + percent(best) : "not measured yet"),
    tile("Clients", number(state.joined) + (state.clients ? " / " + number(state.clients) : ""),
         "have joined; " + number(state.declined) + " declined a round",
         state.clients ? state.joined / state.clients : undefined),
    tile("Budget spent", state.epsilon === null ? "–" : "ε ≤ " + up(state.epsilon),
         (state.delta > 0 ? "δ ≤ " + state.delta + "; " : "") + "a client of every round"
           + (state.epsilon > 50 ? "; vacuous" : "")));
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

function refusals(state) {
  if (!state.refusals.length) {
    at("refusals").replaceChildren(make("p", "Nothing has been refused.", "soft"));
    return;
  }
  const table = make("table"), head = make("tr");
  head.append(make("th", "name"), make("th", "count", "count"), make("th", "last"), make("th", "reason"));
  table.append(head);
  for (const one of state.refusals.slice().sort((a, b) => b.count - a.count)) {
    const row = make("tr");
    row.append(make("td", one.name), make("td", number(one.count), "count"),
               make("td", one.time.slice(11, 19)),
               make("td", one.text + (one.kind === "io" || one.kind === "busy" ? " (may pass; its sender tries again)" : "")));
    table.append(row);
  }
  at("refusals").replaceChildren(table);
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
  now = state;
  ends = state.seconds_left === null ? null : performance.now() + 1000 * state.seconds_left;
  warnings(state);
  tiles(state);
  curve(state);
  refusals(state);
  events(state);
}

let now = first;
show(first);
setInterval(() => tiles(now), 1000);
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
