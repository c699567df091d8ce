// SPDX-License-Identifier: MIT
// Charts of shares: the frame, with lines at round shares.
import { h, svg } from "./dom.js";
import { shareLabel, shareTicks } from "./format.js";

export const WIDTH = 720, HEIGHT = 260, LEFT = 52, TOP = 24, BOTTOM = 46;

// right: room beside the last value. ticks: [x, text] below the axis, which is named `axis`. draw(y): what is in it, where y(share) is the height of a share.
export function chart(title, note, axis, right, largest, ticks, draw) {
  const shares = shareTicks(largest), most = shares[shares.length - 1], end = WIDTH - right;
  const y = (share) => TOP + (1 - share / most) * (HEIGHT - TOP - BOTTOM);
  const lines = shares.map((share) => [
    svg("line", { class: "grid", x1: LEFT, x2: end, y1: y(share), y2: y(share) }),
    svg("text", { class: "tick", x: LEFT - 6, y: y(share) + 4, "text-anchor": "end" }, shareLabel(share)),
  ]);
  return h("figure", null, h("figcaption", null, h("b", null, title), " ", note),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title }, lines,
      ticks.map(([x, text]) => svg("text", { class: "tick", x, y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, text)),
      svg("text", { x: (LEFT + end) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, axis), draw(y)));
}
