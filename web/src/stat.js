// SPDX-License-Identifier: MIT
// Repeated runs: each region a box plot for each command and level, with every run as a dot; below, the runs of the chosen one in their order.
import { h, nameSpan, svg } from "./dom.js";
import { percent, several } from "./format.js";
import { listKeys } from "./table.js";

const WIDTH = 560, ROW = 46, LEFT = 8, UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

// Four figures: what is compared differs in the third.
const time = (ns) => {
  const [unit, scale] = UNITS.find(([, least]) => ns >= least) ?? UNITS[3];
  return `${Number((ns / scale).toPrecision(4))} ${unit}`;
};

const subject = (report, row) => (row.level ? `-${row.level}: ` : "") + report.commands[row.subject].text;

const quantile = (ordered, share) => {
  const at = (ordered.length - 1) * share, low = Math.floor(at);
  return ordered[low] + (ordered[Math.min(low + 1, ordered.length - 1)] - ordered[low]) * (at - low);
};

// Tukey's: the box holds the middle half, whiskers reach the last run within one and a half of it, the rest are dots of their own. The band is the
// 95 % interval of the median.
function boxes(rows) {
  const all = rows.flatMap((row) => row.times_ns), low = Math.min(...all), high = Math.max(...all), wide = Math.max(high - low, high * 1e-6, 1e-9);
  const x = (ns) => LEFT + ((ns - low) / wide) * (WIDTH - 2 * LEFT);
  const drawing = svg("svg", { class: "boxes", viewBox: `0 0 ${WIDTH} ${ROW * rows.length + 18}`, width: WIDTH, height: ROW * rows.length + 18, role: "img", "aria-label": "box plots of times" });
  rows.forEach((row, i) => {
    const ordered = [...row.times_ns].sort((a, b) => a - b), middle = ROW * i + ROW / 2 - 2;
    const [first, median, third] = [0.25, 0.5, 0.75].map((share) => quantile(ordered, share)), reach = 1.5 * (third - first);
    const from = ordered.find((ns) => ns >= first - reach) ?? first, to = ordered.findLast((ns) => ns <= third + reach) ?? third;
    const line = (x1, y1, x2, y2, style = "whisker") => svg("line", { x1, y1, x2, y2, class: style });
    drawing.append(svg("text", { x: LEFT, y: middle - 11, class: "label" }, `#${row.number}`), line(x(from), middle, x(first), middle), line(x(third), middle, x(to), middle), line(x(from), middle - 5, x(from), middle + 5),
      line(x(to), middle - 5, x(to), middle + 5), svg("rect", { x: x(first), y: middle - 8, width: Math.max(x(third) - x(first), 1), height: 16, class: "box" }),
      svg("rect", { x: x(row.ns.ci95[0]), y: middle - 8, width: Math.max(x(row.ns.ci95[1]) - x(row.ns.ci95[0]), 1), height: 16, class: "interval" }),
      line(x(median), middle - 8, x(median), middle + 8, "median"));
    row.times_ns.forEach((ns, run) => drawing.append(svg("circle", { cx: x(ns), cy: middle + 13 + ((run * 7) % 5), r: 1.8, class: ns < from || ns > to ? "far" : "run" }, svg("title", {}, `run ${run + 1}: ${time(ns)}`))));
  });
  drawing.append(svg("text", { x: LEFT, y: ROW * rows.length + 12, class: "label" }, time(low)), svg("text", { x: WIDTH - LEFT, y: ROW * rows.length + 12, "text-anchor": "end", class: "label" }, time(high)));
  return drawing;
}

function runs(row) {
  const most = Math.max(...row.times_ns), wide = Math.max(2, Math.min(14, Math.floor(WIDTH / row.times_ns.length)));
  const far = new Map(row.outliers.map((o) => [o.run, o.cause]));
  return svg("svg", { class: "boxes", viewBox: `0 0 ${wide * row.times_ns.length} 80`, width: wide * row.times_ns.length, height: 80, role: "img", "aria-label": "times of runs in their order" },
    ...row.times_ns.map((ns, i) => svg("rect", { x: wide * i, y: 80 - (76 * ns) / most, width: Math.max(wide - 1, 1), height: (76 * ns) / most, class: far.has(i) ? "far" : "column" },
      svg("title", {}, `run ${i + 1}: ${time(ns)}${far.has(i) ? `, slow: ${far.get(i)}` : ""}`))));
}

