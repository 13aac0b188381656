// Estimates the tokens of responses of OpenAI's Realtime API, from the messages that were relayed: the input of the conversation before a
// response is generated, and the input and output of one whose usage was not reported.
import { isJsonObject, parseObject, type JsonObject } from "../../base/json.ts";
import { estimateRequestTokens } from "../token-estimate.ts";
import { tokensOfText } from "../text-tokens.ts";
import { tokenCounts, type TokenCounts } from "../token-counts.ts";
import { parseEvent } from "./realtime-events.ts";
import type { ClientEvent, CountedText } from "./realtime-requests.ts";

/** OpenAI counts a token for 100 ms of a user's audio and for 50 ms of a model's: 16-bit samples at 24 kHz, in base64. */
export const CHARACTERS_PER_INPUT_AUDIO_TOKEN = 6400;
const CHARACTERS_PER_OUTPUT_AUDIO_TOKEN = 3200;
const AUDIO_DELTA = 'audio.delta"';
const DELTA = '.delta"';
const TEXT_DELTA =
  /^response\.(?:output_text|text|output_audio_transcript|audio_transcript|function_call_arguments)\.delta$/;
/** Inside of another string, the quotes are escaped. */
const RESPONSE_ID = /"response_id"\s*:\s*"([^"\\]*)"/;
/** Characters of messages that are kept until they are read. Most are dropped unread, because usage is reported. */
const MAX_KEPT_CHARACTERS = 64 * 1024;

interface InputTokens {
  readonly inputTokens: number;
  readonly audioInputTokens: number;
}

/** How much the client has added, and responses have generated, since the session began. */
interface Added {
  readonly audioTokens: number;
  readonly textTokens: number;
  readonly outputTokens: number;
}

/** The input of a response from when it was asked for or started: what follows is not part of it. */
export interface ResponseInput extends InputTokens {
  /** How much of the input may be audio, of the client or of earlier responses: it has a price of its own. */
  readonly maxAudioTokens: number;
  /** When it started. */
  readonly added: Added;
}

const SETTINGS = ["instructions", "prompt", "tools"];

/** The conversation of a session: what a response that starts now has as its input. */
export class RealtimeConversation {
  /** The input and output of the last response of the conversation that has ended. */
  #contextTokens = 0;
  /** What these tokens contain. */
  #contained: Added = { audioTokens: 0, textTokens: 0, outputTokens: 0 };
  #outputTokens = 0;
  #audioOutputTokens = 0;
  readonly #added = new AddedInput();
  /** The tokens of each setting of the session. */
  readonly #settings = new Map<string, number>();
  /** Of all messages of the client that were added. */
  characters = 0;

  addClientEvent(event: ClientEvent): void {
    const { text, session } = event;
    this.characters += charactersOf(text);
    this.#added.add(event);
    if (session === null) return;
    const settings = typeof text === "string" ? settingsIn(parseObject(text)) : text.settings;
    for (const [name, tokens] of settings) this.#settings.set(name, tokens);
  }

  /** Call when a response of the conversation has ended. `input` is its estimate, `tokens` what it has used. */
  responseEnded(
    { added }: ResponseInput,
    { inputTokens, outputTokens, audioOutputTokens }: TokenCounts,
  ): void {
    // Others may have ended while it was generated: their output is not part of its input.
    const outputMeanwhile = this.#outputTokens - added.outputTokens;
    this.#contextTokens = inputTokens + outputMeanwhile + outputTokens;
    this.#contained = added;
    this.#outputTokens += outputTokens;
    this.#audioOutputTokens += audioOutputTokens;
  }

