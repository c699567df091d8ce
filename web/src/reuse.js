// SPDX-License-Identifier: MIT
// Histograms of reuse distances, and the miss-ratio curve with the machine's caches marked.
import { BOTTOM, chart, HEIGHT, LEFT, TOP, WIDTH } from "./chart.js";
import { h, svg } from "./dom.js";
import { bytes, count, percent, powerTicks, roundLabel, time } from "./format.js";

const RIGHT = 26;

const logOf = (value) => (value < 1 ? -1 : Math.log2(value)); // nothing in between has a column of its own, before 1

function frame(title, note, axis, low, high, largest, label, draw) {
  const x = (value) => LEFT + ((logOf(value) - low) / Math.max(high - low, 1)) * (WIDTH - LEFT - RIGHT);
  // Caches and lines come in powers of two, all else is read in decades.
  const values = [...(low < 0 ? [0] : []), ...(label === bytes ? powerTicks(4, 2 ** low, 2 ** high, 9) : powerTicks(10, 2 ** low, 2 ** high, 9))];
  const room = (WIDTH - LEFT - RIGHT) / Math.max(high - low, 1); // of what is below 1
  const ticks = values.filter((value) => low >= 0 || value !== 1 || room > 44).map((value) => [x(value), roundLabel(label)(value)]);
  return chart(title, note, axis, RIGHT, largest, ticks, (y) => draw(x, y));
}

function histogram(title, note, axis, bins, label) {
  if (!bins?.length) return null;
  const low = Math.floor(Math.min(...bins.map((b) => logOf(b.lo)))), high = Math.ceil(Math.max(...bins.map((b) => logOf(b.hi)))), most = Math.max(...bins.map((b) => b.share)) || 1;
  return frame(title, note, axis, low, high, most, label, (x, y) => bins.map((bin) => {
    const left = x(bin.lo);
    return svg("rect", { class: "column", x: left, width: Math.max(x(bin.hi) - left - 1, 1), y: y(bin.share), height: Math.max(HEIGHT - BOTTOM - y(bin.share), 0) },
      svg("title", null, `${label(bin.lo)} to ${label(bin.hi)}: ${percent(bin.share)}`));
  }));
}

const points = (list, x, y, value) => list.map((p) => `${x(p.bytes).toFixed(1)},${y(value(p)).toFixed(1)}`);

function band(curve, x, y) {
  if (curve[0].low === undefined) return null;
  return svg("polygon", { class: "band", points: [...points(curve, x, y, (p) => p.low), ...points(curve, x, y, (p) => p.high).reverse()].join(" ") });
}

function cacheMarks(caches, x, y, high) {
  return caches.filter((cache) => logOf(cache.bytes) <= high).map((cache, i) => [
    svg("line", { class: "cache", x1: x(cache.bytes), x2: x(cache.bytes), y1: TOP - 6, y2: HEIGHT - BOTTOM }),
    svg("circle", { class: "dot", cx: x(cache.bytes), cy: y(cache.miss_ratio), r: 4 }),
    svg("text", { class: "cache", x: x(cache.bytes) - 4, y: TOP + 4 + 13 * (i % 2), "text-anchor": "end" }, `L${cache.level}, ${bytes(cache.bytes)}: ${percent(cache.miss_ratio)}`),
  ]);
}

function curve(reuse) {
  const list = reuse.miss_ratio;
  if (!list.length) return null;
  const caches = reuse.caches ?? [];
  const low = Math.floor(logOf(list[0].bytes)), high = Math.ceil(Math.max(...list.map((p) => logOf(p.bytes)), ...caches.map((c) => logOf(c.bytes)))), most = Math.min(1, Math.max(...list.map((p) => p.high ?? p.ratio)) || 1);
  const whole = [...list, { ...list[list.length - 1], bytes: 2 ** high }];
  return frame("Miss ratio", "of all accesses, by the size of a fully associative cache. Marked: the caches of the recording machine.", "size of the cache, logarithmic", low, high, most, bytes, (x, y) => [
    band(whole, x, y), svg("polyline", { class: "curve", points: points(whole, x, y, (p) => p.ratio).join(" ") }),
    list.map((p) => svg("circle", { class: "spot", cx: x(p.bytes), cy: y(p.ratio), r: 6 }, svg("title", null, `${bytes(p.bytes)}: ${percent(p.ratio)}`))),
    cacheMarks(caches, x, y, high)]);
}

function simulated(list) {
  if (!list?.length) return null;
  return h("section", null, h("h3", null, "Simulated caches"), h("div", { class: "table" }, h("table", null,
    h("thead", null, h("tr", null, ["size", "ways", "line", "accesses", "misses", "miss ratio"].map((t) => h("th", { class: "figure" }, t)))),
    h("tbody", null, list.map((c) => h("tr", null, [bytes(c.bytes), c.ways || "all", bytes(c.line_bytes), count(c.accesses), count(c.misses), percent(c.ratio)].map((t) => h("td", { class: "figure" }, t))))))));
}

export function renderReuse(root, app) {
  const { reuse } = app.data.report;
  root.append(h("div", { class: "charts" },
    curve(reuse) ?? "",
    histogram("Stack distances", `of reuses: different ${reuse.unit}s in between${reuse.stack.length ? "" : ", derived from time distances"}; their share in each column.`, `${reuse.unit}s, logarithmic`, reuse.stack.length ? reuse.stack : reuse.stack_from_time, count) ?? "",
    histogram("Time distances", "of reuses: accesses in between; their share in each column.", "accesses, logarithmic", reuse.time, count) ?? "",
    histogram("CPU time between use and reuse", "as measured; the share of reuses in each column.", "CPU time, logarithmic", reuse.elapsed_ns, time) ?? "",
    simulated(reuse.what_if) ?? ""));
  return {};
}
