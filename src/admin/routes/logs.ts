// The recent lines of the gateway's log, and a stream of new ones as server-sent events.
import { z } from "zod";
import { GatehouseError } from "../../base/errors.ts";
import { LOG_LEVELS, type LogLevel } from "../../telemetry/log/log-levels.ts";
import { MAX_LOG_LISTENERS, type LogSource } from "../../telemetry/log/recent-log.ts";
import { EventStream } from "../event-stream.ts";
import { pageQuery } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";

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
        "Newest first. Kept in memory, of all workers of this node. Requests to gateways are not included.",
    },
    handle: async ({ query: { level, limit } }) => {
      const lines = await source.listLines(level, limit);
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
    handle: ({ query: { level } }) => Promise.resolve(followLog(source, level)),
  });
}

function followLog(source: LogSource, level: LogLevel): Response {
  const stream = new EventStream(() => stop?.());
  const stop = source.followLines({
    level,
    onLine: ({ line }) => stream.send("line", line),
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
