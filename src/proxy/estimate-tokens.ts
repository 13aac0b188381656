// Responds to requests for the number of input tokens with an estimate, if no target has an endpoint that counts them.
import { GatehouseError } from "../base/errors.ts";
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import type { Endpoint } from "../formats/operations.ts";
import { estimateRequestTokens, tokenCountResponse } from "../formats/token-estimate.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type * as estimateTokensTask from "./estimate-tokens-task.ts";
import { HeaderFields } from "../http/header-fields.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { EstimateParts } from "./budgets/request-estimate.ts";
import type { Exchange } from "./exchange.ts";
import { isServedBy } from "./operation.ts";
import type { RequestBody } from "./request-body.ts";
import { unknownModelProblem } from "./unserved-model.ts";

const TASK = new URL("./estimate-tokens-task.ts", import.meta.url);

/** Returns null if a target of the requested model counts the tokens, or if the request has to be rejected for its model. */
export function estimateWithoutEndpoint(
  exchange: Exchange,
  rule: CompiledRule,
  parts: EstimateParts,
): ValueOrPromise<OutgoingResponse | null> {
  const { endpoint, body, fields } = exchange;
  const { upstream } = rule;
  if (endpoint === null) return null;
  if (unknownModelProblem(exchange, upstream) !== null) return null;
  const candidates = upstream.candidatesFor(fields.model);
  // Targets of other models would reject the model, or count with their own.
  if (candidates === null || isServedBy(candidates.preferred, endpoint, rule)) return null;
  if (body !== null && fields.isObject && isLargeBody(body.bytes))
    return estimateOffLoop(exchange, endpoint, body, parts);
  const json = body?.json ?? null;
  if (json === null)
    throw new GatehouseError(
      "bad_request",
      "To count tokens, send a JSON object with the Content-Type application/json and without a Content-Encoding.",
    );
  return responseWith(exchange, endpoint, estimateRequestTokens(json), parts);
}

async function estimateOffLoop(
  exchange: Exchange,
  endpoint: Endpoint,
  { bytes }: RequestBody,
  parts: EstimateParts,
): Promise<OutgoingResponse> {
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
  const tokens = await parts.offLoop.run<typeof estimateTokensTask>(TASK, { bytes }, limits);
  return responseWith(exchange, endpoint, tokens, parts);
}

function responseWith(
  exchange: Exchange,
  endpoint: Endpoint,
  estimated: number,
  { budgetAccounts }: EstimateParts,
): OutgoingResponse {
  const { requestId, gateway, fields } = exchange;
  const tokens = budgetAccounts.inputCalibration.calibrate(gateway?.id ?? "", fields.model, estimated);
  exchange.isServedHere = true;
  const headers = new HeaderFields();
  exchange.addResponseHeaders(headers);
  headers.set("X-Request-Id", requestId);
  headers.set("Request-Id", requestId);
  headers.set("X-GW-Estimated", "true");
  return OutgoingResponse.json(tokenCountResponse(endpoint, tokens), { headers });
}
