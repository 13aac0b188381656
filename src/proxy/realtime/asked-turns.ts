// Responses that the client has asked for and that the provider has not started. Only an error event that is about one of them takes it back.
import { eventTextOf } from "../../formats/openai/realtime-requests.ts";
import type { Turn } from "./turn.ts";

export type EventIds = Pick<Turn, "sentEventId" | "eventId">;

/** Of one socket. */
export const MAX_ASKED = 32;

export class AskedTurns {
  /** In the order of the client's events, which is that of the provider. */
  readonly #turns: Turn[] = [];

  get size(): number {
    return this.#turns.length;
  }

  add(turn: Turn): void {
    this.#turns.push(turn);
  }

  /** Returns the response that the provider starts next; undefined if none was asked for. */
  shift(): Turn | undefined {
    return this.#turns.shift();
  }

  takeAll(): Turn[] {
    return this.#turns.splice(0);
  }

  /**
   * Returns the response whose event the provider has rejected; null if it was another event. The provider got an id that the client does not
   * know: a client that chooses the id, or none, could get another event rejected while its response is generated.
   */
  takeRejected(sentEventId: string | null): Turn | null {
    const at = this.#turns.findIndex((turn) => turn.sentEventId === sentEventId);
    return (at < 0 ? null : this.#turns.splice(at, 1)[0]) ?? null;
  }

  /** Those of the responses. */
  get ids(): readonly EventIds[] {
    return this.#turns.map(({ sentEventId, eventId }) => ({ sentEventId, eventId }));
  }
}

/** Returns a message of the provider with the client's ids of its events. Call before `takeRejected`. */
export function withClientIds(message: string | Uint8Array, ids: readonly EventIds[]): string | Uint8Array {
  if (ids.length === 0) return message;
  const before = eventTextOf(message);
  let text = before;
  for (const { sentEventId, eventId } of ids) {
    // It is unguessable, so that it occurs nowhere else.
    const sent = JSON.stringify(sentEventId);
    if (text.includes(sent)) text = text.replaceAll(sent, () => JSON.stringify(eventId));
  }
  if (text === before) return message;
  return typeof message === "string" ? text : Buffer.from(text);
}
