// The request log of a gateway: the last requests, and a stream of new ones as server-sent events.
import { z } from "zod";
import { GatehouseError } from "../../base/errors.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { redact } from "../../telemetry/log/redact.ts";
import { OUTCOMES } from "../../telemetry/requests/request-facts.ts";
import {
  MAX_LISTENERS,
  type RequestFilter,
  type RequestSource,
} from "../../telemetry/requests/request-log.ts";
import { EventStream } from "../event-stream.ts";
import { pageQuery } from "../list-query.ts";
import { addOperation, type Caller, type PathParameters, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

const timeField = z.iso.datetime({ offset: true, error: "must be an RFC 3339 time" }).optional();

const filterQuery = z.strictObject({
  status: z
    .string()
    .regex(/^[1-5](xx|\d\d)$/, "must be a status such as 429, or a class such as 4xx")
    .optional(),
  outcome: z.enum(OUTCOMES).optional(),
  error_code: z.string().optional(),
  rule_id: z.string().optional(),
  api_key_id: z.string().optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  tool: z.string().optional().meta({ description: "The called MCP tool, by the name that the client uses." }),
  request_id: z.string().optional(),
  since: timeField.meta({ description: "Only requests that started at this time or later." }),
  until: timeField.meta({ description: "Only requests that started before this time." }),
});

const requestsQuery = filterQuery.extend({ limit: pageQuery.shape.limit });

const tag = "requests";
const collection = "/gateways/{gateway_id}/requests";

export function addRequestRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  source: RequestSource,
): void {
  addOperation(table, {
    method: "get",
    path: collection,
    tag,
    summary: "List the last requests of a gateway",
    access: { role: "viewer" },
    query: requestsQuery,
    response: {
      status: 200,
      schema: "RequestList",
      description: "Newest first. The last requests, kept in memory.",
    },
    handle: async ({ params, query, caller }) => {
      const gatewayId = await requireRequestLog(current, source, params);
      const { limit } = query;
      const { requests, count } = await source.listRequests(filterFrom(gatewayId, query), limit);
      if (requests.some((record) => record.bodies !== undefined))
        await caller.audit.recordRead(caller.origin, "request_bodies", gatewayId);
      // Records contain text from clients and providers, so they are redacted like log lines.
      return new Response(redact(JSON.stringify({ requests, count, limit })), {
        headers: { "Content-Type": "application/json" },
      });
    },
  });

  addOperation(table, {
    method: "get",
    path: `${collection}/stream`,
    tag,
    summary: "Follow the requests of a gateway",
    access: { role: "viewer" },
    query: filterQuery,
    response: {
      status: 200,
      description:
        "An endless stream of server-sent events: `request` is the record of a request that has just ended; `dropped` is " +
        "the `count` of records that were skipped because the client reads too slowly.",
    },
    handle: async ({ params, query, caller }) => {
      const gatewayId = await requireRequestLog(current, source, params);
      const recordRead = () => caller.audit.recordRead(caller.origin, "request_bodies", gatewayId);
      const logsBodies = current.snapshot.gateways.get(gatewayId)?.gateway.log_bodies === true;
      if (logsBodies) await recordRead();
      const recordFirstRead = logsBodies ? null : recordRead;
      return followRequests(source, filterFrom(gatewayId, query), caller, recordFirstRead);
    },
  });
}

/** Returns the id of the gateway, or throws 404 if the gateway does not exist or the request log is off. */
export async function requireRequestLog(
  current: CurrentConfiguration,
  source: RequestSource,
  params: PathParameters,
): Promise<string> {
  const { id } = await requireGateway(current.store, params["gateway_id"] ?? "");
  if (!source.isOn)
    throw new GatehouseError(
      "request_log_off",
      "The request log is off: REQUEST_LOG_SIZE is 0. Set it to the number of requests to keep.",
    );
  return id;
}

/** `recordFirstRead` is called before the first record with bodies is sent, because a gateway may begin to log them while it is followed. */
function followRequests(
  source: RequestSource,
  filter: RequestFilter,
  caller: Caller,
  recordFirstRead: (() => Promise<void>) | null,
): Response {
  const stream = new EventStream(() => stop?.(), caller.isAuthenticated);
  let recorded: Promise<void> | null = null;
  const stop = source.followRequests({
    filter,
    onRequest: (record) => {
      const send = () => stream.send("request", redact(JSON.stringify(record)));
      if (record.bodies !== undefined && recordFirstRead !== null) recorded ??= recordFirstRead();
      if (recorded === null) send();
      else recorded.then(send, () => stream.end());
    },
    onClose: () => stream.end(),
  });
  if (stop === null) {
    stream.end();
    throw new GatehouseError(
      "too_many_listeners",
      `${MAX_LISTENERS} clients are following the request log. Close one and retry.`,
    );
  }
  return stream.response();
}

function filterFrom(gatewayId: string, query: z.output<typeof filterQuery>): RequestFilter {
  return {
    gatewayId,
    status: query.status,
    outcome: query.outcome,
    errorCode: query.error_code,
    ruleId: query.rule_id,
    apiKeyId: query.api_key_id,
    provider: query.provider,
    model: query.model,
    tool: query.tool,
    requestId: query.request_id,
    since: query.since === undefined ? undefined : Date.parse(query.since),
    until: query.until === undefined ? undefined : Date.parse(query.until),
  };
}
