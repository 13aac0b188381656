// Warnings in responses to writes: about the written record, or about the records of an applied document.
import type { ErrorDetail } from "../base/errors.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import { configurationWarnings, warningsAbout } from "../snapshot/warnings/configuration-warnings.ts";
import type { CountedKey } from "../snapshot/warnings/budget-warnings.ts";
import type { DocumentParts, Kind, RecordOf } from "../kinds/kind.ts";

/** The field of the response that has the warnings about a written record. Absent without warnings. */
interface WithWarnings {
  readonly warnings?: readonly ErrorDetail[];
}

/** Call when the write is active. */
export function recordWarnings(current: CurrentConfiguration, record: RecordOf[Kind]): WithWarnings {
  const gatewayId = "gateway_id" in record ? record.gateway_id : record.id;
  const parts = current.snapshot.gateways.get(gatewayId)?.parts;
  if (parts === undefined) return {};
  const keys = "policies" in record ? [record] : [];
  // Only warnings about budgets depend on all keys, of which a gateway may have very many.
  const counted = "webhook" in record ? countedKeys(current, gatewayId) : null;
  const warnings = warningsAbout(record.id, configurationWarnings(parts, keys, counted));
  return warnings.length === 0 ? {} : { warnings };
}

function countedKeys({ snapshot }: CurrentConfiguration, gatewayId: string): CountedKey[] {
  const keys = snapshot.apiKeysByGateway.get(gatewayId)?.values() ?? [];
  return [...keys].map(({ id, name, labelValues }) => ({ id, name, labels: labelValues }));
}

/** Returns the records of a gateway after a document was applied that contains `applied`; null: all others are deleted. */
export function withOthers(applied: DocumentParts, before: DocumentParts | null): DocumentParts {
  return {
    gateway: applied.gateway,
    upstreams: [...applied.upstreams, ...othersIn(before?.upstreams ?? [], applied.upstreams)],
    mcp_servers: [...applied.mcp_servers, ...othersIn(before?.mcp_servers ?? [], applied.mcp_servers)],
    services: [...applied.services, ...othersIn(before?.services ?? [], applied.services)],
    rules: [...applied.rules, ...othersIn(before?.rules ?? [], applied.rules)],
    models: [...applied.models, ...othersIn(before?.models ?? [], applied.models)],
    budgets: [...applied.budgets, ...othersIn(before?.budgets ?? [], applied.budgets)],
  };
}

function othersIn<T extends { readonly id: string }>(before: readonly T[], applied: readonly T[]): T[] {
  const ids = new Set(applied.map(({ id }) => id));
  return before.filter(({ id }) => !ids.has(id));
}
