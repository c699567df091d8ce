// SPDX-License-Identifier: MIT
// Code beside its source: two panes that highlight and scroll together, click either way, with the heat of a profile; and the variables
// there, or those of a whole file that are not current.
import { h, nameSpan } from "./dom.js";
import { base, percent, several } from "./format.js";
import { highlighted, linesOf, sourceLine } from "./source.js";

const ABSENCES = { outside: ", which is before or after all lines with code", declaration: ": it is a declaration", empty: ": there is no statement on it", continued: ": it is part of a statement that begins on a line before" };
const CLASSES = { current: "current", stale: "stale", premature: "premature", suspect: "suspect", absent: "not resident" };

const keyOf = (row) => (row.file && row.line ? `${row.file}:${row.line}` : "");

function warm(heat, most, has) {
  return has && h("span", { class: "warm", heat: most > 0 ? heat / most : 0 }, heat > 0 ? percent(heat) : "");
}

// Rows of both panes by the line that they belong to.
class Panes {
  constructor(map) {
    this.rows = new Map();
    this.map = map;
    this.heated = map.heat_of !== null;
    this.byLine = new Map();
    for (const row of map.instructions) this.byLine.set(keyOf(row), (this.byLine.get(keyOf(row)) ?? 0) + Math.max(0, row.heat ?? 0));
    this.left = h("div", { class: "pane lines", tabindex: 0, "aria-label": "Source" }, this.source());
    this.right = h("div", { class: "pane lines", tabindex: 0, "aria-label": "Instructions" }, this.code());
    this.linked = "";
  }

  row(side, key, ...cells) {
    const element = h("div", { class: key ? "line" : "line empty", onclick: key ? () => this.link(key, side) : null }, cells);
    if (key) {
      if (!this.rows.has(key)) this.rows.set(key, { left: [], right: [] });
      this.rows.get(key)[side].push(element);
    }
    return element;
  }

  source() {
    const files = [...new Set(this.map.ranges.filter((range) => range.file && range.line).map((range) => range.file))], most = Math.max(0, ...this.byLine.values());
    return files.map((file) => {
      const used = this.map.ranges.filter((range) => range.file === file).map((range) => range.line), quoted = linesOf(file);
      const numbers = [...new Set([...quoted, ...used])].filter((line) => line > 0).sort((a, b) => a - b);
      return [h("div", { class: "between", title: file }, base(file)), numbers.map((line) => {
        const key = used.includes(line) ? `${file}:${line}` : "";
        return this.row("left", key, warm(this.byLine.get(key) ?? 0, most, this.heated), h("span", { class: "number" }, line), h("code", null, highlighted(sourceLine(file, line) ?? "")));
      })];
    });
  }

  code() {
    const most = Math.max(0, ...this.map.instructions.map((row) => row.heat ?? 0)), rows = [];
    let at = 0, before = null;
    for (const range of this.map.ranges) {
      const where = [range.function ?? "?", ...range.inlined_into].join(" in ");
      if (where !== before) rows.push(h("div", { class: "between" }, where));
      before = where;
      const end = BigInt(range.end), start = BigInt(range.start);
      while (at < this.map.instructions.length && BigInt(this.map.instructions[at].address) < start) at++;
      for (; at < this.map.instructions.length && BigInt(this.map.instructions[at].address) < end; at++) {
        const row = this.map.instructions[at];
        rows.push(this.row("right", keyOf(row), warm(row.heat ?? 0, most, this.heated), h("span", { class: "number" }, row.address.slice(2)), h("code", null, row.instruction)));
      }
      if (range.start === range.end) rows.push(this.row("right", keyOf(range), warm(0, most, this.heated), h("span", { class: "number" }, range.start.slice(2)), h("code", null, "(no instruction)")));
    }
    return rows;
  }

  // Highlights what belongs to a line, and brings it into sight on the other side.
  link(key, side) {
    for (const row of [...(this.rows.get(this.linked)?.left ?? []), ...(this.rows.get(this.linked)?.right ?? [])]) row.classList.remove("linked");
    this.linked = key;
    const rows = this.rows.get(key);
    for (const row of [...(rows?.left ?? []), ...(rows?.right ?? [])]) row.classList.add("linked");
    const other = rows?.[side === "left" ? "right" : "left"][0], pane = side === "left" ? this.right : this.left;
    if (other) pane.scrollTop = other.offsetTop - pane.offsetTop - pane.clientHeight / 3;
  }
}

function variables(map) {
  return map.variables.length > 0 && h("section", null, h("h4", null, `Variables where a debugger stops, at ${map.stop}` + (map.shown ? `, which it shows as line ${map.shown}` : "")),
    h("div", { class: "table" }, h("table", null, h("tbody", null, map.variables.map((variable) => h("tr", { class: ["stale", "premature", "suspect"].includes(variable.class) ? "match" : "" },
      h("td", { class: "text" }, nameSpan(variable.name ?? "?")), h("td", { class: "text" }, CLASSES[variable.class] ?? variable.class), h("td", { class: "text" }, h("code", null, variable.where)),
      h("td", { class: "text" }, h("code", null, variable.type ?? "")), h("td", { class: "text" }, variable.scope ?? "of the file"), h("td", { class: "text" }, variable.reason ?? "")))))));
}

function findings(map) {
  const { coverage } = map;
  if (!coverage) return null;
  const share = (bytes) => percent(coverage.scope_bytes ? bytes / coverage.scope_bytes : 0);
  return [h("section", null, h("h4", null, "Where variables are"), h("p", { class: "note" }, `${several(coverage.variables, "local variable")}; ${share(coverage.known_bytes)} of the code in their scopes has a location of them.`),
    h("div", { class: "table" }, h("table", null, h("tbody", null, Object.entries(coverage.bytes).map(([name, bytes]) => h("tr", null, h("td", { class: "text" }, name.replace("_", " ")), h("td", { class: "figure" }, share(bytes)))))))),
  h("section", null, h("h4", null, "Variables in memory that may not be current"), map.findings.length === 0 ? h("p", { class: "note" }, "None was found.") :
    h("div", { class: "table" }, h("table", null, h("tbody", null, map.findings.map((finding) => h("tr", null, h("td", { class: "text" }, CLASSES[finding.class]), h("td", { class: "text" }, nameSpan(finding.variable)),
      h("td", { class: "text" }, nameSpan(finding.function ?? "?")), h("td", { class: "text" }, finding.reason), h("td", { class: "text" }, `on line ${[...new Set(finding.stops.map((stop) => stop.line))].join(", ")}`)))))))];
}

export function renderMap(root, app) {
  const { map } = app.data.report;
  root.append(h("div", { class: "bar-of-choices" }, h("span", { class: "note" }, `${map.module}${map.asked ? `, ${map.asked}` : ""}${map.heat_of ? `; figures are shares of the ${map.heat_of}` : ""}`)));
  if (map.ranges.length) {
    const panes = new Panes(map);
    root.append(h("div", { class: "panes" }, panes.left, panes.right));
  } else if (map.kind === "line") root.append(h("p", { class: "note" }, `No code comes from line ${map.line}${ABSENCES[map.code] ?? ""}; the nearest lines with code are ${[map.previous, map.next].filter(Boolean).join(" and ")}.`));
  root.append(h("div", null, variables(map), findings(map)));
  return {};
}
