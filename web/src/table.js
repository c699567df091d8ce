// SPDX-License-Identifier: MIT
// A table that can be sorted by its columns and walked with the arrow keys; keys of other lists.
import { h } from "./dom.js";

const MOST_ROWS = 500;

export function sorted(rows, columns, sort) {
  const descending = sort?.startsWith("-");
  const column = columns.find((c) => c.id === (descending ? sort.slice(1) : sort));
  if (!column) return rows;
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const x = column.value(a), y = column.value(b);
    return sign * (typeof x === "string" || typeof y === "string" ? String(x ?? "").localeCompare(String(y ?? "")) : (x ?? -1) - (y ?? -1));
  });
}

// A click sorts: figures from the largest, text from A; another one turns it round.
export function nextSort(column, sort) {
  const first = column.text ? column.id : `-${column.id}`;
  const second = column.text ? `-${column.id}` : column.id;
  return sort === first ? second : first;
}

export function header(columns, sort, onSort) {
  return h("thead", null, h("tr", null, columns.map((column) => {
    const mark = sort === column.id ? " ▲" : sort === `-${column.id}` ? " ▼" : "";
    return h("th", { class: column.text ? "text" : "figure", title: column.title, "aria-sort": mark && (sort[0] === "-" ? "descending" : "ascending") },
      h("button", { onclick: () => onSort(nextSort(column, sort)) }, column.label + mark));
  })));
}

// options: columns, rows, sort, onSort, selected (index into rows), onSelect, matches(row); and what a
// click does if it is not to select: onOpen, with leads(row) if it leads elsewhere
export function table(options) {
  const { columns, selected, onSelect, onOpen = onSelect, leads, matches } = options;
  const indices = new Map(options.rows.map((row, i) => [row, i]));
  const rows = sorted(options.rows, columns, options.sort);
  const cells = (row) => columns.map((c) => h("td", { class: c.text ? "text" : "figure" }, c.show ? c.show(row) : c.value(row)));
  const body = rows.slice(0, MOST_ROWS).map((row) =>
    h("tr", { class: [indices.get(row) === selected ? "selected" : "", matches?.(row) ? "match" : "", leads?.(row) ? "leads" : ""].join(" "), onclick: () => onOpen(indices.get(row)) }, cells(row)));
  const element = h("table", null, header(columns, options.sort, options.onSort), h("tbody", null, body));
  const more = rows.length > MOST_ROWS && h("p", { class: "note" }, `${rows.length - MOST_ROWS} more rows are not shown; sort or search to see others.`);
  const step = (by, wanted) => {
    const shown = rows.slice(0, MOST_ROWS);
    let at = shown.findIndex((row) => indices.get(row) === selected);
    for (let tries = 0; tries < shown.length; tries++) {
      at = at < 0 ? (by > 0 ? 0 : shown.length - 1) : wanted ? (at + by + shown.length) % shown.length : Math.min(Math.max(at + by, 0), shown.length - 1);
      if (!wanted || wanted(shown[at])) {
        onSelect(indices.get(shown[at]));
        return true;
      }
    }
    return true;
  };
  return {
    element: h("div", { class: "table" }, element, more || null),
    key: (event) => (event.key === "ArrowDown" ? step(1) : event.key === "ArrowUp" ? step(-1) : false),
    next: (direction) => matches && step(direction, matches),
  };
}

export const bar = (share) => h("span", { class: "bar" }, h("span", { "width%": Math.min(1, Math.max(0, share || 0)) }));

// Keys of a list of which one entry is chosen: set(index), matches(entry).
export function listKeys(entries, chosen, set, matches) {
  const to = (index) => {
    set(Math.min(Math.max(index, 0), entries.length - 1));
    return true;
  };
  return {
    key: (event) => (event.key === "ArrowDown" ? to(chosen + 1) : event.key === "ArrowUp" ? to(chosen - 1) : false),
    next: (direction) => {
      for (let i = 1; i <= entries.length; i++) {
        const at = (chosen + direction * i + entries.length * i) % entries.length;
        if (matches(entries[at])) return to(at);
      }
      return false;
    },
  };
}

// Keeps the selected row in sight.
export function reveal(root) {
  root.querySelector(".selected")?.scrollIntoView({ block: "nearest" });
}
