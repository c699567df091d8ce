// SPDX-License-Identifier: MIT
// The calling-context tree as rows that open: from above (callees below callers) and from below
// (functions by their own share, callers below them).
import { h, nameSpan } from "./dom.js";
import { amount, base, percent, place } from "./format.js";
import { bar, header, reveal, sorted } from "./table.js";

const BATCH = 100; // children shown at once

// A row: its key is unique in the view and the same each time the page is opened.
function topDown(tree, metric) {
  const row = (node) => ({ key: `n${node}`, node, id: tree.function[node], inlined: tree.inlined[node], total: metric.total[node], self: metric.self[node] });
  return {
    roots: () => Array.from(tree.childrenOf(metric, 0), row),
    children: (parent) => Array.from(tree.childrenOf(metric, parent.node), row),
    hasChildren: (r) => metric.start[r.node + 1] > metric.start[r.node],
    pathTo(node) {
      const keys = [];
      for (let up = tree.parent[node]; up > 0; up = tree.parent[up]) keys.push(`n${up}`);
      return keys;
    },
  };
}

// Callers of a set of nodes, each with what is to be charged to it.
function callers(tree, row) {
  const rows = new Map();
  for (const [node, weight] of row.nodes) {
    const up = tree.parent[node];
    if (up <= 0) continue;
    const id = tree.function[up];
    if (!rows.has(id)) rows.set(id, { key: `${row.key}.${id}`, id, self: 0, total: 0, nodes: [] });
    const caller = rows.get(id);
    caller.total += weight;
    caller.self += weight;
    caller.nodes.push([up, weight]);
  }
  return [...rows.values()].sort((a, b) => b.total - a.total);
}

function bottomUp(tree, metric) {
  return {
    roots: () => tree.flat(metric).map((row) => ({ ...row, key: `f${row.id}` })).sort((a, b) => b.self - a.self || b.total - a.total),
    children: (row) => callers(tree, row),
    hasChildren: (row) => row.nodes.some(([node]) => tree.parent[node] > 0),
    pathTo: () => [],
  };
}

const columnsOf = (upwards, tree, metric) => [
  { id: "name", label: upwards ? "function, and who called it" : "function, and what it called", text: true, value: (row) => tree.functions[row.id].name },
  ...(upwards
    ? [{ id: "self", label: "own", value: (row) => row.self, title: "what happened in the function itself" }, { id: "total", label: "inclusive", value: (row) => row.total, title: "including what it called; in the rows below: how much of its own share came this way" }]
    : [{ id: "total", label: "inclusive", value: (row) => row.total, title: "including what it called" }, { id: "self", label: "own", value: (row) => row.self, title: "in the function itself" }]),
];

const open = { top: new Set(), bottom: new Set() };
const more = new Map();

function cell(column, row, metric) {
  const value = column.value(row);
  return h("td", { class: "figure" }, h("span", { class: "amount" }, amount(value, metric.unit)), h("span", { class: "share" }, percent(metric.sum ? value / metric.sum : 0)), bar(metric.sum ? value / metric.sum : 0));
}

// Rows in the order in which they are shown, with their depths.
function visible(view, columns, app, opened) {
  const rows = [];
  const visit = (list, depth, key) => {
    const limit = more.get(key) ?? BATCH;
    const ordered = sorted(list, columns, app.state.sort);
    for (const row of ordered.slice(0, limit)) {
      rows.push({ ...row, depth });
      if (opened.has(row.key)) visit(view.children(row), depth + 1, row.key);
    }
    if (ordered.length > limit) rows.push({ more: ordered.length - limit, key, depth, limit });
  };
  visit(view.roots(), 0, "");
  return rows;
}

