// SPDX-License-Identifier: MIT
// Pairs of places: a ranked list, and of the chosen one both sources and both contexts side by side.
import { contextList, findingsOf, KINDS } from "./context.js";
import { h, nameSpan } from "./dom.js";
import { bytes, count, functionName, percent, place, several, shortName } from "./format.js";
import { excerpt, highlighted, sourceLine } from "./source.js";
import { bar, listKeys } from "./table.js";

const WASTED = {
  dead: "of what was stored was overwritten before anything read it",
  silent: "of what was stored left the value unchanged",
  load: "of what was loaded had been loaded before, unchanged",
};

// Most reliable and largest first: that is what opens.
const kindsOf = (waste) => Object.entries(waste ?? {}).filter(([id]) => WASTED[id]).sort(([, a], [, b]) =>
  Boolean(a.too_few_samples) - Boolean(b.too_few_samples) || (b.fraction ?? -1) - (a.fraction ?? -1));

// Weights of samples are no amounts: only what was counted is shown in bytes.
function wasteFacts(pair, kind, exact) {
  return [["share of this waste", kind.too_few_samples ? "too few samples" : interval(pair.share, pair.ci95)],
    exact && ["wasted", bytes(pair.waste_bytes)], exact && ["used", bytes(pair.use_bytes)],
    pair.reach && ["repeats", pair.reach],
    pair.waste_traps ? ["seen", several(pair.waste_traps, "time")] : null, pair.kernel_traps && !exact ? ["by the kernel", pair.kernel_traps] : null].filter(Boolean);
}

// How far the figures can be relied on; as in the text report.
function wasteMarks(pair, id, kind, report) {
  const exact = report.engine === "exact", sameLine = same(leaf(pair.first), leaf(pair.second));
  return [kind.too_few_samples && "too few samples",
    !exact && !kind.too_few_samples && pair.waste_traps < FEW && `weak evidence: seen ${several(pair.waste_traps, "time")}`,
    pair.likely_traps * 4 > pair.traps && !sameLine && "second line approximate",
    nearMark(pair, id, report.fp_tolerance),
    pair.overhead && `register pressure and call overhead: ${pair.overhead}`].filter(Boolean);
}

// How much is equal within the tolerance only; earlier profiles know how often it was a floating-point value.
function nearMark(pair, id, tolerance) {
  const known = pair.near_bytes > 0 ? Math.min(1, pair.near_bytes / pair.waste_bytes) : Number(pair.float_traps * 2 > pair.traps);
  const share = id === "dead" || !(pair.waste_bytes > 0) ? 0 : known, within = `equal within ${Number((100 * tolerance).toPrecision(3))} %`;
  return share >= 0.995 ? `values ${within}` : share >= 0.005 ? `${Math.round(100 * share)} % of it values ${within}` : null;
}

function wasteGroups(report) {
  return kindsOf(report.waste).map(([id, kind]) => ({
    id, ...KINDS[id], total: kind.findings_total ?? kind.pairs_total,
    head: kind.fraction === null ? "Nothing was decided." :
      `${percent(kind.fraction)} ${WASTED[id]}${kind.too_few_samples ? "; too few samples to rely on" : ""}.`,
    pairs: findingsOf(kind).map((pair) => ({ raw: pair, share: pair.share, left: pair.first, right: pair.second,
      facts: wasteFacts(pair, kind, report.engine === "exact"), marks: wasteMarks(pair, id, kind, report) })),
  }));
}

const FEW = 5; // seen less often, a share may be luck: as in the text report

const interval = (share, ci) => (ci && ci[0] !== ci[1] ? `${percent(share)} (${percent(ci[0])} to ${percent(ci[1])})` : percent(share));

