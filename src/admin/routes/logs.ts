// The recent lines of the gateway's log, and a stream of new ones as server-sent events.
import { z } from "zod";
import { GatehouseError } from "../../base/errors.ts";
import { LOG_LEVELS, type LogLevel } from "../../telemetry/log/log-levels.ts";
import { MAX_LOG_LISTENERS, type LogSource } from "../../telemetry/log/recent-log.ts";
import { EventStream } from "../event-stream.ts";
import { pageQuery } from "../list-query.ts";
import { addOperation, type Caller, type RouteTable } from "../operation.ts";

const streamQuery = z.strictObject({
  level: z
    .enum(LOG_LEVELS)
    .default("trace")
    .meta({ description: "Lines of this level and above. Lines below LOG_LEVEL are not logged at all." }),
});
const logsQuery = streamQuery.extend({ limit: pageQuery.shape.limit });

const tag = "logs";

export function addLogRoutes(table: RouteTable, source: LogSource): void {
  addOperation(table, {
    method: "get",
    path: "/logs",
    tag,
    summary: "List the recent lines of the log",
    access: { role: "viewer" },
    query: logsQuery,
    response: {
      status: 200,
      schema: "LogLineList",
      description:
        "Newest first. Kept in memory, of all workers of this node. Requests to gateways are not included, and lines of the audit log only for owners.",
    },
    handle: async ({ query: { level, limit }, caller }) => {
      const found = await source.listLines(level, limit);
      const lines = found.filter(({ line }) => mayRead(caller, line));
      // Each line is JSON text already, and redacted.
      return new Response(`{"logs":[${lines.map(({ line }) => line).join(",")}],"limit":${limit}}`, {
        headers: { "Content-Type": "application/json" },
      });
    },
  });

  addOperation(table, {
    method: "get",
    path: "/logs/stream",
    tag,
    summary: "Follow the log",
    access: { role: "viewer" },
    query: streamQuery,
    response: {
      status: 200,
      description:
        "An endless stream of server-sent events: `line` is a new line of the log; `dropped` is the `count` of lines that " +
        "were skipped because the client reads too slowly.",
    },
    handle: ({ query: { level }, caller }) => Promise.resolve(followLog(source, level, caller)),
  });
}

/** Lines of the audit log are about administrators, like GET /audit. In values, the quotes of this text are escaped. */
function mayRead({ identity }: Caller, line: string): boolean {
  return identity.role === "owner" || !line.includes('"msg":"audit"');
}

function followLog(source: LogSource, level: LogLevel, caller: Caller): Response {
  const stream = new EventStream(() => stop?.(), caller.isAuthenticated);
  const stop = source.followLines({
    level,
    onLine: ({ line }) => {
      if (mayRead(caller, line)) stream.send("line", line);
    },
    onClose: () => stream.end(),
  });
  if (stop === null) {
    stream.end();
    throw new GatehouseError(
      "too_many_listeners",
      `${MAX_LOG_LISTENERS} clients are following the log. Close one and retry.`,
    );
  }
  return stream.response();
}
