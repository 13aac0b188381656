// Metrics, traffic and the request log over all worker processes that share the listeners.
import { newId } from "../base/ids.ts";
import { mergeEndedMetrics, mergeMetrics } from "./metrics/merge-metrics.ts";
import type { Metrics, MetricsSource } from "./metrics/metrics.ts";
import { mergeRequests } from "./requests/request-log.ts";
import type { RequestFilter, RequestListener, RequestPage, RequestSource } from "./requests/request-log.ts";
import type { RequestRecord } from "./requests/request-record.ts";
import type { TrafficSecond } from "./requests/second-ring.ts";
import type { Siblings } from "./siblings.ts";
import {
  mergeGatewayTraffic,
  mergePoints,
  type GatewayTraffic,
  type TrafficSource,
} from "./requests/traffic.ts";

/** Counters never fall: what workers that are silent or have ended had counted is part of the sums. */
export function shareMetrics(own: Metrics, siblings: Siblings): MetricsSource {
  siblings.onQuery("metrics", () => own.metricsText());
  return {
    metricsText: async () => {
      const kept = await siblings.queryKept<string>(
        "metrics",
        () => own.metricsText(),
        (pages) => mergeEndedMetrics(pages, (gateway) => own.isExistingGateway(gateway)),
      );
      const pages = [kept.own, ...kept.running];
      if (kept.ended !== null) pages.push(kept.ended);
      return pages.length === 1 ? kept.own : mergeMetrics(pages);
    },
  };
}

interface TrafficQuery {
  readonly from: number;
  readonly to: number;
  readonly gatewayIds: readonly string[] | null;
}

export function shareTraffic(own: TrafficSource, siblings: Siblings): TrafficSource {
  siblings.onQuery("traffic", (query) => {
    const { from, to, gatewayIds } = query as TrafficQuery;
    return own.readTraffic(from, to, gatewayIds);
  });
  siblings.onQuery("traffic by gateway", (query) => {
    const { from, to } = query as Omit<TrafficQuery, "gatewayIds">;
    return own.sumByGateway(from, to);
  });
  return {
    readTraffic: async (from, to, gatewayIds) => {
      const others = await siblings.query("traffic", { from, to, gatewayIds } satisfies TrafficQuery);
      return mergePoints([await own.readTraffic(from, to, gatewayIds), ...(others as TrafficSecond[][])]);
    },
    sumByGateway: async (from, to) => {
      const others = (await siblings.query("traffic by gateway", { from, to })) as GatewayTraffic[][];
      return mergeGatewayTraffic([await own.sumByGateway(from, to), ...others]);
    },
  };
}

interface ListQuery {
  readonly filter: RequestFilter;
  readonly limit: number;
}

/** A client of another worker follows the request log. A null filter ends the subscription. */
interface FollowMessage {
  readonly id: string;
  readonly filter: RequestFilter | null;
}

interface FollowedRequest {
  readonly id: string;
  readonly record: RequestRecord;
}

export function shareRequests(own: RequestSource, siblings: Siblings): RequestSource {
  const listeners = new Map<string, RequestListener>();
  const stops = new Map<string, () => void>();
  siblings.onQuery("requests", (query) => {
    const { filter, limit } = query as ListQuery;
    return own.listRequests(filter, limit);
  });
  siblings.subscribe("follow requests", (message) => {
    const { id, filter } = message as FollowMessage;
    stops.get(id)?.();
    stops.delete(id);
    if (filter === null) return;
    const onRequest = (record: RequestRecord) =>
      siblings.publish("followed request", { id, record } satisfies FollowedRequest);
    const stop = own.followRequests({ filter, onRequest, onClose: () => stops.delete(id) });
    if (stop !== null) stops.set(id, stop);
  });
  siblings.subscribe("followed request", (message) => {
    const { id, record } = message as FollowedRequest;
    listeners.get(id)?.onRequest(record);
  });
  return {
    isOn: own.isOn,
    listRequests: async (filter, limit) => {
      const others = await siblings.query("requests", { filter, limit } satisfies ListQuery);
      const page = await own.listRequests(filter, limit);
      // Within one process the order in the log is exact; times are rounded to milliseconds.
      return others.length === 0 ? page : mergeRequests([page, ...(others as RequestPage[])], limit);
    },
    followRequests: (listener) => {
      const stop = own.followRequests(listener);
      if (stop === null) return null;
      const id = newId();
      listeners.set(id, listener);
      siblings.publish("follow requests", { id, filter: listener.filter } satisfies FollowMessage);
      return () => {
        stop();
        listeners.delete(id);
        siblings.publish("follow requests", { id, filter: null } satisfies FollowMessage);
      };
    },
  };
}
