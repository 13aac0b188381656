// `npm run build`: builds dist/gatehouse, a single executable. `-- --target bun-linux-arm64` builds for another platform.
import { statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { embeddedConsole } from "./build-console.ts";

const ROOT = join(import.meta.dir, "..");

const { values } = parseArgs({
  options: { target: { type: "string" }, outfile: { type: "string", default: join(ROOT, "dist/gatehouse") } },
});

const startedAt = performance.now();
const built = await Bun.build({
  entrypoints: [join(ROOT, "src/cli/main.ts")],
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
const megabytes = Math.round(statSync(values.outfile).size / 1_000_000);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`${values.outfile}: ${megabytes} MB in ${seconds} s`);
