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

// Written and read by hand: by way of a Blob and a Response it takes five times as long, because other processes take part.
async function unpack(element) {
  const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
  const written = Promise.all([writer.write(bytesOf(element.textContent)), writer.close()]);
  const pieces = [];
  let length = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    pieces.push(piece.value);
    length += piece.value.length;
  }
  await written;
  const whole = new Uint8Array(length);
  pieces.reduce((at, piece) => (whole.set(piece, at), at + piece.length), 0);
  return JSON.parse(new TextDecoder().decode(whole));
}

// Each part is undone once, when something first needs it.
const parts = new Map();

export function part(id) {
  if (!parts.has(id)) parts.set(id, unpack(document.getElementById(id)));
  return parts.get(id);
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

// For each node from 1 the next one of the same parent, and for each node its first child; 0: none.
function family(up) {
  const first = new Int32Array(up.length + 1), next = new Int32Array(up.length + 1);
  for (let i = up.length; i > 0; i--) {
    const above = i - up[i - 1];
    next[i] = first[above];
    first[above] = i;
  }
  return { first, next };
}

// Nodes of one kind (function, inlined or not) below the same parent are one. Numbered level by level, so that parents precede
// children; 0 is the root. Tables instead of hashing: which kinds a parent has met is stamped with its number.
function merge(up, frame, kinds) {
  const { first, next } = family(up), nodes = first.length;
  const merged = new Int32Array(nodes), members = new Int32Array(nodes), other = new Int32Array(nodes);
  const parent = new Int32Array(nodes).fill(-1), kind = new Int32Array(nodes).fill(-1);
  const most = kinds.reduce((a, b) => Math.max(a, b), 0) + 1, stamp = new Int32Array(most).fill(-1), node = new Int32Array(most);
  let count = 1;
  for (let up = 0; up < count; up++) {
    for (let of = members[up], more = true; more; of = other[of], more = of > 0)
      for (let child = first[of]; child; child = next[child]) {
        const k = kinds[frame[child - 1]];
        if (stamp[k] !== up) {
          stamp[k] = up;
          parent[count] = up;
          kind[count] = k;
          node[k] = count++;
        }
        merged[child] = node[k];
        other[child] = members[node[k]];
        members[node[k]] = child;
      }
  }
  return { merged, count, parent: parent.subarray(0, count), kind: kind.subarray(0, count) };
}

export class Tree {
  constructor(raw) {
    const { functions, ids } = functionsOf(raw.frames);
    const kinds = Int32Array.from(ids, (id, frame) => 2 * id + (raw.frames[frame][4] & INLINED));
    const { merged, count, parent, kind } = merge(raw.up, raw.frame, kinds);
    this.count = count;
    this.functions = functions;
    this.parent = parent;
    this.function = kind.map((of) => of >> 1);
    this.inlined = kind.map((of) => (of > 0 ? of & INLINED : 0));
    this.metrics = raw.metrics.map((metric) => ({ name: metric.name, unit: metric.unit, raw: metric, merged }));
  }

  // Own and inclusive values by node; children of each node.
  metric(index) {
    const metric = this.metrics[index];
    if (!metric.self) {
      metric.self = new Float64Array(this.count);
      let at = 0;
      const { nodes, values } = metric.raw;
      for (let i = 0; i < nodes.length; i++) {
        at += nodes[i];
        metric.self[metric.merged[at]] += values[i];
      }
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
    metric.isSorted = new Uint8Array(this.count);
  }

  // Largest first. Sorted when first asked for: most nodes are never looked at.
  childrenOf(metric, node) {
    const children = metric.children.subarray(metric.start[node], metric.start[node + 1]);
    if (!metric.isSorted[node]) {
      metric.isSorted[node] = 1;
      if (children.length > 1) children.sort((a, b) => metric.total[b] - metric.total[a] || a - b);
    }
    return children;
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
