// Compiles the plugins of a gateway: for each stage the hooks in the order in which they run, or null if there are none.
import type { ErrorDetail } from "../base/errors.ts";
import type { StoredPluginConfig } from "../model/plugin-config.ts";
import type { PluginStage } from "../model/plugin-stage.ts";
import { check, unknownNameMessage } from "../model/validate.ts";
import type { PluginRegistry } from "../plugins/registry.ts";
import { HOOK_NAMES, HOOKS, whyUnsupported, type HookName } from "../sdk/hook-table.ts";
import { completeHolds, type PluginDefinition, type PluginHooks } from "../sdk/index.ts";
import type { ChainLink } from "./chain-link.ts";
import { CompileError } from "./compile-error.ts";
import {
  isShadowInstance,
  shadowInstanceId,
  type PluginInstances,
  type DecisionListener,
} from "./plugin-instances.ts";
import { inspectionOf, type Guard } from "./rule-guards.ts";
import { compileShadows, runsOnResponse, type OrderedEntry, type ShadowChain } from "./shadow-chain.ts";

export type PluginChain = { readonly [Stage in PluginStage]: readonly ChainLink[] | null } & {
  /** As pre_response, for messages of MCP servers. */
  readonly mcpResponse: readonly ChainLink[] | null;
  /** The pre_request plugins that have a before_body hook; null if there are none. */
  readonly beforeBody: readonly ChainLink[] | null;
  /** The pre_request plugins that have a claims hook; null if there are none. */
  readonly limiters: readonly ChainLink[] | null;
  /** The pre_request plugins that have a final_request hook; null if there are none. */
  readonly finalRequest: readonly ChainLink[] | null;
  /** Whether a plugin reads the request body. */
  readonly needsRequestBody: boolean;
  /** Whether the limits of a plugin depend on the model, so that it is read in every body. */
  readonly readsModel: boolean;
  /** Whether a plugin needs the complete response body, even if the response is a stream. */
  readonly needsWholeResponse: boolean;
  /** The plugins in shadow mode, which are in none of the lists above; null if there are none. */
  readonly shadows: ShadowChain | null;
  /** The plugins that inspect texts; null if there are none. */
  readonly guards: readonly Guard[] | null;
  /** Whether captured bodies are those that the provider gets and sends. */
  readonly hidesBodies: boolean;
};

interface CompiledEntry extends OrderedEntry {
  readonly config: StoredPluginConfig;
  readonly hidesBodies: boolean;
  /** Null if the plugin does not inspect texts. */
  readonly inspects: Guard["inspects"] | null;
}

type LinkIds = Pick<ChainLink, "name" | "instanceId" | "notesKey">;

/** Returns null if no plugin is enabled, so that requests of the gateway skip the chain. */
export function compileChain(
  gatewayId: string,
  configs: readonly StoredPluginConfig[],
  registry: PluginRegistry,
  instances: PluginInstances,
): PluginChain | null {
  const problems: ErrorDetail[] = [];
  const entriesSoFar = new Map<string, number>();
  const all: CompiledEntry[] = [];
  for (const [index, config] of configs.entries()) {
    const key = `${config.mode}/${config.stage}/${config.name}`;
    const ordinal = entriesSoFar.get(key) ?? 0;
    entriesSoFar.set(key, ordinal + 1);
    const ids = idsOf(gatewayId, config, ordinal);
    const compiled = compileEntry(ids, config, `required_plugins[${index}]`, registry, instances);
    if (Array.isArray(compiled)) problems.push(...compiled);
    else if (config.enabled) all.push(withNext(compiled, gatewayId, ordinal, registry, instances));
  }
  if (problems.length > 0) throw new CompileError("gateways", gatewayId, problems);
  if (all.length === 0) return null;
  // The sort is stable: entries of equal priority stay in the order in which they are listed.
  all.sort((a, b) => a.config.priority - b.config.priority);
  const entries = all.filter(({ report }) => report === null);
  const limiters = linksWith(linksAt(entries, "pre_request"), "claims");
  return {
    pre_request: linksAt(entries, "pre_request"),
    post_request: linksAt(entries, "post_request"),
    pre_response: responseLinks(entries, false),
    mcpResponse: responseLinks(entries, true),
    post_response: linksAt(entries, "post_response"),
    beforeBody: linksWith(linksAt(entries, "pre_request"), "before_body"),
    limiters,
    finalRequest: linksWith(linksAt(entries, "pre_request"), "final_request"),
    needsRequestBody: needsBodyAt(entries, "pre_request"),
    readsModel: limiters?.some(({ hooks }) => hooks.readsModel === true) === true,
    needsWholeResponse: needsBodyAt(entries, "pre_response"),
    shadows: compileShadows(all),
    guards: guardsOf(entries),
    hidesBodies: entries.some(({ hidesBodies }) => hidesBodies),
  };
}

