// Builds the WebSocket handshake with a target from that of the client.
import { GatehouseError } from "../../base/errors.ts";
import { sha256 } from "../../base/sha256.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { newHandshake } from "../../upstream/websocket/handshake.ts";
import { encodeRequest, type EncodedRequest, type EncodeParts } from "../encode.ts";
import type { Exchange } from "../exchange.ts";
import { pathFor } from "../request-endpoint.ts";
import { isCredential } from "./client-handshake.ts";
import { modelInQueryFor, queryFor } from "./handshake-query.ts";
import { REALTIME } from "./upgrade.ts";

const CHAT_PATH = /\/chat\/completions$/;
const HANDSHAKE_HEADER = /^sec-websocket-/;

/** Returns the request to a target, which is a WebSocket handshake if that of the client is. */
export function encodeForTarget(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  parts: EncodeParts,
): EncodedRequest {
  const encoded = encodeRequest(exchange, rule, target, parts);
  const { handshake, sentQuery } = exchange;
  if (handshake === null) return encoded;
  const { ownCredentials } = parts;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(encoded.headers))
    if (!HANDSHAKE_HEADER.test(name)) headers[name] = value;
  const protocols = handshake.protocolsFor(!target.hasCredential, ownCredentials);
  const credential = protocols.find(isCredential);
  const query = ownCredentials.removeFromQuery(queryFor(sentQuery, target));
  return {
    ...encoded,
    ...(credential !== undefined && {
      poolKey: `${encoded.poolKey}:${sha256(credential)}`,
      usesClientCredential: true,
    }),
    headers,
    path: realtimePath(exchange, rule, target) + query,
    model: modelInQueryFor(sentQuery, target),
    handshake: newHandshake(protocols),
  };
}

/** For a target without a path: providers serve realtime endpoints beside their chat endpoint. */
function realtimePath(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): string {
  const { endpoints, provider } = target;
  const path = endpoints === null ? pathFor(exchange, rule, target) : endpoints.chat.path;
  if (endpoints !== null && !CHAT_PATH.test(path))
    throw new GatehouseError("operation_not_supported", `The provider ${provider} has no realtime endpoint.`);
  return path.replace(CHAT_PATH, REALTIME);
}
