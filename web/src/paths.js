// SPDX-License-Identifier: MIT
// Executed paths: a table, and the chosen one drawn beside the source that it runs through.
import { h, nameSpan, svg } from "./dom.js";
import { base, count, functionName, percent, several } from "./format.js";
import { highlighted, sourceLine } from "./source.js";
import { bar, table } from "./table.js";

const LINE = 19, LANE = 120, MOST_STEPS = 400;

// The lines of the function's own file that the path comes by, in order; neighbours differ.
function stepsOf(path, owner) {
  const steps = [];
  path.blocks.forEach((block) => {
    const lines = owner?.executed_blocks?.[block.block]?.lines ?? [block];
    for (const { file, line } of lines)
      if (line && file === path.file && steps[steps.length - 1] !== line) steps.push(line);
  });
  return steps;
}

// Lines near those that it comes by; 0 stands for a gap.
function rowsAround(passed, path) {
  const rows = [];
  let last = 0;
  const near = new Set([...passed.keys()].flatMap((line) => [-2, -1, 0, 1, 2].map((by) => line + by)));
  for (const line of [...near].sort((a, b) => a - b)) {
    if (!passed.has(line) && sourceLine(path.file, line) === undefined) continue;
    if (last && line > last + 1) rows.push(0);
    rows.push(line);
    last = line;
  }
  return rows;
}

// Where control goes: down on the left, back up to the right of it.
function drawing(steps, rowOf, rows) {
  const gap = Math.min(7, (LANE - 24) / Math.max(steps.length, 1));
  const at = steps.map((line, i) => [12 + i * gap, rowOf(line) * LINE + LINE / 2]);
  return svg("svg", { class: "way", width: LANE, height: rows * LINE, "aria-hidden": "true" },
    svg("polyline", { class: "curve", points: at.map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" ") }),
    at.map(([x, y], i) => svg("circle", { class: i === 0 ? "dot first" : "dot", cx: x, cy: y, r: i === 0 || i === at.length - 1 ? 4 : 2.5 }, svg("title", null, `step ${i + 1}: line ${steps[i]}`))));
}

function throughSource(path, owner) {
  const steps = stepsOf(path, owner).slice(0, MOST_STEPS);
  if (!steps.length) return h("p", { class: "note" }, "The lines of this path are unknown.");
  const passed = new Map();
  for (const line of steps) passed.set(line, (passed.get(line) ?? 0) + 1);
  const lines = rowsAround(passed, path);
  const rowOf = (line) => lines.indexOf(line);
  return h("div", { class: "source" }, h("div", { class: "file", title: path.file }, `${base(path.file)}: `, nameSpan(functionName(path))),
    h("div", { class: "drawn" }, drawing(steps, rowOf, lines.length),
      h("div", { class: "lines" }, lines.map((line) => line
        ? h("div", { class: passed.has(line) ? "line marked" : "line" }, h("span", { class: "number" }, line), h("code", null, highlighted(sourceLine(path.file, line) ?? "")))
        : h("div", { class: "line gap" }, h("span", { class: "number" }, "···"))))));
}

function detail(path, owner, app) {
  const metrics = Object.entries(path.metrics).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, `${count(value)} (${percent(path.share[name])})`)));
  return h("div", { class: "detail" },
    h("h3", null, nameSpan(functionName(path)), ` path ${path.number} `, h("button", { class: "copy", onclick: () => app.copy(functionName(path)) }, "copy name")),
    h("p", null, `${path.class}; from ${path.begins === "cut" ? "a loop's head" : `the ${path.begins}`} to ${path.ends === "cut" ? "a loop's end" : "the exit"}; ${several(path.blocks.length, "block")}.`),
    h("dl", { class: "facts" }, metrics), throughSource(path, owner));
}

const columnsOf = (metric) => [
  { id: "name", label: "function", text: true, value: functionName, show: (p) => nameSpan(functionName(p)) },
  { id: "path", label: "path", value: (p) => p.number },
  { id: "share", label: metric, value: (p) => p.share[metric], show: (p) => [percent(p.share[metric]), bar(p.share[metric])] },
  { id: "count", label: "executed", value: (p) => p.count, show: (p) => count(p.count) },
  { id: "class", label: "class", text: true, value: (p) => p.class },
];

export function renderPaths(root, app) {
  const { paths } = app.data.report;
  if (!paths.paths.length) {
    root.append(h("p", { class: "note" }, "No paths were counted in this recording."));
    return {};
  }
  const chosen = paths.paths[app.state.path] ? app.state.path : 0;
  const path = paths.paths[chosen];
  const owner = paths.functions.find((f) => f.address === path.address && f.module === path.module && f.function === path.function);
  const list = table({ columns: columnsOf(paths.metric), rows: paths.paths, sort: app.state.sort, onSort: (sort) => app.set({ sort }), selected: chosen, onSelect: (index) => app.set({ path: index }), matches: (p) => app.matches(functionName(p)) });
  root.append(h("p", { class: "note" }, `${paths.paths_total} executed paths; ranked by ${paths.metric}.`), h("div", { class: "two" }, h("div", { class: "left" }, list.element), detail(path, owner, app)));
  return { ...list, name: () => functionName(path) };
}