export function renderTree(root, app, upwards) {
  const { tree } = app;
  const metric = tree.metric(app.state.metric);
  const view = upwards ? bottomUp(tree, metric) : topDown(tree, metric);
  const opened = upwards ? open.bottom : open.top;
  const columns = columnsOf(upwards, tree, metric);
  if (!upwards && !opened.size) openHeaviest(tree, metric, opened);
  if (app.state.node) for (const key of view.pathTo(app.state.node)) opened.add(key);
  let selected = app.state.row || (app.state.node && !upwards ? `n${app.state.node}` : "");
  let rows = [];
  const body = h("tbody");
  const whereOf = (f) => h("span", { class: "place", title: f.file ?? f.module }, f.file ? place(f) : base(f.module));
  const line = (row) => {
    if (row.more)
      return h("tr", { class: "more" }, h("td", { indent: 0.6 + 1.2 * row.depth, colspan: 3 }, h("button", { onclick: () => { more.set(row.key, row.limit * 4); draw(); } }, `${row.more} more`)));
    const f = tree.functions[row.id];
    const twist = view.hasChildren(row) ? (opened.has(row.key) ? "▾" : "▸") : "";
    return h("tr", { class: [row.key === selected ? "selected" : "", app.search.hits[row.id] ? "match" : ""].join(" "), onclick: () => { select(row); }, ondblclick: () => toggle(row) },
      h("td", { class: "text", indent: 0.6 + 1.2 * row.depth }, h("button", { class: "twist", "aria-label": "open or close", tabindex: -1, onclick: () => toggle(row) }, twist), nameSpan(f.name), row.inlined ? h("span", { class: "tag" }, "inlined") : null, " ", whereOf(f)),
      columns.slice(1).map((column) => cell(column, row, metric)));
  };
  const draw = () => {
    rows = visible(view, columns, app, opened);
    body.replaceChildren(...rows.map(line));
    reveal(body);
  };
  const select = (row) => {
    selected = row.key;
    app.note({ row: selected, node: upwards ? 0 : row.node });
    draw();
  };
  const toggle = (row) => {
    if (opened.has(row.key)) opened.delete(row.key);
    else if (view.hasChildren(row)) opened.add(row.key);
    selected = row.key;
    draw();
  };
  draw();
  root.append(h("div", { class: "table tree" }, h("table", null, header(columns, app.state.sort, (sort) => app.set({ sort })), body)));
  const at = () => rows.findIndex((row) => row.key === selected && !row.more);
  const move = (by) => {
    const real = rows.filter((row) => !row.more);
    const now = real.findIndex((row) => row.key === selected);
    select(real[Math.min(Math.max(now + by, 0), real.length - 1)]);
    return true;
  };
  return {
    name: () => rows[at()] && tree.functions[rows[at()].id].name,
    key(event) {
      const row = rows[at()];
      if (!rows.length) return false;
      if (event.key === "ArrowDown") return move(1);
      if (event.key === "ArrowUp") return move(-1);
      if (event.key === "ArrowRight" && row) return opened.has(row.key) ? move(1) : (toggle(row), true);
      if (event.key === "ArrowLeft" && row) {
        if (opened.has(row.key)) return toggle(row), true;
        const above = rows.slice(0, at()).reverse().find((r) => r.depth < row.depth);
        return above ? (select(above), true) : false;
      }
      return event.key === "Enter" && row ? (toggle(row), true) : false;
    },
    // From above all nodes are searched, from below the functions.
    next(direction) {
      if (upwards) {
        const found = rows.filter((row) => !row.more && app.search.hits[row.id]);
        if (!found.length) return false;
        const now = found.findIndex((row) => row.key === selected);
        return select(found[(now + direction + found.length) % found.length]), true;
      }
      const node = nextMatch(tree, metric, app.search.hits, Number(selected.slice(1)) || 0, direction);
      if (node) app.set({ node, row: "" });
      return node > 0;
    },
  };
}

// The way down to where it is spent is what most people open first.
function openHeaviest(tree, metric, opened) {
  for (let node = 0, depth = 0; depth < 40; depth++) {
    const children = tree.childrenOf(metric, node);
    if (!children.length || metric.total[children[0]] < 0.5 * metric.sum) break;
    node = children[0];
    opened.add(`n${node}`);
  }
}

export function nextMatch(tree, metric, hits, from, direction) {
  for (let i = 1; i < tree.count; i++) {
    const node = (((from + direction * i) % tree.count) + tree.count) % tree.count;
    if (node && metric.total[node] && hits[tree.function[node]]) return node;
  }
  return 0;
}
