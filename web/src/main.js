// SPDX-License-Identifier: MIT
// The page: its views, the state that links carry, keys, search and colours.
import { renderChanges } from "./changes.js";
import { part, Tree } from "./data.js";
import { clean, h } from "./dom.js";
import { percent, several } from "./format.js";
import { renderIcicle } from "./icicle.js";
import { renderCeiling } from "./ceiling.js";
import { renderLimits } from "./limits.js";
import { renderLocality } from "./locality.js";
import { renderMap } from "./map.js";
import { groupsOf, renderPairs } from "./pairs.js";
import { renderPaths } from "./paths.js";
import { renderReuse } from "./reuse.js";
import { addSources } from "./source.js";
import { renderSharing } from "./sharing.js";
import { renderSpans } from "./spans.js";
import { renderStat } from "./stat.js";
import { reveal } from "./table.js";
import { renderTree } from "./trees.js";
import { renderWaits } from "./waits.js";

const NOTHING = { view: "", kind: "", change: 0, pair: 0, path: 0, block: 0, wait: 0, line: 0, metric: 0, node: 0, zoom: 0, row: "", sort: "", q: "", theme: "" };

const KEYS = [
  ["/", "search"], ["n, N", "next match, previous match"], ["p", "pairs"], ["t", "top-down"], ["b", "bottom-up"], ["i", "icicle"], ["s", "summary"], ["w", "what changed"],
  ["m", "next metric"], ["arrows", "move; right and left open and close"], ["Enter", "open, zoom"], ["0", "reset zoom and sorting"],
  ["c", "copy the selected function's name"], ["d", "dark or light"], ["Esc", "leave the search, then zoom out"], ["?", "this list"],
];

// `part`: what of the data the view is made of; the summary stands in the page as it is.
const VIEWS = [
  { id: "changes", label: "Changes", key: "w", part: "data", render: renderChanges },
  { id: "summary", label: "Summary", key: "s", render: (root, app) => (root.append(app.summary), {}) },
  { id: "pairs", label: "Pairs", key: "p", part: "data", render: renderPairs },
  { id: "waits", label: "Waiting", part: "data", render: renderWaits },
  { id: "reuse", label: "Caches", part: "data", render: renderReuse },
  { id: "sharing", label: "Shared lines", part: "data", render: renderSharing },
  { id: "stat", label: "Times", part: "data", render: renderStat },
  { id: "limits", label: "Loops", part: "data", render: renderLimits },
  { id: "ceiling", label: "Ceilings", part: "data", render: renderCeiling },
  { id: "locality", label: "Nests", part: "data", render: renderLocality },
  { id: "map", label: "Code", part: "data", render: renderMap },
  { id: "paths", label: "Paths", part: "data", render: renderPaths },
  { id: "blocks", label: "Spans", part: "data", render: renderSpans },
  { id: "top", label: "Top-down", key: "t", part: "tree", render: (root, app) => renderTree(root, app, false) },
  { id: "bottom", label: "Bottom-up", key: "b", part: "tree", render: (root, app) => renderTree(root, app, true) },
  { id: "icicle", label: "Icicle", key: "i", part: "tree", render: renderIcicle },
];

// ---- state in the address -----------------------------------------------------------------------

function readLink() {
  const state = { ...NOTHING };
  for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
    if (Object.hasOwn(NOTHING, name)) state[name] = typeof NOTHING[name] === "number" ? Math.max(0, Math.trunc(Number(value)) || 0) : value;
  return state;
}

function writeLink(state) {
  const changed = Object.entries(state).filter(([name, value]) => value !== NOTHING[name]);
  const link = new URLSearchParams(changed.map(([name, value]) => [name, String(value)])).toString();
  history.replaceState(null, "", link ? `#${link}` : "#");
}

// ---- the application ------------------------------------------------------------------------------

class App {
  constructor(summary) {
    const has = document.getElementById("tree").dataset.views.split(" ");
    this.summary = summary;
    this.clean = clean;
    this.state = readLink();
    this.views = VIEWS.filter((view) => has.includes(view.part === "tree" ? "tree" : view.id));
    this.data = this.tree = null; // until a view needs them
    this.matches = (name) => this.state.q !== "" && name.toLowerCase().includes(this.state.q.toLowerCase());
    this.metrics = h("select", { "aria-label": "Metric", onchange: () => this.set({ metric: this.metrics.selectedIndex, zoom: 0 }) });
  }

  // Undoes a part of the data; nothing if that has been done.
  async need(id) {
    if (!id || this[id]) return;
    const raw = await part(id);
    if (this[id]) return;
    this[id] = id === "tree" ? new Tree(raw) : raw;
    if (id === "data") addSources(raw.sources);
    else this.metrics.replaceChildren(...this.tree.metrics.map((m) => h("option", null, m.name)));
  }

  isDark() {
    return this.state.theme ? this.state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  // State that is drawn already: only the link has to follow.
  note(change) {
    Object.assign(this.state, change);
    writeLink(this.state);
  }

  set(change) {
    this.note(change);
    this.render();
  }

  build() {
    this.tabs = h("nav", { role: "tablist" });
    this.input = h("input", { type: "search", placeholder: "Search functions ( / )", "aria-label": "Search functions", spellcheck: "false", oninput: () => this.set({ q: this.input.value }) });
    this.found = h("span", { class: "found", "aria-live": "polite" });
    this.root = h("div", { id: "view" });
    this.said = h("div", { class: "said", role: "status" });
    const button = (label, title, onclick) => h("button", { title, onclick }, label);
    document.body.append(
      h("header", { class: "top" }, this.tabs, this.metrics, this.limits(), h("span", { class: "grow" }), this.found, this.input,
        button("◐", "Dark or light (d)", () => this.turn()), button("? keys", "All keys (?)", () => this.help())),
      this.root, this.said, this.dialog());
    document.body.classList.add("live");
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => {
      this.state = readLink();
      this.render();
    });
    window.addEventListener("resize", () => this.view.resize?.());
    this.render();
  }

