// SPDX-License-Identifier: MIT
// What changed since another profile: the figures of both, and the findings that changed, as
// `headroom diff` identifies them.
import { contextList, findingsOf, KINDS as PAIRS } from "./context.js";
import { h, nameSpan } from "./dom.js";
import { amount, bytes, count, functionName, percent, place, several, time } from "./format.js";
import { table } from "./table.js";

const KINDS = {
  dead: { ...PAIRS.dead, unit: "bytes", whole: "the bytes stored" },
  silent: { ...PAIRS.silent, unit: "bytes", whole: "the bytes stored" },
  load: { ...PAIRS.load, unit: "bytes", whole: "the bytes loaded" },
  reuse: { ...PAIRS.reuse, unit: "count", whole: "the reuses" },
  "false-sharing": { label: "false sharing", ends: ["one", "other"], unit: "count", whole: "the transfers" },
  "true-sharing": { label: "true sharing", ends: ["one", "other"], unit: "count", whole: "the transfers" },
  path: { label: "paths", unit: "count", whole: "the instructions" },
  block: { label: "time lost", unit: "ns", whole: "the threads' time" },
};

const SHOW = { share: percent, bytes, count, s: (value) => time(value * 1e9) };

const signed = (value, text) => (value > 0 ? `+${text}` : text);

function points(difference) {
  const digits = difference !== 0 && Math.abs(difference) < 0.001 ? 3 : 1;
  return signed(difference, `${(100 * difference).toFixed(digits)} points`);
}

// ---- a change -------------------------------------------------------------------------------------

const contextsOf = (change) => [change.first ?? change.use, change.second ?? change.reuse];

// What the row says of each end: of a path or a span there is one, and of a whole kind none.
function endsOf(change) {
  if (change.all) return [null, null];
  const contexts = contextsOf(change);
  return contexts[0] ? contexts.map((context) => context[0] ?? { function: null }) : [{ function: change.name, file: change.file, line: change.line }, null];
}

const nameOf = (frame) => (frame ? functionName(frame) : "");

const isSample = (changes) => !changes.exact;

const valuesOf = (change, changes) => (isSample(changes) ? change.share : change.amount);

const shown = (change, changes, value) => (isSample(changes) ? percent(value) : amount(value, KINDS[change.kind].unit));

const difference = (change, changes) => valuesOf(change, changes)[1] - valuesOf(change, changes)[0];

function differenceText(change, changes) {
  const by = difference(change, changes);
  return isSample(changes) ? points(by) : signed(by, amount(by, KINDS[change.kind].unit));
}

const verdictOf = (change, changes) => (change.tested || changes.exact ? change.verdict : "differs");

function significance(change, changes) {
  if (changes.exact) return "counted";
  if (!change.tested) return "not tested";
  return change.p < 1e-4 ? "p < 0.0001" : `p ${change.p.toPrecision(2)}`;
}

const UNTESTED = 2; // behind every probability when sorted

const wholeOf = (change, changes) => (change.kind === "reuse" && changes.exact ? "the distance" : KINDS[change.kind].whole);

const shares = (change, changes) => `${percent(change.share[0])} → ${percent(change.share[1])} of ${wholeOf(change, changes)}`;

// ---- where the later profile has it ---------------------------------------------------------------

const keyOf = (kind, left, right) => JSON.stringify([kind, left, right]);

// What the page knows does not distinguish two that read the same: then there is no link.
function add(known, key, target) {
  known.set(key, known.has(key) ? null : target);
}

function targetsOf(report) {
  const known = new Map();
  const addPairs = (kind, all, [left, right]) => findingsOf(all).forEach((pair, index) =>
    (pair.contexts?.length ? pair.contexts : [pair]).forEach((one) => add(known, keyOf(kind, one[left], one[right]), { view: "pairs", kind, pair: index })));
  for (const [kind, all] of Object.entries(report.waste ?? {})) addPairs(kind, all, ["first", "second"]);
  addPairs("reuse", report.reuse, ["use", "reuse"]);
  (report.paths?.paths ?? []).forEach((path, index) => add(known, keyOf("path", `${path.function}, path ${path.number}`), { view: "paths", path: index }));
  for (const kind of ["blocks", "idle", "unscored"])
    (report.interference?.[kind] ?? []).forEach((span, index) => add(known, keyOf("block", span.key ? `${span.function}, ${span.key}` : span.function), { view: "blocks", kind, block: index }));
  return known;
}

let known = null;

// null: the later profile has no such finding, or its page does not list it.
function targetOf(change, report) {
  known ??= targetsOf(report);
  if (change.all || change.verdict === "vanished") return null;
  const [left, right] = contextsOf(change);
  return known.get(left ? keyOf(change.kind, left, right) : keyOf(change.kind, change.name)) ?? null;
}

const WORDS = { pairs: "pair", paths: "path", blocks: "span" };

// ---- drawing --------------------------------------------------------------------------------------

const cell = (frame) => frame && h("div", { class: "end", title: `${nameOf(frame)}${place(frame) ? `  ${place(frame)}` : ""}` },
  nameSpan(nameOf(frame)), " ", h("span", { class: "place" }, place(frame)));

