// Compiles a gateway's records into what requests look up. What does not compile never comes into force.
import type { Gateway } from "../model/gateway.ts";
import type { Rule } from "../model/rule.ts";
import type { PluginRegistry } from "../plugins/registry.ts";
import type { GatewayParts, StoredApiKey } from "../store/store.ts";
import { CompileError } from "./compile-error.ts";
import { pluginFaults } from "./compile-plugins.ts";
import { compileUpstream, type CompiledUpstream } from "./compile-upstream.ts";

export interface CompiledRule {
  readonly id: string;
  readonly rule: Rule;
  readonly upstream: CompiledUpstream;
}

export interface CompiledGateway {
  readonly id: string;
  readonly gateway: Gateway;
  /** The active ones, oldest first. */
  readonly rules: readonly CompiledRule[];
}

export interface CompiledApiKey {
  readonly id: string;
  readonly name: string;
  readonly hash: string;
  readonly gatewayId: string;
  /** Null: every rule of the gateway. */
  readonly policies: ReadonlySet<string> | null;
  /** Milliseconds since the epoch; Infinity: never. */
  readonly expiresAt: number;
}

export function compileGateway(parts: GatewayParts, registry: PluginRegistry): CompiledGateway {
  const { gateway } = parts;
  const faults = pluginFaults(gateway.required_plugins, registry);
  if (faults.length > 0) throw new CompileError("gateways", gateway.id, faults);
  const upstreams = new Map(parts.upstreams.map((upstream) => [upstream.id, compileUpstream(upstream)]));
  const services = new Map(parts.services.map((service) => [service.id, service]));
  const rules: CompiledRule[] = [];
  for (const rule of parts.rules) {
    if (!rule.active) continue;
    const upstream = upstreams.get(services.get(rule.service_id)?.upstream_id ?? "");
    // The store keeps references whole; this is for a database that was edited by hand.
    if (upstream === undefined) {
      throw new CompileError("rules", rule.id, [{ path: "service_id", message: "leads to no upstream" }]);
    }
    rules.push({ id: rule.id, rule, upstream });
  }
  return { id: gateway.id, gateway, rules };
}

/** Null for a revoked key: it is then as unknown as one that never was. */
export function compileApiKey(key: StoredApiKey): CompiledApiKey | null {
  if (!key.active) return null;
  return {
    id: key.id,
    name: key.name,
    hash: key.hash,
    gatewayId: key.gateway_id,
    policies: key.policies.length === 0 ? null : new Set(key.policies),
    expiresAt: key.expires_at === null ? Infinity : Date.parse(key.expires_at),
  };
}
