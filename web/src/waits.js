// SPDX-License-Identifier: MIT
// What threads waited for: the function that waits, from where, who held the lock, and the source there.
import { h, nameSpan } from "./dom.js";
import { count, percent, place, several, time } from "./format.js";
import { excerpt } from "./source.js";
import { bar, listKeys } from "./table.js";

const CAUSES = { lock: "a lock", condition: "another thread's signal", imbalance: "the slowest thread", io: "input and output", allocator: "the allocator" };

const caller = (wait) => ({ function: wait.caller, file: wait.file, line: wait.line });

const names = (wait) => [wait.function, wait.caller, wait.holder].filter(Boolean);

function entry(wait, index, chosen, app) {
  return h("li", { class: [index === chosen ? "selected" : "", names(wait).some(app.matches) ? "match" : ""].join(" "), onclick: () => app.set({ wait: index }) },
    h("div", { class: "rank" }, h("b", null, percent(wait.share)), bar(wait.share), h("span", { class: "tag" }, CAUSES[wait.cause] ?? wait.cause)),
    h("div", { class: "end" }, nameSpan(wait.function)),
    wait.caller ? h("div", { class: "by" }, `from ${place(caller(wait))} `, nameSpan(wait.caller)) : null,
    wait.holder ? h("div", { class: "by" }, "held most by ", nameSpan(wait.holder)) : null);
}

function detail(wait, app) {
  const facts = [["share of the threads' time", percent(wait.share)], ["lost", time(wait.lost_ns)], ["executions", count(wait.count)], ["waits for", CAUSES[wait.cause] ?? wait.cause]];
  return h("div", { class: "detail" },
    h("h3", null, nameSpan(wait.function), " ", h("button", { class: "copy", onclick: () => app.copy(wait.function) }, "copy name")),
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    wait.advice && h("p", { class: "advice" }, wait.advice.text),
    h("section", { class: "side" },
      h("h3", null, wait.caller ? ["Called by ", nameSpan(wait.caller)] : "Its caller is not known", wait.holder ? [", held most by ", nameSpan(wait.holder)] : null),
      excerpt(wait.file, wait.line)));
}

export function renderWaits(root, app) {
  const waits = app.data.report.run.waiting ?? [];
  const chosen = waits[app.state.wait] ? app.state.wait : 0;
  root.append(
    h("div", { class: "bar-of-choices" }, h("span", { class: "note" }, `${several(waits.length, "wait")}, beyond the fastest execution of each: wall-clock time, which is in none of the findings.`)),
    waits.length ? h("div", { class: "two" }, h("div", { class: "left" }, h("ol", { class: "pairs" }, waits.map((wait, i) => entry(wait, i, chosen, app)))), detail(waits[chosen], app))
      : h("p", { class: "note" }, "Nothing was found."));
  return {
    ...listKeys(waits, chosen, (wait) => app.set({ wait }), (wait) => names(wait).some(app.matches)),
    name: () => waits.length && waits[chosen].function,
  };
}