/** Entries in shadow mode have their own instances, notes and telemetry. */
function idsOf(gatewayId: string, { id, name, mode }: StoredPluginConfig, ordinal: number): LinkIds {
  if (mode === "enforce") return { name, instanceId: `${gatewayId}/${id}`, notesKey: `${name}/${ordinal}` };
  const instanceId = shadowInstanceId(gatewayId, id, "shadow");
  return { name: `${name}@shadow`, instanceId, notesKey: `${name}@shadow/${ordinal}` };
}

function guardsOf(entries: readonly CompiledEntry[]): Guard[] | null {
  const guards = entries.flatMap(({ link, inspects }) =>
    inspects === null ? [] : [{ name: link.name, inspects }],
  );
  return guards.length === 0 ? null : guards;
}

function linksAt(entries: readonly CompiledEntry[], stage: PluginStage): ChainLink[] | null {
  const links = entries.filter((entry) => entry.stage === stage).map(({ link }) => link);
  return links.length === 0 ? null : links;
}

/** Entries of pre_request also work on the text of the response: a plugin that masks a text restores it. */
function responseLinks(entries: readonly CompiledEntry[], isMcp: boolean): ChainLink[] | null {
  const links = entries.filter((entry) => runsOnResponse(entry, isMcp)).map(({ link }) => link);
  return links.length === 0 ? null : links;
}

function linksWith(links: readonly ChainLink[] | null, hook: HookName): ChainLink[] | null {
  const found = (links ?? []).filter(({ hooks }) => hooks[hook] !== undefined);
  return found.length === 0 ? null : found;
}

function needsBodyAt(entries: readonly CompiledEntry[], stage: PluginStage): boolean {
  return entries.some((entry) => entry.stage === stage && entry.needsBody);
}

/** Adds the next version of the plugin, if there is one and the settings are valid for it. */
function withNext(
  entry: CompiledEntry,
  gatewayId: string,
  ordinal: number,
  registry: PluginRegistry,
  instances: PluginInstances,
): CompiledEntry {
  const { config, report } = entry;
  const definition = registry.getNext(config.name);
  if (definition === undefined || report !== null) return entry;
  const name = `${config.name}@next`;
  const instanceId = shadowInstanceId(gatewayId, config.id, "next");
  const ids = { name, instanceId, notesKey: `${name}/${ordinal}` };
  const compiled = compileVersion(definition, ids, config, "", instances, false);
  instances.shadowReport(instanceId).problem = Array.isArray(compiled)
    ? compiled.map(({ path, message }) => `${path.slice(1)}: ${message}`).join("; ")
    : null;
  if (!Array.isArray(compiled) && compiled.report !== null)
    return {
      ...entry,
      next: { link: compiled.link, needsBody: compiled.needsBody, report: compiled.report },
    };
  return entry;
}

/** Returns the problems of an invalid entry. `path` is the path of the entry in the gateway. */
function compileEntry(
  ids: LinkIds,
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
  return compileVersion(definition, ids, config, path, instances, registry.isBuiltin(config.name));
}

