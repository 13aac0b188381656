// Transcriptions of a user's audio in OpenAI's Realtime API: a model of their own runs beside that of the session, and reports its own
// usage.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { tokensOfText } from "../text-tokens.ts";
import { tokenCounts, type ReportedTokens, type TokenCounts } from "../token-counts.ts";
import { CHARACTERS_PER_INPUT_AUDIO_TOKEN, charactersOf } from "./realtime-estimate.ts";
import { objectIn, parseEvent, tokensOf } from "./realtime-events.ts";
import type { ClientEvent } from "./realtime-requests.ts";

/** What one transcription used. */
export interface Transcription {
  /** Null if no event of the session names it. */
  readonly model: string | null;
  readonly tokens: TokenCounts;
  /** The provider has reported no tokens. */
  readonly isEstimated: boolean;
}

/** What an event of the provider says about transcriptions. */
export type TranscriptionEvent =
  | { readonly type: "session"; readonly model: string | null }
  | { readonly type: "delta"; readonly text: string }
  | { readonly type: "failed" }
  | {
      readonly type: "completed";
      /** Null if the provider reports none. */
      readonly tokens: ReportedTokens | null;
      /** Of the audio; null if the provider does not report it. */
      readonly seconds: number | null;
      /** Of the text, estimated; 0 if the provider reports all tokens. */
      readonly textTokens: number;
    };

type CompletedEvent = Extract<TranscriptionEvent, { type: "completed" }>;

const PREFIX = "conversation.item.input_audio_transcription.";
const SESSION_EVENTS = ['session.created"', 'session.updated"'];
const SESSION = /^(?:transcription_)?session\.(?:created|updated)$/;
const TOKENS_PER_SECOND = 10;
/** A session is open for an hour at most. */
const MAX_SECONDS = 86_400;
/** The words of hours. More text of one transcription is not kept for an estimate. */
const MAX_KEPT_CHARACTERS = 64 * 1024;

/** Returns null for every other message of the provider. */
export function transcriptionEventIn(message: string): TranscriptionEvent | null {
  if (!message.includes(PREFIX) && !SESSION_EVENTS.some((name) => message.includes(name))) return null;
  const event = parseEvent(message);
  const type = isJsonObject(event) ? event["type"] : null;
  if (!isJsonObject(event) || typeof type !== "string") return null;
  if (SESSION.test(type)) return { type: "session", model: modelOf(event["session"]) };
  const { delta } = event;
  if (type === `${PREFIX}delta`)
    return { type: "delta", text: typeof delta === "string" ? delta.slice(0, MAX_KEPT_CHARACTERS) : "" };
  if (type === `${PREFIX}failed`) return { type: "failed" };
  return type === `${PREFIX}completed` ? completed(event) : null;
}

function completed({ usage, transcript }: JsonObject): TranscriptionEvent {
  const tokens = tokensOf(usage);
  const seconds = objectIn(usage, "seconds");
  return {
    type: "completed",
    tokens,
    seconds: typeof seconds === "number" ? seconds : null,
    textTokens: isWhole(tokens) || typeof transcript !== "string" ? 0 : Math.ceil(tokensOfText(transcript)),
  };
}

/** Whether both the input and the output are known. */
function isWhole(tokens: ReportedTokens | null): tokens is ReportedTokens {
  return tokens !== null && (tokens.unknown === undefined || tokens.unknown === "split");
}

export class RealtimeTranscription {
  #model: string | null = null;
  /** Of the audio since the last transcription. */
  #audioTokens = 0;
  /** The relayed text of the transcription in progress; null if there is none. */
  #text: string | null = null;

  addClientEvent({ text, isAudio }: ClientEvent): void {
    if (isAudio) this.#audioTokens += charactersOf(text) / CHARACTERS_PER_INPUT_AUDIO_TOKEN;
  }

  /** Returns the transcription that an event of the provider ends; null if it ends none. */
  addServerEvent(event: TranscriptionEvent): Transcription | null {
    if (event.type === "session") this.#model = event.model ?? this.#model;
    else if (event.type === "delta") this.#addText(event.text);
    else if (event.type === "failed") this.#end();
    return event.type === "completed" ? this.#complete(event) : null;
  }

  /** Returns the estimate for a transcription that was cut off after some of its text was relayed; null if there is none. */
  takeCut(): Transcription | null {
    if (this.#text === null) return null;
    return this.#estimate(this.#audioTokens, Math.ceil(tokensOfText(this.#text)), null);
  }

  #addText(delta: string): void {
    this.#text ??= "";
    if (this.#text.length < MAX_KEPT_CHARACTERS) this.#text += delta;
  }

  #complete({ tokens, seconds, textTokens }: CompletedEvent): Transcription {
    if (isWhole(tokens)) {
      this.#end();
      return { model: this.#model, tokens, isEstimated: false };
    }
    const audioTokens =
      seconds === null ? this.#audioTokens : Math.min(seconds, MAX_SECONDS) * TOKENS_PER_SECOND;
    return this.#estimate(audioTokens, textTokens, tokens);
  }

  /** `known` is what the provider has reported. */
  #estimate(audioTokens: number, textTokens: number, known: ReportedTokens | null): Transcription {
    const audioInputTokens = Math.max(1, Math.ceil(audioTokens));
    const input = known?.unknown === "output" ? known.inputTokens : audioInputTokens;
    const output = known?.unknown === "input" ? known.outputTokens : textTokens;
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