const columnsOf = (changes) => [
  { id: "verdict", label: "verdict", text: true, value: (c) => verdictOf(c, changes), show: (c) => h("span", { class: `verdict ${difference(c, changes) > 0 ? "more" : "less"}` }, verdictOf(c, changes)) },
  { id: "kind", label: "kind", text: true, value: (c) => KINDS[c.kind].label },
  { id: "first", label: "first place", text: true, value: (c) => nameOf(endsOf(c)[0]), show: (c) => (c.all ? h("span", { class: "place" }, "all findings of this kind") : cell(endsOf(c)[0])) },
  { id: "second", label: "second place", text: true, value: (c) => nameOf(endsOf(c)[1]), show: (c) => cell(endsOf(c)[1]) },
  { id: "before", label: "before", value: (c) => valuesOf(c, changes)[0], show: (c) => shown(c, changes, valuesOf(c, changes)[0]) },
  { id: "after", label: "after", value: (c) => valuesOf(c, changes)[1], show: (c) => shown(c, changes, valuesOf(c, changes)[1]) },
  { id: "change", label: "change", title: isSample(changes) ? "of the share" : null, value: (c) => difference(c, changes), show: (c) => differenceText(c, changes) },
  { id: "significance", label: "significance", title: "probability of so large a difference by chance", value: (c) => (changes.exact ? 0 : c.tested ? c.p : UNTESTED), show: (c) => significance(c, changes) },
];

function method({ exact, verb, level }) {
  if (exact) return "Everything was counted: any difference is real.";
  if (verb === "interference") return "One run each does not show how much these times vary from run to run: no difference is called significant.";
  return `Samples: only significant differences are listed. Of comparisons in which nothing has changed, at most ${Number((100 * level).toPrecision(3))} % list any.`;
}

const recording = (name, side) => h("div", null, h("dt", null, name), h("dd", { title: side.command.join(" ") }, side.profile, " ", h("span", { class: "place" }, side.command.join(" "))));

function head(changes) {
  return h("div", { class: "compared" },
    h("dl", { class: "facts" }, recording("before", changes.before), recording("after", changes.after)),
    h("p", { class: "note" }, method(changes), changes.changes.length ? ` ${several(changes.changes.length, "change")} of ${several(changes.compared, "finding")}.` : ""));
}

function interval(unit, side) {
  return side.low === undefined ? null : `${SHOW[unit](side.low)} to ${SHOW[unit](side.high)}`;
}

function figureRow({ name, unit, before, after }) {
  const few = before.too_few_samples || after.too_few_samples;
  const by = few ? NaN : after.value - before.value;
  const change = few ? "too few samples" : by === 0 ? "=" : unit === "share" ? points(by) : signed(by, SHOW[unit](by));
  const relative = few || by === 0 || !(before.value > 0) ? "" : signed(by, `${((100 * by) / before.value).toFixed(1)} %`);
  return h("tr", null, h("td", { class: "text" }, name),
    [before, after].map((side) => h("td", { class: "figure", title: interval(unit, side) }, side.too_few_samples ? "—" : SHOW[unit](side.value))),
    h("td", { class: "figure" }, change), h("td", { class: "figure" }, relative));
}

function figures(changes) {
  return h("section", { class: "side figures" }, h("h3", null, "The whole run"), h("div", { class: "table" }, h("table", null,
    h("thead", null, h("tr", null, ["figure", "before", "after", "change", "relative"].map((t, i) => h("th", { class: i ? "figure" : "text" }, t)))),
    h("tbody", null, changes.figures.map(figureRow)))));
}

function context(title, frames, app) {
  return h("section", { class: "side" }, h("h3", null, title), contextList(frames, (f) => ({ class: app.matches(functionName(f)) ? "match" : "" })));
}

function way(change, target, open) {
  if (target) return h("button", { class: "way-there", onclick: open }, `Show the ${WORDS[target.view]}`);
  if (change.all) return null;
  return h("span", { class: "note" }, change.verdict === "vanished" ? "The later profile does not contain it." : "It is not among the findings in this page.");
}

function detail(change, changes, app, open) {
  const contexts = contextsOf(change), [frame] = endsOf(change);
  const ends = contexts[0] ? contexts.map((frames, i) => context(KINDS[change.kind].ends[i], frames, app)) : null;
  const one = !contexts[0] && h("section", { class: "side" }, h("h3", null, frame ? nameOf(frame) : `All ${KINDS[change.kind].label}`), frame && h("p", { class: "place" }, place(frame)));
  return h("div", { class: "detail" },
    h("div", { class: "chosen-change" }, h("b", null, verdictOf(change, changes)), h("span", null, shares(change, changes)),
      change.drifted && h("span", { class: "tag" }, "lines have moved"), way(change, targetOf(change, app.data.report), open)),
    h("div", { class: "sides" }, ends ?? one, figures(changes)));
}

export function renderChanges(root, app) {
  const { changes } = app.data, rows = changes.changes;
  root.append(head(changes));
  if (!rows.length) {
    root.append(h("p", { class: "note" }, `No finding appeared, vanished, grew or shrank${changes.exact ? "" : " significantly"}.`), h("div", { class: "detail" }, figures(changes)));
    return {};
  }
  const chosen = rows[app.state.change] ? app.state.change : 0;
  const matches = (c) => [...contextsOf(c).flatMap((frames) => frames ?? []), ...endsOf(c).filter(Boolean)].some((f) => app.matches(functionName(f)));
  const select = (change) => app.set({ change });
  // The way back is the browser's.
  const open = (index) => {
    const target = targetOf(rows[index], app.data.report);
    select(index);
    if (target) app.follow(target);
  };
  const list = table({ columns: columnsOf(changes), rows, sort: app.state.sort, onSort: (sort) => app.set({ sort }), selected: chosen, onSelect: select, onOpen: open, leads: (c) => Boolean(targetOf(c, app.data.report)), matches });
  root.append(h("div", { class: "stacked" }, h("div", { class: "left" }, list.element), detail(rows[chosen], changes, app, () => open(chosen))));
  return {
    key: (event) => (event.key === "Enter" ? (open(chosen), true) : list.key(event)),
    next: list.next,
    name: () => nameOf(endsOf(rows[chosen])[0]),
    share: () => `${rows.filter(matches).length} of ${several(rows.length, "change")}`,
  };
}
