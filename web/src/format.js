// SPDX-License-Identifier: MIT
// Figures and names for people.

export function percent(share) {
  if (share === null || share === undefined) return "";
  if (share > 0 && share < 0.00005) return "< 0.01 %";
  return `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 2 : 1)} %`;
}

export const several = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

function scaled(value, base, units) {
  let at = 0;
  while (Math.abs(value) >= base && at < units.length - 1) {
    value /= base;
    at++;
  }
  const digits = at === 0 && Number.isInteger(value) ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(digits)}${units[at]}`;
}

export const bytes = (value) => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
export const count = (value) => scaled(value, 1000, ["", " k", " M", " G", " T"]);

export function time(ns) {
  if (ns === null || ns === undefined) return "";
  return scaled(ns, 1000, [" ns", " µs", " ms", " s"]);
}

// Weights of samples are amounts of nothing: they have shares only.
export function amount(value, unit) {
  if (value === null || value === undefined || unit === "share") return "";
  return unit === "bytes" ? bytes(value) : unit === "ns" ? time(value) : count(value);
}

// ---- axes -----------------------------------------------------------------------------------------

const plain = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

// Of a value at a round number: "4 KiB", "100 k".
export const roundLabel = (label) => (value) => plain(label(value));

// Shares from 0 in round steps, the last one not below `most`.
export function shareTicks(most) {
  const raw = Math.max(most, 1e-6) / 5, unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((by) => by * unit).find((by) => by >= raw * (1 - 1e-9));
  const steps = Math.ceil(most / step - 1e-9) || 1;
  return Array.from({ length: steps + 1 }, (_, i) => Number((i * step).toPrecision(9)));
}

export const shareLabel = (share) => `${Number((100 * share).toPrecision(6))} %`;

// Powers of `radix` between the ends, at most so many; where more fit, every second, third, ...
export function powerTicks(radix, low, high, most) {
  const first = Math.ceil(Math.log(Math.max(low, 1)) / Math.log(radix) - 1e-9), last = Math.floor(Math.log(Math.max(high, 1)) / Math.log(radix) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most)), ticks = [];
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) ticks.push(radix ** power);
  return ticks;
}

export const base = (path) => (path ? path.slice(path.lastIndexOf("/") + 1) : "");

export const functionName = (frame) => frame.function || (frame.module ? `[${base(frame.module)}]` : "(unknown)");

// Of a place that has neither file nor function the module is its name already; then where in it.
export function place(frame) {
  if (frame.file) return base(frame.file) + (frame.line ? `:${frame.line}` : "");
  return frame.function ? base(frame.module) : (frame.address ?? "");
}

const LONG = 36; // letters: shorter names are left alone

// Where the angle bracket at this place closes; -1 if it is an operator's or never does.
function closing(name, at) {
  if (/operator ?<?$/.test(name.slice(0, at))) return -1;
  for (let depth = 0, i = at; i < name.length; i++) {
    if (name[i] === "<") depth++;
    else if (name[i] === ">" && name[i - 1] !== "-" && --depth === 0) return i;
  }
  return -1;
}

// A long C++ or Rust name without what is between its angle brackets: what distinguishes functions is mostly behind it.
export function shortName(name) {
  if (name.length <= LONG) return name;
  let short = "", at = 0;
  for (let open = name.indexOf("<"); open >= 0; open = name.indexOf("<", at)) {
    const end = open ? closing(name, open) : -1; // one that begins a name is a Rust type
    short += name.slice(at, open) + (end < 0 ? "<" : end > open + 3 ? "<\u2026>" : name.slice(open, end + 1));
    at = end < 0 ? open + 1 : end + 1;
  }
  return short + name.slice(at);
}
