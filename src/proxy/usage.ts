// Tokens used, as providers tell them: in a whole answer, or somewhere in a stream. Read only where somebody asks.
import { isJsonObject } from "../base/json.ts";
import { SseParser } from "../wire/sse.ts";

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The answer did not come to its end: there may have been more. */
  readonly isPartial?: boolean;
}

/** The usage in an answer or a stream's event, in the words of either wire format; null where there is none. */
export function usageOf(value: unknown): Partial<Usage> | null {
  if (!isJsonObject(value)) return null;
  // A message stream opens with the usage of its prompt, inside the message.
  const usage = value["usage"] ?? (isJsonObject(value["message"]) ? value["message"]["usage"] : null);
  if (!isJsonObject(usage)) return null;
  const input = tokens(usage["prompt_tokens"] ?? usage["input_tokens"]);
  const output = tokens(usage["completion_tokens"] ?? usage["output_tokens"]);
  return { ...(input !== null && { inputTokens: input }), ...(output !== null && { outputTokens: output }) };
}

/** Looks at the bytes that pass, and changes none. */
export class UsageTap {
  readonly #isStream: boolean;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #parser: SseParser | null = new SseParser(MAX_READ_BYTES);
  #usage: Partial<Usage> | null = null;

  constructor(isStream: boolean) {
    this.#isStream = isStream;
  }

  push(chunk: Uint8Array): void {
    if (!this.#isStream) {
      this.#size += chunk.byteLength;
      if (this.#size <= MAX_READ_BYTES) this.#chunks.push(chunk);
      return;
    }
    try {
      for (const { data } of this.#parser?.push(chunk) ?? []) if (data.includes('"usage"')) this.#merge(data);
    } catch {
      // An event beyond all bounds: the stream goes on, what it used is not known.
      this.#parser = null;
    }
  }

  /** What was seen so far; null when nothing was told. */
  result(): Usage | null {
    if (!this.#isStream && this.#size <= MAX_READ_BYTES) this.#merge(Buffer.concat(this.#chunks).toString());
    if (this.#usage === null) return null;
    return { inputTokens: this.#usage.inputTokens ?? 0, outputTokens: this.#usage.outputTokens ?? 0 };
  }

  #merge(text: string): void {
    try {
      const usage = usageOf(JSON.parse(text));
      if (usage !== null) this.#usage = { ...this.#usage, ...usage };
    } catch {
      // Not JSON, or encoded: then it tells nothing.
    }
  }
}

const MAX_READ_BYTES = 4 * 1024 * 1024;

function tokens(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}
