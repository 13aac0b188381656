// The admin listener: health, metrics, the console, the Admin API with its documents, and (for one-address setups) the
// data plane.
import type { Server } from "bun";
import { errorResponse, GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import { KEEP_ALIVE_SECONDS } from "../http/keep-alive.ts";
import { requestTargetOf, type RequestTarget } from "../http/request-target.ts";
import { reservedPrefixOf } from "../model/rule-path.ts";
import type { Health } from "../telemetry/health.ts";
import { METRICS_CONTENT_TYPE, type MetricsSource } from "../telemetry/metrics/metrics.ts";
import type { AdminApi } from "./api.ts";
import { createConsole } from "./console.ts";

/** The data plane, for whatever is not of this listener. */
export type FallThrough = (
  request: Request,
  server: Server<undefined>,
  target: RequestTarget,
) => Promise<Response>;

export interface AdminListenerParts {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly api: AdminApi;
  readonly health: Health;
  readonly metrics: MetricsSource;
  readonly fallThrough: FallThrough;
}

export function listenAdmin({
  hostname,
  port,
  reusePort,
  api,
  health,
  metrics,
  fallThrough,
}: AdminListenerParts): Server<undefined> {
  const serveConsole = createConsole();
  return Bun.serve({
    hostname,
    port,
    reusePort,
    idleTimeout: 10,
    // Ours is the limit that answers in the error shape; see readBody.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request, server) {
      const target = requestTargetOf(request.url);
      const { path } = target;
      const reserved = reservedPrefixOf(path);
      if (reserved === null) return fallThrough(request, server, target);
      const healthAnswer = health.respond(path);
      if (healthAnswer !== null) return healthAnswer;
      if (reserved === "/api") {
        server.timeout(request, 0);
        const answer = await api(request);
        server.timeout(request, KEEP_ALIVE_SECONDS);
        return answer;
      }
      if (reserved === "/console") return serveConsole(request, path);
      if (path === "/metrics" && request.method === "GET") {
        return new Response(await metrics.metricsText(), {
          headers: { "Content-Type": METRICS_CONTENT_TYPE },
        });
      }
      const missing = new GatehouseError("not_found", `There is nothing at ${path.slice(0, 200)}.`);
      return errorResponse(missing, requestIdFrom(request.headers.get("x-request-id")));
    },
  });
}