  /** Returns the input of a response that starts now. `ownTokens` are those of the event that asks for it. */
  nextInput(ownTokens = 0, isAlone = false): ResponseInput {
    const { audioTokens } = this.#added;
    const textTokens = this.#added.textTokens();
    const added = { audioTokens, textTokens, outputTokens: this.#outputTokens };
    if (isAlone) {
      const settings = this.#settings.values().reduce((sum, tokens) => sum + tokens, 0);
      const inputTokens = Math.ceil(settings) + ownTokens;
      return { inputTokens, audioInputTokens: 0, maxAudioTokens: 0, added };
    }
    const audioInputTokens = Math.round(audioTokens - this.#contained.audioTokens);
    const text = Math.ceil(textTokens - this.#contained.textTokens);
    const inputTokens = this.#contextTokens + audioInputTokens + text + ownTokens;
    const maxAudioTokens = Math.min(inputTokens, Math.ceil(audioTokens) + this.#audioOutputTokens);
    return { inputTokens, audioInputTokens, maxAudioTokens, added };
  }
}

class AddedInput {
  audioTokens = 0;
  readonly #texts = new UnreadMessages(tokensOfClientEvents);

  add({ text, isAudio }: ClientEvent): void {
    if (isAudio) this.audioTokens += charactersOf(text) / CHARACTERS_PER_INPUT_AUDIO_TOKEN;
    else this.#texts.add(text);
  }

  textTokens(): number {
    return this.#texts.tokens();
  }
}

/** Tokens of a part of the output that was counted when it was read, because its message is large. */
export interface CountedOutput {
  /** The response that it belongs to; null if the message names none. */
  readonly responseId: string | null;
  readonly audioTokens: number;
  /** Of text. */
  readonly tokens: number;
}

/** The output of one response, from the messages that arrive while it is generated. */
export class RealtimeOutput {
  #audioTokens = 0;
  readonly #texts = new UnreadMessages(tokensOfDeltas);

  addServerMessage(message: string | CountedOutput): void {
    if (typeof message !== "string") {
      this.#audioTokens += message.audioTokens;
      this.#texts.add(message);
    } else if (message.includes(AUDIO_DELTA)) this.#audioTokens += audioTokensOf(message);
    else this.#texts.add(message);
  }

  /** Returns the tokens of the response if it has ended without usage. It has at least one, because a model has run. */
  estimateWith({ inputTokens, audioInputTokens }: InputTokens): TokenCounts {
    const audioOutputTokens = Math.round(this.#audioTokens);
    const output = audioOutputTokens + Math.ceil(this.#texts.tokens());
    const parts = { cachedInputTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, reasoningTokens: 0 };
    return tokenCounts(Math.max(1, inputTokens), output, { ...parts, audioInputTokens, audioOutputTokens });
  }
}

/** Whether a message of the provider has a part of the output of a response. */
export function hasOutput(message: string): boolean {
  return message.includes(DELTA);
}

/** Returns the response that a message of the provider belongs to; null if it names none. */
export function responseIdIn(message: string | CountedOutput): string | null {
  return typeof message === "string" ? (RESPONSE_ID.exec(message)?.[1] ?? null) : message.responseId;
}

/** Counts a message of the provider that has output. */
export function countOutput(message: string): CountedOutput {
  const isAudio = message.includes(AUDIO_DELTA);
  const event = isAudio ? null : parseEvent(message);
  return {
    responseId: responseIdIn(message),
    audioTokens: isAudio ? audioTokensOf(message) : 0,
    tokens: isJsonObject(event) ? tokensOfDeltas([event]) : 0,
  };
}

/** Returns the estimated input that an event of the client has by itself. */
export function inputTokensOf(text: string | CountedText): number {
  if (typeof text !== "string") return Math.ceil(text.tokens);
  const event = parseObject(text);
  return event === null ? 0 : Math.ceil(tokensOfClientEvents([event]));
}

/** Counts the text of a large event of the client. */
export function countEvent({ text, isAudio }: ClientEvent<string>): CountedText {
  const event = isAudio ? null : parseObject(text);
  return {
    characters: text.length,
    tokens: event === null ? 0 : tokensOfClientEvents([event]),
    settings: settingsIn(event),
  };
}

export function charactersOf(text: string | CountedText): number {
  return typeof text === "string" ? text.length : text.characters;
}

function audioTokensOf(message: string): number {
  return message.length / CHARACTERS_PER_OUTPUT_AUDIO_TOKEN;
}

/** Messages whose tokens are counted only if they are needed, or if too many are kept. */
class UnreadMessages {
  readonly #count: (events: readonly JsonObject[]) => number;
  #messages: string[] = [];
  #characters = 0;
  #tokens = 0;

  constructor(count: (events: readonly JsonObject[]) => number) {
    this.#count = count;
  }

  add(message: string | { readonly tokens: number }): void {
    if (typeof message !== "string") {
      this.#tokens += message.tokens;
      return;
    }
    this.#messages.push(message);
    this.#characters += message.length;
    if (this.#characters > MAX_KEPT_CHARACTERS) this.#read();
  }

  tokens(): number {
    this.#read();
    return this.#tokens;
  }

  #read(): void {
    if (this.#messages.length === 0) return;
    this.#tokens += this.#count(this.#messages.map(parseObject).filter((event) => event !== null));
    this.#messages = [];
    this.#characters = 0;
  }
}

/** Returns the tokens of each setting of the session that an event has. */
function settingsIn(event: JsonObject | null): [name: string, tokens: number][] {
  const session = event?.["session"];
  if (!isJsonObject(session)) return [];
  return SETTINGS.filter((name) => session[name] !== undefined).map((name) => [
    name,
    estimateRequestTokens({ [name]: session[name] }),
  ]);
}

/** Items of the conversation, and instructions and tools of the session or of one response. */
function tokensOfClientEvents(events: readonly JsonObject[]): number {
  let tokens = 0;
  for (const { item, session, response } of events) {
    if (isJsonObject(item)) tokens += estimateRequestTokens({ input: [item] });
    for (const settings of [session, response])
      if (isJsonObject(settings)) {
        const { instructions, prompt, tools, input } = settings;
        tokens += estimateRequestTokens({ instructions, prompt, tools, input });
      }
  }
  return tokens;
}

function tokensOfDeltas(events: readonly JsonObject[]): number {
  let text = "";
  for (const { type, delta } of events)
    if (typeof type === "string" && typeof delta === "string" && TEXT_DELTA.test(type)) text += delta;
  return tokensOfText(text);
}
