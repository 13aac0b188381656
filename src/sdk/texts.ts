// What a plugin with `needs: ["text"]` sees of the text of a response, and how much of it the plugin may hold back.
import type { ChannelKind, TextChannel } from "../formats/text-channels.ts";
import type { PluginContext } from "./contexts.ts";

/** How much text of a channel a plugin may hold back, and for how long. */
export interface TextHold {
  readonly characters: number;
  readonly ms: number;
}

/** Per kind of channel; 256 characters and 2,000 ms for a kind that is not listed. */
export type TextHolds = { readonly [Kind in ChannelKind]?: Partial<TextHold> };

/** A text of a response that is not streamed. */
export interface ResponseText {
  readonly channel: TextChannel;
  readonly text: string;
}

/** The response that replaces a rejected one. */
export interface TextRejection {
  /** 400 to 599. The client gets it if no byte of the response was sent, which is so for every response that is not streamed. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/**
 * response_text: text of a response has arrived. Called for each channel of a whole response once, with all of its text; on a stream
 * for each event with text.
 */
export interface ResponseTextContext extends PluginContext {
  readonly provider: string;
  readonly model: string | null;
  readonly status: number;
  readonly channel: TextChannel;
  /** The text that was held back so far, and the new text. */
  readonly text: string;
  /**
   * All texts of a response that is not streamed, in order; null on a stream, and in isolated plugins. The list is the same object in each
   * call for the response, so that a plugin can decide about all texts in the first one.
   */
  readonly texts: readonly ResponseText[] | null;
  /** The text of the channel is complete. What is not released now is released unchanged. */
  readonly isLast: boolean;
  /**
   * The limit of the hold is reached, or the stream was cut: what is not released now is released unchanged. Reject the response if the
   * text must not be sent without an inspection.
   */
  readonly isForced: boolean;
  /**
   * Sends `replacement`, or the text itself, for the first `length` characters of `text`, and holds the rest back: it is the beginning of
   * `text` in the next call. Without a call everything is sent unchanged. `release(0)` also holds back events that have no text yet, such
   * as the one that names a called tool. The last call counts.
   */
  release(length: number, replacement?: string): void;
  /** Ends the response: the client gets this error, or on a stream an error event of its format, and then a broken connection. */
  reject(rejection: TextRejection): void;
}

const DEFAULT_HOLD: TextHold = { characters: 256, ms: 2000 };
const LARGEST_HOLDS: Readonly<Record<ChannelKind, TextHold>> = {
  content: { characters: 4096, ms: 10_000 },
  reasoning: { characters: 4096, ms: 10_000 },
  tool_arguments: { characters: 64 * 1024, ms: 30_000 },
  // Always complete: the messages of MCP servers are not streamed piece by piece.
  tool_result: { characters: 4096, ms: 10_000 },
  definitions: { characters: 4096, ms: 10_000 },
};
const KINDS: readonly ChannelKind[] = [
  "content",
  "reasoning",
  "tool_arguments",
  "tool_result",
  "definitions",
];

/** Returns the holds of a plugin with all defaults. Throws if one is too large. */
export function completeHolds(holds: TextHolds = {}): Readonly<Record<ChannelKind, TextHold>> {
  for (const kind of KINDS)
    for (const unit of ["characters", "ms"] as const) {
      const value = holds[kind]?.[unit] ?? DEFAULT_HOLD[unit];
      const largest = LARGEST_HOLDS[kind][unit];
      if (!Number.isFinite(value) || value < 0 || value > largest)
        throw new Error(`hold.${kind}.${unit} is ${value}; give a number from 0 to ${largest}`);
    }
  return {
    content: { ...DEFAULT_HOLD, ...holds.content },
    reasoning: { ...DEFAULT_HOLD, ...holds.reasoning },
    tool_arguments: { ...DEFAULT_HOLD, ...holds.tool_arguments },
    tool_result: { ...DEFAULT_HOLD, ...holds.tool_result },
    definitions: { ...DEFAULT_HOLD, ...holds.definitions },
  };
}
