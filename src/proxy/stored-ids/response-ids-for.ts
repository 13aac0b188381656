// Decides whether the ids in a target's response are sealed, and for which owner.
import { idsInResponse } from "../../formats/stored-ids.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import type { Exchange } from "../exchange.ts";
import type { IdOwner, IdSeal } from "./id-seal.ts";
import { ResponseIds } from "./response-ids.ts";

/** Returns null if the response contains no ids, or if the target has a `path`. */
export function responseIdsFor(
  exchange: Exchange,
  { endpoints, tag }: CompiledTarget,
  idSeal: IdSeal,
): ResponseIds | null {
  const { endpoint, body } = exchange;
  if (endpoint === null || endpoints === null) return null;
  const part = idsInResponse(endpoint, body?.bytes ?? null);
  return part === null ? null : new ResponseIds(part, idSeal, ownerOf(exchange), tag, requestUrlOf(exchange));
}

export function ownerOf({ gateway, apiKey }: Exchange): IdOwner {
  return { gatewayId: gateway?.id ?? "", apiKeyId: apiKey?.id ?? null };
}

/** A proxy in front of the gateway may terminate TLS. A client that sends the header itself misleads only itself. */
export function requestUrlOf({ request, path }: Exchange): string {
  const host = request.headers.get("host") ?? "";
  const scheme = /^https?$/.exec(request.headers.get("x-forwarded-proto") ?? "")?.[0];
  return `${scheme ?? "http"}://${host}${path}`;
}
