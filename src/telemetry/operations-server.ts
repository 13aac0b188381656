// The operations listener: health checks and metrics, and nothing else. A monitoring system can reach it where the Admin API is
// out of reach, or does not run.
import type { Server } from "bun";
import { errorResponse } from "../base/error-response.ts";
import { GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import { requestTargetOf } from "../http/request-target.ts";
import type { Health } from "./health.ts";
import { METRICS_CONTENT_TYPE, type MetricsSource } from "./metrics/metrics.ts";

interface OperationsListenerParts {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly health: Health;
  readonly metrics: MetricsSource;
}

export function listenOperations({
  hostname,
  port,
  reusePort,
  health,
  metrics,
}: OperationsListenerParts): Server<undefined> {
  return Bun.serve({
    hostname,
    port,
    reusePort,
    idleTimeout: 10,
    maxRequestBodySize: 1024,
    async fetch(request) {
      const { path } = requestTargetOf(request.url);
      const isRead = request.method === "GET" || request.method === "HEAD";
      if (isRead && path === "/metrics") return respondWithMetrics(metrics);
      return (isRead ? health.respond(path) : null) ?? notFound(request, path);
    },
  });
}

export async function respondWithMetrics(metrics: MetricsSource): Promise<Response> {
  return new Response(await metrics.metricsText(), { headers: { "Content-Type": METRICS_CONTENT_TYPE } });
}

function notFound(request: Request, path: string): Response {
  const message = `There is nothing at ${request.method} ${path.slice(0, 200)}. This port serves /healthz, /readyz and /metrics.`;
  return errorResponse(
    new GatehouseError("not_found", message),
    requestIdFrom(request.headers.get("x-request-id")),
  );
}
