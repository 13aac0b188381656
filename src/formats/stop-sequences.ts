// Stop sequences for APIs and models that have none: the text of a response ends before the first of them.
// They are searched in text only, not in reasoning and tool calls, and across the chunks of a stream.
import type { ChatCompletion, ChatCompletionChunk, ChatDelta, ChatErrorBody } from "./openai/wire-types.ts";
import { TranslationError } from "./translation-error.ts";
import type { TranslationReport } from "./translation-report.ts";
import type { ChatStreamSink } from "./translator.ts";

/** Every character of a response may be compared with each sequence. */
const MAX_EMULATED = 64;
const MAX_EMULATED_LENGTH = 4096;

/** Returns the sequences of a chat request, without empty ones, which would match everywhere. */
export function readStop(stop: unknown, report: TranslationReport): string[] {
  if (stop === undefined || stop === null) return [];
  const sequences: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  const usable: string[] = [];
  for (const sequence of sequences) {
    if (typeof sequence !== "string")
      throw new TranslationError("stop", "stop must be a string or an array of strings.");
    if (sequence === "") report.drop("stop");
    else usable.push(sequence);
  }
  return usable;
}

/** Returns the sequences of a chat request apart from those of whitespace, which some APIs reject. */
export function splitStop(
  stop: unknown,
  report: TranslationReport,
): { readonly stop: string[]; readonly blanks: string[] } {
  const sequences = readStop(stop, report);
  const isBlank = (sequence: string) => sequence.trim() === "";
  return { stop: sequences.filter((each) => !isBlank(each)), blanks: sequences.filter(isBlank) };
}

/** Has the sequences searched in the response, because the target does not do so. */
export function emulateStop(sequences: readonly string[], report: TranslationReport): void {
  if (sequences.length === 0) return;
  const length = sequences.reduce((sum, each) => sum + each.length, 0);
  if (sequences.length > MAX_EMULATED || length > MAX_EMULATED_LENGTH)
    throw new TranslationError(
      "stop",
      `stop has ${sequences.length} sequences with ${length} characters, and the target has none. The gateway searches at most ${MAX_EMULATED} with ${MAX_EMULATED_LENGTH} characters.`,
    );
  report.emulatedStop = sequences;
}

/** Where a sequence has matched so far, by the algorithm of Knuth, Morris and Pratt. */
interface Search {
  readonly sequence: string;
  /**
   * By the number of matched characters: the length of the longest proper prefix that is also a suffix of
   * them.
   */
  readonly fallbacks: readonly number[];
  matched: number;
}

export class StopSearch {
  readonly #searches: readonly Search[];
  /** Finds the first character of any sequence. */
  readonly #starts: RegExp;
  /** The end of the text, which may be the beginning of a sequence. */
  #held = "";
  /** The sequence that the text ended with; null until then. Of several that end at once, the longest. */
  found: string | null = null;

