// Loads custom plugins from PLUGINS_DIR at start, watches the directory, and replaces plugins whose files change. If a new
// version fails to load, the previous version keeps running.
import { existsSync, readdirSync, statSync, watch, type FSWatcher } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import { withTimeout } from "../base/with-timeout.ts";
import { PLUGIN_NAME, PLUGIN_STAGES } from "../model/plugin-stage.ts";
import * as sdk from "../sdk/index.ts";
import type { Log } from "../telemetry/log/log.ts";
import { defaultExport } from "./import-bundle.ts";
import type { PluginRegistry } from "./registry.ts";

/** Editors write a file in several steps: wait until there was no change for this long. */
const SETTLE_MS = 100;
/** Interval at which to check whether the directory was created, removed or replaced. */
const DIRECTORY_CHECK_MS = 1000;
const LOAD_DEADLINE_MS = 5000;
/** Plugin names have no "@". */
const NEXT = "@next";
const ENTRY_FILES = ["index.ts", "index.js"];

export class CustomPlugins {
  readonly #directory: string;
  readonly #registry: PluginRegistry;
  readonly #log: Log;
  readonly #onChange: (name: string) => void;
  /** By directory entry: the name of its plugin (null if it failed to load), and the version of its files. */
  readonly #loaded = new Map<string, { name: string | null; version: string }>();
  #watcher: FSWatcher | null = null;
  /** Identity of the watched directory: a directory that was removed and created again is a different one. */
  #watchedIdentity: string | null = null;
  #settleTimer: Timer | undefined;
  #directoryTimer: Timer | undefined;
  #scanning: Promise<void> = Promise.resolve();

  constructor(directory: string, registry: PluginRegistry, log: Log, onChange: (name: string) => void) {
    this.#directory = directory;
    this.#registry = registry;
    this.#log = log;
    this.#onChange = onChange;
  }

  /** Loads all plugins, and from then on those that change. The directory may be created later. */
  async start(): Promise<void> {
    await this.#scan();
    this.#watch();
    this.#directoryTimer = setInterval(() => {
      if (identityOf(this.#directory) === this.#watchedIdentity) return;
      this.#watcher?.close();
      this.#watch();
      void this.#scan();
    }, DIRECTORY_CHECK_MS);
    this.#directoryTimer.unref();
  }

  stop(): void {
    clearInterval(this.#directoryTimer);
    clearTimeout(this.#settleTimer);
    this.#watcher?.close();
  }

  #watch(): void {
    this.#watchedIdentity = identityOf(this.#directory);
    if (this.#watchedIdentity === null) return;
    this.#watcher = watch(this.#directory, { recursive: true }, () => {
      clearTimeout(this.#settleTimer);
      this.#settleTimer = setTimeout(() => void this.#scan(), SETTLE_MS);
    });
    this.#watcher.on("error", (error) =>
      this.#log.warn(
        { err: error, directory: this.#directory },
        "plugin directory watch failed; restart to load changed plugins",
      ),
    );
  }

  /** Loads new and changed entries of the directory and unregisters removed ones. Scans run one at a time. */
  #scan(): Promise<void> {
    this.#scanning = this.#scanning
      .then(() => this.#scanEntries())
      .catch((error: unknown) =>
        this.#log.warn({ err: error, directory: this.#directory }, "plugin directory could not be read"),
      );
    return this.#scanning;
  }

