// Explanations: of a request that is given, and of a request of the request log. Nothing is sent or counted.
import { GatehouseError, validationError } from "../../base/errors.ts";
import {
  explainRequestSchema,
  type Explain,
  type Explanation,
  type Replay,
} from "../../model/explanation.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { redact } from "../../telemetry/log/redact.ts";
import type { RequestSource } from "../../telemetry/requests/request-log.ts";
import type { RequestRecord } from "../../telemetry/requests/request-record.ts";
import { requireGatewayAccess } from "../identity.ts";
import { addOperation, type PathParameters, type RouteTable } from "../operation.ts";
import { replayOf } from "../replay-request.ts";
import { requireGateway } from "../write.ts";
import { requireRequestLog } from "./requests.ts";

const EXPLAIN_EXAMPLE = {
  method: "POST",
  path: "/v1/chat/completions",
  api_key: "mobile app",
  body: { messages: [{ role: "user", content: "Hello!" }] },
};

const tag = "explain";
/** Of API keys that have the same name, most of which are revoked. */
const MAX_NAMESAKES = 1000;

export function addExplainRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  explain: Explain,
  source: RequestSource,
): void {
  addReplayRoute(table, current, explain, source);
  addOperation(table, {
    method: "post",
    path: "/gateways/{gateway_id}/explain",
    tag,
    summary: "Explain how a request would be processed. No provider is called and nothing is counted.",
    access: { role: "viewer" },
    body: "ExplainInput",
    bodyExample: EXPLAIN_EXAMPLE,
    response: { status: 200, schema: "Explanation", description: "The result of each step." },
    handle: async ({ params, body, caller }) => {
      const gatewayId = params["gateway_id"] ?? "";
      const { api_key, ...request } = validate(explainRequestSchema, body);
      const key = api_key === undefined ? {} : { api_key: await findKey(current, gatewayId, api_key) };
      const explanation = await explainOrReject(current, explain, gatewayId, { ...request, ...key });
      requireGatewayAccess(caller.identity, explanation.gateway?.id ?? gatewayId);
      return Response.json(explanation);
    },
  });
}

function addReplayRoute(
  table: RouteTable,
  current: CurrentConfiguration,
  explain: Explain,
  source: RequestSource,
): void {
  addOperation(table, {
    method: "post",
    path: "/gateways/{gateway_id}/requests/{request_id}/explain",
    tag,
    summary:
      "Explain how a request of the request log would be processed now. No provider is called and nothing is counted.",
    access: { role: "viewer" },
    response: {
      status: 200,
      schema: "Replay",
      description: "The request as far as it was recorded, and the result of each step.",
    },
    handle: async ({ params, caller }) => {
      const gatewayId = await requireRequestLog(current, source, params);
      const record = await findRecord(gatewayId, params, source);
      if (record.bodies !== undefined)
        await caller.audit.recordRead(caller.origin, "request_bodies", gatewayId);
      const { snapshot } = current;
      const rule = snapshot.gateways.get(gatewayId)?.rules.find(({ id }) => id === record.rule?.id);
      const { request, notRecorded } = replayOf(record, rule?.rule.headers ?? {}, snapshot.revision);
      const explanation = await explainOrReject(
        current,
        explain,
        gatewayId,
        validate(explainRequestSchema, request),
      );
      requireGatewayAccess(caller.identity, explanation.gateway?.id ?? gatewayId);
      const { request_id, time, status, error_code, revision } = record;
      const replay: Replay = {
        recorded: { request_id, time, status, error_code, rule: record.rule, revision },
        request,
        not_recorded: notRecorded,
        explanation,
      };
      return new Response(redact(JSON.stringify(replay)), {
        headers: { "Content-Type": "application/json" },
      });
    },
  });
}

async function explainOrReject(
  current: CurrentConfiguration,
  explain: Explain,
  ...[gatewayId, request]: Parameters<Explain>
): Promise<Explanation> {
  const explanation = await explain(gatewayId, request);
  if (explanation !== null) return explanation;
  await requireGateway(current.store, gatewayId);
  throw new GatehouseError("not_found", "This gateway is not active on this node. See /readyz.");
}

async function findRecord(
  gatewayId: string,
  params: PathParameters,
  source: RequestSource,
): Promise<RequestRecord> {
  const requestId = params["request_id"] ?? "";
  // With the id of a request, its copies for a mirror are found too.
  const { requests } = await source.listRequests({ gatewayId, requestId }, MAX_NAMESAKES);
  const record = requests.find(({ request_id }) => request_id === requestId);
  if (record !== undefined) return record;
  const id = requestId.slice(0, 100);
  throw new GatehouseError(
    "not_found",
    `The request log has no request "${id}". It keeps only the last requests.`,
  );
}

/** Returns the id of an API key of this gateway. Of keys with the same name, one that is not revoked is meant. */
async function findKey(
  { store }: CurrentConfiguration,
  gatewayId: string,
  idOrName: string,
): Promise<string> {
  const byId = await store.get("api_keys", idOrName);
  if (byId?.subject === gatewayId) return byId.id;
  const query = { gatewayId, name: idOrName, limit: MAX_NAMESAKES, offset: 0 };
  const { records: named } = await store.list("api_keys", query);
  const active = named.filter((key) => key.active);
  if (active.length > 1)
    throw validationError([
      { path: "api_key", message: `${active.length} API keys have the name "${idOrName}"; give the id` },
    ]);
  const [key] = [...active, ...named];
  if (key === undefined)
    throw validationError([
      { path: "api_key", message: `this gateway has no API key with the id or name "${idOrName}"` },
    ]);
  return key.id;
}
