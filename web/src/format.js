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

export const place = (frame) => (frame.file ? base(frame.file) + (frame.line ? `:${frame.line}` : "") : base(frame.module));
