// The rule that calls of plugins to a service use: no request of a client matches it.
import type { Rule } from "../../model/rule.ts";
import { ServiceCallError } from "../../sdk/index.ts";
import type { CompiledGateway } from "../../snapshot/compile.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";

/** Kept, because telemetry has series per compiled rule. */
const RULES = new WeakMap<CompiledGateway, Map<string, CompiledRule>>();

/** Throws a ServiceCallError if the gateway has no such service, or if it leads to MCP servers. */
export function ruleOfService(gateway: CompiledGateway, name: string): CompiledRule {
  let rules = RULES.get(gateway);
  if (rules === undefined) RULES.set(gateway, (rules = new Map<string, CompiledRule>()));
  let rule = rules.get(name);
  if (rule === undefined) rules.set(name, (rule = createRule(gateway, name)));
  return rule;
}

function createRule({ upstreams, virtualModels, parts }: CompiledGateway, name: string): CompiledRule {
  const service = parts.services.find((each) => each.name === name);
  if (service === undefined)
    throw new ServiceCallError("unknown_service", `the gateway has no service named "${name}"`);
  const upstream = upstreams.find(({ id }) => id === service.upstream_id);
  if (service.type !== "upstream" || upstream === undefined)
    throw new ServiceCallError("unknown_service", `the service "${name}" has no upstream`);
  const { id, gateway_id, created_at, updated_at } = service;
  const rule: Rule = {
    id,
    gateway_id,
    created_at,
    updated_at,
    name: `service ${name}`,
    service_id: id,
    // That of no request, so that the path of the call decides about its endpoint.
    path: "",
    methods: ["POST"],
    operations: [],
    unguarded: [],
    strip_path: false,
    preserve_host: false,
    priority: 0,
    headers: {},
    require_api_key: false,
    response_format: "request",
    error_format: null,
    active: true,
  };
  return {
    id,
    rule,
    pathKind: "exact",
    precedence: 0,
    methods: new Set(rule.methods),
    endpoint: null,
    operations: new Set(),
    headers: [],
    requireApiKey: false,
    upstream,
    mcp: null,
    jwtIssuers: null,
    guards: null,
    virtualModels:
      service.virtual_models === "any"
        ? (virtualModels?.any ?? null)
        : (virtualModels?.own.get(upstream.id) ?? null),
  };
}
