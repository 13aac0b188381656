// What was relayed of a stream: all of it, and what arrived after its usage, which is then not that of the whole stream.
import type { UsageReader } from "../formats/usage-reader.ts";
import { RelayedText } from "./relayed-text.ts";
import {
  needsText,
  NO_TOKENS,
  withTextOutput,
  type Usage,
  type UsageAccumulator,
} from "./usage-accumulator.ts";

export class RelayedParts {
  readonly #usage: UsageAccumulator;
  readonly #all = new RelayedText();
  #finalCount = 0;
  /** Null until a chunk arrives after the one with the final counts. */
  #afterUsage: RelayedText | null = null;

  constructor(usage: UsageAccumulator) {
    this.#usage = usage;
  }

  /** Call when the usage in the chunk was read. */
  push(chunk: Uint8Array): void {
    this.#all.push(chunk);
    const { finalCount } = this.#usage;
    if (finalCount === 0) return;
    if (finalCount > this.#finalCount) {
      this.#finalCount = finalCount;
      this.#afterUsage = null;
    } else (this.#afterUsage ??= new RelayedText()).push(chunk);
  }

  /** If not all of the usage was reported, returns what was reported with the output that the relayed text has at least. */
  withEstimate(reported: Usage | null, reader: UsageReader): Usage | null {
    const isContinued = this.#hasTextAfterUsage(reader);
    if (reported !== null && !needsText(reported) && !isContinued) return reported;
    const { tokens, hasMedia } = this.#all.estimate(reader);
    if (reported === null && tokens === 0 && !hasMedia) return null;
    const known = reported ?? NO_TOKENS;
    const isPartial = reported?.isPartial !== false || isContinued;
    return withTextOutput({ ...known, isPartial }, tokens, hasMedia);
  }

  #hasTextAfterUsage(reader: UsageReader): boolean {
    return this.#afterUsage !== null && this.#afterUsage.estimate(reader).tokens > 0;
  }
}
