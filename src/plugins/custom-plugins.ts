// Custom plugins: loaded from PLUGINS_DIR at start, watched, and swapped when they change. What fails to load leaves
// the version before it running.
import { existsSync, readdirSync, statSync, watch, type FSWatcher } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import { withTimeout } from "../base/with-timeout.ts";
import { PLUGIN_NAME, PLUGIN_STAGES } from "../model/plugin-stage.ts";
import * as sdk from "../sdk/index.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { PluginRegistry } from "./registry.ts";

const SETTLE_MS = 100;
/** How often a directory is looked for that is not there, or no longer. */
const LOOK_MS = 1000;
const LOAD_DEADLINE_MS = 5000;
const ENTRY_FILES = ["index.ts", "index.js"];

// Wherever a plugin lies on the disk, this name leads to the SDK of the gateway that runs it.
Bun.plugin({
  name: "gatehouse-sdk",
  setup: (build) => void build.module("gatehouse/sdk", () => ({ exports: { ...sdk }, loader: "object" })),
});

export class CustomPlugins {
  readonly #directory: string;
  readonly #registry: PluginRegistry;
  readonly #log: Log;
  readonly #onChange: (name: string) => void;
  /** The plugin that each entry of the directory gave, and when the entry was last changed. */
  readonly #loaded = new Map<string, { name: string | null; version: string }>();
  #watcher: FSWatcher | null = null;
  /** The directory that is watched: one that was removed and made again is another. */
  #watched: string | null = null;
  #settling: Timer | undefined;
  #looking: Timer | undefined;
  #scanning: Promise<void> = Promise.resolve();

  constructor(directory: string, registry: PluginRegistry, log: Log, onChange: (name: string) => void) {
    this.#directory = directory;
    this.#registry = registry;
    this.#log = log;
    this.#onChange = onChange;
  }

  /** Loads what is there, and from then on what changes. A directory that does not exist yet is looked for. */
  async start(): Promise<void> {
    await this.scan();
    this.#watch();
    this.#looking = setInterval(() => {
      if (identityOf(this.#directory) === this.#watched) return;
      this.#watcher?.close();
      this.#watch();
      void this.scan();
    }, LOOK_MS);
    this.#looking.unref();
  }

  stop(): void {
    clearInterval(this.#looking);
    clearTimeout(this.#settling);
    this.#watcher?.close();
  }

  #watch(): void {
    this.#watched = identityOf(this.#directory);
    if (this.#watched === null) return;
    this.#watcher = watch(this.#directory, { recursive: true }, () => {
      // Editors write a file in several steps: it is read when they have come to rest.
      clearTimeout(this.#settling);
      this.#settling = setTimeout(() => void this.scan(), SETTLE_MS);
    });
    this.#watcher.on("error", (error) =>
      this.#log.warn({ err: error }, "custom plugins are no longer watched"),
    );
  }

