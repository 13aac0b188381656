// Reads the imports of a source tree and tells where the house is not as ARCHITECTURE.md draws it.
import { dirname, join, normalize } from "node:path";

/** Path below src/ to source text. */
export type SourceTree = ReadonlyMap<string, string>;

export const RANKS: Readonly<Record<string, number>> = {
  cli: 7,
  "main.ts": 6,
  admin: 5,
  proxy: 5,
  snapshot: 4,
  plugins: 3,
  providers: 3,
  store: 3,
  balance: 3,
  upstream: 3,
  sdk: 2,
  model: 1,
  wire: 1,
  counters: 1,
  telemetry: 1,
  base: 0,
};

/** The one path a folder of src/ may take out of it. */
const OUTSIDE: Readonly<Record<string, RegExp>> = {
  "main.ts": /^\.\.\/package\.json$/,
  cli: /^\.\.\/(package\.json|test\/fake-provider\/server\.ts)$/,
  // Where there are sources, the console is built when it is first asked for.
  admin: /^\.\.\/scripts\/build-console\.ts$/,
};

/** All that the console may take from elsewhere: it knows the gateway by its API alone. */
const CONSOLE_PACKAGES = new Set(["preact", "preact/hooks", "@preact/signals", "uplot"]);

const BARRELS = new Set(["sdk/index.ts"]);
const MAX_LINES = 400;
const IMPORT =
  /^\s*(?:import|export)\s[^"'`;]*?from\s*"([^"]+)"|^\s*import\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;

export function findViolations(tree: SourceTree, providerNames: readonly string[]): string[] {
  const imports = new Map([...tree].map(([file, text]) => [file, importsOf(text)]));
  const faults: string[] = [];
  for (const [file, text] of tree) {
    for (const specifier of imports.get(file) ?? []) {
      const fault = importFault(file, specifier);
      if (fault !== null) faults.push(`${file}: ${fault}`);
    }
    for (const fault of fileFaults(file, text, providerNames)) faults.push(`${file}: ${fault}`);
  }
  return [...faults, ...findCycles(imports)];
}

/** The same for the files of console/, which stand outside of the ranks. */
export function findConsoleViolations(tree: SourceTree): string[] {
  const imports = new Map([...tree].map(([file, text]) => [file, importsOf(text)]));
  const faults: string[] = [];
  for (const [file, text] of tree) {
    for (const specifier of imports.get(file) ?? []) {
      const isInside =
        specifier.startsWith(".") && !normalize(join(dirname(file), specifier)).startsWith("..");
      if (!isInside && !CONSOLE_PACKAGES.has(specifier))
        faults.push(`${file}: imports ${specifier}, which is not the console's`);
    }
    for (const fault of fileFaults(file, text, [])) faults.push(`${file}: ${fault}`);
  }
  return [...faults, ...findCycles(imports)];
}

function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

function folderOf(file: string): string {
  return file.split("/")[0] ?? "";
}

function importFault(file: string, specifier: string): string | null {
  const folder = folderOf(file);
  if (RANKS[folder] === undefined) return `${folder} has no rank; give it one in ARCHITECTURE.md and here`;
  if (!specifier.startsWith(".")) return bareImportFault(file, specifier);
  const target = normalize(join(dirname(file), specifier));
  if (target.startsWith("..")) {
    return OUTSIDE[folder]?.test(target) === true ? null : `imports ${target}, outside of src/`;
  }
  const wall = wallFault(file, target);
  if (wall !== null) return wall;
  const targetFolder = folderOf(target);
  if (targetFolder === folder) return null;
  const [from, to] = [RANKS[folder] ?? 0, RANKS[targetFolder]];
  if (to === undefined) return `imports ${target}, whose folder has no rank`;
  return to < from ? null : `imports ${target}: rank ${from} may only import lower ranks, not ${to}`;
}

/** A built-in plugin has no privilege that a custom one lacks. */
function bareImportFault(file: string, specifier: string): string | null {
  const builtin = specifier.startsWith("node:") || specifier === "bun" || specifier.startsWith("bun:");
  if (!isPlugin(file) || builtin) return null;
  return `imports ${specifier}: a plugin imports only sdk/ and what sdk/ hands out`;
}

/** The folders below plugins/; the files beside them register and load plugins, and are none. */
function isPlugin(file: string): boolean {
  return folderOf(file) === "plugins" && file.split("/").length > 2;
}

function wallFault(file: string, target: string): string | null {
  if (folderOf(file) === "proxy" && folderOf(target) === "store")
    return `imports ${target}: proxy/ never imports store/`;
  if (!isPlugin(file) || folderOf(target) === "sdk") return null;
  const [, ownFolder] = file.split("/");
  return target.startsWith(`plugins/${ownFolder ?? ""}/`)
    ? null
    : `imports ${target}: a plugin imports only sdk/ and its own folder`;
}

function fileFaults(file: string, text: string, providerNames: readonly string[]): string[] {
  const faults: string[] = [];
  if (file.endsWith("/index.ts") && !BARRELS.has(file))
    faults.push("is a barrel; folders meet through plainly named files");
  if (!text.startsWith("//")) faults.push("does not open with a line saying what it owns");
  if (/^export default/m.test(text)) faults.push("has a default export");
  const lines = text.split("\n").length;
  if (lines > MAX_LINES && !text.startsWith("// Generated"))
    faults.push(`has ${lines} lines; does it own one thing?`);
  if (knowsProviders(file)) return faults;
  for (const name of providerNames) {
    if (new RegExp(`["'\`]${name}["'\`]`, "i").test(text)) {
      faults.push(`names the provider "${name}"; providers are data of providers/`);
    }
  }
  return faults;
}

/** Two providers gave their names to wire formats, and those are code. */
function knowsProviders(file: string): boolean {
  return folderOf(file) === "providers" || folderOf(file) === "wire" || file === "base/wire-format.ts";
}

function findCycles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file);
    if (start >= 0) {
      cycles.push(`cycle: ${[...trail.slice(start), file].join(" → ")}`);
      return;
    }
    if (done.has(file)) return;
    for (const specifier of imports.get(file) ?? []) {
      if (specifier.startsWith(".")) visit(normalize(join(dirname(file), specifier)), [...trail, file]);
    }
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return cycles;
}
