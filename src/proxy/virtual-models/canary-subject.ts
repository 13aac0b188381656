// Which subject a request belongs to, and whether the canary of a virtual model serves this subject. Equal on all nodes.
import { isInShare } from "../../balance/share-hash.ts";
import type { CanarySubject } from "../../model/canary.ts";
import type { ChainEntry } from "../../snapshot/compile-virtual-models.ts";
import type { ClientAddressPart } from "../attempt.ts";
import type { Exchange } from "../exchange.ts";
import { userIdOf, userKeyOf } from "../user-of.ts";

/** `conversationHash` is 0 if the conversation is unknown. */
export function isAssignedToCanary(
  exchange: Exchange,
  { model: { id, canary, record } }: ChainEntry,
  conversationHash: number,
  parts: ClientAddressPart,
): boolean {
  if (canary === null || record.canary === null) return false;
  const { by, share } = record.canary;
  return isInShare(subjectOf(exchange, by, conversationHash, parts), `canary ${id}`, share);
}

/** A conversation that is unknown is that of its user, a user that is unknown is the API key, and without one it is the client. */
function subjectOf(
  exchange: Exchange,
  by: CanarySubject,
  conversationHash: number,
  { clientAddress }: ClientAddressPart,
): string {
  const isKnown = conversationHash > 0;
  if (by === "conversation" && isKnown) return `conversation ${conversationHash}`;
  if (by !== "api_key" && userIdOf(exchange) !== "") return `user ${userKeyOf(exchange)}`;
  const { apiKey } = exchange;
  return apiKey === null ? `client ${clientAddress(exchange)}` : `key ${apiKey.id}`;
}
