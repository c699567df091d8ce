// SPDX-License-Identifier: MIT
// Pairs of places: a ranked list, and of the chosen one both sources and both contexts side by side.
import { contextList, KINDS } from "./context.js";
import { h, nameSpan } from "./dom.js";
import { bytes, count, functionName, percent, place, shortName } from "./format.js";
import { excerpt, highlighted, sourceLine } from "./source.js";
import { bar } from "./table.js";

const WASTED = {
  dead: "of what was stored was overwritten before anything read it",
  silent: "of what was stored left the value unchanged",
  load: "of what was loaded had been loaded before, unchanged",
};

function wasteGroups(waste) {
  return Object.entries(waste ?? {}).filter(([id]) => WASTED[id]).map(([id, kind]) => ({
    id, ...KINDS[id], total: kind.pairs_total,
    head: kind.fraction === null ? "Nothing was decided." :
      `${percent(kind.fraction)} ${WASTED[id]}${kind.too_few_samples ? "; too few samples to rely on" : ""}.`,
    pairs: kind.pairs.map((pair) => ({ raw: pair, share: pair.share, left: pair.first, right: pair.second,
      facts: [["share of this waste", interval(pair.share, pair.ci95)], ["wasted", bytes(pair.waste_bytes)], ["used", bytes(pair.use_bytes)],
        pair.traps ? ["seen", `${pair.traps} times${pair.weak ? "; weak evidence" : ""}`] : null, pair.kernel_traps ? ["by the kernel", pair.kernel_traps] : null,
        pair.likely_traps ? ["second line approximate", pair.likely_traps] : null].filter(Boolean) })),
  }));
}

const interval = (share, ci) => (ci && ci[0] !== ci[1] ? `${percent(share)} (${percent(ci[0])} to ${percent(ci[1])})` : percent(share));

function reuseGroup(reuse) {
  if (!reuse) return [];
  const beyond = reuse.ranked_beyond_bytes;
  return [{ id: "reuse", ...KINDS.reuse, total: reuse.pairs_total,
    head: beyond ? "Pairs of places, ordered by the cache misses that they could save." : "Pairs of places, farthest first.",
    pairs: reuse.pairs.map((pair) => ({ raw: pair, share: pair.far_share || pair.share, left: pair.use, right: pair.reuse,
      facts: [["share of the misses", percent(pair.far_share)], ["share of reuses", interval(pair.share, pair.ci95)], ["reuses", count(pair.reuses)],
        ["mean time distance", `${count(pair.time_mean)} accesses`],
        pair.stack_mean !== null ? ["mean stack distance", `${count(pair.stack_mean)} ${reuse.unit}s`] : null,
        ...pair.saves.map((s) => [`misses of ${bytes(s.bytes)} without them`, `${percent(s.ratio)} → at least ${percent(s.ratio_without)}`])].filter(Boolean) })) }];
}

export const groupsOf = (report) => [...wasteGroups(report.waste), ...reuseGroup(report.reuse)];

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
function telling(context) {
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

function remarks(pair) {
  const { suggestion, ancestor, loops } = pair.raw;
  return [
    ancestor && h("p", null, "Their paths part in ", h("b", null, nameSpan(ancestor.function ?? "?")), `, at its lines ${ancestor.use_line ?? "?"} and ${ancestor.reuse_line ?? "?"}.`),
    loops?.shared?.length ? h("p", null, "Loops around both: ", loops.shared.map(loopText).join(", ")) : null,
    suggestion && h("p", { class: "advice" }, suggestion.text),
  ];
}

const CALLERS = 6;

// How a finding of several contexts is reached, each with its share.
function contexts(pair) {
  const { contexts: list, contexts_total: total } = pair.raw;
  if (!list || total < 2) return null;
  const callers = (context) => context.slice(telling(context) + 1).map((frame) => shortName(functionName(frame)));
  const text = (names) => (names.length > CALLERS ? [...names.slice(0, CALLERS), "…"] : names).join(" ← ") || "without callers";
  return h("div", null, h("h4", null, `${total} contexts`), h("ol", { class: "context" }, list.map((one) =>
    h("li", null, h("b", null, percent(one.far_share || one.share)), " ", text(callers(one.first ?? one.use))))),
    total > list.length ? h("p", { class: "note" }, `${total - list.length} smaller ones are not listed.`) : null);
}

function detail(group, pair, app) {
  const common = commonFrames(pair.left, pair.right);
  return h("div", { class: "detail" },
    h("dl", { class: "facts" }, pair.facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    remarks(pair),
    h("div", { class: "sides" }, side(group.ends[0], pair.left, common, app), side(group.ends[1], pair.right, common, app)),
    contexts(pair));
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
    h("div", { class: "rank" }, h("b", null, percent(pair.share)), bar(pair.share)), end(pair.left), end(pair.right));
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
  const to = (index) => {
    app.set({ pair: Math.min(Math.max(index, 0), group.pairs.length - 1) });
    return true;
  };
  return {
    key: (event) => (event.key === "ArrowDown" ? to(chosen + 1) : event.key === "ArrowUp" ? to(chosen - 1) : false),
    next: (direction) => {
      const n = group.pairs.length;
      for (let i = 1; i <= n; i++) {
        const at = (chosen + direction * i + n * i) % n;
        if (matches(group.pairs[at])) return to(at);
      }
      return false;
    },
    name: () => group.pairs.length && functionName(leaf(group.pairs[chosen].left)),
    share: () => {
      const found = group.pairs.filter(matches);
      return `${found.length} of ${group.pairs.length} pairs, ${percent(found.reduce((sum, p) => sum + p.share, 0))}`;
    },
  };
}
