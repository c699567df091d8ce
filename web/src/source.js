// SPDX-License-Identifier: MIT
// Quoted source lines.
import { h } from "./dom.js";
import { base } from "./format.js";

const files = new Map();

export function addSources(sources) {
  for (const { file, lines } of sources ?? []) files.set(file, new Map(lines));
}

export const sourceLine = (file, line) => files.get(file)?.get(line);

// Numbers of the lines of a file that the page has, ascending.
export const linesOf = (file) => [...(files.get(file)?.keys() ?? [])].sort((a, b) => a - b);

const TOKENS =
  /(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(\d[\w.]*)|\b(auto|bool|break|case|char|class|const|continue|default|delete|do|double|else|enum|extern|false|float|fn|for|goto|if|inline|int|let|long|match|namespace|new|nullptr|pub|register|return|short|signed|sizeof|static|struct|switch|template|this|throw|true|try|typedef|union|unsigned|using|virtual|void|volatile|while)\b|(^\s*#\s*[a-z]+)/g;

// Comments, strings, numbers, keywords and directives; a comment over several lines is not followed.
export function highlighted(text) {
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(TOKENS)) {
    parts.push(text.slice(last, match.index));
    const kind = ["comment", "string", "numeral", "keyword", "keyword"][match.slice(1).findIndex((group) => group !== undefined)];
    parts.push(h("span", { class: kind }, match[0]));
    last = match.index + match[0].length;
  }
  parts.push(text.slice(last));
  return parts;
}

// Lines around one, which is marked.
export function excerpt(file, line, around = 6) {
  const lines = files.get(file);
  if (!file || !line) return h("p", { class: "note" }, "The source line is unknown.");
  const title = h("div", { class: "file", title: file }, `${base(file)}:${line}`);
  if (!lines?.has(line)) return h("div", { class: "source" }, title, h("p", { class: "note" }, "Its source lines are not part of this page."));
  const rows = [];
  for (let number = line - around; number <= line + around; number++)
    if (lines.has(number))
      rows.push(
        h("div", { class: number === line ? "line marked" : "line" },
          h("span", { class: "number" }, number), h("code", null, highlighted(lines.get(number)) )));
  return h("div", { class: "source" }, title, h("div", { class: "lines" }, rows));
}
