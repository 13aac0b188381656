// Hands the bodies of a request to the request log, for gateways that ask for it. All others pay one comparison.
import { BodyCapture } from "../telemetry/requests/body-capture.ts";
import type { TargetResponse } from "./target-response.ts";
import type { Exchange } from "./exchange.ts";
import { CREDENTIAL_HEADERS } from "./header-filter.ts";

export function beginCapture(exchange: Exchange): void {
  const { headers } = exchange.request;
  const bodies = new BodyCapture(headers.get("content-encoding"));
  for (const name of [...CREDENTIAL_HEADERS, "x-gw-api-key"]) hide(bodies, headers.get(name));
  exchange.bodies = bodies;
}

/** A provider's answer is taken as it passes; here only what must be known of it. */
export function captureUpstreamResponse(
  bodies: BodyCapture,
  { target, upstreamResponse: response, isDecoded }: TargetResponse,
): void {
  for (const [, value] of target.headers) hide(bodies, value);
  bodies.responseEncoding = isDecoded ? null : response.headers.get("content-encoding");
}

/** An answer of the gateway's own. */
export async function captureResponse(
  bodies: BodyCapture,
  { body }: Exchange,
  response: Response,
): Promise<void> {
  bodies.takeRequest(body?.bytes ?? null);
  if (response.body !== null) bodies.takeResponse(await response.clone().bytes());
}

/** With the scheme and without. */
function hide(bodies: BodyCapture, value: string | null): void {
  if (value === null) return;
  bodies.hide(value);
  const blank = value.indexOf(" ");
  if (blank > 0) bodies.hide(value.slice(blank + 1).trim());
}