const ratio = (made, more, less) => {
  if (!made) return "";
  const value = `${made.value.toFixed(4)} times #1`;
  if (!made.ci95) return `${value}; too few runs for an interval`;
  const [low, high] = made.ci95, interval = `(${low.toFixed(4)} to ${high.toFixed(4)})`;
  return low > 1 || high < 1 ? `${value} ${interval}: ${low > 1 ? more : less}` : `no difference seen: ${value} ${interval}; one of ${percent(made.detectable)} would have been`;
};

const beside = (row) => [ratio(row.ratio, "slower", "faster"), row.cpu_ratio?.ci95 ? h("div", { class: "by" }, `CPU time: ${ratio(row.cpu_ratio, "more", "less")}`) : ""];

function table(report, rows) {
  const visits = rows.some((row) => row.visits !== undefined);
  const head = ["", "command", "runs", "median", "95 % interval", "min", "mean", "max", "sd", ...(visits ? ["visits", "a visit", "iterations", "cycles an iteration"] : ["user", "system", "page faults"]), "beside the first"];
  return h("div", { class: "table" }, h("table", null, h("thead", null, h("tr", null, head.map((name) => h("th", null, name)))), h("tbody", null, rows.map((row) => h("tr", null,
    h("td", { class: "figure" }, `#${row.number}`), h("td", { class: "text" }, nameSpan(subject(report, row))), h("td", { class: "figure" }, row.runs), h("td", { class: "figure" }, time(row.ns.median)),
    h("td", { class: "figure" }, `${time(row.ns.ci95[0])} .. ${time(row.ns.ci95[1])}`), [row.ns.min, row.ns.mean, row.ns.max, row.ns.sd].map((ns) => h("td", { class: "figure" }, time(ns))),
    (visits ? [Math.round(row.visits).toLocaleString("en"), time(row.visit_ns.median), row.iterations === null ? "" : Number(row.iterations.toPrecision(6)), row.iteration_cycles === null ? "" : Number(row.iteration_cycles.toPrecision(3))]
      : [time(row.user_ns), time(row.system_ns), Math.round(row.minor_faults + row.major_faults).toLocaleString("en")]).map((text) => h("td", { class: "figure" }, text)), h("td", { class: "text" }, beside(row)))))));
}

function detail(report, name, rows) {
  const said = rows.filter((row) => row.reason);
  return h("div", { class: "detail" }, h("h3", null, nameSpan(name === "run" ? "Whole runs" : name)), said.map((row) => h("p", { class: "advice" }, `#${row.number} is sensitive to the operating system: ${row.reason}.`)), boxes(rows), table(report, rows),
    rows.map((row) => h("section", null, h("h4", null, `#${row.number}, ${several(row.runs, "run")} in their order`), runs(row))));
}

export function renderStat(root, app) {
  const { stat } = app.data.report, names = [...new Set((stat.regions ?? []).map((row) => row.region))];
  const rowsOf = (name) => stat.regions.filter((row) => row.region === name).map((row) => ({ ...row, number: row.subject + 1 }));
  const chosen = names[app.state.line] !== undefined ? app.state.line : 0;
  if (!names.length) {
    root.append(h("p", { class: "note" }, "No run was measured."));
    return {};
  }
  root.append(h("div", { class: "bar-of-choices" }, h("span", { class: "note" }, `${several(stat.runs.length, "run")}, interleaved at random. Boxes hold the middle half of the runs, the band is the 95 % interval of the median.`)));
  root.append(h("div", { class: "two" }, h("div", { class: "left" }, h("ol", { class: "pairs" }, names.map((name, i) => h("li", { class: [i === chosen ? "selected" : "", app.state.q !== "" && app.matches(name) ? "match" : ""].join(" "), onclick: () => app.set({ line: i }) },
    h("div", { class: "end" }, nameSpan(name === "run" ? "Whole runs" : name)), h("div", { class: "by" }, time(rowsOf(name)[0].ns.median)))))), detail(stat, names[chosen], rowsOf(names[chosen]))));
  return {
    ...listKeys(names, chosen, (line) => app.set({ line }), app.matches),
    name: () => names[chosen],
  };
}
