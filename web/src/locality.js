// SPDX-License-Identifier: MIT
// Loop nests whose misses were computed: references in their source with misses by kind, who takes whose lines, what would miss less;
// a sweep as curves.
import { chart, LEFT, WIDTH } from "./chart.js";
import { h, nameSpan, svg } from "./dom.js";
import { base, bytes, count, percent } from "./format.js";
import { highlighted, linesOf, sourceLine } from "./source.js";

const KINDS = { cold: "first use of a line", capacity: "a fully associative cache of that size misses as well", conflict: "it would hit" };

const levelName = (level) => `${level.name} ${bytes(level.bytes)}, ${level.ways ? `${level.ways} way${level.ways === 1 ? "" : "s"}` : "fully associative"}${level.line_bytes === 64 ? "" : `, ${level.line_bytes}-byte lines`}`;

const tableOf = (heads, rows) => h("div", { class: "table" }, h("table", null, h("thead", null, h("tr", null, heads.map(([name, text]) => h("th", { class: text ? "text" : "figure" }, name)))), h("tbody", null, rows)));

// A bar of all misses, in parts by kind; as wide as they are among the most.
function kinds(figure, most) {
  const names = Object.keys(KINDS), title = names.map((name) => `${name}: ${count(figure[name])}`).join(", ");
  return h("span", { class: "misses", title }, names.map((name) => figure[name] > 0 && h("span", { class: name, "width%": figure[name] / Math.max(most, 1e-9) })));
}

const legend = () => h("p", { class: "note legend" }, Object.entries(KINDS).map(([name, meaning], i) => [i ? "; " : "", h("span", { class: `key ${name}` }), ` ${name}: ${meaning}`]));

function totals(report, nest) {
  return tableOf([["cache", true], ["misses"], ["miss ratio"], ["between"], ["by kind", true]], nest.totals.map((total, i) =>
    h("tr", null, h("td", { class: "text" }, levelName(report.levels[i])), h("td", { class: "figure" }, count(total.misses)), h("td", { class: "figure" }, percent(total.ratio)),
      h("td", { class: "figure" }, total.exact ? "every access simulated" : `${percent(total.ci95[0])} and ${percent(total.ci95[1])}`), h("td", null, kinds(total, nest.totals[0].misses)))));
}

function references(report, list) {
  const most = Math.max(...list.map((one) => one.levels[0].misses), 1e-9);
  const heads = [["at", true], ["", true], ["array", true], ["accesses"], ...report.levels.map((level) => [level.name]), [`misses of ${report.levels[0].name}`, true]];
  return tableOf(heads, list.map((one) => h("tr", { title: `${one.file ?? ""}:${one.line}` },
    h("td", { class: "text" }, one.line ? `${one.line}:${one.column}` : ""), h("td", { class: "text" }, one.kind === "write" ? "store" : "load"), h("td", { class: "text" }, nameSpan(one.text), one.conditional ? " (may be)" : ""),
    h("td", { class: "figure" }, count(one.accesses)), one.levels.map((figure) => h("td", { class: "figure" }, percent(figure.ratio))), h("td", null, kinds(one.levels[0], most)))));
}

// The lines of the nest, with the share of its misses that each has.
function source(list) {
  const file = list.find((one) => one.source)?.source, lines = new Map();
  if (!file || !linesOf(file).length) return null;
  for (const one of list) if (one.source === file && one.line) lines.set(one.line, (lines.get(one.line) ?? 0) + one.levels[0].misses);
  const all = [...lines.values()].reduce((sum, misses) => sum + misses, 0) || 1, first = Math.min(...lines.keys()) - 4, last = Math.max(...lines.keys()) + 2;
  return h("section", null, h("h4", null, base(file)), h("div", { class: "pane lines nest", tabindex: 0, "aria-label": "Source" }, linesOf(file).filter((line) => line >= first && line <= last).map((line) =>
    h("div", { class: "line" }, h("span", { class: "warm", heat: (lines.get(line) ?? 0) / all }, lines.get(line) > 0 ? percent(lines.get(line) / all) : ""), h("span", { class: "number" }, line), h("code", null, highlighted(sourceLine(file, line) ?? ""))))));
}

const PAIRS = 20;

function conflicts(nest, list) {
  if (!nest.conflicts.length) return null;
  const name = (at) => `${list[at].text}${list[at].line ? ` (line ${list[at].line})` : ""}`;
  return h("section", null, h("h4", null, "What takes the lines: misses of the first cache"), tableOf([["misses"], ["conflicts"], ["of", true], ["its line taken by", true]], nest.conflicts.slice(0, PAIRS).map((pair) =>
    h("tr", null, h("td", { class: "figure" }, count(pair.misses)), h("td", { class: "figure" }, pair.conflict > 0 ? percent(pair.conflict / pair.misses) : ""), h("td", { class: "text" }, name(pair.reference)), h("td", { class: "text" }, name(pair.by))))));
}

