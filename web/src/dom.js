// SPDX-License-Identifier: MIT
// Elements. Text becomes a text node or an attribute and nothing else: whatever names a profile
// brings, none is ever parsed as markup.
import { shortName } from "./format.js";

// As name_shows in the report: control characters, those without width, and those that turn the direction of writing. One name
// could pass for another.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g;

export const clean = (text) => String(text).replace(UNSEEN, "\ufffd");

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "width%") element.style.width = `${(100 * value).toFixed(2)}%`;
    else if (name === "left%") element.style.left = `${(100 * value).toFixed(2)}%`;
    else if (name === "heat") element.style.setProperty("--heat", `${(80 * value).toFixed(0)}%`);
    else if (name === "indent") element.style.paddingLeft = `${value}em`;
    else element.setAttribute(name, value === true ? "" : clean(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : clean(child));
  }
  return element;
}

export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

// A function's name, shortened; all of it where the pointer rests.
export function nameSpan(name) {
  const short = shortName(name);
  return h("span", { class: "name", title: short === name ? null : name }, short);
}

export const svg = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
