// Tokens used, in the words of either wire format: what a provider told, put together into one count.
import { isJsonObject, type JsonObject } from "../base/json.ts";

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The answer ended before all of it was told: what is here is what was seen. */
  readonly isPartial: boolean;
}

/** What providers call their counts, in either wire format. */
export const COUNTS = [
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
] as const;

/** As they were told: whatever is no count is none. */
export type TokenCounts = Readonly<Partial<Record<(typeof COUNTS)[number], unknown>>>;

/** No answer is that long: a larger number is a mistake, and would spoil every sum it is added to. */
const MAX_TOKENS = 1e12;

/** The usage of a complete answer, from its `usage` object; null where that tells of no tokens. */
export function toUsage(usage: TokenCounts, isPartial = false): Usage | null {
  const prompt = countOf(usage.prompt_tokens) ?? messageInputOf(usage);
  const answered = countOf(usage.completion_tokens) ?? countOf(usage.output_tokens);
  const total = countOf(usage.total_tokens);
  if (prompt === null && answered === null && total === null) return null;
  const inputTokens = prompt ?? 0;
  // Some providers leave reasoning out of the completion and count it only into the total.
  const outputTokens = Math.max(answered ?? 0, (total ?? 0) - inputTokens);
  return { inputTokens, outputTokens, isPartial };
}

/** One format counts cached input within the prompt, the other apart from it. */
function messageInputOf(usage: TokenCounts): number | null {
  const input = countOf(usage.input_tokens);
  const read = countOf(usage.cache_read_input_tokens);
  const written = countOf(usage.cache_creation_input_tokens);
  if (input === null && read === null && written === null) return null;
  return (input ?? 0) + (read ?? 0) + (written ?? 0);
}

function countOf(value: unknown): number | null {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS
    ? (value as number)
    : null;
}

/** What an answer has told so far. Counts are cumulative: a later word replaces an earlier one. */
export class UsageAccumulator {
  #usage: JsonObject | null = null;
  /** The provider has nothing more to say, whatever becomes of the rest of the answer. */
  #isFinal = false;
  /** All that was told is how a message begins. */
  #isOpening = false;

  /** Takes a `usage` object; anything else tells nothing. */
  add(usage: unknown, isFinal: boolean): void {
    if (!isJsonObject(usage)) return;
    for (const name of COUNTS) {
      const count = countOf(usage[name]);
      if (count !== null) (this.#usage ??= {})[name] = count;
    }
    this.#isFinal ||= isFinal;
    this.#isOpening = false;
  }

  /** Takes an event of a stream. True: it holds nothing but the usage, and nobody else misses it. */
  addEvent(event: unknown): boolean {
    if (!isJsonObject(event)) return false;
    const { type, usage, choices } = event;
    if (isJsonObject(usage)) {
      const isUsageOnly = Array.isArray(choices) && choices.length === 0;
      this.add(usage, isUsageOnly || type === "message_delta");
      return isUsageOnly;
    }
    // A message stream opens with the usage of its prompt, and a response's ends with all of it.
    if (isJsonObject(event["message"])) {
      const isFirst = this.#usage === null;
      this.add(event["message"]["usage"], false);
      this.#isOpening = isFirst;
    } else if (isJsonObject(event["response"])) {
      this.add(event["response"]["usage"], type === "response.completed");
    }
    return false;
  }

  /**
   * What is known now that the answer has ended. Null: nothing was told. Of an answer to a chat that ended early
   * it is known that something was used, if not how much.
   */
  result(isComplete: boolean, isChat: boolean): Usage | null {
    if (this.#usage === null)
      return isChat && !isComplete ? { inputTokens: 0, outputTokens: 0, isPartial: true } : null;
    return toUsage(this.#usage, !this.#isFinal && (!isComplete || this.#isOpening));
  }
}
