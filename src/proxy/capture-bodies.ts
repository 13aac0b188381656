// Captures request and response bodies for the request log of gateways with `log_bodies`. Others pay one comparison.
import { isSecretHeader } from "../model/target-secrets.ts";
import { BodyCapture } from "../telemetry/requests/body-capture.ts";
import type { TargetResponse } from "./target-response.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { Exchange } from "./exchange.ts";
import { CREDENTIAL_HEADERS } from "./header-filter.ts";

export function beginCapture(exchange: Exchange): void {
  const { headers } = exchange.request;
  const bodies = new BodyCapture(headers.get("content-encoding"));
  for (const name of [...CREDENTIAL_HEADERS, "x-gw-api-key"]) hideCredential(bodies, headers.get(name));
  bodies.isRequestWithheld = exchange.gateway?.chain?.hidesBodies === true;
  exchange.bodies = bodies;
}

/** Captures the body of a request that was withheld until plugins have masked it. */
export function captureMaskedRequest(bodies: BodyCapture, { body }: Exchange): void {
  if (!bodies.isRequestWithheld) return;
  bodies.isRequestWithheld = false;
  bodies.takeRequest(body?.bytes ?? null);
}

/** The relay captures the body of a target's response. This sets how to decode it and which values to hide in it. */
export function captureUpstreamResponse(
  bodies: BodyCapture,
  { target, upstreamResponse: response, isDecoded }: TargetResponse,
): void {
  for (const [, value] of target.headers) hideCredential(bodies, value);
  for (const [name, value] of Object.entries(response.credentialHeaders ?? {}))
    if (isSecretHeader(name)) hideCredential(bodies, value ?? null);
  bodies.responseEncoding = isDecoded ? null : response.headers.get("content-encoding");
}

/** Captures a response that the gateway itself created. */
export function captureResponse(
  bodies: BodyCapture,
  { body }: Exchange,
  { body: responseBody }: OutgoingResponse,
): void {
  bodies.takeRequest(body?.bytes ?? null);
  if (responseBody instanceof Uint8Array) bodies.takeResponse(responseBody);
}

/** Hides the value of a credential header with its scheme (`Bearer x`) and without. */
function hideCredential(bodies: BodyCapture, value: string | null): void {
  if (value === null) return;
  bodies.hide(value);
  const space = value.indexOf(" ");
  if (space > 0) bodies.hide(value.slice(space + 1).trim());
}
