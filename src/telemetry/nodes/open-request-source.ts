// Opens the request log that the Admin API shows: of this process, of the workers of this node, and of the nodes that share Redis.
import type { Clock } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { RequestSource } from "../requests/request-log.ts";
import { shareRequests } from "../shared-sources.ts";
import type { Siblings } from "../siblings.ts";

interface RequestSourceParts {
  readonly settings: Settings;
  readonly secret: string;
  readonly siblings: Siblings;
  /** The requests of this process. */
  readonly own: RequestSource;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}

interface OpenRequestSource {
  readonly source: RequestSource;
  close(): void;
}

export async function openRequestSource(parts: RequestSourceParts): Promise<OpenRequestSource> {
  const { settings, secret, siblings, own, metrics, log, clock } = parts;
  const ofNode = shareRequests(own, siblings);
  const url = settings.REDIS_URL;
  if (url === null || !own.isOn) return { source: ofNode, close: () => undefined };
  const { NodeRequests } = await import("./node-requests.ts");
  const { instanceId } = siblings.service;
  const node = settings.NODE_NAME;
  const source = new NodeRequests({ url, secret, node, instanceId, own, ofNode, metrics, log, clock });
  return { source, close: () => source.close() };
}
