// SPDX-License-Identifier: MIT
// Cache lines that move between threads: pictures of them, with the fields that lie there, the pairs of places that move them, and from
// which thread to which.
import { contextList } from "./context.js";
import { h, nameSpan } from "./dom.js";
import { count, functionName, percent, place, several } from "./format.js";
import { sides, telling } from "./pairs.js";
import { bar, listKeys } from "./table.js";

const BYTES = 64, GROUP = 8;
const CLASSES = { false: "false sharing", true: "true sharing", mixed: "true and false" };

const threadName = (thread) => `T${thread}`;

const objectName = (line) => line.object + (line.offset > 0 && ["global", "heap"].includes(line.object_kind) ? `, +${line.offset}` : "");

const maskOf = (text) => BigInt(text);

const has = (mask, byte) => ((mask >> BigInt(byte)) & 1n) === 1n;

// ---- the picture ------------------------------------------------------------------------------------

// Threads that use the same bytes alike are one row.
function rowsOf(line) {
  const rows = new Map();
  for (const user of line.mask?.threads ?? []) {
    const key = `${user.reads} ${user.writes}`;
    if (!rows.has(key)) rows.set(key, { reads: maskOf(user.reads), writes: maskOf(user.writes), threads: [] });
    rows.get(key).threads.push(user.thread);
  }
  return [...rows.values()];
}

const USES = [["", "not used"], ["r", "read"], ["w", "written"], ["x", "read and written"]];

function cell(row, byte, fields) {
  const [use, words] = USES[Number(has(row.reads, byte)) + 2 * Number(has(row.writes, byte))];
  const names = fields.filter((f) => byte >= f.byte && byte < f.byte + f.bytes).map((f) => f.path).join(" or ");
  return h("i", { class: use, title: use ? `byte ${byte}${names && `, ${names}`}: ${words}` : null });
}

function label(threads) {
  const shown = threads.slice(0, 3).map(threadName).join(" ");
  return h("span", { class: "threads", title: threads.map(threadName).join(" ") }, threads.length > 3 ? `${shown} +${threads.length - 3}` : shown);
}

function groups(make) {
  return h("div", { class: "bytes" }, Array.from({ length: BYTES / GROUP }, (_, group) => h("div", { class: "eight" }, make(group * GROUP))));
}

function picture(line) {
  const fields = line.fields ?? [];
  const row = (use) => h("div", { class: "use" }, label(use.threads), groups((first) => Array.from({ length: GROUP }, (_, i) => cell(use, first + i, fields))));
  return h("figure", { class: "picture" },
    h("div", { class: "use scale" }, h("span", { class: "threads" }, "byte"), groups((first) => String(first))),
    rowsOf(line).map(row),
    fieldRow(fields),
    h("figcaption", null, USES.slice(1).map(([use, words]) => [h("i", { class: use }), ` ${words} `])));
}

// ---- fields -----------------------------------------------------------------------------------------

function fieldRow(fields) {
  if (!fields.length) return null;
  return h("div", { class: "use" }, h("span", { class: "threads" }, "fields"), h("div", { class: "spans" }, fields.map((field) =>
    h("span", { "left%": field.byte / BYTES, "width%": field.bytes / BYTES, title: `${field.path}: bytes ${field.byte} to ${field.byte + field.bytes - 1}` }, field.path))));
}

const fieldMask = (field) => ((1n << BigInt(field.bytes)) - 1n) << BigInt(field.byte);

// Who uses it, and how.
function usersOf(line, field) {
  const mask = fieldMask(field);
  return (line.mask?.threads ?? []).map((user) => {
    const use = Number((maskOf(user.reads) & mask) !== 0n) + 2 * Number((maskOf(user.writes) & mask) !== 0n);
    return use ? `${threadName(user.thread)} ${USES[use][1]}` : null;
  }).filter(Boolean);
}

const FIELDS = 24, USERS = 4;

function fieldTable(line) {
  const used = (line.fields ?? []).map((field) => [field, usersOf(line, field)]).filter(([, users]) => users.length);
  if (!used.length) return null;
  const where = (f) => (f.bits ? `${f.byte}.${f.bit}` : f.bytes > 1 ? `${f.byte}\u2013${f.byte + f.bytes - 1}` : f.byte);
  return h("section", null, h("h4", null, "Fields that are used", line.fields.some((f) => f.guessed) ? "; the block's type is a guess, from the variable that took it" : ""),
    h("div", { class: "table" }, h("table", null, h("tbody", null, used.slice(0, FIELDS).map(([field, users]) => h("tr", null,
      h("td", { class: "figure" }, where(field)), h("td", { class: "text" }, h("span", { class: "name" }, field.path), " ", h("span", { class: "place" }, field.type ?? "")),
      h("td", { class: "by-threads" }, users.slice(0, USERS).join(", "), users.length > USERS ? ` and ${users.length - USERS} more` : "")))))),
    used.length > FIELDS && h("p", { class: "note" }, `and ${used.length - FIELDS} more`));
}

// ---- pairs ------------------------------------------------------------------------------------------

const ends = (pair) => (pair.kind === "WW" ? ["writes", "then writes"] : pair.kind === "WR" ? ["writes", "then reads"] : ["reads", "then writes"]);

const fieldsText = (names) => (names?.length ? names[0] + (names.length > 1 ? ` and ${names.length - 1} more` : "") : "");

function pairText(pair) {
  const first = fieldsText(pair.first_fields), second = fieldsText(pair.second_fields);
  if (!first || !second) return `bytes ${pair.first_bytes.join("\u2013")} against ${pair.second_bytes.join("\u2013")}`;
  return first === second ? first : `${first} against ${second}`;
}

