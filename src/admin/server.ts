// The admin listener: health, metrics, console, Admin API, and (for deployments with one address) the data plane.
import type { Server } from "bun";
import type { BlockList } from "node:net";
import { errorResponse } from "../base/error-response.ts";
import { GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import { clientAddressOf } from "../http/forwarded-address.ts";
import { rejectInvalidHost } from "../http/host-field.ts";
import { KEEP_ALIVE_SECONDS } from "../http/keep-alive.ts";
import { requestTargetOf } from "../http/request-target.ts";
import type { ClientRequest } from "../http/server/client-request.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import { toWebResponse, WebRequest } from "../http/web-request.ts";
import { reservedPrefixOf } from "../model/rule-path.ts";
import type { Health } from "../telemetry/health.ts";
import type { MetricsSource } from "../telemetry/metrics/metrics.ts";
import { respondWithMetrics } from "../telemetry/operations-server.ts";
import type { AdminApi } from "./api.ts";
import { createConsole } from "./console.ts";
import { isFromConsole, rejectBrowserDestination, sandboxed } from "./fall-through.ts";
import { unknownPathError } from "./unknown-path.ts";

/** The data plane: handles paths that are not reserved for this listener. */
type FallThrough = (request: ClientRequest) => Promise<OutgoingResponse>;

interface AdminListenerParts {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly api: AdminApi["respond"];
  readonly trustedProxies: BlockList;
  readonly health: Health;
  readonly metrics: MetricsSource;
  /** Null: ADMIN_FALLTHROUGH is false. */
  readonly fallThrough: FallThrough | null;
}

export function listenAdmin({
  hostname,
  port,
  reusePort,
  api,
  trustedProxies,
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
    // readWebBody enforces MAX_BODY_BYTES instead, with the standard error shape.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request, server) {
      const { path } = requestTargetOf(request.url);
      const reserved = reservedPrefixOf(path);
      if (reserved === null && fallThrough !== null)
        return rejectBrowserDestination(request) ?? forward(request, server, hostname, fallThrough);
      const healthResponse = health.respond(path);
      if (healthResponse !== null) return healthResponse;
      const rejected = invalidHostResponse(request);
      if (rejected !== null) return rejected;
      if (reserved === "/api") {
        // An operation may run longer than the idle timeout, which is restored for the next request.
        server.timeout(request, 0);
        const peer = server.requestIP(request)?.address ?? "";
        const response = await api(request, clientAddressOf(peer, request.headers, trustedProxies));
        server.timeout(request, KEEP_ALIVE_SECONDS);
        return response;
      }
      if (reserved === "/console") return serveConsole(request, path);
      if (path === "/metrics" && request.method === "GET") {
        return respondWithMetrics(metrics);
      }
      return errorResponse(unknownPathError(path), requestIdFrom(request.headers.get("x-request-id")));
    },
  });
}

/** Bun cannot make a URL of such a request: the router would read another path in it than was sent. */
function invalidHostResponse({ headers }: Request): Response | null {
  try {
    rejectInvalidHost(headers.get("host"));
    return null;
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return errorResponse(error, requestIdFrom(headers.get("x-request-id")));
  }
}

/** Bun's idle timeout is disabled, because a model may be silent for longer. The gateway's own timeouts apply instead. */
async function forward(
  request: Request,
  server: Server<undefined>,
  hostname: string,
  fallThrough: FallThrough,
): Promise<Response> {
  server.timeout(request, 0);
  const peerAddress = server.requestIP(request)?.address ?? "";
  const isConsole = isFromConsole(request);
  const listener = { hostname, port: server.port ?? 0 };
  const forwarded = new WebRequest(request, peerAddress, isConsole ? null : listener);
  // MCP endpoints reject scripts of other websites by this header and the Host. The console is none of them.
  if (isConsole) forwarded.headers.delete("origin");
  const response = await fallThrough(forwarded);
  server.timeout(request, KEEP_ALIVE_SECONDS);
  return sandboxed(toWebResponse(response));
}
