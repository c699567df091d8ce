// SPDX-License-Identifier: MIT
// What the consumers of exported files publish themselves reads them: schemas, and the programs.
//
//     node own.mjs schema speedscope|sarif FILE
//     node own.mjs firefox FILE               the Firefox Profiler's importer
//     node own.mjs speedscope FILE...         speedscope's page in a headless Chromium
//
// Prints JSON, {skip: reason} if something is not installed; exit code 1 and lines if a file is not accepted.
// CHROMIUM names the browser if it is none of the usual ones.
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

const modules = fileURLToPath(new URL("../../web/node_modules/", import.meta.url));
const require = createRequire(path.join(modules, "anchor.js"));
const json = (file) => JSON.parse(readFileSync(file, "utf8"));
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Skip extends Error {}

function installed(name) {
  const file = path.join(modules, name);
  if (!existsSync(file)) throw new Skip(`${name} is not installed: npm ci --ignore-scripts in web/`);
  return file;
}

// ---- schemas --------------------------------------------------------------------------------------

const SCHEMAS = {
  speedscope: ["ajv", "speedscope/dist/release/file-format-schema.json"],
  sarif: ["ajv-draft-04", "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"],
};

function schema(format, file) {
  const [validator, name] = SCHEMAS[format];
  installed(validator);
  const Ajv = require(validator).default;
  // Formats ("uri") are checked by readers.py. SARIF's schema has a pattern that is none with the flag "u".
  const validate = new Ajv({ allErrors: false, strict: false, validateFormats: false, unicodeRegExp: false }).compile(json(installed(name)));
  if (!validate(json(file))) throw new Error(validate.errors.map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`).join("; "));
  return {};
}

// ---- the Firefox Profiler -------------------------------------------------------------------------

const STARTED_MS = 60000, ANSWER_BYTES = 1 << 28;

// The program answers from a process that has the file loaded. It is started here and not by `load`, which
// gives up after half a second.
async function firefox(file) {
  const program = installed("@firefox-devtools/profiler-cli/dist/profiler-cli.js");
  if (+process.versions.node.split(".")[0] < 20) throw new Skip(`profiler-cli is known to run with Node 20 and newer, this is ${process.versions.node}`);
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-firefox."));
  const env = { ...process.env, PROFILER_CLI_SESSION_DIR: directory, PROFILER_CLI_NO_SYMBOLICATE: "1" };
  const server = spawn(process.execPath, [program, "--daemon", file, "--session", "test"], { env, stdio: "ignore" });
  const ask = async (...words) => JSON.parse((await promisify(execFile)(process.execPath, [program, ...words, "--json", "--session", "test"], { env, maxBuffer: ANSWER_BYTES })).stdout);
  try {
    let list = null;
    for (const until = Date.now() + STARTED_MS; !list;) {
      await wait(300);
      list = await ask("thread", "list", "--limit", "0").catch((error) => {
        if (server.exitCode !== null || Date.now() > until) throw error;
        return null;
      });
    }
    const metrics = {};
    for (const { threadHandle, name } of list.threads) {
      const { functions, weightType } = await ask("thread", "functions", "--thread", threadHandle, "--limit", "0", "--include-idle");
      const scale = weightType === "tracing-ms" ? 1e6 : 1; // to nanoseconds
      metrics[name] = { total: 0, own: {} };
      for (const { name: function_, selfSamples } of functions) {
        metrics[name].total += selfSamples * scale;
        if (selfSamples) metrics[name].own[function_] = (metrics[name].own[function_] ?? 0) + selfSamples * scale;
      }
    }
    return metrics;
  } finally {
    server.kill();
    rmSync(directory, { recursive: true, force: true });
  }
}

// ---- speedscope -----------------------------------------------------------------------------------

// What the page saves is what it took in: the same as events, with times for weights.
function added(profile, frames) {
  const own = {}, stack = [];
  let last = profile.startValue;
  const pass = (at) => {
    const name = stack.at(-1);
    if (at > last && name !== undefined) own[name] = (own[name] ?? 0) + at - last;
    last = at;
  };
  if (profile.type !== "evented") throw new Error(`the page saves ${profile.type}`);
  for (const event of profile.events) {
    pass(event.at);
    if (event.type === "O") stack.push(frames[event.frame].name);
    else stack.pop();
  }
  return { total: profile.endValue - profile.startValue, own };
}

async function read(browser, file) {
  const context = await browser.newContext({ acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  const wrong = [];
  page.on("console", (message) => { if (message.type() === "error" || /ignoring|fail|unrecognized/i.test(message.text())) wrong.push(message.text()); });
  page.on("pageerror", (error) => wrong.push(String(error.stack)));
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) wrong.push(`request: ${request.url()}`); });
  const refused = new Promise((_, reject) => page.on("dialog", (dialog) => { dialog.dismiss(); reject(new Error(`${file}: ${dialog.message()}`)); }));
  refused.catch(() => {});
  await page.goto(pathToFileURL(installed("speedscope/dist/release/index.html")).href);
  await page.setInputFiles("input[type=file]", file);
  const toSave = page.getByText("Export");
  await Promise.race([toSave.waitFor(), refused]);
  const [download] = await Promise.all([page.waitForEvent("download"), toSave.click()]);
  const saved = json(await download.path());
  await page.getByText("Sandwich").click();
  const rows = page.locator("tr").filter({ hasText: /%/ });
  await rows.first().waitFor();
  const shown = await rows.first().innerText(); // the function with the largest own weight
  await context.close();
  if (wrong.length) throw new Error(`${file}: ${wrong.join("; ")}`);
  const profiles = saved.profiles.map((profile) => ({ name: profile.name, ...added(profile, saved.shared.frames) }));
  return { profiles, shown: shown.split("\n").at(-1).trim() };
}

async function speedscope(...files) {
  const executable = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((name) => name && existsSync(name));
  installed("speedscope");
  const { chromium } = await import(pathToFileURL(installed("playwright-core/index.mjs")));
  if (!executable) throw new Skip("no Chromium");
  const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
  const answers = {};
  try {
    for (const file of files) answers[path.extname(file).slice(1)] = await read(browser, file).catch((error) => ({ error: error.message }));
  } finally {
    await browser.close();
  }
  return answers;
}

const [verb, ...words] = process.argv.slice(2);
try {
  console.log(JSON.stringify(await { schema, firefox, speedscope }[verb](...words)));
} catch (error) {
  if (error instanceof Skip) console.log(JSON.stringify({ skip: error.message }));
  else {
    console.error(error.message);
    process.exitCode = 1;
  }
}
