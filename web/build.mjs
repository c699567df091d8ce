// SPDX-License-Identifier: MIT
// Bundles src/ into what the program embeds: node build.mjs [DIRECTORY], by default ../src/output/view.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import path from "node:path";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, "../src/output/view"));
const common = { absWorkingDir: here, bundle: true, minify: true, charset: "ascii", target: "es2022", legalComments: "none", logLevel: "warning" };
const banner = "/* SPDX-License-Identifier: MIT; made from web/src by web/build.mjs */";

await build({ ...common, entryPoints: ["src/main.js"], outfile: path.join(out, "app.js"), format: "iife", banner: { js: banner } });
await build({ ...common, entryPoints: ["src/app.css"], outfile: path.join(out, "app.css"), banner: { css: banner } });
