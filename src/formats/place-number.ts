// The numbers by which clients join the pieces of a stream.
import { GatehouseError } from "../base/errors.ts";
import type { JsonDocument, JsonNode } from "../base/json-nodes.ts";

/**
 * Returns the number in a member; `otherwise` if there is none. Throws for a value that is no number: clients would join other pieces than
 * the gateway does, because some take `"1"` for 1.
 */
export function placeNumber(body: JsonDocument, holder: JsonNode, name: string, otherwise: number): number {
  const node = holder.get(name);
  const number = body.number(node);
  if (number !== null) return number;
  if (node === null || body.source(node) === "null") return otherwise;
  throw new GatehouseError(
    "upstream_bad_answer",
    `The provider's response has a value of ${name} that is no number.`,
  );
}
