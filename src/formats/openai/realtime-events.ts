// The server events of OpenAI's Realtime API that the gateway reads: which responses run, and what each of them used.
import { MAX_EVENT_ITEMS, parseBounded } from "../../base/bounded-json.ts";
import { isJsonObject } from "../../base/json.ts";
import { reportedTokens, type ReportedTokens } from "../token-counts.ts";
import { toCount } from "../usage-scanner.ts";

interface EventOfResponse {
  /** Null if the event names none. */
  readonly id: string | null;
  /** The response is not part of the conversation: neither its input nor its output is that of later ones. */
  readonly isOutOfBand: boolean;
}

export interface EndedResponse {
  /** Null if the provider reports no usage. */
  readonly tokens: ReportedTokens | null;
  /** The provider could not generate it. */
  readonly isFailed: boolean;
  /** The client has stopped it. */
  readonly isCanceled: boolean;
}

/**
 * `started`: the model generates a response. `done`: it ended. `error`: an event of the client was rejected; `eventId` is null if the client gave it none.
 */
export type RealtimeEvent =
  | ({ readonly type: "started" } & EventOfResponse)
  | ({ readonly type: "done" } & EventOfResponse & EndedResponse)
  | { readonly type: "error"; readonly eventId: string | null };

const STARTED = "response.created";
const DONE = "response.done";
const ERROR = "error";
/** Longer ids are not compared. */
const MAX_ID_LENGTH = 512;

/** Returns null for every other message. Most messages are not parsed, because they do not contain the names. */
export function readRealtimeEvent(message: string): RealtimeEvent | null {
  if (![DONE, STARTED, ERROR].some((name) => message.includes(`"${name}"`))) return null;
  const event = parseEvent(message);
  if (!isJsonObject(event)) return null;
  const { type, response } = event;
  if (type === ERROR) return { type, eventId: idIn(event["error"], "event_id") };
  if (type !== STARTED && type !== DONE) return null;
  const isOutOfBand = isJsonObject(response) && response["conversation_id"] === null;
  const about = { id: idIn(response, "id"), isOutOfBand };
  if (type === STARTED) return { type: "started", ...about };
  const status = objectIn(response, "status");
  const tokens = tokensOf(objectIn(response, "usage"));
  return {
    type: "done",
    ...about,
    tokens,
    isFailed: status === "failed",
    isCanceled: status === "cancelled",
  };
}

function idIn(value: unknown, name: string): string | null {
  const id = objectIn(value, name);
  return typeof id === "string" && id.length <= MAX_ID_LENGTH ? id : null;
}

/** Audio that was cached is part of both counters; each token is counted once, as cached. */
export function tokensOf(usage: unknown): ReportedTokens | null {
  const inputDetails = objectIn(usage, "input_token_details");
  const outputDetails = objectIn(usage, "output_token_details");
  const cachedAudio = countIn(objectIn(inputDetails, "cached_tokens_details"), "audio_tokens");
  const counts = {
    input: countIn(usage, "input_tokens"),
    output: countIn(usage, "output_tokens"),
    total: countIn(usage, "total_tokens"),
  };
  return reportedTokens(counts, {
    cachedInputTokens: countIn(inputDetails, "cached_tokens"),
    cacheWrite5mTokens: 0,
    cacheWrite1hTokens: 0,
    audioInputTokens: countIn(inputDetails, "audio_tokens") - Math.max(cachedAudio, 0),
    reasoningTokens: countIn(outputDetails, "reasoning_tokens"),
    audioOutputTokens: countIn(outputDetails, "audio_tokens"),
  });
}

export function objectIn(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : null;
}

/** Below 0 if there is none. */
function countIn(value: unknown, name: string): number {
  return toCount(objectIn(value, name));
}

export function parseEvent(json: string): unknown {
  try {
    return parseBounded(json, MAX_EVENT_ITEMS);
  } catch {
    return null;
  }
}