function endText(context) {
  const frame = context[telling(context)];
  return frame ? [nameSpan(functionName(frame)), " ", h("span", { class: "place" }, place(frame))] : "several places";
}

const PAIRS = 20;

function pairs(line, app) {
  const all = line.pairs ?? [], chosen = all[app.state.pair] ? app.state.pair : 0, pair = all[chosen];
  if (!pair) return null;
  return h("section", null, h("h4", null, "Pairs of places between which it moves"),
    h("ol", { class: "choices" }, all.slice(0, Math.max(PAIRS, chosen + 1)).map((p, i) => h("li", null,
      h("button", { class: i === chosen ? "context-choice on" : "context-choice", onclick: () => app.set({ pair: i }) },
        h("b", null, percent(p.share)), " ", h("span", { class: "tag" }, p.kind), h("span", { class: "tag" }, p.true ? "same bytes" : "different bytes"), " ", h("span", { class: "name" }, pairText(p)),
        h("div", { class: "by" }, endText(p.first), " \u2192 ", endText(p.second)))))),
    line.pairs_total > PAIRS && h("p", { class: "note" }, `The ${Math.min(PAIRS, all.length)} largest of ${line.pairs_total}.`),
    sides(ends(pair), pair.first, pair.second, app));
}

// ---- threads ----------------------------------------------------------------------------------------

const NUMBERED = 12; // threads: with more, cells are too small for figures

function matrix(sharing) {
  const rows = sharing.matrix ?? [], most = Math.max(0, ...rows.flat());
  if (rows.length < 2 || most <= 0) return null;
  const small = rows.length > NUMBERED;
  return h("section", { class: "between" }, h("h4", null, "Between threads: shares, from row to column"),
    h("div", { class: "table" }, h("table", { class: small ? "heat small" : "heat" },
      h("thead", null, h("tr", null, h("th"), rows.map((_, to) => h("th", { class: "figure" }, threadName(to))))),
      h("tbody", null, rows.map((row, from) => h("tr", null, h("th", null, threadName(from)), row.map((share, to) =>
        h("td", { class: "figure", heat: share / most, title: `${threadName(from)} to ${threadName(to)}: ${percent(share)}` }, small || !share ? "" : percent(share)))))))));
}

// ---- the whole --------------------------------------------------------------------------------------

function advice(line) {
  const { apart } = line;
  return [apart && h("p", { class: "advice" }, "Keep apart: ", h("b", null, apart.first), " and ", h("b", null, apart.second),
    apart.type ? `, ${apart.kind === "members" ? "members" : apart.kind} of ${apart.type}` : "", apart.type_bytes ? ` (${several(apart.type_bytes, "byte")} each)` : "", "."),
    line.advice && h("p", { class: "advice" }, line.advice.text)];
}

function detail(line, app) {
  const facts = [["share", percent(line.share)], app.data.report.engine !== "live" && ["transfers", count(line.transfers)], ["by", CLASSES[line.class]], ["threads", line.threads],
    line.size > 0 && ["size", several(line.size, "byte")]].filter(Boolean);
  const parts = line.parts?.length > 1 ? h("p", { class: "note" }, "On this line: ", line.parts.map((p) => (p.byte === null || p.byte < 0 ? p.name : `${p.name} (byte ${p.byte})`)).join(", ")) : null;
  return h("div", { class: "detail" }, h("h3", null, nameSpan(objectName(line)), " ", h("button", { class: "copy", onclick: () => app.copy(line.object) }, "copy name")),
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    picture(line), advice(line), fieldTable(line), parts, pairs(line, app),
    line.allocated?.length ? h("section", null, h("h4", null, "Allocated"), contextList(line.allocated)) : null);
}

const namesIn = (line) => [line.object, ...(line.fields ?? []).map((f) => f.path), ...(line.pairs ?? []).flatMap((p) => [...p.first, ...p.second].map(functionName))];

function entry(line, index, chosen, app) {
  return h("li", { class: [index === chosen ? "selected" : "", app.state.q !== "" && namesIn(line).some(app.matches) ? "match" : ""].join(" "), onclick: () => app.set({ line: index, pair: 0 }) },
    h("div", { class: "rank" }, h("b", null, percent(line.share)), bar(line.share), h("span", { class: "tag" }, CLASSES[line.class])),
    h("div", { class: "end" }, nameSpan(objectName(line))),
    h("div", { class: "by" }, several(line.threads, "thread"), line.weak ? ", too little to matter" : ""));
}

export function renderSharing(root, app) {
  const { sharing } = app.data.report, lines = sharing.lines ?? [];
  const chosen = lines[app.state.line] ? app.state.line : 0;
  root.append(h("div", { class: "bar-of-choices" }, h("span", { class: "note" }, `${percent(sharing.false?.share ?? 0)} of what moves is by false sharing. ${sharing.watched?.between_processes ? "Threads of all processes are numbered in the order of their first samples." : "T0 is the main thread."}`)));
  if (!lines.length) {
    root.append(h("p", { class: "note" }, "No line moved between threads."));
    return {};
  }
  root.append(h("div", { class: "two" },
    h("div", { class: "left" }, h("ol", { class: "pairs" }, lines.map((line, i) => entry(line, i, chosen, app))),
      sharing.lines_total > lines.length && h("p", { class: "note" }, `${sharing.lines_total - lines.length} lighter lines are not listed.`), matrix(sharing)),
    detail(lines[chosen], app)));
  return {
    ...listKeys(lines, chosen, (line) => app.set({ line, pair: 0 }), (line) => namesIn(line).some(app.matches)),
    name: () => lines[chosen].object,
  };
}
