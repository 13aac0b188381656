// Transcriptions of a user's audio in OpenAI's Realtime API: a model of their own runs beside that of the session, and reports its own
// usage.
import { isJsonObject } from "../../base/json.ts";
import { tokensOfText } from "../text-tokens.ts";
import { tokenCounts, type ReportedTokens, type TokenCounts } from "../token-counts.ts";
import { CHARACTERS_PER_INPUT_AUDIO_TOKEN } from "./realtime-estimate.ts";
import { MAX_EVENT_LENGTH, objectIn, parseEvent, tokensOf } from "./realtime-events.ts";
import type { ClientEvent } from "./realtime-requests.ts";

/** What one transcription used. */
export interface Transcription {
  /** Null if no event of the session names it. */
  readonly model: string | null;
  readonly tokens: TokenCounts;
  /** The provider has reported no tokens. */
  readonly isEstimated: boolean;
}

const PREFIX = "conversation.item.input_audio_transcription.";
const SESSION_EVENTS = ['session.created"', 'session.updated"'];
const SESSION = /^(?:transcription_)?session\.(?:created|updated)$/;
const TOKENS_PER_SECOND = 10;
/** A session is open for an hour at most. */
const MAX_SECONDS = 86_400;
/** The words of hours. More text of one transcription is not kept for an estimate. */
const MAX_KEPT_CHARACTERS = 64 * 1024;

export class RealtimeTranscription {
  #model: string | null = null;
  /** Of the audio since the last transcription. */
  #audioTokens = 0;
  /** The relayed text of the transcription in progress; null if there is none. */
  #text: string | null = null;

  addClientEvent({ text, isAudio }: ClientEvent): void {
    if (isAudio) this.#audioTokens += text.length / CHARACTERS_PER_INPUT_AUDIO_TOKEN;
  }

  /** Returns the transcription that a message of the provider ends; null for every other message. */
  read(message: string): Transcription | null {
    if (message.length > MAX_EVENT_LENGTH) return null;
    if (!message.includes(PREFIX) && !SESSION_EVENTS.some((name) => message.includes(name))) return null;
    const event = parseEvent(message);
    const type = isJsonObject(event) ? event["type"] : null;
    if (!isJsonObject(event) || typeof type !== "string") return null;
    if (SESSION.test(type)) this.#model = modelOf(event["session"]) ?? this.#model;
    if (type === `${PREFIX}delta`) this.#addText(event["delta"]);
    if (type === `${PREFIX}failed`) this.#end();
    return type === `${PREFIX}completed` ? this.#complete(event["usage"], event["transcript"]) : null;
  }

  /** Returns the estimate for a transcription that was cut off after some of its text was relayed; null if there is none. */
  takeCut(): Transcription | null {
    return this.#text === null ? null : this.#estimate(this.#audioTokens, this.#text);
  }

  #addText(delta: unknown): void {
    this.#text ??= "";
    if (typeof delta === "string" && this.#text.length < MAX_KEPT_CHARACTERS) this.#text += delta;
  }

  #complete(usage: unknown, transcript: unknown): Transcription {
    const tokens = tokensOf(usage);
    if (tokens !== null && (tokens.unknown === undefined || tokens.unknown === "split")) {
      this.#end();
      return { model: this.#model, tokens, isEstimated: false };
    }
    const seconds = objectIn(usage, "seconds");
    const audioTokens =
      typeof seconds === "number" ? Math.min(seconds, MAX_SECONDS) * TOKENS_PER_SECOND : this.#audioTokens;
    return this.#estimate(audioTokens, typeof transcript === "string" ? transcript : "", tokens ?? undefined);
  }

  /** `known` is what the provider has reported. */
  #estimate(audioTokens: number, text: string, known?: ReportedTokens): Transcription {
    const audioInputTokens = Math.max(1, Math.ceil(audioTokens));
    const input = known?.unknown === "output" ? known.inputTokens : audioInputTokens;
    const output = known?.unknown === "input" ? known.outputTokens : Math.ceil(tokensOfText(text));
    const tokens = tokenCounts(input, output, {
      cachedInputTokens: 0,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
      audioInputTokens,
      reasoningTokens: 0,
      audioOutputTokens: 0,
    });
    this.#end();
    return { model: this.#model, tokens, isEstimated: true };
  }

  #end(): void {
    this.#audioTokens = 0;
    this.#text = null;
  }
}

/** Sessions of the beta, and those for transcription only, have the settings in another place. */
function modelOf(session: unknown): string | null {
  const input = objectIn(objectIn(session, "audio"), "input");
  const settings = objectIn(input, "transcription") ?? objectIn(session, "input_audio_transcription");
  const model = objectIn(settings, "model");
  return typeof model === "string" ? model : null;
}
