// SPDX-License-Identifier: MIT
// The data in the page, and the calling-context tree made of it.
import { base } from "./format.js";

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export async function unpack(element) {
  const stream = new Blob([bytesOf(element.textContent)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

export const INLINED = 1;
const INCOMPLETE = 4;

// Functions of the tree's frames: what one row or one rectangle stands for.
function functionsOf(frames) {
  const known = new Map();
  const functions = [];
  const ids = frames.map(([name, file, line, module, flags]) => {
    const label = flags & INCOMPLETE ? "(callers unknown)" : (name || (module ? `[${base(module)}]` : "(unknown)"));
    const key = `${label}\n${name ? (file ?? "") : ""}\n${module ?? ""}`;
    if (!known.has(key)) {
      known.set(key, functions.length);
      functions.push({ name: label, file, line, module });
    }
    return known.get(key);
  });
  return { functions, ids };
}

// Nodes of one function below the same parent are one. Parents precede children; 0 is the root.
export class Tree {
  constructor(raw) {
    const { functions, ids } = functionsOf(raw.frames);
    const nodes = raw.up.length + 1;
    const merged = new Int32Array(nodes);
    const known = new Map();
    this.functions = functions;
    this.parent = new Int32Array(nodes).fill(-1);
    this.function = new Int32Array(nodes).fill(-1);
    this.inlined = new Uint8Array(nodes);
    this.count = 1;
    for (let i = 1; i < nodes; i++) {
      const frame = raw.frame[i - 1];
      const inlined = raw.frames[frame][4] & INLINED;
      const up = merged[i - raw.up[i - 1]];
      const key = (up * functions.length + ids[frame]) * 2 + inlined;
      let node = known.get(key);
      if (node === undefined) {
        node = this.count++;
        known.set(key, node);
        this.parent[node] = up;
        this.function[node] = ids[frame];
        this.inlined[node] = inlined;
      }
      merged[i] = node;
    }
    this.metrics = raw.metrics.map((metric) => ({ name: metric.name, unit: metric.unit, raw: metric, merged }));
  }

  // Own and inclusive values by node; children of each node, largest first.
  metric(index) {
    const metric = this.metrics[index];
    if (!metric.self) {
      metric.self = new Float64Array(this.count);
      let at = 0;
      metric.raw.nodes.forEach((step, i) => {
        at += step;
        metric.self[metric.merged[at]] += metric.raw.values[i];
      });
      metric.total = metric.self.slice();
      for (let i = this.count - 1; i > 0; i--) metric.total[this.parent[i]] += metric.total[i];
      metric.sum = metric.total[0];
      this.#arrange(metric);
    }
    return metric;
  }

  #arrange(metric) {
    const { total } = metric;
    metric.start = new Int32Array(this.count + 1);
    for (let i = 1; i < this.count; i++) if (total[i] > 0) metric.start[this.parent[i] + 1]++;
    for (let i = 0; i < this.count; i++) metric.start[i + 1] += metric.start[i];
    const next = metric.start.slice();
    metric.children = new Int32Array(metric.start[this.count]);
    for (let i = 1; i < this.count; i++) if (total[i] > 0) metric.children[next[this.parent[i]]++] = i;
    for (let i = 0; i < this.count; i++)
      if (metric.start[i + 1] - metric.start[i] > 1) this.childrenOf(metric, i).sort((a, b) => total[b] - total[a] || a - b);
  }

  childrenOf(metric, node) {
    return metric.children.subarray(metric.start[node], metric.start[node + 1]);
  }

  // By function: own and inclusive, a recursive activation counted once; and the nodes.
  flat(metric) {
    if (metric.flat) return metric.flat;
    const rows = this.functions.map((_, id) => ({ id, self: 0, total: 0, nodes: [] }));
    for (let i = 1; i < this.count; i++) {
      if (!metric.total[i]) continue;
      const row = rows[this.function[i]];
      row.self += metric.self[i];
      if (metric.self[i]) row.nodes.push([i, metric.self[i]]);
      if (!this.#isRecursive(i)) row.total += metric.total[i];
    }
    metric.flat = rows.filter((row) => row.total > 0);
    return metric.flat;
  }

  #isRecursive(node) {
    for (let up = this.parent[node]; up > 0; up = this.parent[up])
      if (this.function[up] === this.function[node]) return true;
    return false;
  }

  // Which functions match, and the share of the metric below them.
  search(metric, text) {
    if (text === "") return { hits: [], functions: 0, share: 0 };
    const wanted = text.toLowerCase();
    const hits = this.functions.map((f) => f.name.toLowerCase().includes(wanted));
    const inside = new Uint8Array(this.count);
    let sum = 0;
    for (let i = 1; i < this.count; i++) {
      inside[i] = inside[this.parent[i]] | hits[this.function[i]];
      if (inside[i]) sum += metric.self[i];
    }
    return { hits, functions: hits.filter(Boolean).length, share: metric.sum ? sum / metric.sum : 0 };
  }
}
