// The context of response_text hooks: reads and replaces the text of one channel of a response.
import type { TextChannel } from "../formats/text-channels.ts";
import type { ResponseText, ResponseTextContext, TextRejection } from "../sdk/index.ts";
import type { PluginCall } from "./plugin-call.ts";
import { CallContext } from "./plugin-context.ts";
import type { ResponseSource } from "./pre-response-context.ts";
import type { TextDecision } from "./texts/held-channel.ts";
import type { AskedText } from "./texts/text-holds.ts";

const MAX_CODE_LENGTH = 64;

/** What the hook decided. Kept outside of the context, so that a plugin cannot reach it. */
export interface TextOutcome {
  decision: TextDecision | null;
  rejection: TextRejection | null;
}

export class CallTextContext extends CallContext implements ResponseTextContext {
  readonly status: number;
  readonly channel: TextChannel;
  readonly text: string;
  readonly texts: readonly ResponseText[] | null;
  readonly isLast: boolean;
  readonly isForced: boolean;
  readonly #call: PluginCall;
  readonly #response: ResponseSource;
  readonly #outcome: TextOutcome;

  constructor(
    call: PluginCall,
    response: ResponseSource,
    status: number,
    { channel, text, texts, isLast, isForced }: AskedText,
    outcome: TextOutcome,
  ) {
    super(call);
    this.#call = call;
    this.#response = response;
    this.#outcome = outcome;
    this.status = status;
    this.channel = channel;
    this.text = text;
    this.texts = texts;
    this.isLast = isLast;
    this.isForced = isForced;
  }

  get provider(): string {
    return this.#response.target.provider;
  }
  get model(): string | null {
    return this.#response.model;
  }

  release(length: number, replacement?: string): void {
    if (!Number.isInteger(length) || length < 0 || length > this.text.length)
      throw new Error(`release() needs a length from 0 to ${this.text.length}, got ${length}`);
    if (replacement !== undefined && typeof replacement !== "string")
      throw new Error("release() needs a string as replacement");
    const isChange = replacement !== undefined && replacement !== this.text.slice(0, length);
    this.#outcome.decision = { length, replacement: isChange ? replacement : null };
    if (isChange && !this.channel.isReadOnly) this.#call.run.verdict = "changed";
  }

  reject({ status, code, message }: TextRejection): void {
    if (!Number.isInteger(status) || status < 400 || status > 599)
      throw new Error(`reject() needs a status from 400 to 599, got ${status}`);
    if (typeof code !== "string" || code === "" || typeof message !== "string")
      throw new Error("reject() needs a code and a message");
    this.#outcome.rejection = { status, code: code.slice(0, MAX_CODE_LENGTH), message };
    this.#call.run.verdict = "answered";
  }
}