function compileVersion(
  definition: PluginDefinition,
  ids: LinkIds,
  config: StoredPluginConfig,
  path: string,
  instances: PluginInstances,
  isBuiltIn: boolean,
): CompiledEntry | ErrorDetail[] {
  if (!definition.stages.includes(config.stage)) {
    const message = `${definition.name} does not support this stage; give ${definition.stages.join(" or ")}`;
    return [{ path: `${path}.stage`, message }];
  }
  try {
    const settings = check(definition.settings, config.settings);
    if (!settings.ok) return settings.details.map((detail) => ofSettings(detail, path));
    const { instanceId } = ids;
    // No thread or process is started for an entry that does not run.
    if (!config.enabled && config.isolation !== "inline") return [];
    const hooks = instances.getInstance(instanceId, definition, settings.value, config);
    const textHolds = textHoldsOf(definition, hooks, config.stage);
    if (!hasHook(hooks, config.stage) && textHolds === null)
      throw new Error(`create() must return a function named ${config.stage}`);
    const createForExplanation =
      definition.explainable === true
        ? (listener: DecisionListener) =>
            instances.createForExplanation(instanceId, definition, settings.value, listener, config)
        : null;
    const isShadow = isShadowInstance(instanceId);
    const report = isShadow ? instances.shadowReport(instanceId) : null;
    if (report !== null && config.mode === "shadow") report.problem = unsupportedInShadow(hooks);
    const inspects = inspectionOf(definition, settings.value, config.stage, hooks);
    return {
      link: {
        ...ids,
        hooks,
        continuesOnError: isShadow || config.on_error === "continue",
        isGuard: inspects !== null && !isShadow,
        createForExplanation,
        textHolds,
        isMcpOnly: definition.responseTexts?.(settings.value) === "mcp",
        isolation: config.isolation,
        isBuiltIn,
        isPreResponse: config.stage === "pre_response",
      },
      config,
      stage: config.stage,
      sample: config.sample,
      needsBody: needsBody(definition, hooks, config.stage),
      hidesBodies: definition.hidesBodies === true,
      inspects,
      report,
      next: null,
    };
  } catch (error) {
    return [{ path: `${path}.settings`, message: error instanceof Error ? error.message : String(error) }];
  }
}

/** Returns which hooks do not run in shadow mode, and why; null if all run. */
function unsupportedInShadow(hooks: PluginHooks): string | null {
  const problems = HOOK_NAMES.flatMap((name) => {
    const reason =
      typeof hooks[name] === "function" && HOOKS[name].suffices ? whyUnsupported(name, "shadow") : null;
    return reason === null ? [] : [`${name} does not run in shadow mode: ${reason}`];
  });
  return problems.length === 0 ? null : problems.join("; ");
}

function ofSettings({ path: field, message }: ErrorDetail, path: string): ErrorDetail {
  return { path: field === "" ? `${path}.settings` : `${path}.settings.${field}`, message };
}

/** Whether the plugin has a hook for this stage; hooks that may hold text also need a declaration. */
function hasHook(hooks: PluginHooks, stage: PluginStage): boolean {
  return HOOK_NAMES.some((name) => {
    const { stages, suffices, mayHoldText } = HOOKS[name];
    const isOfStage = (stages as readonly PluginStage[]).includes(stage);
    return isOfStage && suffices && !mayHoldText && typeof hooks[name] === "function";
  });
}

/** A plugin that works on the texts of responses only needs the body of the request. */
function needsBody({ needs }: PluginDefinition, hooks: PluginHooks, stage: PluginStage): boolean {
  if (needs?.includes("body") !== true) return false;
  return stage !== "pre_response" || hooks.pre_response !== undefined;
}

/** Returns null if the entry does not work on the text of responses. */
function textHoldsOf(
  { needs, hold }: PluginDefinition,
  hooks: PluginHooks,
  stage: PluginStage,
): ChainLink["textHolds"] {
  const isStage = (HOOKS.response_text.stages as readonly PluginStage[]).includes(stage);
  if (!isStage || needs?.includes("text") !== true || typeof hooks.response_text !== "function") return null;
  return completeHolds(hold);
}
