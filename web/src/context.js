// SPDX-License-Identifier: MIT
// Frames of calling contexts, innermost first, and what the kinds of pairs are called.
import { h, nameSpan } from "./dom.js";
import { functionName, place } from "./format.js";

export const KINDS = {
  dead: { label: "dead stores", ends: ["stored, then lost", "stored again"] },
  silent: { label: "silent stores", ends: ["stored", "stored the same again"] },
  load: { label: "redundant loads", ends: ["loaded", "loaded the same again"] },
  reuse: { label: "reuses", ends: ["used", "used again"] },
};

// Findings as the text report lists them: by cause, each with the contexts that it sums up.
export const findingsOf = (kind) => kind?.findings ?? kind?.pairs ?? [];

export function frameItem(frame, attributes) {
  return h("li", { title: frame.module, ...attributes }, nameSpan(functionName(frame)), " ", h("span", { class: "place" }, place(frame)),
    frame.inlined && h("span", { class: "tag" }, "inlined"), frame.kernel && h("span", { class: "tag" }, "kernel"),
    frame.incomplete && h("span", { class: "tag" }, "callers unknown"));
}

export const contextList = (frames, attributes = () => null) => h("ol", { class: "context" }, frames.map((frame, i) => frameItem(frame, attributes(frame, i))));