  // What was degraded is listed in the summary; every other view points there.
  limits() {
    const degraded = Array.from(this.summary.querySelectorAll(".degraded li"), (item) => item.textContent);
    return degraded.length ? h("button", { class: "limits", title: degraded.join("\n"), onclick: () => this.go("summary") }, `⚠ ${several(degraded.length, "limit")}`) : null;
  }

  dialog() {
    this.keys = h("dialog", null, h("h3", null, "Keys"), h("dl", { class: "keys" }, KEYS.map(([key, what]) => [h("dt", null, key), h("dd", null, what)])), h("form", { method: "dialog" }, h("button", { onclick: (event) => { event.preventDefault(); this.keys.close(); } }, "Close")));
    return this.keys;
  }

  help() {
    if (!this.keys.open) this.keys.showModal();
  }

  current() {
    return this.views.find((view) => view.id === this.state.view) ?? this.views[0];
  }

  render() {
    const { state } = this, current = this.current();
    document.documentElement.dataset.theme = this.isDark() ? "dark" : "light";
    if (this.input.value !== state.q) this.input.value = state.q;
    this.tabs.replaceChildren(...this.views.map((view) =>
      h("button", { role: "tab", "aria-selected": view === current ? "true" : "false", title: view.key && `key ${view.key}`, onclick: () => this.go(view.id) }, view.label)));
    const scrolled = this.root.querySelector(".left")?.scrollTop;
    this.root.replaceChildren();
    this.root.className = current.id;
    this.view = {};
    this.metrics.hidden = current.part !== "tree";
    this.found.textContent = "";
    if (current.part && !this[current.part]) {
      this.root.append(h("p", { class: "note" }, "Reading the data."));
      this.need(current.part).then(() => this.render(), (error) => this.root.replaceChildren(h("p", { class: "degraded" }, cannot(error))));
      return;
    }
    this.draw(current);
    if (scrolled && this.root.querySelector(".left")) this.root.querySelector(".left").scrollTop = scrolled;
    reveal(this.root);
  }

  draw(current) {
    const { state, tree } = this, ofTree = current.part === "tree";
    if (ofTree) {
      if (!tree.metrics[state.metric]) state.metric = 0;
      this.metrics.selectedIndex = state.metric;
      this.search = tree.search(tree.metric(state.metric), state.q);
    }
    this.view = current.render(this.root, this) ?? {};
    if (state.q !== "") this.found.textContent = this.view.share ? this.view.share() : ofTree ? `${several(this.search.functions, "function")}, ${percent(this.search.share)}` : "";
  }

  go(view) {
    if (this.views.some((v) => v.id === view)) this.set({ view, sort: "", row: "", kind: "" });
  }

  // To what another view shows; the browser's way back leads here again.
  follow(target) {
    history.pushState(null, "", location.hash || "#");
    this.set({ sort: "", row: "", ...target });
  }

  turn() {
    this.set({ theme: this.isDark() ? "light" : "dark" });
  }

  copy(name) {
    const done = () => this.say(`copied: ${name}`);
    navigator.clipboard?.writeText(name).then(done, () => this.say("This browser does not let pages copy."));
  }

  say(text) {
    this.said.textContent = clean(text);
    clearTimeout(this.silence);
    this.silence = setTimeout(() => (this.said.textContent = ""), 2500);
  }

  escape() {
    if (document.activeElement === this.input) this.input.blur();
    else if (this.state.q) this.set({ q: "" });
    else this.view.out?.();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || this.keys.open) return;
    if (event.key === "Escape") return this.escape();
    if (event.target === this.input) {
      if (event.key === "Enter") {
        this.input.blur();
        this.view.next?.(1);
      }
      return;
    }
    if (event.target.tagName === "SELECT") return;
    const command = {
      "/": () => (this.input.focus(), this.input.select()),
      n: () => this.view.next?.(1), N: () => this.view.next?.(-1), d: () => this.turn(), "?": () => this.help(),
      0: () => { if (this.view.reset) this.view.reset(); else this.set({ sort: "" }); },
      m: () => this.tree?.metrics.length && this.set({ metric: (this.state.metric + 1) % this.tree.metrics.length, zoom: 0 }),
      c: () => this.view.name?.() && this.copy(this.view.name()),
    }[event.key] ?? (this.views.some((v) => v.key === event.key) ? () => this.go(this.views.find((v) => v.key === event.key).id) : null);
    const button = event.target.tagName === "BUTTON" && event.key === "Enter";
    if (command) command();
    if (command || (!button && this.view.key?.(event))) event.preventDefault();
  }
}

const cannot = (error) => `This view cannot be shown in this browser: ${error.message}`;

// First what is looked at; the rest when the browser has nothing else to do.
async function start() {
  const summary = document.getElementById("summary");
  try {
    const app = new App(summary);
    await app.need(app.current().part);
    summary.remove(); // the view of that name has it from here on
    app.build();
    performance.mark("interactive");
    const idle = window.requestIdleCallback ?? ((work) => setTimeout(work));
    idle(async () => {
      for (const id of ["data", "tree"]) await app.need(id).catch(() => {}); // the views made of it report it
      document.body.classList.add("whole");
    }, { timeout: 500 });
  } catch (error) {
    document.body.prepend(summary);
    summary.prepend(h("p", { class: "degraded" }, cannot(error)));
    throw error;
  }
}

start();
