// Reads the imports of a source tree and reports where it differs from the layers in ARCHITECTURE.md.
import { dirname, join, normalize } from "node:path";

/** Path below src/ to source text. */
type SourceTree = ReadonlyMap<string, string>;

/** Layer of each folder of src/. A file imports only from lower layers and from its own folder. */
export const LAYERS: Readonly<Record<string, number>> = {
  cli: 11,
  "main.ts": 10,
  admin: 9,
  explain: 9,
  proxy: 8,
  runtime: 7,
  snapshot: 6,
  usage: 5,
  mcp: 5,
  plugins: 4,
  store: 4,
  balance: 4,
  upstream: 4,
  sdk: 3,
  kinds: 3,
  model: 2,
  ledger: 2,
  telemetry: 2,
  config: 1,
  http: 1,
  formats: 1,
  redis: 1,
  journal: 1,
  "off-loop": 1,
  "fake-provider": 1,
  base: 0,
};

/** The paths outside src/ that a folder may import. */
const OUTSIDE: Readonly<Record<string, RegExp>> = {
  "main.ts": /^\.\.\/package\.json$/,
  // When run from sources, the SDK for the tests of plugins is built on demand.
  cli: /^\.\.\/(?:package\.json|scripts\/build-sdk\.ts)$/,
  // When run from sources, the console is built on its first request.
  admin: /^\.\.\/scripts\/build-console\.ts$/,
};

/** The only packages that the console may import: it knows the gateway through the Admin API alone. */
const CONSOLE_PACKAGES = new Set(["preact", "preact/hooks", "@preact/signals", "uplot"]);

const BARRELS = new Set(["sdk/index.ts"]);
const MAX_LINES = 300;
/** Declarations of data, which are as long as what they declare. */
const TABLES = new Set(["telemetry/metrics/metric-table.ts"]);
const IMPORT =
  /^\s*(?:import|export)\s[^"'`;]*?from\s*"([^"]+)"|^\s*import\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;

export function findViolations(tree: SourceTree, providerNames: readonly string[]): string[] {
  const imports = new Map([...tree].map(([file, text]) => [file, importsOf(text)]));
  const problems: string[] = [];
  for (const [file, text] of tree) {
    for (const specifier of imports.get(file) ?? []) {
      const problem = importProblem(file, specifier);
      if (problem !== null) problems.push(`${file}: ${problem}`);
    }
    for (const problem of fileProblems(file, text, providerNames)) problems.push(`${file}: ${problem}`);
  }
  return [...problems, ...findCycles(imports)];
}

/** Reports violations in console/, which is outside the layers. */
export function findConsoleViolations(tree: SourceTree): string[] {
  const imports = new Map([...tree].map(([file, text]) => [file, importsOf(text)]));
  const problems: string[] = [];
  for (const [file, text] of tree) {
    for (const specifier of imports.get(file) ?? []) {
      const isInside =
        specifier.startsWith(".") && !normalize(join(dirname(file), specifier)).startsWith("..");
      if (!isInside && !CONSOLE_PACKAGES.has(specifier))
        problems.push(`${file}: imports ${specifier}, which is not the console's`);
    }
    for (const problem of fileProblems(file, text, [])) problems.push(`${file}: ${problem}`);
  }
  return [...problems, ...findCycles(imports)];
}

function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

function folderOf(file: string): string {
  return file.split("/")[0] ?? "";
}

function importProblem(file: string, specifier: string): string | null {
  const folder = folderOf(file);
  if (LAYERS[folder] === undefined) return `${folder} has no layer; add it to ARCHITECTURE.md and to LAYERS`;
  if (!specifier.startsWith(".")) return bareImportProblem(file, specifier);
  const target = normalize(join(dirname(file), specifier));
  if (target.startsWith("..")) {
    return OUTSIDE[folder]?.test(target) === true ? null : `imports ${target}, outside src/`;
  }
  const boundary = boundaryProblem(file, target);
  if (boundary !== null) return boundary;
  const targetFolder = folderOf(target);
  if (targetFolder === folder) return null;
  const [from, to] = [LAYERS[folder] ?? 0, LAYERS[targetFolder]];
  if (to === undefined) return `imports ${target}, whose folder has no layer`;
  return to < from ? null : `imports ${target}: layer ${from} may only import lower layers, not ${to}`;
}

/** A built-in plugin has no privilege that a custom plugin lacks. */
function bareImportProblem(file: string, specifier: string): string | null {
  const builtin = specifier.startsWith("node:") || specifier === "bun" || specifier.startsWith("bun:");
  if (!isPlugin(file) || builtin) return null;
  return `imports ${specifier}: a plugin imports only sdk/ and what sdk/ exports`;
}

/** A plugin is a folder below plugins/; the files directly in plugins/ register and load plugins. */
function isPlugin(file: string): boolean {
  return folderOf(file) === "plugins" && file.split("/").length > 2;
}

function boundaryProblem(file: string, target: string): string | null {
  if (folderOf(file) === "proxy" && folderOf(target) === "store")
    return `imports ${target}: proxy/ never imports store/`;
  if (folderOf(file) === "admin" && folderOf(target) === "proxy")
    return `imports ${target}: admin/ never imports proxy/; the planes share the snapshot only`;
  if (!isPlugin(file) || folderOf(target) === "sdk") return null;
  const [, ownFolder] = file.split("/");
  return target.startsWith(`plugins/${ownFolder ?? ""}/`)
    ? null
    : `imports ${target}: a plugin imports only sdk/ and its own folder`;
}

function fileProblems(file: string, text: string, providerNames: readonly string[]): string[] {
  const problems: string[] = [];
  if (file.endsWith("/index.ts") && !BARRELS.has(file))
    problems.push("is a barrel; import the plainly named file instead");
  if (!text.startsWith("//")) problems.push("does not open with a comment that says what it owns");
  if (/^export default/m.test(text)) problems.push("has a default export");
  const lines = text.split("\n").length;
  if (lines > MAX_LINES && !text.startsWith("// Generated") && !TABLES.has(file))
    problems.push(`has ${lines} lines; does it own one thing?`);
  if (knowsProviders(file)) return problems;
  for (const name of providerNames) {
    if (new RegExp(`["'\`]${name}["'\`]`, "i").test(text)) {
      problems.push(`names the provider "${name}"; providers are data of formats/`);
    }
  }
  return problems;
}

/** Provider names are data of formats/; the fake provider imitates some of them. */
function knowsProviders(file: string): boolean {
  return folderOf(file) === "formats" || folderOf(file) === "fake-provider";
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
