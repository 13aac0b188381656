// The type of a stream event in formats whose events have one: in the data, and as the name of the event.
import { GatehouseError } from "../base/errors.ts";
import type { JsonDocument } from "../base/json-nodes.ts";

/** The name of events without one. */
const NO_NAME = "message";

/** Clients read either: throws if both are there and differ. `name` is that of the event; null if it has none. */
export function eventTypeOf(event: JsonDocument, name: string | null): string {
  const type = event.text(event.root.get("type"));
  if (type !== null && name !== null && name !== type && name !== NO_NAME)
    throw new GatehouseError(
      "upstream_bad_answer",
      "The provider's stream has an event whose name is not the type in its data.",
    );
  return type ?? name ?? "";
}
