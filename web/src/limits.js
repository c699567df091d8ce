// SPDX-License-Identifier: MIT
// Loops and what bounds them: bounds side by side, the instructions with the units' pressure, and the critical circuit drawn beside them;
// the schedule of what they executed, unit by unit.
import { h, nameSpan, svg } from "./dom.js";
import { percent, place, several } from "./format.js";
import { bar, listKeys } from "./table.js";

const BOUNDS = { recurrence: "recurrence", resource: "units", frontend: "front end", memory: "not seen" };
const KINDS = { load: "loads", compute: "computes", store: "stores" };

const cycles = (value) => (value === null || value === undefined ? "" : Number(value.toPrecision(4)).toString());

const loopName = (loop) => (loop.level ? `-${loop.level}: ` : "") + (loop.function ?? "the block");

function bounds(loop, tabled) {
  const most = Math.max(loop.predicted, loop.measured ?? 0, loop.tried_cycles ?? 0, loop.l1_cycles ?? 0, loop.schedule ? loop.bounds.schedule : 0, 1e-9);
  const rows = [["recurrence", loop.bounds.recurrence], ["units", loop.bounds.resource], ["front end", loop.bounds.frontend], ["certified", loop.certified], ["predicted", loop.predicted],
    loop.schedule && ["schedule", loop.bounds.schedule], loop.measured !== null && ["measured", loop.measured],
    loop.l1_cycles !== null && ["data in the first-level cache", loop.l1_cycles], loop.tried_cycles !== null && ["as it is, in trials", loop.tried_cycles]].filter(Boolean);
  const how = loop.measured === null ? null : h("p", { class: "note" }, `Measured, within ${percent(loop.measured_error)}: CPU time of samples` +
    (loop.iterations === null ? "" : ` over ${loop.iterations.toLocaleString("en")} iterations, counted in another run`) + (loop.ways > 1 ? "; the mean of all ways through it." : ".") + (tabled ? " The bounds are from tables: the two compare if the program ran on such a processor." : ""));
  return h("section", null, h("h4", null, "Cycles an iteration, at least"), how, h("div", { class: "table" }, h("table", null, h("tbody", null, rows.map(([name, value]) =>
    h("tr", null, h("td", { class: "text" }, name), h("td", { class: "figure" }, cycles(value)), h("td", null, bar(value / most))))))));
}

// Which instructions the circuit goes through, and where to: "1 → 3", the last one back to the first after so many iterations.
function steps(loop) {
  const at = new Map();
  loop.circuit.forEach((step, i) => {
    const next = loop.circuit[(i + 1) % loop.circuit.length];
    const text = `${KINDS[step.kind]}, ${cycles(step.latency)} ${step.latency === 1 ? "cycle" : "cycles"}, then ${next.index + 1}${step.distance ? `, ${several(step.distance, "iteration")} later` : ""}`;
    at.set(step.index, [...(at.get(step.index) ?? []), text]);
  });
  return at;
}

const LANE = 9, LANE_HEIGHT = 24, LANES_MOST = 8;

// The circuit's arcs as lines from row to row, each in a lane of its own unless it ends where another begins; those into a later iteration are
// dashed. Rows draw their parts of them.
function lanes(loop) {
  const arcs = [];
  loop.circuit.forEach((step, i) => {
    const to = loop.circuit[(i + 1) % loop.circuit.length].index;
    if (step.index !== to || step.distance) arcs.push({ from: step.index, to, later: step.distance > 0, low: Math.min(step.index, to), high: Math.max(step.index, to) });
  });
  const ends = [];
  for (const arc of [...arcs].sort((a, b) => a.high - a.low - (b.high - b.low))) {
    let lane = ends.findIndex((taken) => taken.every((other) => arc.low >= other.high || arc.high <= other.low));
    if (lane < 0) lane = ends.push([]) - 1;
    ends[lane].push(arc);
    arc.lane = Math.min(lane, LANES_MOST - 1);
  }
  return { arcs, width: LANE * (Math.min(ends.length, LANES_MOST) + 1) + 4 };
}

