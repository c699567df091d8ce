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

export function amount(value, unit) {
  if (value === null || value === undefined) return "";
  return unit === "bytes" ? bytes(value) : unit === "ns" ? time(value) : count(value);
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
