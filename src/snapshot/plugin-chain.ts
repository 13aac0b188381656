// The plugins of a gateway, compiled: for each stage the hooks in their order, or null where there are none.
import type { ErrorDetail } from "../base/errors.ts";
import type { PluginConfig, StoredPluginConfig } from "../model/plugin-config.ts";
import { PLUGIN_STAGES, type PluginStage } from "../model/plugin-stage.ts";
import { check, unknownNameMessage } from "../model/validate.ts";
import type { PluginRegistry } from "../plugins/registry.ts";
import type { PluginDefinition, PluginHooks } from "../sdk/index.ts";
import { CompileError } from "./compile-error.ts";
import type { PluginInstances, DecisionListener } from "./plugin-instances.ts";

export interface ChainLink {
  readonly name: string;
  /** Tells this entry of `required_plugins` from others of the same name. */
  readonly instanceId: string;
  /** Whose notes it reads: the first entry of a plugin at one stage shares them with the first at another, and so on. */
  readonly notesKey: string;
  readonly hooks: PluginHooks;
  /** Whether the request goes on when the plugin fails. */
  readonly continuesOnError: boolean;
  /** Makes the hooks for one explanation; null: the plugin does not say that it can run without doing anything. */
  readonly createForExplanation: ((listener: DecisionListener) => PluginHooks) | null;
}

export type PluginChain = { readonly [Stage in PluginStage]: readonly ChainLink[] | null } & {
  /** Some plugin looks into the request's body. */
  readonly needsRequestBody: boolean;
  /** Some plugin must have the answer's body whole, though it be a stream. */
  readonly needsWholeResponse: boolean;
};

/** Null where no plugin is enabled: then the chain costs nothing at all. */
export function compileChain(
  gatewayId: string,
  configs: readonly StoredPluginConfig[],
  registry: PluginRegistry,
  instances: PluginInstances,
): PluginChain | null {
  const problems: ErrorDetail[] = [];
  const ordinals = new Map<string, number>();
  const links: { link: ChainLink; config: StoredPluginConfig; definition: PluginDefinition }[] = [];
  for (const [index, config] of configs.entries()) {
    const path = `required_plugins[${index}]`;
    const ordinalOf = (name: string) => {
      const ordinal = ordinals.get(name) ?? 0;
      ordinals.set(name, ordinal + 1);
      return ordinal;
    };
    const instanceId = `${gatewayId}/${config.id}`;
    const notesKey = `${config.name}/${ordinalOf(`${config.stage}/${config.name}`)}`;
    const made = makeHooks(instanceId, notesKey, config, path, registry, instances);
    if (Array.isArray(made)) problems.push(...made);
    else if (config.enabled) links.push({ ...made, config });
  }
  if (problems.length > 0) throw new CompileError("gateways", gatewayId, problems);
  if (links.length === 0) return null;
  // A stable sort: those of equal priority stay as listed.
  links.sort((a, b) => a.config.priority - b.config.priority);
  const stages = Object.fromEntries(
    PLUGIN_STAGES.map((stage) => {
      const own = links.filter(
        ({ link, config }) => config.stage === stage && link.hooks[stage] !== undefined,
      );
      return [stage, own.length === 0 ? null : own.map(({ link }) => link)];
    }),
  ) as Record<PluginStage, readonly ChainLink[] | null>;
  const needsBody = (stage: PluginStage) =>
    links.some(
      ({ config, definition }) => config.stage === stage && definition.needs?.includes("body") === true,
    );
  return {
    ...stages,
    needsRequestBody: needsBody("pre_request"),
    needsWholeResponse: needsBody("pre_response"),
  };
}

function makeHooks(
  instanceId: string,
  notesKey: string,
  config: PluginConfig,
  path: string,
  registry: PluginRegistry,
  instances: PluginInstances,
): { link: ChainLink; definition: PluginDefinition } | ErrorDetail[] {
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
    const hooks = instances.getInstance(instanceId, definition, settings.value);
    if (typeof hooks[config.stage] !== "function")
      throw new Error(`create() returned no function ${config.stage}`);
    const continuesOnError = config.on_error === "continue";
    const explaining =
      definition.explainable === true
        ? (listener: DecisionListener) =>
            instances.createForExplanation(instanceId, definition, settings.value, listener)
        : null;
    return {
      link: {
        name: config.name,
        instanceId,
        notesKey,
        hooks,
        continuesOnError,
        createForExplanation: explaining,
      },
      definition,
    };
  } catch (error) {
    return [{ path: `${path}.settings`, message: error instanceof Error ? error.message : String(error) }];
  }
}
