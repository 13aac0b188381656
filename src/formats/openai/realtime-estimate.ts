// Estimates the tokens of a response of OpenAI's Realtime API whose usage was not reported, from the messages that were relayed.
import { isJsonObject, parseObject, type JsonObject } from "../../base/json.ts";
import { estimateRequestTokens } from "../token-estimate.ts";
import { tokensOfText } from "../text-tokens.ts";
import { tokenCounts, type TokenCounts } from "../token-counts.ts";

/** OpenAI counts a token for 100 ms of a user's audio and for 50 ms of a model's: 16-bit samples at 24 kHz, in base64. */
export const CHARACTERS_PER_INPUT_AUDIO_TOKEN = 6400;
const CHARACTERS_PER_OUTPUT_AUDIO_TOKEN = 3200;
export const AUDIO_INPUT = '"input_audio_buffer.append"';
const AUDIO_DELTA = 'audio.delta"';
const DELTA = '.delta"';
const TEXT_DELTA =
  /^response\.(?:output_text|text|output_audio_transcript|audio_transcript|function_call_arguments)\.delta$/;
/** Characters of messages that are kept until they are read. Most are dropped unread, because usage is reported. */
const MAX_KEPT_CHARACTERS = 64 * 1024;

export class RealtimeEstimate {
  /** The conversation up to the last response that has ended: its input and its output. */
  #contextTokens = 0;
  #inputAudioTokens = 0;
  #outputAudioTokens = 0;
  readonly #input = new UnreadMessages(tokensOfClientEvents);
  readonly #output = new UnreadMessages(tokensOfDeltas);

  addClientMessage(message: string | Uint8Array): void {
    if (typeof message !== "string") return;
    if (message.includes(AUDIO_INPUT))
      this.#inputAudioTokens += message.length / CHARACTERS_PER_INPUT_AUDIO_TOKEN;
    else this.#input.add(message);
  }

  /** Call with the messages that arrive while a response is generated. */
  addServerMessage(message: string): void {
    if (!message.includes(DELTA)) return;
    if (message.includes(AUDIO_DELTA))
      this.#outputAudioTokens += message.length / CHARACTERS_PER_OUTPUT_AUDIO_TOKEN;
    else this.#output.add(message);
  }

  /** Call when a response has reported its usage. */
  responseReported({ inputTokens, outputTokens }: TokenCounts): void {
    this.#startAfter(inputTokens + outputTokens);
  }

  /** Returns the estimate for a response that has ended without usage. It has at least one token, because a model has run. */
  takeEstimate(): TokenCounts {
    const audioInputTokens = Math.round(this.#inputAudioTokens);
    const audioOutputTokens = Math.round(this.#outputAudioTokens);
    const input = this.#contextTokens + audioInputTokens + Math.ceil(this.#input.takeTokens());
    const output = audioOutputTokens + Math.ceil(this.#output.takeTokens());
    const parts = { cachedInputTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, reasoningTokens: 0 };
    const tokens = tokenCounts(Math.max(1, input), output, { ...parts, audioInputTokens, audioOutputTokens });
    this.#startAfter(input + output);
    return tokens;
  }

  #startAfter(contextTokens: number): void {
    this.#contextTokens = contextTokens;
    this.#inputAudioTokens = 0;
    this.#outputAudioTokens = 0;
    this.#input.drop();
    this.#output.drop();
  }
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

  add(message: string): void {
    this.#messages.push(message);
    this.#characters += message.length;
    if (this.#characters > MAX_KEPT_CHARACTERS) this.#read();
  }

  takeTokens(): number {
    this.#read();
    const tokens = this.#tokens;
    this.#tokens = 0;
    return tokens;
  }

  drop(): void {
    this.#messages = [];
    this.#characters = 0;
    this.#tokens = 0;
  }

  #read(): void {
    this.#tokens += this.#count(this.#messages.map(parseObject).filter((event) => event !== null));
    this.#messages = [];
    this.#characters = 0;
  }
}

/** Items of the conversation, and instructions and tools of the session or of one response. */
function tokensOfClientEvents(events: readonly JsonObject[]): number {
  let tokens = 0;
  for (const { item, session, response } of events) {
    if (isJsonObject(item)) tokens += estimateRequestTokens({ input: [item] });
    for (const settings of [session, response])
      if (isJsonObject(settings)) {
        const { instructions, tools, input } = settings;
        tokens += estimateRequestTokens({ instructions, tools, input });
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
