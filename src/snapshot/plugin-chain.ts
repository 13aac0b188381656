// Compiles the plugins of a gateway: for each stage the hooks in the order in which they run, or null if there are none.
import type { ErrorDetail } from "../base/errors.ts";
import type { StoredPluginConfig } from "../model/plugin-config.ts";
import type { PluginStage } from "../model/plugin-stage.ts";
import { check, unknownNameMessage } from "../model/validate.ts";
import type { PluginRegistry } from "../plugins/registry.ts";
import type { PluginDefinition, PluginHooks } from "../sdk/index.ts";
import { CompileError } from "./compile-error.ts";
import type { PluginInstances, DecisionListener } from "./plugin-instances.ts";

export interface ChainLink {
  readonly name: string;
  /** Identifies this entry of `required_plugins` among entries of the same name. */
  readonly instanceId: string;
  /** Entries with the same key share notes: the first entry of a plugin at every stage, the second ones, and so on. */
  readonly notesKey: string;
  readonly hooks: PluginHooks;
  /** Whether the request continues if the plugin fails. */
  readonly continuesOnError: boolean;
  /** Creates hooks for one explanation; null if the plugin does not declare that it can run without side effects. */
  readonly createForExplanation: ((listener: DecisionListener) => PluginHooks) | null;
}

export type PluginChain = { readonly [Stage in PluginStage]: readonly ChainLink[] | null } & {
  /** The pre_request plugins that have a before_body hook; null if there are none. */
  readonly beforeBody: readonly ChainLink[] | null;
  /** The pre_request plugins that have a claims hook; null if there are none. */
  readonly limiters: readonly ChainLink[] | null;
  /** Whether a plugin reads the request body. */
  readonly needsRequestBody: boolean;
  /** Whether a plugin needs the complete response body, even if the response is a stream. */
  readonly needsWholeResponse: boolean;
};

interface CompiledEntry {
  readonly link: ChainLink;
  readonly config: StoredPluginConfig;
  readonly definition: PluginDefinition;
}

/** Returns null if no plugin is enabled, so that requests of the gateway skip the chain. */
export function compileChain(
  gatewayId: string,
  configs: readonly StoredPluginConfig[],
  registry: PluginRegistry,
  instances: PluginInstances,
): PluginChain | null {
  const problems: ErrorDetail[] = [];
  const entriesSoFar = new Map<string, number>();
  const entries: CompiledEntry[] = [];
  for (const [index, config] of configs.entries()) {
    const stageAndName = `${config.stage}/${config.name}`;
    const ordinal = entriesSoFar.get(stageAndName) ?? 0;
    entriesSoFar.set(stageAndName, ordinal + 1);
    const ids = { instanceId: `${gatewayId}/${config.id}`, notesKey: `${config.name}/${ordinal}` };
    const compiled = compileEntry(ids, config, `required_plugins[${index}]`, registry, instances);
    if (Array.isArray(compiled)) problems.push(...compiled);
    else if (config.enabled) entries.push(compiled);
  }
  if (problems.length > 0) throw new CompileError("gateways", gatewayId, problems);
  if (entries.length === 0) return null;
  // The sort is stable: entries of equal priority stay in the order in which they are listed.
  entries.sort((a, b) => a.config.priority - b.config.priority);
  return {
    pre_request: linksAt(entries, "pre_request"),
    post_request: linksAt(entries, "post_request"),
    pre_response: linksAt(entries, "pre_response"),
    post_response: linksAt(entries, "post_response"),
    beforeBody: linksWith(linksAt(entries, "pre_request"), "before_body"),
    limiters: linksWith(linksAt(entries, "pre_request"), "claims"),
    needsRequestBody: needsBodyAt(entries, "pre_request"),
    needsWholeResponse: needsBodyAt(entries, "pre_response"),
  };
}

function linksAt(entries: readonly CompiledEntry[], stage: PluginStage): ChainLink[] | null {
  const links = entries.filter(({ config }) => config.stage === stage).map(({ link }) => link);
  return links.length === 0 ? null : links;
}

function linksWith(links: readonly ChainLink[] | null, hook: "before_body" | "claims"): ChainLink[] | null {
  const found = (links ?? []).filter(({ hooks }) => hooks[hook] !== undefined);
  return found.length === 0 ? null : found;
}

function needsBodyAt(entries: readonly CompiledEntry[], stage: PluginStage): boolean {
  return entries.some(
    ({ config, definition }) => config.stage === stage && definition.needs?.includes("body") === true,
  );
}

/** Returns the problems of an invalid entry. `path` is the path of the entry in the gateway. */
function compileEntry(
  ids: Pick<ChainLink, "instanceId" | "notesKey">,
  config: StoredPluginConfig,
  path: string,
  registry: PluginRegistry,
  instances: PluginInstances,
): CompiledEntry | ErrorDetail[] {
  const definition = registry.get(config.name);
  if (definition === undefined) {
    const message = unknownNameMessage(config.name, registry.names(), `plugin "${config.name}"`);
    return [{ path: `${path}.name`, message }];
  }
  if (!definition.stages.includes(config.stage)) {
    const message = `${definition.name} does not support this stage; give ${definition.stages.join(" or ")}`;
    return [{ path: `${path}.stage`, message }];
  }
  try {
    const settings = check(definition.settings, config.settings);
    if (!settings.ok) {
      return settings.details.map(({ path: field, message }) => ({
        path: field === "" ? `${path}.settings` : `${path}.settings.${field}`,
        message,
      }));
    }
    const { instanceId } = ids;
    const hooks = instances.getInstance(instanceId, definition, settings.value);
    const hasClaims = config.stage === "pre_request" && typeof hooks.claims === "function";
    if (typeof hooks[config.stage] !== "function" && !hasClaims)
      throw new Error(`create() must return a function named ${config.stage}`);
    const createForExplanation =
      definition.explainable === true
        ? (listener: DecisionListener) =>
            instances.createForExplanation(instanceId, definition, settings.value, listener)
        : null;
    const continuesOnError = config.on_error === "continue";
    return {
      link: { name: config.name, ...ids, hooks, continuesOnError, createForExplanation },
      config,
      definition,
    };
  } catch (error) {
    return [{ path: `${path}.settings`, message: error instanceof Error ? error.message : String(error) }];
  }
}
