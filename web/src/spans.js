// SPDX-License-Identifier: MIT
// Spans that lose time to other threads, with scores, causes and what speaks for them.
import { contextList } from "./context.js";
import { h, nameSpan, svg } from "./dom.js";
import { count, functionName, percent, place, powerTicks, roundLabel, several, time } from "./format.js";
import { bar, table } from "./table.js";

const COLUMNS = [
  { id: "name", label: "span", text: true, value: functionName, show: (b) => [nameSpan(functionName(b)), b.key ? h("span", { class: "tag" }, b.key) : null] },
  { id: "lost", label: "lost", title: "excluding what is counted in spans that it calls", value: (b) => b.own_lost_ns, show: (b) => time(b.own_lost_ns) },
  { id: "sci", label: "score", title: "share of its threads' working time that was lost to interference", value: (b) => b.sci, show: (b) => (typeof b.sci === "number" ? [percent(b.sci), bar(b.sci)] : "") },
  { id: "cause", label: "cause", text: true, value: (b) => b.cause_text ?? "" },
  { id: "time", label: "time", title: "of all its executions", value: (b) => b.total_ns, show: (b) => time(b.total_ns) },
  { id: "count", label: "executed", value: (b) => b.count, show: (b) => count(b.count) },
  { id: "min", label: "fastest", value: (b) => b.min_ns, show: (b) => time(b.min_ns) },
  { id: "median", label: "median", value: (b) => b.median_ns, show: (b) => time(b.median_ns) },
  { id: "p99", label: "99 %", title: "99th percentile", value: (b) => b.p99_ns, show: (b) => time(b.p99_ns) },
];

// Decades of time below the columns.
function ticks(low, high, x) {
  return powerTicks(10, 2 ** low, 2 ** high, 7).map((ns) =>
    svg("text", { class: "tick", x: Math.min(Math.max(x(ns), 24), 496), y: 128, "text-anchor": "middle" }, roundLabel(time)(ns)));
}

function histogram(bins) {
  if (!bins?.length) return null;
  const low = Math.log2(Math.max(bins[0].lo_ns, 1)), high = Math.log2(Math.max(bins[bins.length - 1].hi_ns, 2)), most = Math.max(...bins.map((b) => b.count));
  const x = (ns) => 10 + ((Math.log2(Math.max(ns, 1)) - low) / Math.max(high - low, 0.1)) * 500;
  return h("figure", null, h("figcaption", null, h("b", null, "Durations"), ` from ${time(bins[0].lo_ns)} to ${time(bins[bins.length - 1].hi_ns)}, logarithmic; the height is how often`),
    svg("svg", { viewBox: "0 0 520 136", role: "img", "aria-label": "durations" }, ticks(low, high, x), bins.map((bin) =>
      svg("rect", { class: "column", x: x(bin.lo_ns), width: Math.max(x(bin.hi_ns) - x(bin.lo_ns) - 0.5, 1), y: 110 - (100 * bin.count) / most, height: Math.max((100 * bin.count) / most, 0.5) },
        svg("title", null, `${time(bin.lo_ns)} to ${time(bin.hi_ns)}: ${count(bin.count)}`)))));
}

const context = (frames) => (frames.length ? contextList(frames) : h("p", { class: "note" }, "unknown"));

const section = (title, list, item) => (list?.length ? h("section", null, h("h4", null, title), list.map(item)) : null);

function threads(span, all) {
  return section("Threads", span.threads?.length ? [span.threads] : [], (list) => h("div", { class: "table" }, h("table", null,
    h("thead", null, h("tr", null, ["thread", "executed", "time", "fastest", "score"].map((t, i) => h("th", { class: i ? "figure" : "text" }, t)))),
    h("tbody", null, list.map((t) => h("tr", null, h("td", { class: "text" }, `${t.thread + 1} ${all[t.thread]?.name ?? ""}`), [count(t.count), time(t.total_ns), time(t.min_ns), percent(t.sci)].map((v) => h("td", { class: "figure" }, v))))))));
}

// What stands in place of a cause where there is no score.
const WITHOUT = { idle: "It waits for something to happen.", unscored: "It was executed too rarely for a score." };

function detail(span, kind, all, app) {
  return h("div", { class: "detail" },
    h("h3", null, nameSpan(functionName(span)), " ", h("span", { class: "place" }, place(span)), " ", h("button", { class: "copy", onclick: () => app.copy(functionName(span)) }, "copy name")),
    h("p", { class: "advice" }, kind === "blocks" ? h("b", null, span.cause_text, ". ") : `${WITHOUT[kind]} `, (span.evidence ?? []).join(" ")),
    span.advice && h("p", { class: "advice" }, span.advice.text),
    histogram(span.histogram),
    h("div", { class: "sides" },
      section("Where it was called", span.stacks, (stack, i) => h("div", null, h("p", { class: "note" }, `${several(span.stack_weights?.[i]?.taken ?? 0, "time")}, lost ${time(span.stack_weights?.[i]?.lost_ns)}`), context(stack))),
      section("Who held the lock", span.holders, (holder) => h("div", null, h("p", { class: "note" }, `${several(holder.times, "time")}, waited ${time(holder.waited_ns)}`), context(holder.place)))),
    threads(span, all));
}

export function renderSpans(root, app) {
  const { interference } = app.data.report;
  const groups = [["blocks", "with a score"], ["idle", "idle"], ["unscored", "too few executions"]];
  const kind = interference[app.state.kind]?.length ? app.state.kind : groups.find(([id]) => interference[id]?.length)?.[0] ?? "blocks";
  const rows = interference[kind] ?? [];
  const chosen = rows[app.state.block] ? app.state.block : 0;
  root.append(h("div", { class: "bar-of-choices" }, groups.map(([id, label]) => h("button", { class: id === kind ? "on" : "", onclick: () => app.set({ kind: id, block: 0 }) }, `${label} (${interference[id]?.length ?? 0})`)),
    h("span", { class: "note" }, `${percent(interference.share)} of the threads' working time was lost to interference.`)));
  if (!rows.length) {
    root.append(h("p", { class: "note" }, "There are no such spans."));
    return {};
  }
  const list = table({ columns: COLUMNS, rows, sort: app.state.sort, onSort: (sort) => app.set({ sort }), selected: chosen, onSelect: (span) => app.set({ block: span }), matches: (b) => app.matches(functionName(b)) });
  root.append(h("div", { class: "stacked" }, h("div", { class: "left" }, list.element), detail(rows[chosen], kind, interference.threads ?? [], app)));
  return { ...list, name: () => functionName(rows[chosen]) };
}