// Beside a recording of the compiled program.
function recorded(list) {
  const found = list.filter((one) => one.recorded);
  if (!found.length) return null;
  return h("section", null, h("h4", null, `Misses of the first cache, computed and recorded; the nest was executed ${count(found[0].recorded.executions)} times`),
    tableOf([["at", true], ["", true], ["array", true], ["computed"], ["recorded"], ["difference"]], found.map((one) =>
      h("tr", null, h("td", { class: "text" }, `${one.line}:${one.column}`), h("td", { class: "text" }, one.kind === "write" ? "store" : "load"), h("td", { class: "text" }, nameSpan(one.text)),
        h("td", { class: "figure" }, count(Math.round(one.recorded.computed_misses))), h("td", { class: "figure" }, count(one.recorded.misses)),
        h("td", { class: "figure" }, one.recorded.misses ? percent(one.recorded.computed_misses / one.recorded.misses - 1) : "")))));
}

function suggestions(nest, list) {
  if (!list.length) return null;
  return h("section", null, h("h4", null, "Would miss less"), h("ol", { class: "suggestions" }, list.map((one) => h("li", null, h("p", null, one.text),
    h("div", { class: "then" }, kinds(one.totals[0], nest.totals[0].misses), h("span", { class: "note" }, `${percent(one.totals[0].ratio)} instead of ${percent(nest.totals[0].ratio)}`))))));
}

function nestPart(report, nest, index) {
  const list = report.references.filter((one) => one.nest === index);
  return h("section", { class: "locality" }, h("h3", null, nameSpan(nest.function ?? "?"), " ", h("span", { class: "place" }, `${base(nest.file ?? "")}:${nest.line}`)),
    h("p", { class: "note" }, `${count(nest.accesses)} accesses. Arrays: ${nest.arrays.map((array) => `${array.name} ${bytes(array.bytes)}`).join(", ")}; ${report.placed}.`),
    totals(report, nest), references(report, list), legend(), source(list), conflicts(nest, list), recorded(list), suggestions(nest, report.suggestions.filter((one) => one.nest === index)));
}

// ---- sweeps -------------------------------------------------------------------------------------------

const RIGHT = 60, TICKS = 8;

function sweep(report) {
  const { name, points } = report.sweep;
  if (!points.length) return null;
  const low = points[0].value, high = points[points.length - 1].value, every = Math.ceil(points.length / TICKS);
  const x = (value) => LEFT + ((value - low) / Math.max(high - low, 1)) * (WIDTH - LEFT - RIGHT);
  const curves = (y) => report.levels.map((level, i) => [
    svg("polyline", { class: `curve level${i}`, points: points.map((point) => `${x(point.value).toFixed(1)},${y(point.totals[i].ratio).toFixed(1)}`).join(" ") }),
    svg("text", { class: "tick", x: WIDTH - RIGHT + 6, y: y(points[points.length - 1].totals[i].ratio) + 4 }, level.name),
    points.map((point) => svg("circle", { class: "spot", cx: x(point.value), cy: y(point.totals[i].ratio), r: 6 }, svg("title", null, `${name} = ${point.value}, ${level.name}: ${percent(point.totals[i].ratio)}, ${count(point.totals[i].misses)} misses`)))]);
  return h("div", { class: "charts" }, chart("Miss ratio", `of all nests together, for each value of ${name} that was computed; ${report.levels.map(levelName).join("; ")}.`, name, RIGHT,
    Math.max(...points.flatMap((point) => point.totals.map((total) => total.ratio))), points.filter((_, i) => i % every === 0).map((point) => [x(point.value), point.value]), curves),
  h("section", null, tableOf([[name], ["accesses"], ...report.levels.flatMap((level) => [[level.name], ["miss ratio"]])], points.map((point) =>
    h("tr", null, h("td", { class: "figure" }, point.value), h("td", { class: "figure" }, count(point.totals[0].accesses)), point.totals.map((total) => [h("td", { class: "figure" }, count(total.misses)), h("td", { class: "figure" }, percent(total.ratio))]))))));
}

function rejected(list) {
  return list.length > 0 && h("section", null, h("h3", null, "Not taken"), h("ul", null, list.map((one) => h("li", null, h("span", { class: "place" }, `${base(one.file)}:${one.line}`), ` ${one.reason}${one.help ? `; ${one.help}` : ""}`))));
}

export function renderLocality(root, app) {
  const report = app.data.report.locality;
  root.append(h("div", { class: "bar-of-choices" }, h("span", { class: "note" }, `${report.path}, computed from its loops; ${report.levels.map(levelName).join("; ")}`)),
    h("div", { class: "nests" }, report.sweep ? sweep(report) ?? "" : "", report.nests.map((nest, i) => nestPart(report, nest, i)), rejected(report.rejected) || ""));
  return {};
}