  async #scanEntries(): Promise<void> {
    const present = new Map<string, string>();
    for (const entry of existsSync(this.#directory) ? readdirSync(this.#directory).sort() : []) {
      const file = entryFile(this.#directory, entry);
      if (file !== null) present.set(entry, file);
    }
    // Removed entries first: after a rename of a file, its plugin name must be free for the new file.
    for (const [entry, { name }] of this.#loaded) {
      if (!present.has(entry)) this.#forget(entry, name);
    }
    for (const [entry, file] of present) {
      const version = versionOf(join(this.#directory, entry));
      if (this.#loaded.get(entry)?.version !== version) await this.#load(entry, file, version);
    }
  }

  async #load(entry: string, file: string, version: string): Promise<void> {
    const previous = this.#loaded.get(entry)?.name ?? null;
    try {
      const { definition, source } = await importFresh(file);
      assertDefinition(definition);
      this.#registry.keepSource(definition, source);
      const isNext = isNextEntry(entry) || isNextEntry(parse(entry).name);
      const loadedName = isNext ? definition.name + NEXT : definition.name;
      for (const [other, { name }] of this.#loaded) {
        if (other !== entry && name === loadedName)
          throw new Error(`the name "${name}" is already used by ${other}`);
      }
      if (isNext) this.#registry.setNext(definition);
      else this.#registry.register(definition);
      this.#loaded.set(entry, { name: loadedName, version });
      if (previous !== null && previous !== loadedName) this.#remove(previous);
      this.#log.info({ plugin: loadedName, file: entry }, "custom plugin loaded");
      this.#onChange(definition.name);
    } catch (error) {
      this.#loaded.set(entry, { name: previous, version });
      const reason = error instanceof Error ? error.message : String(error);
      if (previous === null)
        this.#log.error({ file: entry, reason }, "custom plugin failed to load; skipping it");
      else
        this.#log.error(
          { plugin: previous, file: entry, reason },
          "custom plugin failed to load; keeping the previous version",
        );
    }
  }

  #forget(entry: string, name: string | null): void {
    this.#loaded.delete(entry);
    if (name === null) return;
    this.#remove(name);
    // Another entry may have failed to load because this one had the same name: load those entries again.
    for (const [other, { name: loadedName }] of this.#loaded)
      if (loadedName === null) this.#loaded.delete(other);
  }

  #remove(name: string): void {
    const isNext = isNextEntry(name);
    const plugin = isNext ? name.slice(0, -NEXT.length) : name;
    if (isNext) this.#registry.removeNext(plugin);
    else this.#registry.unregister(plugin);
    this.#log.info({ plugin: name }, "custom plugin removed");
    this.#onChange(plugin);
  }
}

/** Whether a file or folder has the next version of a plugin, which runs in shadow mode beside the current one. */
function isNextEntry(name: string): boolean {
  return name.endsWith(NEXT);
}

function identityOf(directory: string): string | null {
  const stat = statSync(directory, { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.ino}/${stat.birthtimeMs}`;
}

/** Returns the file to load for a `.ts` or `.js` file or a folder with an index file; null for tests and other entries. */
function entryFile(directory: string, entry: string): string | null {
  const path = join(directory, entry);
  if (entry.startsWith(".")) return null;
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    return ENTRY_FILES.map((name) => join(path, name)).find((file) => existsSync(file)) ?? null;
  }
  const { ext, name } = parse(entry);
  return (ext === ".ts" || ext === ".js") && !name.endsWith(".test") && !name.endsWith(".d") ? path : null;
}

/** Returns a text that changes whenever a file of the entry changes. */
function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "gone";
  if (!stat.isDirectory()) return `${stat.mtimeMs}/${stat.size}`;
  return readdirSync(path, { recursive: true })
    .map((file) => `${String(file)}:${versionOf(join(path, String(file)))}`)
    .join(";");
}

interface Bundle {
  readonly definition: unknown;
  /** Kept for isolates, which must run the same version. */
  readonly source: string;
}

/**
 * Returns the default export of the file as it is on disk now. The file is bundled under a new name first, because the
 * runtime caches a module, and everything that it imports, after the first import.
 */
async function importFresh(file: string): Promise<Bundle> {
  const built = await Bun.build({
    entrypoints: [file],
    target: "bun",
    external: ["gatehouse/sdk"],
    throw: false,
  });
  const [output] = built.outputs;
  if (!built.success || output === undefined)
    throw new Error(built.logs.map((entry) => entry.message).join("; "));
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-plugin-"));
  try {
    const bundle = join(folder, "plugin.js");
    const source = await output.text();
    await writeFile(bundle, source);
    // A top-level await that never resolves must not prevent the gateway from starting.
    const late = () => new Error(`loading took longer than ${LOAD_DEADLINE_MS} ms`);
    const module = await withTimeout<unknown>(LOAD_DEADLINE_MS, import(bundle), late);
    return { definition: defaultExport(module), source };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Custom plugins may be plain JavaScript, so every field is validated at run time. */
function assertDefinition(value: unknown): asserts value is sdk.PluginDefinition {
  if (typeof value !== "object" || value === null)
    throw new Error("the default export must be definePlugin({ … })");
  const fields: { readonly [Field in keyof sdk.PluginDefinition]?: unknown } = value;
  const { name, description, stages, settings, create } = fields;
  if (typeof name !== "string" || !PLUGIN_NAME.test(name)) {
    throw new Error("name must be 1 to 64 letters, digits, '.', '_' or '-'");
  }
  if (typeof description !== "string") throw new Error("description must be a string");
  if (!Array.isArray(stages) || stages.length === 0 || !stages.every(isStage))
    throw new Error(`stages must be one or more of ${PLUGIN_STAGES.join(", ")}`);
  if (!isSchema(settings)) throw new Error("settings must be a zod schema");
  // A schema that cannot be converted would break the list of all plugins.
  sdk.z.toJSONSchema(settings, { io: "input", unrepresentable: "any" });
  if (typeof create !== "function") throw new Error("create must be a function that returns hooks");
}

function isStage(value: unknown): boolean {
  return PLUGIN_STAGES.some((stage) => stage === value);
}

function isSchema(value: unknown): value is sdk.z.ZodType {
  return (
    typeof value === "object" &&
    value !== null &&
    "safeParse" in value &&
    typeof value.safeParse === "function"
  );
}
