// SPDX-License-Identifier: MIT
// The calling-context tree as an icicle on a canvas: callers above, as wide as their share. What is
// narrower than a pixel or two is drawn as one, so a frame costs what is seen and not what there is.
import { h } from "./dom.js";
import { amount, base, percent, shortName } from "./format.js";
import { nextMatch } from "./trees.js";

const ROW = 20, NARROWEST = 1.5, MOST_ROWS = 300;

function hue(text) {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return 25 + (Math.abs(hash) % 235); // not the pink of what was searched for
}

// Rectangles by row: [x, width, node]; node -1: several narrow ones.
export function layout(tree, metric, top, width) {
  const rows = [];
  const above = [];
  for (let up = tree.parent[top]; up >= 0; up = tree.parent[up]) above.unshift(up);
  for (const node of above) rows.push([[0, width, node]]);
  const scale = metric.total[top] ? width / metric.total[top] : 0;
  const visit = (node, x, depth) => {
    if (depth >= MOST_ROWS) return;
    (rows[depth] ??= []).push([x, metric.total[node] * scale, node]);
    let left = metric.total[node] - metric.self[node];
    for (const child of tree.childrenOf(metric, node)) {
      const wide = metric.total[child] * scale;
      if (wide < NARROWEST) {
        if (left * scale >= 0.5) (rows[depth + 1] ??= []).push([x, left * scale, -1]);
        return;
      }
      visit(child, x, depth + 1);
      x += wide;
      left -= metric.total[child];
    }
  };
  visit(top, 0, above.length);
  return { rows, above: above.length };
}

class Painter {
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.colors = new Map();
  }

  color(id, dark) {
    const key = dark ? -1 - id : id;
    if (!this.colors.has(key)) {
      const f = this.app.tree.functions[id];
      const angle = hue(base(f.module) || f.name) * 0.85 + (hue(f.name) % 36); // a module's functions are alike
      this.colors.set(key, `hsl(${angle.toFixed(0)}, ${dark ? "32%" : "55%"}, ${(dark ? 30 : 76) + (hue(f.name) % 9)}%)`);
    }
    return this.colors.get(key);
  }

  paint(rows, above, width, selected) {
    const { canvas, app } = this;
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(rows.length * ROW * density);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${rows.length * ROW}px`;
    const context = canvas.getContext("2d");
    context.scale(density, density);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const dark = app.isDark();
    rows.forEach((row, depth) => {
      for (const [x, wide, node] of row) this.rectangle(context, x, depth * ROW, wide, node, { dark, faded: depth < above, selected });
    });
  }

  rectangle(context, x, y, wide, node, { dark, faded, selected }) {
    const { app } = this;
    const id = node > 0 ? app.tree.function[node] : -1;
    const hit = id >= 0 && app.search.hits[id];
    context.globalAlpha = faded ? 0.55 : 1;
    context.fillStyle = hit ? (dark ? "#c2578f" : "#ff9ed2") : id < 0 ? (dark ? "#3a3f47" : "#d5d8dd") : this.color(id, dark);
    context.fillRect(x, y, Math.max(wide - 0.6, 0.6), ROW - 1);
    if (node === selected && node > 0) {
      context.strokeStyle = dark ? "#fff" : "#000";
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(wide - 2.6, 0.6), ROW - 3);
    }
    if (wide > 34) this.label(context, x + 4, y + ROW / 2, wide - 8, node, dark);
    context.globalAlpha = 1;
  }

  label(context, x, y, room, node, dark) {
    const { tree, clean } = this.app;
    const full = node === 0 ? "all" : node < 0 ? "…" : clean((tree.inlined[node] ? "⤷ " : "") + shortName(tree.functions[tree.function[node]].name));
    const letters = Math.floor(room / 6.2);
    const text = full.length > letters ? `${full.slice(0, Math.max(letters - 1, 1))}…` : full;
    context.fillStyle = dark ? "#eceff3" : "#15181c";
    context.fillText(text, x, y, room);
  }
}

function describe(app, metric, node) {
  if (node < 0) return "several too narrow to be drawn; zoom to see them";
  const name = node ? app.tree.functions[app.tree.function[node]].name + (app.tree.inlined[node] ? " (inlined)" : "") : "all";
  const shown = (value) => [amount(value, metric.unit), percent(metric.sum ? value / metric.sum : 0)].filter(Boolean).join(", ");
  return `${name}: ${shown(metric.total[node])}; own ${shown(metric.self[node])}`;
}

export function renderIcicle(root, app) {
  const { tree } = app;
  const metric = tree.metric(app.state.metric);
  const canvas = h("canvas", { class: "icicle", tabindex: 0, role: "img", "aria-label": "icicle of the calling-context tree; the views top-down and bottom-up show the same as text" });
  const status = h("p", { class: "status", "aria-live": "polite" });
  const holder = h("div", { class: "holder" }, canvas);
  root.append(status, holder, h("p", { class: "note legend" }, "Callers above; width is share. ⤷ inlined into its caller; similar colours: the same module. Click or Enter zooms, Esc zooms out, 0 shows all, arrows move."));
  const painter = new Painter(app, canvas);
  const valid = (node) => (node > 0 && node < tree.count && metric.total[node] > 0 ? node : 0);
  let zoomed = valid(app.state.zoom), selected = valid(app.state.node), drawn;
  const draw = () => {
    const width = Math.max(holder.clientWidth, 200);
    drawn = layout(tree, metric, zoomed, width);
    painter.paint(drawn.rows, drawn.above, width, selected);
    status.textContent = app.clean(describe(app, metric, selected || zoomed));
  };
  const zoom = (node) => {
    zoomed = node;
    selected = node;
    app.note({ zoom: zoomed, node: selected });
    draw();
    return true;
  };
  const select = (node) => {
    if (node < 0) return false;
    selected = node;
    if (!isInside(node)) zoomed = Math.max(tree.parent[node], 0);
    app.note({ zoom: zoomed, node });
    draw();
    return true;
  };
  const isInside = (node) => {
    for (let up = node; up >= 0; up = tree.parent[up]) if (up === zoomed) return true;
    return false;
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    return drawn.rows[Math.floor((event.clientY - box.top) / ROW)]?.find(([left, wide]) => x >= left && x < left + wide)?.[2];
  };
  canvas.addEventListener("click", (event) => {
    const node = at(event);
    if (node >= 0) zoom(node);
  });
  canvas.addEventListener("mousemove", (event) => {
    const node = at(event);
    if (node !== undefined) status.textContent = app.clean(describe(app, metric, node));
  });
  draw();
  const sibling = (by) => {
    const all = tree.childrenOf(metric, Math.max(tree.parent[selected], 0));
    return selected ? select(all[Math.min(Math.max(all.indexOf(selected) + by, 0), all.length - 1)]) : false;
  };
  return {
    resize: draw,
    reset: () => zoom(0),
    out: () => zoomed > 0 && zoom(Math.max(tree.parent[zoomed], 0)),
    name: () => selected && tree.functions[tree.function[selected]].name,
    key: (event) => ({
      ArrowDown: () => select(tree.childrenOf(metric, selected)[0] ?? -1),
      ArrowUp: () => selected > 0 && select(tree.parent[selected]),
      ArrowLeft: () => sibling(-1),
      ArrowRight: () => sibling(1),
      Enter: () => zoom(selected),
    })[event.key]?.() ?? false,
    next(direction) {
      const node = nextMatch(tree, metric, app.search.hits, selected, direction);
      return node ? select(node) : false;
    },
  };
}