  /** Looks at every entry of the directory; one scan at a time. */
  scan(): Promise<void> {
    this.#scanning = this.#scanning
      .then(() => this.#scanNow())
      .catch((error: unknown) => this.#log.warn({ err: error }, "PLUGINS_DIR could not be read"));
    return this.#scanning;
  }

  async #scanNow(): Promise<void> {
    const present = new Map<string, string>();
    for (const entry of existsSync(this.#directory) ? readdirSync(this.#directory).sort() : []) {
      const file = entryFile(this.#directory, entry);
      if (file !== null) present.set(entry, file);
    }
    // First what is gone: a file that was given another name keeps its plugin.
    for (const [entry, { name }] of this.#loaded) {
      if (!present.has(entry)) this.#forget(entry, name);
    }
    for (const [entry, file] of present) {
      const version = versionOf(join(this.#directory, entry));
      if (this.#loaded.get(entry)?.version !== version) await this.#load(entry, file, version);
    }
  }

  async #load(entry: string, file: string, version: string): Promise<void> {
    const before = this.#loaded.get(entry)?.name ?? null;
    try {
      const definition = checkDefinition(await importFresh(file));
      for (const [other, { name }] of this.#loaded) {
        if (other !== entry && name === definition.name)
          throw new Error(`${other} has a plugin "${name}" already`);
      }
      this.#registry.register(definition);
      this.#loaded.set(entry, { name: definition.name, version });
      if (before !== null && before !== definition.name) this.#remove(before);
      this.#log.info({ plugin: definition.name, file: entry }, "a custom plugin is loaded");
      this.#onChange(definition.name);
    } catch (error) {
      this.#loaded.set(entry, { name: before, version });
      const rest = before === null ? "it is left out" : `the one before it stays: ${before}`;
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.error({ file: entry, reason }, `a custom plugin could not be loaded; ${rest}`);
    }
  }

  #forget(entry: string, name: string | null): void {
    this.#loaded.delete(entry);
    if (name === null) return;
    this.#remove(name);
    // Another one may have been refused for its sake.
    for (const [other, { name: given }] of this.#loaded) if (given === null) this.#loaded.delete(other);
  }

  #remove(name: string): void {
    this.#registry.unregister(name);
    this.#log.info({ plugin: name }, "a custom plugin is gone");
    this.#onChange(name);
  }
}

function identityOf(directory: string): string | null {
  const stat = statSync(directory, { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.ino}/${stat.birthtimeMs}`;
}

/** A `.ts` or `.js` file, or a folder with an index; what is neither, or a test, is no plugin. */
function entryFile(directory: string, entry: string): string | null {
  const path = join(directory, entry);
  if (entry.startsWith(".")) return null;
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    return ENTRY_FILES.map((name) => join(path, name)).find((file) => existsSync(file)) ?? null;
  }
  const { ext, name } = parse(entry);
  return (ext === ".ts" || ext === ".js") && !name.endsWith(".test") && !name.endsWith(".d") ? path : null;
}

/** Changes whenever a file of the entry does. */
function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "gone";
  if (!stat.isDirectory()) return `${stat.mtimeMs}/${stat.size}`;
  return readdirSync(path, { recursive: true })
    .map((file) => `${String(file)}:${versionOf(join(path, String(file)))}`)
    .join(";");
}

/**
 * Bundled first: a module that was imported once stays as it was, with all that it imports. The bundle has a name that
 * was never imported.
 */
async function importFresh(file: string): Promise<unknown> {
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
    await writeFile(bundle, await output.text());
    // A module that awaits what never comes must not keep the gateway from starting.
    const late = () => new Error(`it took longer than ${LOAD_DEADLINE_MS} ms to load`);
    const module = await withTimeout(
      LOAD_DEADLINE_MS,
      import(bundle) as Promise<{ default?: unknown }>,
      late,
    );
    return module.default;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function checkDefinition(value: unknown): sdk.PluginDefinition {
  if (typeof value !== "object" || value === null)
    throw new Error("the default export must be definePlugin({ … })");
  const { name, description, stages, settings, create } = value as Partial<sdk.PluginDefinition>;
  if (typeof name !== "string" || !PLUGIN_NAME.test(name)) {
    throw new Error("name must be 1 to 64 letters, digits, '.', '_' or '-'");
  }
  if (typeof description !== "string") throw new Error("description must be a text");
  const known = PLUGIN_STAGES as readonly unknown[];
  const areStages =
    Array.isArray(stages) && stages.length > 0 && stages.every((stage: unknown) => known.includes(stage));
  if (!areStages) throw new Error(`stages must be some of ${PLUGIN_STAGES.join(", ")}`);
  if (typeof (settings as { safeParse?: unknown } | undefined)?.safeParse !== "function") {
    throw new Error("settings must be a zod schema");
  }
  // What cannot be shown would break the list of all plugins.
  sdk.z.toJSONSchema(settings as sdk.z.ZodType, { io: "input", unrepresentable: "any" });
  if (typeof create !== "function") throw new Error("create must be a function that returns hooks");
  return value as sdk.PluginDefinition;
}