function reuseGroup({ reuse, engine }) {
  if (!reuse) return [];
  const beyond = reuse.ranked_beyond_bytes;
  return [{ id: "reuse", ...KINDS.reuse, total: reuse.findings_total ?? reuse.pairs_total,
    head: beyond ? "Pairs of places, ordered by the cache misses that they could save." : "Pairs of places, farthest first.",
    pairs: findingsOf(reuse).map((pair) => ({ raw: pair, share: pair.far_share || pair.share, left: pair.use, right: pair.reuse,
      marks: engine === "live" && pair.count < FEW ? [`weak evidence: seen ${several(pair.count, "time")}`] : [],
      facts: [["share of the misses", percent(pair.far_share)], ["share of reuses", interval(pair.share, pair.ci95)], ["reuses", count(pair.reuses)],
        ["mean time distance", `${count(pair.time_mean)} accesses`],
        pair.stack_mean !== null ? ["mean stack distance", `${count(pair.stack_mean)} ${reuse.unit}s`] : null,
        ...pair.saves.map((s) => [`misses of ${bytes(s.bytes)} without them`, `${percent(s.ratio)} → at least ${percent(s.ratio_without)}`])].filter(Boolean) })) }];
}

export const groupsOf = (report) => [...wasteGroups(report), ...reuseGroup(report)];

const leaf = (context) => context[0] ?? { function: null, file: null, line: null };

const same = (a, b) => a.function === b.function && a.file === b.file && a.line === b.line && (a.line || a.address === b.address);

// How many of the outermost frames both contexts have.
function commonFrames(left, right) {
  let common = 0;
  while (common < left.length && common < right.length && same(left[left.length - 1 - common], right[right.length - 1 - common])) common++;
  return common;
}

// What the system's code does for the program nobody can change: the innermost frame of own code, as in the report; if there is none,
// the nearest caller with source.
export function telling(context) {
  const own = context.findIndex((frame) => !frame.system);
  return Math.max(0, own >= 0 ? own : context.findIndex((frame) => sourceLine(frame.file, frame.line) !== undefined));
}

// One end: the source of the chosen frame, and below it the context, innermost first.
function side(title, context, common, app) {
  const source = h("div"), list = h("div"), own = context.length - common;
  const choose = (chosen) => {
    const frame = context[chosen] ?? leaf(context);
    source.replaceChildren(excerpt(frame.file, frame.line));
    list.replaceChildren(contextList(context, (f, i) => ({
      class: [i === chosen ? "chosen" : "", i >= own ? "common" : "", app.matches(functionName(f)) ? "match" : ""].join(" "), onclick: () => choose(i) })));
  };
  choose(telling(context));
  return h("section", { class: "side" },
    h("h3", null, title, " ", h("button", { class: "copy", title: "Copy the function's name", onclick: () => app.copy(functionName(leaf(context))) }, "copy name")),
    source, h("h4", null, "Calling context", common && common < context.length ? "; dimmed: the same at both ends" : ""), list);
}

function loopText(loop) {
  return `${shortName(loop.function ?? "?")} ${loop.file ? place(loop) : ""}`;
}

const markTag = (text) => h("span", { class: "tag mark" }, text);

function remarks(pair) {
  const { advice, ancestor, loops } = pair.raw;
  return [
    pair.marks.length > 0 && h("p", { class: "marks" }, pair.marks.map(markTag)),
    advice && h("p", { class: "advice" }, advice.text),
    ancestor && ancestor.use_line !== ancestor.reuse_line && h("p", null, "Their paths part in ", h("b", null, nameSpan(ancestor.function ?? "?")), `, at its lines ${ancestor.use_line ?? "?"} and ${ancestor.reuse_line ?? "?"}.`),
    loops?.shared?.length ? h("p", null, "Loops around both: ", loops.shared.map(loopText).join(", ")) : null,
  ];
}

// Both ends in the same place and the same context: one is enough.
const isOne = (pair) => pair.left.length === pair.right.length && commonFrames(pair.left, pair.right) === pair.left.length;

const CALLERS = 6;

