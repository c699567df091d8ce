// SPDX-License-Identifier: MIT
// What the program embeds is what web/src gives. TAP on standard output.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
if (!existsSync(path.join(root, "web/node_modules/esbuild"))) {
  console.log("1..0 # SKIP esbuild is not installed: npm ci --ignore-scripts in web/");
  process.exit(0);
}
const directory = mkdtempSync(path.join(tmpdir(), "headroom-asset."));
execFileSync(process.execPath, [path.join(root, "web/build.mjs"), directory]);
const names = ["app.js", "app.css"];
console.log(`1..${names.length}`);
names.forEach((name, index) => {
  const same = readFileSync(path.join(directory, name)).equals(readFileSync(path.join(root, "src/output/view", name)));
  console.log(`${same ? "ok" : "not ok"} ${index + 1} - src/output/view/${name} is what web/ gives (node web/build.mjs)`);
  if (!same) process.exitCode = 1;
});
rmSync(directory, { recursive: true });
