// The output limit of a session of OpenAI's Realtime API: responses that name no limit of their own have it.
import { isJsonObject } from "../../base/json.ts";
import { parseEvent } from "./realtime-events.ts";
import { outputLimitOf, type ClientEvent } from "./realtime-requests.ts";

const CREATED = "session.created";
const UPDATED = "session.updated";

/** What an event of the provider says about the session. */
export interface SessionEvent {
  /** It confirms a change of the client. */
  readonly isUpdate: boolean;
  /** The output limit; null if there is none. */
  readonly limit: number | null;
}

/** Returns null for every other message of the provider. */
export function sessionEventIn(message: string): SessionEvent | null {
  if (!message.includes(`"${CREATED}"`) && !message.includes(`"${UPDATED}"`)) return null;
  const event = parseEvent(message);
  if (!isJsonObject(event) || (event["type"] !== CREATED && event["type"] !== UPDATED)) return null;
  const { type, session } = event;
  return { isUpdate: type === UPDATED, limit: isJsonObject(session) ? outputLimitOf(session) : null };
}

export class RealtimeSession {
  /** As the provider has reported it last; null if there is none. */
  #limit: number | null = null;
  /** Changes of the client that the provider has not confirmed. One that it rejects stays among them. */
  #unconfirmed = 0;
  #wasLimited = false;

  /** Whether the session has, or had, an output limit: the size of its responses says nothing about others. */
  get wasLimited(): boolean {
    return this.#wasLimited;
  }

  /** Of responses that name none; null if there is none, or if it may change before the next response starts. */
  get maxOutputTokens(): number | null {
    return this.#unconfirmed === 0 ? this.#limit : null;
  }

  addClientEvent({ session }: ClientEvent): void {
    if (session === null) return;
    this.#unconfirmed++;
    if (session.maxOutputTokens !== null) this.#wasLimited = true;
  }

  addServerEvent({ isUpdate, limit }: SessionEvent): void {
    if (isUpdate && this.#unconfirmed > 0) this.#unconfirmed--;
    this.#limit = limit;
    if (limit !== null) this.#wasLimited = true;
  }
}
