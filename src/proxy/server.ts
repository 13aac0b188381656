// The proxy listener: serves health checks and the data plane, and nothing else. This is the port to expose.
import type { Server } from "bun";
import { errorResponse, GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import { requestTargetOf } from "../http/request-target.ts";
import { reservedPrefixOf } from "../model/rule-path.ts";
import type { Health } from "../telemetry/health.ts";
import type { DataPlane } from "./handle.ts";
import type { ClientSocketEvents, Upgrade } from "./realtime/client-socket.ts";
import { socketHandlers } from "./realtime/socket-handlers.ts";

interface ProxyListenerParts {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly health: Health;
  readonly dataPlane: DataPlane;
  readonly maxMessageBytes: number;
}

export function listenProxy({
  hostname,
  port,
  reusePort,
  health,
  dataPlane,
  maxMessageBytes,
}: ProxyListenerParts): Server<ClientSocketEvents> {
  const listener = Bun.serve<ClientSocketEvents>({
    hostname,
    port,
    reusePort,
    idleTimeout: 10,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch(request, server) {
      const target = requestTargetOf(request.url);
      return (
        respondToReservedPath(request, target.path, health) ?? dataPlane(request, server, target, upgrade)
      );
    },
    websocket: socketHandlers(maxMessageBytes),
  });
  const upgrade: Upgrade = (request, data, headers) => listener.upgrade(request, { data, headers });
  return listener;
}

/** Returns null if the path is not reserved. No rule can serve a reserved path: it is a health check or 404. */
export function respondToReservedPath(request: Request, path: string, health: Health): Response | null {
  if (reservedPrefixOf(path) === null) return null;
  return health.respond(path) ?? notFound(request, path);
}

function notFound(request: Request, path: string): Response {
  const error = new GatehouseError(
    "rule_not_found",
    `No rule matches ${request.method} ${path.slice(0, 200)}.`,
  );
  return errorResponse(error, requestIdFrom(request.headers.get("x-request-id")));
}
