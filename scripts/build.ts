// `npm run build`: builds dist/gatehouse, a single executable, with its SBOM (gatehouse.cdx.json) and SHA256SUMS.
// `-- --target bun-linux-arm64 --outfile dist/gatehouse-linux-arm64` builds for another platform.
import { Glob } from "bun";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import lock from "../package-lock.json" with { type: "json" };
import { describeInputs, inputsFileOf } from "../src/cli/executable-inputs.ts";
import { embeddedConsole } from "./build-console.ts";
import { embeddedPatternTables } from "./build-pattern-tables.ts";
import { embeddedSdk } from "./build-sdk.ts";
import { addChecksums } from "./checksums.ts";
import { createSbom } from "./sbom.ts";

const ROOT = join(import.meta.dir, "..");
/** File systems round times down to the last tick of the kernel. */
const CTIME_STEP_MS = 20;

const { values } = parseArgs({
  options: { target: { type: "string" }, outfile: { type: "string", default: join(ROOT, "dist/gatehouse") } },
});

/** Worker threads load these by their URL. They are located next to the main file, so their names must be unique. */
const threadModules = [
  join(ROOT, "src/off-loop/off-loop-worker.ts"),
  join(ROOT, "src/cli/watchdog-thread.ts"),
  join(ROOT, "src/runtime/isolation/isolate-worker.ts"),
  ...[...new Glob("src/**/*-task.ts").scanSync({ cwd: ROOT, absolute: true })].sort(),
];
if (new Set(threadModules.map((path) => basename(path))).size < threadModules.length)
  throw new Error("two task modules have the same file name; rename one");

const startedAt = performance.now();
const startedAtMs = Date.now() - CTIME_STEP_MS;
// Bun also writes a source map per chunk next to the executable, although they are embedded: these are removed.
mkdirSync(dirname(values.outfile), { recursive: true });
const scratch = mkdtempSync(join(dirname(values.outfile), ".build-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
// If the build fails, the launcher must not find the inputs of the one before.
rmSync(inputsFileOf(values.outfile), { force: true });
const built = await Bun.build({
  entrypoints: [join(ROOT, "src/cli/main.ts"), ...threadModules],
  naming: "[name].[ext]",
  // These are built now: the executable has no sources to build them from.
  files: { ...(await embeddedConsole()), ...(await embeddedSdk()), ...embeddedPatternTables() },
  compile: {
    outfile: join(scratch, basename(values.outfile)),
    ...(values.target !== undefined && { target: values.target as Bun.Build.CompileTarget }),
    // The executable reads settings from .env in the working directory, and no other configuration file of Bun.
    autoloadDotenv: true,
    autoloadBunfig: false,
  },
  format: "esm",
  bytecode: true,
  // A process loads only the chunks of what it uses: less to read and to keep in memory.
  splitting: true,
  metafile: true,
  // Keep names: logs show them.
  minify: { whitespace: true, syntax: true, identifiers: false },
  sourcemap: "linked",
  throw: false,
});
if (!built.success) {
  for (const entry of built.logs) console.error(entry.message);
  process.exit(1);
}
renameSync(join(scratch, basename(values.outfile)), values.outfile);
if (values.target === undefined) writeInputs(Object.keys(built.metafile?.inputs ?? {}));
const sbomFile = `${values.outfile}.cdx.json`;
writeFileSync(sbomFile, `${JSON.stringify(createSbom(lock), null, 2)}\n`);
addChecksums(values.outfile, sbomFile);
const megabytes = Math.round(statSync(values.outfile).size / 1_000_000);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`${values.outfile}: ${megabytes} MB in ${seconds} s`);

/** Records what the executable was built from: the launcher runs it only while all of this is unchanged. */
function writeInputs(bundled: readonly string[]): void {
  const scan = (pattern: string) => [...new Glob(pattern).scanSync({ cwd: ROOT })];
  const configuration = ["package.json", "package-lock.json", "tsconfig.json", "bin/gatehouse"];
  const runtime = relative(ROOT, realpathSync(process.execPath));
  const own = bundled.map((path) => relative(ROOT, resolve(path)));
  const paths = new Set([
    ...own,
    ...scan("console/**/*"),
    ...scan("scripts/build*.ts"),
    ...scan("sdk/*"),
    ...scan("src/sdk/*.ts"),
    ...configuration,
    runtime,
  ]);
  const files = [...paths].filter((path) => existsSync(join(ROOT, path))).sort();
  // A file that was written during the build may have been read before that.
  if (files.some((path) => statSync(join(ROOT, path)).ctimeMs >= startedAtMs)) {
    console.log("A source changed during the build, so bin/gatehouse runs the sources. Build again.");
    return;
  }
  writeFileSync(inputsFileOf(values.outfile), JSON.stringify(describeInputs(ROOT, files)));
}