function strokes({ arcs, width }, row) {
  const middle = LANE_HEIGHT / 2;
  return arcs.filter((arc) => arc.low <= row && row <= arc.high).flatMap((arc) => {
    const x = width - 6 - LANE * (arc.lane + 1), kind = arc.later ? "arc later" : "arc", self = arc.from === arc.to;
    const leaves = row === arc.from ? middle + (self ? 5 : arc.to > arc.from ? 3 : -3) : null, enters = row === arc.to ? middle - (self ? 5 : arc.to > arc.from ? 3 : -3) : null;
    const top = row === arc.low ? Math.min(leaves ?? LANE_HEIGHT, enters ?? LANE_HEIGHT) : 0, bottom = row === arc.high ? Math.max(leaves ?? 0, enters ?? 0) : LANE_HEIGHT;
    return [svg("line", { class: kind, x1: x, x2: x, y1: top, y2: bottom }), leaves !== null && svg("line", { class: kind, x1: x, x2: width, y1: leaves, y2: leaves }),
      enters !== null && svg("line", { class: kind, x1: x, x2: width - 4, y1: enters, y2: enters }), enters !== null && svg("polygon", { class: "head", points: `${width - 6},${enters - 3} ${width},${enters} ${width - 6},${enters + 3}` })].filter(Boolean);
  });
}

function instructions(loop) {
  const critical = steps(loop), most = Math.max(1e-9, ...loop.instructions.map((i) => i.pressure)), drawn = lanes(loop);
  const gutter = (row) => h("td", { class: "lanes" }, svg("svg", { width: drawn.width, height: LANE_HEIGHT, "aria-hidden": "true" }, strokes(drawn, row)));
  return h("section", null, h("h4", null, "Instructions: pressure on the units that bound it most, and the critical circuit"),
    h("div", { class: "table" }, h("table", null, h("tbody", null, loop.instructions.map((instruction, i) =>
      h("tr", { class: critical.has(i) ? "match" : "" }, h("td", { class: "figure" }, i + 1), gutter(i), h("td", { class: "text" }, h("code", null, instruction.instruction)),
        h("td", { class: "figure" }, instruction.pressure ? cycles(instruction.pressure) : ""), h("td", null, instruction.pressure ? bar(instruction.pressure / most) : ""),
        h("td", { class: "text" }, critical.get(i)?.join("; ") ?? ""), h("td", { class: "text" }, h("span", { class: "place" }, instruction.line ? place(instruction) : ""))))))));
}

function resources(loop) {
  const rows = [...loop.ports].sort((a, b) => b.cycles - a.cycles), most = Math.max(1e-9, loop.predicted);
  return h("section", null, h("h4", null, "Resources"), h("div", { class: "table" }, h("table", null, h("tbody", null, rows.map((row) =>
    h("tr", { class: row.bottleneck && loop.limit === "resource" ? "match" : "" }, h("td", { class: "text" }, row.name), h("td", { class: "figure" }, cycles(row.copies)), h("td", { class: "figure" }, cycles(row.cycles)),
      h("td", null, bar(row.cycles / most))))))));
}

const MEMORY = { uniform: "all loads hit", compulsory: "first touches of lines miss", caches: "caches simulated", reuse: "as reuse distances let expect" };

function models(schedule) {
  const { iterations, instructions, inside, windows } = schedule, most = Math.max(1e-9, ...schedule.models.map((model) => model.machine ?? model.units));
  const columns = [["by dependences alone", "data_flow"], ["with the units", "units"], ["with the reorder buffer", "machine"]];
  return [h("p", { class: "note" }, `Of ${iterations.toLocaleString("en")} iterations in ${several(windows, "window")}, ${instructions.toLocaleString("en")} instructions, ` +
    `${percent(inside / instructions)} of them in the loop and what it calls; each as soon as possible.` + (schedule.models[0].machine === null ? " How far this machine looks ahead is not known." : "")),
  h("div", { class: "table" }, h("table", null, h("tbody", null, schedule.models.flatMap((model) => columns.filter(([, key]) => model[key] !== null).map(([title, key], i) =>
    h("tr", null, h("td", { class: "text" }, i ? "" : MEMORY[model.memory] ?? model.memory), h("td", { class: "text" }, title), h("td", { class: "figure" }, cycles(model[key])), h("td", null, bar(model[key] / most))))))))];
}

function uses(schedule) {
  return h("div", { class: "table" }, h("table", null, h("tbody", null, schedule.units.map((unit) =>
    h("tr", null, h("td", { class: "text" }, unit.name), h("td", { class: "figure" }, cycles(unit.cycles)), h("td", { class: "figure" }, percent(unit.ratio)), h("td", null, bar(Math.min(1, unit.ratio))))))));
}

const SCALE = 13, ROW = 17, NAMES = 150, MOST_CYCLES = 200;

