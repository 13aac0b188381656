// The proxy listener: serves health checks and the data plane, and nothing else. This is the port to expose.
import { GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { requestTargetOf } from "../http/request-target.ts";
import type { ClientRequest } from "../http/server/client-request.ts";
import { HttpServer } from "../http/server/http-server.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import { reservedPrefixOf } from "../model/rule-path.ts";
import type { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { DataPlane } from "./handle.ts";

interface ProxyListenerParts {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly deadlines: CoarseDeadlines;
  readonly health: Health;
  readonly dataPlane: DataPlane;
  readonly metrics: Metrics;
  readonly log: Log;
}

export function listenProxy({ health, dataPlane, metrics, log, ...options }: ProxyListenerParts): HttpServer {
  const handle = (request: ClientRequest) => {
    const reserved = respondToReservedPath(request, health);
    return reserved === null ? dataPlane(request) : Promise.resolve(reserved);
  };
  return new HttpServer({
    ...options,
    handle,
    onRefused: ({ code }) => metrics.number("gatehouse_rejected_connections_total", { reason: code }).value++,
    onError: (err, requestId) =>
      log.error({ request_id: requestId, err }, "HTTP server failed with an internal error"),
  });
}

/** Returns null if the path is not reserved. No rule can serve a reserved path: it is a health check or 404. */
export function respondToReservedPath(request: ClientRequest, health: Health): OutgoingResponse | null {
  const { path } = requestTargetOf(request.target);
  if (reservedPrefixOf(path) === null) return null;
  const report = health.reportAt(path);
  if (report === null) return notFound(request, path);
  const { body, status, headers } = report;
  return OutgoingResponse.json(body, { status, headers });
}

function notFound({ method, headers }: ClientRequest, path: string): OutgoingResponse {
  const error = new GatehouseError("rule_not_found", `No rule matches ${method} ${path.slice(0, 200)}.`);
  return OutgoingResponse.error(error, requestIdFrom(headers.get("x-request-id")));
}
