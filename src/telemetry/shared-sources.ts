// What all processes that share the listeners know, as if they were one: metrics, traffic, the request log.
import { newId } from "../base/ids.ts";
import { mergeMetrics } from "./metrics/merge-metrics.ts";
import type { MetricsSource } from "./metrics/metrics.ts";
import { mergeRequests } from "./requests/request-log.ts";
import type { RequestFilter, RequestListener, RequestPage, RequestSource } from "./requests/request-log.ts";
import type { RequestRecord } from "./requests/request-record.ts";
import type { TrafficSecond } from "./requests/second-ring.ts";
import type { Siblings } from "./siblings.ts";
import { mergePoints, type TrafficSource } from "./requests/traffic.ts";

export function shareMetrics(own: MetricsSource, siblings: Siblings): MetricsSource {
  siblings.answer("metrics", () => own.metricsText());
  return {
    metricsText: async () => {
      const others = (await siblings.ask("metrics", null)) as string[];
      const text = await own.metricsText();
      return others.length === 0 ? text : mergeMetrics([text, ...others]);
    },
  };
}

interface TrafficQuestion {
  readonly from: number;
  readonly to: number;
  readonly gatewayId: string | null;
}

export function shareTraffic(own: TrafficSource, siblings: Siblings): TrafficSource {
  siblings.answer("traffic", (question) => {
    const { from, to, gatewayId } = question as TrafficQuestion;
    return own.readTraffic(from, to, gatewayId);
  });
  return {
    readTraffic: async (from, to, gatewayId) => {
      const others = await siblings.ask("traffic", { from, to, gatewayId } satisfies TrafficQuestion);
      return mergePoints([await own.readTraffic(from, to, gatewayId), ...(others as TrafficSecond[][])]);
    },
  };
}

interface ListQuestion {
  readonly filter: RequestFilter;
  readonly limit: number;
}

/** Somebody follows the requests through a sibling; null: no longer. */
interface Following {
  readonly id: string;
  readonly filter: RequestFilter | null;
}

interface Followed {
  readonly id: string;
  readonly record: RequestRecord;
}

export function shareRequests(own: RequestSource, siblings: Siblings): RequestSource {
  const listeners = new Map<string, RequestListener>();
  const stops = new Map<string, () => void>();
  siblings.answer("requests", (question) => {
    const { filter, limit } = question as ListQuestion;
    return own.listRequests(filter, limit);
  });
  siblings.hear("follow requests", (message) => {
    const { id, filter } = message as Following;
    stops.get(id)?.();
    stops.delete(id);
    if (filter === null) return;
    const hear = (record: RequestRecord) =>
      siblings.tell("followed request", { id, record } satisfies Followed);
    const stop = own.followRequests({ filter, hear, end: () => stops.delete(id) });
    if (stop !== null) stops.set(id, stop);
  });
  siblings.hear("followed request", (message) => {
    const { id, record } = message as Followed;
    listeners.get(id)?.hear(record);
  });
  return {
    isOn: own.isOn,
    listRequests: async (filter, limit) => {
      const others = await siblings.ask("requests", { filter, limit } satisfies ListQuestion);
      const page = await own.listRequests(filter, limit);
      // One process knows the order of its requests better than their times tell it.
      return others.length === 0 ? page : mergeRequests([page, ...(others as RequestPage[])], limit);
    },
    followRequests: (listener) => {
      const stop = own.followRequests(listener);
      if (stop === null) return null;
      const id = newId();
      listeners.set(id, listener);
      siblings.tell("follow requests", { id, filter: listener.filter } satisfies Following);
      return () => {
        stop();
        listeners.delete(id);
        siblings.tell("follow requests", { id, filter: null } satisfies Following);
      };
    },
  };
}
