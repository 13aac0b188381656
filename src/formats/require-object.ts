// Responses and events of chat formats are objects.
import { GatehouseError } from "../base/errors.ts";
import type { JsonDocument } from "../base/json-nodes.ts";

export function requireObject({ root }: JsonDocument): void {
  if (root.type !== "object")
    throw new GatehouseError(
      "upstream_bad_answer",
      "The provider's response is JSON, but no object. Check the target's format.",
    );
}
