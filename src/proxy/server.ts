// The proxy listener: health and the data plane, and nothing else. This is the port to expose.
import type { Server } from "bun";
import { reservedPrefixOf } from "../model/rule.ts";
import type { Health } from "../telemetry/health.ts";
import { notFound } from "./fail.ts";

export type DataPlane = (request: Request, server: Server<undefined>) => Response | Promise<Response>;

export interface ProxyListenerParts {
  readonly hostname: string;
  readonly port: number;
  readonly health: Health;
  readonly dataPlane: DataPlane;
}

export function listenProxy({ hostname, port, health, dataPlane }: ProxyListenerParts): Server<undefined> {
  return Bun.serve({
    hostname,
    port,
    idleTimeout: 10,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch(request, server) {
      const path = new URL(request.url).pathname;
      if (reservedPrefixOf(path) !== null) return health.answer(path) ?? notFound(request, path);
      return dataPlane(request, server);
    },
  });
}
