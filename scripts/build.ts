// `npm run build`: builds dist/gatehouse, a single executable, with its SBOM (gatehouse.cdx.json) and SHA256SUMS.
// `-- --target bun-linux-arm64 --outfile dist/gatehouse-linux-arm64` builds for another platform.
import { Glob } from "bun";
import { statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import lock from "../package-lock.json" with { type: "json" };
import { embeddedConsole } from "./build-console.ts";
import { addChecksums } from "./checksums.ts";
import { createSbom } from "./sbom.ts";

const ROOT = join(import.meta.dir, "..");

const { values } = parseArgs({
  options: { target: { type: "string" }, outfile: { type: "string", default: join(ROOT, "dist/gatehouse") } },
});

/** Worker threads load these by their URL. They are located next to the main file, so their names must be unique. */
const threadModules = [
  join(ROOT, "src/off-loop/off-loop-worker.ts"),
  join(ROOT, "src/cli/watchdog-thread.ts"),
  ...[...new Glob("src/**/*-task.ts").scanSync({ cwd: ROOT, absolute: true })].sort(),
];
if (new Set(threadModules.map((path) => basename(path))).size < threadModules.length)
  throw new Error("two task modules have the same file name; rename one");

const startedAt = performance.now();
const built = await Bun.build({
  entrypoints: [join(ROOT, "src/cli/main.ts"), ...threadModules],
  naming: "[name].[ext]",
  // The console is built now: the executable has no sources to build it from.
  files: await embeddedConsole(),
  compile: {
    outfile: values.outfile,
    ...(values.target !== undefined && { target: values.target as Bun.Build.CompileTarget }),
    // The executable reads settings from .env in the working directory, and no other configuration file of Bun.
    autoloadDotenv: true,
    autoloadBunfig: false,
  },
  format: "esm",
  bytecode: true,
  // Keep names: logs show them.
  minify: { whitespace: true, syntax: true, identifiers: false },
  sourcemap: "linked",
  throw: false,
});
if (!built.success) {
  for (const entry of built.logs) console.error(entry.message);
  process.exit(1);
}
const sbomFile = `${values.outfile}.cdx.json`;
writeFileSync(sbomFile, `${JSON.stringify(createSbom(lock), null, 2)}\n`);
addChecksums(values.outfile, sbomFile);
const megabytes = Math.round(statSync(values.outfile).size / 1_000_000);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`${values.outfile}: ${megabytes} MB in ${seconds} s`);