// Time goes to the right, a row a unit; what needs none, or waits for nothing, is in the last. A box is the cycle in which the unit begins, the line behind it reaches to the result.
function picture(schedule) {
  const shown = schedule.operations.filter((operation) => operation.begins < MOST_CYCLES);
  const rows = [...schedule.units.map((unit) => unit.name).filter((name) => shown.some((operation) => operation.unit === name)), null];
  const ends = Math.min(MOST_CYCLES, Math.max(1, ...shown.map((operation) => operation.ends))), width = NAMES + SCALE * (ends + 1), height = ROW * (rows.length + 1);
  const x = (cycle) => (NAMES + SCALE * Math.min(cycle, ends)).toFixed(1), ticks = [];
  for (let cycle = 0; cycle <= ends; cycle += 10) ticks.push(svg("line", { class: "grid", x1: x(cycle), x2: x(cycle), y1: 0, y2: ROW * rows.length }), svg("text", { class: "tick", x: x(cycle), y: height - 4, "text-anchor": "middle" }, cycle));
  return h("div", { class: "schedule" }, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "the schedule of the first iterations" }, ticks,
    rows.map((name, i) => svg("text", { class: "tick", x: NAMES - 6, y: ROW * i + 12, "text-anchor": "end" }, name === null ? "no unit" : name.length > 20 ? `${name.slice(0, 19)}…` : name)),
    shown.map((operation) => {
      const y = ROW * Math.max(0, rows.indexOf(rows.includes(operation.unit) ? operation.unit : null));
      return svg("g", { class: operation.iteration % 2 ? "operation" : "operation even" },
        svg("line", { x1: x(operation.begins), x2: x(operation.ends), y1: y + ROW - 4, y2: y + ROW - 4 }), svg("rect", { x: x(operation.begins), y: y + 2, width: SCALE - 2, height: ROW - 6 }),
        svg("title", null, `${operation.instruction}${operation.kind === "compute" ? "" : `, ${operation.kind}`}; iteration ${operation.iteration}, cycle ${cycles(operation.begins)} to ${cycles(operation.ends)}${operation.line ? `; ${place(operation)}` : ""}`));
    })));
}

function executed(loop) {
  const { schedule } = loop;
  return schedule && h("section", null, h("h4", null, "Optimistic schedule of what it executed, cycles an iteration"), models(schedule), h("h4", null, "Use of its units"), uses(schedule),
    schedule.operations.length > 0 && [h("h4", null, "Its first iterations, cycle by cycle"), picture(schedule)]);
}

function detail(loop, app) {
  return h("div", { class: "detail" }, h("h3", null, nameSpan(loopName(loop)), " ", h("span", { class: "place" }, loop.line ? place(loop) : loop.address), " ",
    h("button", { class: "copy", onclick: () => app.copy(loop.function ?? "") }, "copy name")),
  h("p", { class: "advice" }, loop.verdict), loop.advice && h("p", { class: "advice" }, loop.advice.text), bounds(loop, app.data.report.limits.model === "table"), instructions(loop), executed(loop), resources(loop));
}

function entry(loop, index, chosen, app) {
  return h("li", { class: [index === chosen ? "selected" : "", app.state.q !== "" && app.matches(loopName(loop)) ? "match" : ""].join(" "), onclick: () => app.set({ line: index }) },
    h("div", { class: "rank" }, h("b", null, cycles(loop.predicted)), h("span", { class: "tag" }, loop.advice?.id === "limits.misses" ? "memory" : BOUNDS[loop.limit]), loop.share === null ? null : h("span", { class: "tag" }, percent(loop.share))),
    h("div", { class: "end" }, nameSpan(loopName(loop))), h("div", { class: "by" }, loop.line ? place(loop) : loop.address));
}

export function renderLimits(root, app) {
  const { limits } = app.data.report, loops = limits.loops ?? [];
  const chosen = loops[app.state.line] ? app.state.line : 0;
  root.append(h("div", { class: "bar-of-choices" }, h("span", { class: "note" }, `${limits.title}, ${limits.model === "measured" ? "measured" : "from tables"}.`)));
  if (!loops.length) {
    root.append(h("p", { class: "note" }, "No loop was bounded."));
    return {};
  }
  root.append(h("div", { class: "two" }, h("div", { class: "left" }, h("ol", { class: "pairs" }, loops.map((loop, i) => entry(loop, i, chosen, app)))), detail(loops[chosen], app)));
  return {
    ...listKeys(loops, chosen, (line) => app.set({ line }), (loop) => app.matches(loopName(loop))),
    name: () => loopName(loops[chosen]),
  };
}
