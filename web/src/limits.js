// SPDX-License-Identifier: MIT
// Loops and what bounds them: bounds side by side, the instructions with the units' pressure, and the critical circuit drawn beside them.
import { h, nameSpan } from "./dom.js";
import { percent, place, several } from "./format.js";
import { bar } from "./table.js";

const BOUNDS = { recurrence: "recurrence", resource: "units", frontend: "front end", memory: "not seen" };
const KINDS = { load: "loads", compute: "computes", store: "stores" };

const cycles = (value) => (value === null || value === undefined ? "" : Number(value.toPrecision(4)).toString());

const loopName = (loop) => (loop.level ? `-${loop.level}: ` : "") + (loop.function ?? "the block");

function bounds(loop) {
  const most = Math.max(loop.predicted, loop.measured ?? 0, 1e-9);
  const rows = [["recurrence", loop.bounds.recurrence], ["units", loop.bounds.resource], ["front end", loop.bounds.frontend], ["certified", loop.certified], ["predicted", loop.predicted],
    loop.measured !== null && ["measured", loop.measured]].filter(Boolean);
  const how = loop.measured === null ? null : h("p", { class: "note" }, `Measured, within ${percent(loop.measured_error)}: CPU time of samples` +
    (loop.iterations === null ? "" : ` over ${loop.iterations.toLocaleString("en")} iterations, counted in another run`) + (loop.ways > 1 ? "; the mean of all ways through it." : "."));
  return h("section", null, h("h4", null, "Cycles an iteration, at least"), how, h("div", { class: "table" }, h("table", null, h("tbody", null, rows.map(([name, value]) =>
    h("tr", null, h("td", { class: "text" }, name), h("td", { class: "figure" }, cycles(value)), h("td", null, bar(value / most))))))));
}

// Which instructions the circuit goes through, and where to: "1 → 3", the last one back to the first after so many iterations.
function steps(loop) {
  const at = new Map();
  loop.circuit.forEach((step, i) => {
    const next = loop.circuit[(i + 1) % loop.circuit.length];
    const text = `${KINDS[step.kind]}, ${cycles(step.latency)} cycles, then ${next.index + 1}${step.distance ? ` ${several(step.distance, "iteration")} later` : ""}`;
    at.set(step.index, [...(at.get(step.index) ?? []), text]);
  });
  return at;
}

function instructions(loop) {
  const critical = steps(loop), most = Math.max(1e-9, ...loop.instructions.map((i) => i.pressure));
  return h("section", null, h("h4", null, "Instructions: pressure on the units that bound it most, and the critical circuit"),
    h("div", { class: "table" }, h("table", null, h("tbody", null, loop.instructions.map((instruction, i) =>
      h("tr", { class: critical.has(i) ? "match" : "" }, h("td", { class: "figure" }, i + 1), h("td", { class: "text" }, h("code", null, instruction.instruction)),
        h("td", { class: "figure" }, instruction.pressure ? cycles(instruction.pressure) : ""), h("td", null, instruction.pressure ? bar(instruction.pressure / most) : ""),
        h("td", { class: "text" }, critical.get(i)?.join("; ") ?? ""), h("td", { class: "text" }, h("span", { class: "place" }, instruction.line ? place(instruction) : ""))))))));
}

function resources(loop) {
  const rows = [...loop.ports].sort((a, b) => b.cycles - a.cycles), most = Math.max(1e-9, loop.predicted);
  return h("section", null, h("h4", null, "Resources"), h("div", { class: "table" }, h("table", null, h("tbody", null, rows.map((row) =>
    h("tr", { class: row.bottleneck ? "match" : "" }, h("td", { class: "text" }, row.name), h("td", { class: "figure" }, cycles(row.copies)), h("td", { class: "figure" }, cycles(row.cycles)),
      h("td", null, bar(row.cycles / most))))))));
}

function detail(loop, app) {
  return h("div", { class: "detail" }, h("h3", null, nameSpan(loopName(loop)), " ", h("span", { class: "place" }, loop.line ? place(loop) : loop.address), " ",
    h("button", { class: "copy", onclick: () => app.copy(loop.function ?? "") }, "copy name")),
  h("p", { class: "advice" }, loop.verdict), loop.advice && h("p", { class: "advice" }, loop.advice.text), bounds(loop), instructions(loop), resources(loop));
}

function entry(loop, index, chosen, app) {
  return h("li", { class: [index === chosen ? "selected" : "", app.state.q !== "" && app.matches(loopName(loop)) ? "match" : ""].join(" "), onclick: () => app.set({ line: index }) },
    h("div", { class: "rank" }, h("b", null, cycles(loop.predicted)), h("span", { class: "tag" }, BOUNDS[loop.limit]), loop.share === null ? null : h("span", { class: "tag" }, percent(loop.share))),
    h("div", { class: "end" }, nameSpan(loopName(loop))), h("div", { class: "by" }, loop.line ? place(loop) : loop.address));
}

export function renderLimits(root, app) {
  const { limits } = app.data.report, loops = limits.loops ?? [];
  const chosen = loops[app.state.line] ? app.state.line : 0;
  const to = (index) => {
    app.set({ line: Math.min(Math.max(index, 0), loops.length - 1) });
    return true;
  };
  root.append(h("div", { class: "bar-of-choices" }, h("span", { class: "note" }, `${limits.title}, ${limits.model === "measured" ? "measured" : "from tables"}.`)));
  if (!loops.length) {
    root.append(h("p", { class: "note" }, "No loop was bounded."));
    return {};
  }
  root.append(h("div", { class: "two" }, h("div", { class: "left" }, h("ol", { class: "pairs" }, loops.map((loop, i) => entry(loop, i, chosen, app)))), detail(loops[chosen], app)));
  return {
    key: (event) => (event.key === "ArrowDown" ? to(chosen + 1) : event.key === "ArrowUp" ? to(chosen - 1) : false),
    next: (direction) => {
      for (let i = 1; i <= loops.length; i++) {
        const at = (chosen + direction * i + loops.length * i) % loops.length;
        if (app.matches(loopName(loops[at]))) return to(at);
      }
      return false;
    },
    name: () => loopName(loops[chosen]),
  };
}
