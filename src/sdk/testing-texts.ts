// Runs the response_text hook of a plugin under test, as the gateway does on a stream.
import type { TextChannel } from "../formats/text-channels.ts";
import type { PluginContext } from "./contexts.ts";
import type { PluginDefinition, PluginHooks } from "./plugin.ts";
import { completeHolds, type ResponseTextContext, type TextRejection } from "./texts.ts";

/** The channel of a text; the default is the content of the first choice. Every field has a default. */
export interface TestText extends Partial<TextChannel> {
  readonly provider?: string;
  readonly model?: string | null;
  readonly status?: number;
  /** True: the stream is cut after the last piece, so the last call has `isForced` instead of `isLast`. */
  readonly isCut?: boolean;
}

/** The text that the client gets, and why the response was rejected, if it was. */
export interface TestedText {
  readonly text: string;
  readonly rejection: TextRejection | null;
}

/** Calls the hook once per piece, and once more with `isForced` if more text is held back than the definition allows. */
export async function runResponseText(
  { hold }: Pick<PluginDefinition, "hold">,
  hooks: PluginHooks,
  base: PluginContext,
  pieces: readonly string[],
  options: TestText,
): Promise<TestedText> {
  const { isCut = false } = options;
  const limit = completeHolds(hold)[options.kind ?? "content"].characters;
  let [sent, held] = ["", ""];
  const call = async (isLast: boolean, isForced: boolean): Promise<TextRejection | null> => {
    const isWhole = isLast && pieces.length === 1;
    const { context, result } = textContext(base, held, { isLast, isForced, isWhole }, options);
    await hooks.response_text?.(context);
    const { rejection, length, text } = result();
    if (rejection !== null) return rejection;
    sent += text;
    held = held.slice(length);
    if (isLast || isForced) {
      sent += held;
      held = "";
    } else if (held.length > limit) return call(false, true);
    return null;
  };
  for (const [index, piece] of pieces.entries()) {
    held += piece;
    const rejection = await call(index === pieces.length - 1 && !isCut, false);
    if (rejection !== null) return { text: sent, rejection };
  }
  const rejection = isCut && held !== "" ? await call(false, true) : null;
  return { text: sent, rejection };
}

interface TextResult {
  readonly rejection: TextRejection | null;
  readonly length: number;
  readonly text: string;
}

function textContext(
  base: PluginContext,
  text: string,
  { isLast, isForced, isWhole }: Readonly<Record<"isLast" | "isForced" | "isWhole", boolean>>,
  { provider = "test", model = null, status = 200, ...given }: TestText,
): { context: ResponseTextContext; result: () => TextResult } {
  const channel: TextChannel = {
    kind: given.kind ?? "content",
    index: given.index ?? 0,
    tool: given.tool ?? null,
    method: given.method ?? null,
    isJson: given.isJson ?? given.kind === "tool_arguments",
    isReadOnly: given.isReadOnly ?? false,
  };
  let rejection: TextRejection | null = null;
  let released = { length: text.length, text };
  const context: ResponseTextContext = {
    ...base,
    provider,
    model,
    status,
    channel,
    text,
    texts: isWhole ? [{ channel, text }] : null,
    isLast,
    isForced,
    release(length, replacement) {
      if (!Number.isInteger(length) || length < 0 || length > text.length)
        throw new Error(`release() needs a length from 0 to ${text.length}, got ${length}`);
      const unchanged = text.slice(0, length);
      released = { length, text: channel.isReadOnly ? unchanged : (replacement ?? unchanged) };
    },
    reject(given) {
      if (!Number.isInteger(given.status) || given.status < 400 || given.status > 599)
        throw new Error(`reject() needs a status from 400 to 599, got ${given.status}`);
      rejection = given;
    },
  };
  return { context, result: () => ({ rejection, ...released }) };
}
