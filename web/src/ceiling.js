// SPDX-License-Identifier: MIT
// Hot loops as they are and with all their data in the first-level cache; why the others could not be tried.
import { h, nameSpan } from "./dom.js";
import { percent, place, several } from "./format.js";
import { bar, listKeys } from "./table.js";

const cycles = (value) => (value === null ? "" : Number(value.toPrecision(4)).toString());

const variants = [["l2", "in the second-level cache"], ["l3", "in the third-level cache"], ["ls", "loads and stores alone"], ["fp", "arithmetic alone"]];

function tag(loop) {
  if (!loop.eligible) return loop.reason;
  if (loop.gap !== null) return `${percent(Math.max(0, loop.gap))} less`;
  return loop.short ? "ceiling alone" : "no trial";
}

function missing(loop) {
  if (!loop.eligible) return `Not measured: it ${loop.reason}${loop.reason_line ? ` (${place({ file: loop.reason_file, line: loop.reason_line })})` : ""}.`;
  if (loop.short) return "Not measured: each execution is so short that the stop before it would show.";
  return loop.trials_discarded ? "Not measured: no trial came to its end undisturbed." : "Not measured: the program ended, or left the loop, before a trial.";
}

function figures(loop) {
  const rows = [["as it is", loop.cycles], ["in the first-level cache", loop.l1_cycles], ...variants.map(([id, name]) => [name, loop.variants?.[id]?.cycles ?? null])].filter(([, value]) => value !== null), most = Math.max(1e-9, ...rows.map(([, value]) => value));
  return rows.length > 0 && h("section", null, h("h4", null, "Cycles an iteration"), h("div", { class: "table" }, h("table", null, h("tbody", null, rows.map(([name, value]) =>
    h("tr", null, h("td", { class: "text" }, name), h("td", { class: "figure" }, cycles(value)), h("td", null, bar(value / most))))))));
}

// Variants that were asked for and are not in the table.
function lacking(loop) {
  return variants.filter(([id]) => loop.variants?.[id] && loop.variants[id].cycles === null).map(([id, name]) => {
    const { part, reason } = loop.variants[id];
    return h("p", { class: "note" }, part === null ? `Not tried: ${name}, because ${reason ?? "no trial came to its end"}.` : `${name}: ${percent(part)} of its time.`);
  });
}

function detail(loop, app) {
  const [low, high] = loop.gap_quartiles;
  return h("div", { class: "detail" }, h("h3", null, nameSpan(loop.function), " ", h("span", { class: "place" }, loop.line ? place(loop) : loop.address), " ",
    h("button", { class: "copy", onclick: () => app.copy(loop.function) }, "copy name")),
  h("p", { class: "advice" }, loop.gap === null ? missing(loop) : `With all accesses in the first-level cache it would take ${percent(Math.max(0, loop.gap))} less time: ` +
    `${percent(Math.max(0, loop.gap) * loop.share)} of the CPU time at most.`),
  loop.advice && h("p", { class: "advice" }, loop.advice.text), figures(loop), lacking(loop),
  loop.gap !== null && h("p", { class: "note" }, `${several(loop.trials, "trial")}, half of them from ${percent(Math.max(0, low))} to ${percent(Math.max(0, high))}` +
    (loop.iterations === null ? "." : `; ${cycles(loop.iterations)} iterations a time.`)));
}

function entry(loop, index, chosen, app) {
  return h("li", { class: [index === chosen ? "selected" : "", app.state.q !== "" && app.matches(loop.function) ? "match" : ""].join(" "), onclick: () => app.set({ line: index }) },
    h("div", { class: "rank" }, h("b", null, percent(loop.share)), h("span", { class: "tag" }, tag(loop))),
    h("div", { class: "end" }, nameSpan(loop.function)), h("div", { class: "by" }, loop.line ? place(loop) : loop.address));
}

export function renderCeiling(root, app) {
  const { ceiling } = app.data.report, { loops } = ceiling, all = Math.max(ceiling.cpu_s, 1e-9);
  const chosen = loops[app.state.line] ? app.state.line : 0;
  root.append(h("p", { class: "note" }, `${ceiling.named ? "The innermost loops that were named" : "Innermost loops"} take ${percent(ceiling.innermost_s / all)} of the CPU time, those that can be measured ${percent(ceiling.eligible_s / all)}, those that were ` +
    `${percent(ceiling.measured_s / all)}. ` + (ceiling.upper_bound === null ? "What their locality costs is therefore not known." :
      `With all their data in the first-level cache the program would take ${percent(ceiling.upper_bound)} less CPU time${ceiling.named ? "." : ": better locality cannot save more."}`)));
  if (!loops.length) return {};
  root.append(h("div", { class: "two" }, h("div", { class: "left" }, h("ol", { class: "pairs" }, loops.map((loop, i) => entry(loop, i, chosen, app)))), detail(loops[chosen], app)));
  return {
    ...listKeys(loops, chosen, (line) => app.set({ line }), (loop) => app.matches(loop.function)),
    name: () => loops[chosen].function,
  };
}
