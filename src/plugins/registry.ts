// The registry of plugins that a configuration may use: built-in plugins and custom plugins from PLUGINS_DIR.
import type { PluginDefinition } from "../sdk/index.ts";
import { codeSanitation } from "./code_sanitation/plugin.ts";
import { piiMask } from "./pii_mask/plugin.ts";
import { promptGuard } from "./prompt_guard/plugin.ts";
import { rateLimiter } from "./rate_limiter/plugin.ts";
import { responseCache } from "./response_cache/plugin.ts";
import { toolPolicy } from "./tool_policy/plugin.ts";
import { tokenLimiter } from "./token_limiter/plugin.ts";

interface RegisteredPlugin {
  readonly definition: PluginDefinition;
  readonly builtin: boolean;
}

const BUILT_IN: readonly PluginDefinition[] = [
  rateLimiter,
  tokenLimiter,
  codeSanitation,
  piiMask,
  responseCache,
  toolPolicy,
  promptGuard,
];

export class PluginRegistry {
  readonly #plugins = new Map<string, RegisteredPlugin>(
    BUILT_IN.map((definition) => [definition.name, { definition, builtin: true }]),
  );

  /** Versions that run in shadow mode beside the registered ones, by name. */
  readonly #next = new Map<string, PluginDefinition>();

  /** The bundled code of custom plugins, for isolates. */
  readonly #sources = new WeakMap<PluginDefinition, string>();

  keepSource(definition: PluginDefinition, source: string): void {
    this.#sources.set(definition, source);
  }

  /** Returns null for a built-in plugin. */
  sourceOf(definition: PluginDefinition): string | null {
    return this.#sources.get(definition) ?? null;
  }

  get(name: string): PluginDefinition | undefined {
    return this.#plugins.get(name)?.definition;
  }

  /** Returns the next version of a plugin, which runs in shadow mode beside the current one. */
  getNext(name: string): PluginDefinition | undefined {
    return this.#next.get(name);
  }

  setNext(definition: PluginDefinition): void {
    this.#next.set(definition.name, definition);
  }

  removeNext(name: string): void {
    this.#next.delete(name);
  }

  names(): IterableIterator<string> {
    return this.#plugins.keys();
  }

  /** Returns built-in plugins first, then custom plugins in the order they were loaded. */
  all(): RegisteredPlugin[] {
    return [...this.#plugins.values()];
  }

  isBuiltin(name: string): boolean {
    return this.#plugins.get(name)?.builtin === true;
  }

  /** Adds a custom plugin or replaces its previous version. Throws if a built-in plugin has the name. */
  register(definition: PluginDefinition): void {
    if (this.isBuiltin(definition.name))
      throw new Error(`"${definition.name}" is the name of a built-in plugin`);
    this.#plugins.set(definition.name, { definition, builtin: false });
  }

  unregister(name: string): void {
    if (!this.isBuiltin(name)) this.#plugins.delete(name);
  }
}