// The contexts that a finding sums up, largest first; a click shows one of them.
function contexts(pair, show) {
  const { contexts: all = [], contexts_total: total = all.length } = pair.raw;
  if (all.length < 2) return null;
  const item = (context) => {
    const left = context.first ?? context.use, right = context.second ?? context.reuse, end = left.length >= right.length ? left : right;
    return h("li", null, h("button", { class: "context-choice", onclick: (event) => {
      for (const other of event.currentTarget.closest("ol").querySelectorAll(".on")) other.classList.remove("on");
      event.currentTarget.classList.add("on");
      show(left, right);
    } }, h("b", null, percent(context.far_share || context.share)), " ", end.slice(telling(end)).slice(0, CALLERS).map((frame, i) => [i ? " \u2190 " : "", nameSpan(functionName(frame))])));
  };
  return h("section", null, h("h4", null, total > all.length ? `The ${all.length} largest of its ${total} contexts` : `Its ${total} contexts`), h("ol", { class: "choices" }, all.map(item)));
}

// Both ends beside each other, or one for both.
export function sides(ends, left, right, app) {
  const common = commonFrames(left, right);
  return h("div", { class: "sides" }, isOne({ left, right }) ? side(`${ends[0]}, and ${ends[1]}`, left, 0, app)
    : [side(ends[0], left, common, app), side(ends[1], right, common, app)]);
}

function detail(group, pair, app) {
  const shown = h("div");
  const show = (left, right) => shown.replaceChildren(sides(group.ends, left, right, app));
  show(pair.left, pair.right);
  return h("div", { class: "detail" },
    h("dl", { class: "facts" }, pair.facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    remarks(pair),
    shown, contexts(pair, show));
}

function shortLine(frame) {
  const text = sourceLine(frame.file, frame.line);
  return text === undefined ? null : h("code", { class: "quote" }, highlighted(text.trim()));
}

function entry(pair, index, chosen, app, matches) {
  const end = (context) => {
    const at = telling(context), frame = leaf(context), caller = context[at] ?? frame;
    return h("div", { class: "end" }, nameSpan(functionName(frame)), " ", h("span", { class: "place" }, place(frame)),
      at ? h("div", { class: "by" }, `from ${place(caller)} `, nameSpan(functionName(caller))) : null, shortLine(caller));
  };
  return h("li", { class: [index === chosen ? "selected" : "", matches(pair) ? "match" : ""].join(" "), onclick: () => app.set({ pair: index }) },
    h("div", { class: "rank" }, h("b", null, percent(pair.share)), bar(pair.share), pair.raw.reach && h("span", { class: "tag" }, pair.raw.reach)), end(pair.left), isOne(pair) ? h("div", { class: "by" }, "both ends") : end(pair.right),
    pair.marks.length > 0 && h("div", { class: "marks" }, pair.marks.map(markTag)));
}

const BATCH = 200;

export function renderPairs(root, app) {
  const groups = groupsOf(app.data.report);
  const group = groups.find((g) => g.id === app.state.kind) ?? groups.find((g) => g.pairs.length) ?? groups[0];
  const matches = (pair) => app.state.q !== "" && [...pair.left, ...pair.right].some((f) => app.matches(functionName(f)));
  const chosen = group.pairs[app.state.pair] ? app.state.pair : 0;
  const shown = Math.max(BATCH, chosen + 50);
  const list = h("ol", { class: "pairs" }, group.pairs.slice(0, shown).map((pair, i) => entry(pair, i, chosen, app, matches)));
  root.append(
    h("div", { class: "bar-of-choices" }, groups.map((g) => h("button", { class: g === group ? "on" : "", onclick: () => app.set({ kind: g.id, pair: 0 }) }, `${g.label} (${g.total})`)), h("span", { class: "note" }, group.head)),
    group.pairs.length
      ? h("div", { class: "two" }, h("div", { class: "left" }, list,
          group.total > Math.min(shown, group.pairs.length) ? h("p", { class: "note" }, `${group.total - Math.min(shown, group.pairs.length)} smaller pairs are not listed.`) : null), detail(group, group.pairs[chosen], app))
      : h("p", { class: "note" }, "Nothing was found."));
  return {
    ...listKeys(group.pairs, chosen, (pair) => app.set({ pair }), matches),
    name: () => group.pairs.length && functionName(leaf(group.pairs[chosen].left)),
    share: () => {
      const found = group.pairs.filter(matches);
      return `${found.length} of ${group.pairs.length} pairs, ${percent(found.reduce((sum, p) => sum + p.share, 0))}`;
    },
  };
}
