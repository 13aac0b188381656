// Warnings about a document without a server: what is legal in it, but probably wrong.
import type { ErrorDetail } from "../base/errors.ts";
import { RuleNames } from "../model/rule-names.ts";
import type { ConfigurationDocument, DocumentGateway } from "../model/document.ts";
import { configurationWarnings, warningsInDocument } from "../snapshot/warnings/configuration-warnings.ts";
import type { ConfigurationWarning } from "../snapshot/warnings/warning.ts";

const TIMES = { created_at: "", updated_at: "" };

/** The references of the document must be valid. */
export function documentWarnings({ gateways }: ConfigurationDocument): ErrorDetail[] {
  const places = new Map<string, string>();
  const warnings = gateways.flatMap((gateway, index) => {
    const gatewayId = `${index} gateway`;
    places.set(gatewayId, `gateways[${index}]`);
    return gatewayWarnings(gateway, gatewayId, (kind, at) => {
      // Rules of the same precedence are used in the order of their ids.
      const id = `${index} ${kind} ${String(at).padStart(8, "0")}`;
      places.set(id, `gateways[${index}].${kind}[${at}]`);
      return id;
    });
  });
  return warningsInDocument(warnings, (id) => places.get(id));
}

/** Compares the gateway as if its records were stored. `idAt` returns the id of a record by its place in the document. */
function gatewayWarnings(
  wanted: DocumentGateway,
  gatewayId: string,
  idAt: (
    kind: "upstreams" | "mcp_servers" | "services" | "rules" | "models" | "budgets" | "api_keys",
    index: number,
  ) => string,
): ConfigurationWarning[] {
  const base = (id: string) => ({ id, gateway_id: "", ...TIMES });
  const upstreams = wanted.upstreams.map((upstream, index) => {
    const targets = upstream.targets.map((target, at) => ({ id: String(at), ...target }));
    return { ...upstream, ...base(idAt("upstreams", index)), targets };
  });
  const mcp_servers = wanted.mcp_servers.map((server, index) => ({
    ...server,
    ...base(idAt("mcp_servers", index)),
  }));
  const services = wanted.services.map(({ upstream, mcp_servers: servers, ...service }, index) => {
    const upstream_id = upstreams.find(({ name }) => name === upstream)?.id ?? null;
    const mcp_server_ids = mcp_servers.flatMap(({ id, name }) => (servers.includes(name) ? id : []));
    return { ...service, upstream_id, mcp_server_ids, ...base(idAt("services", index)) };
  });
  const rules = wanted.rules.map(({ service, ...rule }, index) => {
    const service_id = services.find(({ name }) => name === service)?.id ?? "";
    return { ...rule, service_id, ...base(idAt("rules", index)) };
  });
  const models = wanted.models.map((model, index) => {
    const targets = model.targets.map((target) => ({
      ...target,
      upstream: upstreams.find(({ name }) => name === target.upstream)?.id ?? "",
    }));
    return { ...model, targets, ...base(idAt("models", index)) };
  });
  const budgets = wanted.budgets.map((budget, index) => ({ ...budget, ...base(idAt("budgets", index)) }));
  const ruleNames = new RuleNames(rules);
  const keys = (wanted.api_keys ?? []).map(({ policies, models, tools }, index) => {
    const ruleIds = policies.flatMap((policy) => ruleNames.matching(policy)[0]?.id ?? []);
    return { id: idAt("api_keys", index), policies: ruleIds, models, tools };
  });
  const required_plugins = wanted.required_plugins.map((plugin, index) => ({ ...plugin, id: String(index) }));
  const gateway = { ...wanted, ...base(gatewayId), required_plugins };
  const parts = { gateway, upstreams, mcp_servers, services, rules, models, budgets };
  const counted = wanted.api_keys?.map(({ name, labels }) => ({ id: "", name, labels })) ?? null;
  return configurationWarnings(parts, keys, counted);
}
