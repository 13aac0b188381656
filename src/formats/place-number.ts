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

/** The numbers of choices in a stream. */
export class ChoiceNumbers {
  readonly #requested: number;
  /** By position in an event, if one choice was requested. */
  readonly #numbers: number[] = [];

  /** `requested`: how many choices the client wants. */
  constructor(requested: number) {
    this.#requested = requested;
  }

  /**
   * Returns the number of the choice at a position of an event. Clients of one choice read the first one of each event, others go by number.
   * Throws if both would join other pieces.
   */
  numberOf(body: JsonDocument, choice: JsonNode, at: number): number {
    const number = placeNumber(body, choice, "index", at);
    if (this.#requested !== 1) return number;
    if ((this.#numbers[at] ??= number) === number) return number;
    throw new GatehouseError(
      "upstream_bad_answer",
      "The provider's stream goes on with another choice, and one was requested.",
    );
  }
}
