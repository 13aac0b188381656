// The kept responses of all worker processes: counted and purged together, and reported in the metrics.
import type { Metrics } from "../../telemetry/metrics/metrics.ts";
import type { Siblings } from "../../telemetry/siblings.ts";
import type { CurrentConfiguration } from "../current-configuration.ts";
import type { ResponseCounts, ResponseStores } from "./response-stores.ts";

export interface ResponseAdministration {
  countsOf(gatewayId: string): Promise<ResponseCounts>;
  purge(gatewayId: string): Promise<number>;
}

/** The stores of all worker processes, which also report them in their metrics. Those in Redis are one. */
export function shareResponses(
  own: ResponseStores,
  siblings: Siblings,
  metrics: Metrics,
  current: CurrentConfiguration,
): ResponseAdministration {
  collectResponses(own, metrics, current);
  siblings.onQuery("kept responses", (gatewayId) => own.countsOf(String(gatewayId)));
  siblings.onQuery("purge responses", (gatewayId) => own.purge(String(gatewayId)));
  return {
    countsOf: async (gatewayId) => {
      const others = (await siblings.query("kept responses", gatewayId)) as ResponseCounts[];
      return others.reduce(addCounts, await own.countsOf(gatewayId));
    },
    purge: async (gatewayId) => {
      const others = (await siblings.query("purge responses", gatewayId)) as number[];
      return others.reduce((sum, purged) => sum + purged, await own.purge(gatewayId));
    },
  };
}

function addCounts(sum: ResponseCounts, other: ResponseCounts): ResponseCounts {
  const isShared = sum.store === "redis";
  return {
    store: sum.store,
    entries: isShared ? sum.entries : sum.entries + other.entries,
    bytes: isShared ? sum.bytes : sum.bytes + other.bytes,
    max_bytes: isShared ? sum.max_bytes : sum.max_bytes + other.max_bytes,
    hits: sum.hits + other.hits,
    coalesced: sum.coalesced + other.coalesced,
    misses: sum.misses + other.misses,
    kept: sum.kept + other.kept,
    saved_input_tokens: sum.saved_input_tokens + other.saved_input_tokens,
    saved_output_tokens: sum.saved_output_tokens + other.saved_output_tokens,
    saved_nanos: sum.saved_nanos + other.saved_nanos,
    unpriced_requests: sum.unpriced_requests + other.unpriced_requests,
  };
}

function collectResponses(responses: ResponseStores, metrics: Metrics, current: CurrentConfiguration): void {
  metrics.onCollect(() => {
    metrics.clear("gatehouse_cache_entries");
    metrics.clear("gatehouse_cache_bytes");
    for (const { gatewayId, entries, bytes } of responses.inMemory()) {
      const gateway = current.snapshot.gateways.get(gatewayId)?.gateway.name;
      if (gateway === undefined) continue;
      metrics.number("gatehouse_cache_entries", { gateway }).add(entries);
      metrics.number("gatehouse_cache_bytes", { gateway }).add(bytes);
    }
  });
}