  constructor(sequences: readonly string[]) {
    this.#searches = sequences.map((sequence) => ({
      sequence,
      fallbacks: fallbacksOf(sequence),
      matched: 0,
    }));
    const units = sequences.map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
    this.#starts = new RegExp(`[${units.join("")}]`, "g");
  }

  /** Returns the text that cannot be part of a sequence any more. After a match, nothing more is returned. */
  push(text: string): string {
    if (this.found !== null) return "";
    const pending = this.#held + text;
    for (let at = this.#held.length; at < pending.length; at++) {
      if (this.#searches.every(isIdle)) at = this.#nextStart(pending, at);
      if (at >= pending.length || !this.#step(pending.charCodeAt(at))) continue;
      this.#held = "";
      return pending.slice(0, at + 1 - (this.found ?? "").length);
    }
    const held = Math.max(...this.#searches.map(({ matched }) => matched));
    this.#held = pending.slice(pending.length - held);
    return pending.slice(0, pending.length - held);
  }

  /** Returns the text that was held back, because no more text follows, or something else. */
  takeHeld(): string {
    const held = this.#held;
    this.#held = "";
    for (const search of this.#searches) search.matched = 0;
    return held;
  }

  #nextStart(text: string, from: number): number {
    this.#starts.lastIndex = from;
    return this.#starts.exec(text)?.index ?? text.length;
  }

  /** Returns whether a sequence has ended with the character. */
  #step(unit: number): boolean {
    for (const search of this.#searches) {
      const { sequence, fallbacks } = search;
      let { matched } = search;
      while (matched > 0 && sequence.charCodeAt(matched) !== unit) matched = fallbacks[matched] ?? 0;
      if (sequence.charCodeAt(matched) === unit) matched += 1;
      search.matched = matched;
      if (matched < sequence.length) continue;
      if (this.found === null || sequence.length > this.found.length) this.found = sequence;
      search.matched = 0;
    }
    return this.found !== null;
  }
}

function isIdle({ matched }: Search): boolean {
  return matched === 0;
}

function fallbacksOf(sequence: string): number[] {
  const fallbacks = [0, 0];
  let length = 0;
  for (let at = 1; at < sequence.length; at++) {
    while (length > 0 && sequence[at] !== sequence[length]) length = fallbacks[length] ?? 0;
    if (sequence[at] === sequence[length]) length += 1;
    fallbacks.push(length);
  }
  return fallbacks;
}

/**
 * Returns the response up to the first sequence. Its usage stays that of the whole response, which the
 * provider bills.
 */
export function stopCompletion(completion: ChatCompletion, sequences: readonly string[]): ChatCompletion {
  const [choice] = completion.choices;
  const { content } = choice.message;
  if (content === null) return completion;
  const search = new StopSearch(sequences);
  const text = search.push(content);
  if (search.found === null) return completion;
  // The calls would have followed the text.
  const message = { ...choice.message, content: text, refusal: null };
  delete message.tool_calls;
  const stopped = { ...choice, message };
  return {
    ...completion,
    choices: [{ ...stopped, finish_reason: "stop", stop_sequence: search.found }],
  };
}

/** Ends the text of a stream. The rest of the stream is still read, up to its usage, but not passed on. */
export class StopSink implements ChatStreamSink {
  readonly #search: StopSearch;
  readonly #sink: ChatStreamSink;
  #last: ChatCompletionChunk | null = null;

  constructor(sequences: readonly string[], sink: ChatStreamSink) {
    this.#search = new StopSearch(sequences);
    this.#sink = sink;
  }

  chunk(chunk: ChatCompletionChunk): void {
    this.#last = chunk;
    const [choice] = chunk.choices;
    if (this.#search.found !== null) {
      if ((chunk.usage ?? null) !== null) this.#sink.chunk({ ...chunk, choices: [] });
      return;
    }
    if (choice === undefined) {
      this.#sink.chunk(chunk);
      return;
    }
    const { delta, finish_reason } = choice;
    if (startsOther(delta)) this.#writeHeld();
    const text = this.#search.push(delta.content ?? "");
    const { found } = this.#search;
    if (found !== null) {
      const { reasoning_content, reasoning_details } = delta;
      const reasoning: ChatDelta = {
        ...(reasoning_content === undefined ? {} : { reasoning_content }),
        ...(reasoning_details === undefined ? {} : { reasoning_details }),
      };
      const last = { ...choice, delta: withText(reasoning, text), finish_reason: "stop" as const };
      this.#sink.chunk({ ...chunk, choices: [{ ...last, stop_sequence: found }] });
      return;
    }
    const isEnd = finish_reason !== null || hasCalls(delta);
    const released = isEnd ? text + this.#search.takeHeld() : text;
    const isEmptied = released === "" && (delta.content ?? "") !== "";
    const rest = withText(delta, released);
    if (isEmptied && finish_reason === null && Object.keys(rest).length === 0) return;
    this.#sink.chunk({ ...chunk, choices: [{ ...choice, delta: rest }] });
  }

  error(body: ChatErrorBody): void {
    this.#writeHeld();
    this.#sink.error(body);
  }

  done(): void {
    this.#writeHeld();
    this.#sink.done();
  }

  #writeHeld(): void {
    const held = this.#search.takeHeld();
    if (held === "" || this.#last === null) return;
    const choice = { index: 0 as const, delta: { content: held }, logprobs: null, finish_reason: null };
    this.#sink.chunk({ ...this.#last, choices: [choice], usage: null });
  }
}

function hasCalls({ tool_calls: calls, refusal }: ChatDelta): boolean {
  return (calls !== undefined && calls.length > 0) || (refusal ?? "") !== "";
}

/** Whether something precedes the text of the delta. */
function startsOther({ reasoning_content: text, reasoning_details: details }: ChatDelta): boolean {
  return (text ?? "") !== "" || (details !== undefined && details.length > 0);
}

function withText(delta: ChatDelta, text: string): ChatDelta {
  const { content, ...others } = delta;
  return text === "" && content !== "" ? others : { ...others, content: text };
}
