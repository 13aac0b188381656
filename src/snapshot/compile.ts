// Compiles the records of a gateway into the form that requests use. Records that do not compile are never activated.
import type { BalanceRegistry } from "../balance/balance-registry.ts";
import { endpointIn } from "../formats/operations.ts";
import { ToolPatterns } from "../mcp/tool-patterns.ts";
import type { Gateway } from "../model/gateway.ts";
import { ANY_METHOD, HTTP_METHODS } from "../model/http-methods.ts";
import type { PluginRegistry } from "../plugins/registry.ts";
import type { GatewayParts, StoredApiKey } from "../kinds/kind.ts";
import { labelSetOf, type LabelSet } from "../usage/label-set.ts";
import type { TargetCredentials } from "../upstream/credentials/cloud-credentials.ts";
import { compileBudgets, type CompiledBudget } from "./compiled-budget.ts";
import { compileGameDays, type CompiledGameDay } from "./compiled-game-day.ts";
import { CompileError } from "./compile-error.ts";
import { compileMcpServices, upstreamOfMcp } from "./compile-mcp.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { compileVirtualModels, type VirtualModels } from "./compile-virtual-models.ts";
import { compileUpstream, type CompiledUpstream } from "./compile-upstream.ts";
import { ModelAllowList } from "./model-allow-list.ts";
import { compileChain, type PluginChain } from "./plugin-chain.ts";
import type { PluginInstances } from "./plugin-instances.ts";
import { PriceTable } from "../usage/price-table.ts";
import { RouteTable } from "./route-table.ts";
import { compileGuards, compileMcpGuards } from "./rule-guards.ts";
import { byPrecedence } from "./rule-precedence.ts";

export interface CompiledGateway {
  readonly id: string;
  readonly gateway: Gateway;
  readonly routes: RouteTable;
  /** The active rules, in order of precedence. */
  readonly rules: readonly CompiledRule[];
  readonly upstreams: readonly CompiledUpstream[];
  /** Null if no plugin is enabled. */
  readonly chain: PluginChain | null;
  /** The prices of the gateway; null if it has none. */
  readonly prices: PriceTable | null;
  /** Null if the gateway has none. */
  readonly virtualModels: VirtualModels | null;
  /** The budgets of the gateway; null if it has none. */
  readonly budgets: readonly CompiledBudget[] | null;
  /** Game days that may still run; null if the gateway has none. */
  readonly gameDays: readonly CompiledGameDay[] | null;
  /** The records it was compiled from, needed to compile it again when a plugin changes. */
  readonly parts: GatewayParts;
}

export interface CompiledApiKey {
  readonly id: string;
  readonly name: string;
  /** The user that a verified token names, which is used in the place of a key; null for API keys. */
  readonly user: string | null;
  readonly hash: string;
  readonly gatewayId: string;
  /** The rules that the key may use; null for all rules of the gateway. */
  readonly policies: ReadonlySet<string> | null;
  /** Milliseconds since the epoch; Infinity if the key does not expire. */
  readonly expiresAt: number;
  /** Null: the key may use every model. */
  readonly models: ModelAllowList | null;
  /** Matched against `prefix__name`. Null: the key may use every tool. */
  readonly tools: ToolPatterns | null;
  readonly labels: LabelSet;
  readonly labelValues: Readonly<Record<string, string>>;
}

/** State of the process that compiling needs in addition to the records. */
export interface CompileContext {
  readonly plugins: PluginRegistry;
  readonly balance: BalanceRegistry;
  readonly credentials: TargetCredentials;
  readonly instances: PluginInstances;
}

export function compileGateway(parts: GatewayParts, context: CompileContext): CompiledGateway {
  const { gateway } = parts;
  const chain = compileChain(gateway.id, gateway.required_plugins, context.plugins, context.instances);
  const upstreams = new Map(
    parts.upstreams.map((each) => [each.id, compileUpstream(each, context.balance, context.credentials)]),
  );
  const virtualModels = compileVirtualModels(parts.models, upstreams, context.balance);
  const mcp = compileMcpServices(parts.mcp_servers, parts.services, context.credentials);
  const services = new Map(parts.services.map((service) => [service.id, service]));
  const active = parts.rules.filter((rule) => rule.active).sort(byPrecedence);
  const rules = active.map((rule, precedence): CompiledRule => {
    const service = services.get(rule.service_id);
    const mcpService = mcp?.get(rule.service_id) ?? null;
    const upstream =
      mcpService === null ? upstreams.get(service?.upstream_id ?? "") : upstreamOfMcp(mcpService);
    // The store rejects dangling references, so this happens only if the database was edited by hand.
    if (upstream === undefined) {
      throw new CompileError("rules", rule.id, [
        { path: "service_id", message: "refers to a service without an upstream" },
      ]);
    }
    return {
      id: rule.id,
      rule,
      pathKind: rule.path.endsWith("/*") ? "prefix" : rule.path.includes("{") ? "parameters" : "exact",
      precedence,
      methods: new Set<string>(rule.methods.includes(ANY_METHOD) ? HTTP_METHODS : rule.methods),
      endpoint: endpointIn(rule.path),
      operations: new Set(rule.operations),
      headers: Object.entries(rule.headers).map(([name, value]) => [name.toLowerCase(), value]),
      requireApiKey: rule.require_api_key ?? gateway.require_api_key,
      upstream,
      mcp: mcpService,
      jwtIssuers: mcpService === null || gateway.jwt_issuers.length === 0 ? null : gateway.jwt_issuers,
      guards: (mcpService === null ? compileGuards : compileMcpGuards)(chain?.guards ?? null, rule.unguarded),
      virtualModels:
        service?.virtual_models === "any" && mcpService === null
          ? (virtualModels?.any ?? null)
          : (virtualModels?.own.get(upstream.id) ?? null),
    };
  });
  const routes = new RouteTable(rules);
  const prices = gateway.prices.length === 0 ? null : new PriceTable(gateway.prices);
  return {
    id: gateway.id,
    gateway,
    routes,
    rules,
    upstreams: [...upstreams.values()],
    chain,
    prices,
    virtualModels,
    budgets: compileBudgets(parts.budgets),
    gameDays: compileGameDays(parts.game_days),
    parts,
  };
}

/** Returns null for a revoked key, which is then treated like an unknown key. */
export function compileApiKey(key: StoredApiKey): CompiledApiKey | null {
  if (!key.active) return null;
  return {
    id: key.id,
    name: key.name,
    user: null,
    hash: key.hash,
    gatewayId: key.gateway_id,
    policies: key.policies.length === 0 ? null : new Set(key.policies),
    expiresAt: key.expires_at === null ? Infinity : Date.parse(key.expires_at),
    models: key.models === null ? null : new ModelAllowList(key.models),
    tools: key.tools === null ? null : new ToolPatterns(key.tools),
    labels: labelSetOf(key.labels),
    labelValues: key.labels,
  };
}
