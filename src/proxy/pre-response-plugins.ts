// Runs the pre_response plugins of one response: those that work on bytes chunk by chunk, those that work on text by channel.
import type { GatewayError } from "../formats/gateway-error.ts";
import type { ChainLink } from "../snapshot/chain-link.ts";
import type { PluginChain } from "../snapshot/plugin-chain.ts";
import { callHook } from "./call-hook.ts";
import type { Exchange } from "./exchange.ts";
import { notApplicable } from "./guarded-uploads.ts";
import { PluginCall, type PluginParts } from "./plugin-call.ts";
import { PreResponseContext, type ResponseSource } from "./pre-response-context.ts";
import { isTextLink, textHoldsOf } from "./text-holds-of.ts";
import type { TextHolds } from "./texts/text-holds.ts";
import type { RejectedText } from "./texts/text-rejection.ts";
import { TextStage } from "./texts/text-stage.ts";

/** What runs between two changes of the bytes: one plugin, or all plugins in a row that work on text. */
type Stage = ChainLink | TextStage;

/** Sees what goes into each plugin and what leaves it. */
export interface ResponseObserver {
  /** `before` is the plugin that gets the chunk; null for what is sent to the client. */
  push(before: ChainLink | null, chunk: Uint8Array, isLast: boolean): void;
  pushResult(of: ChainLink, chunk: Uint8Array): void;
}

type ResponseChain = Pick<PluginChain, "pre_response" | "needsWholeResponse">;

export class PreResponsePlugins {
  /** Whether the plugins need the complete body before the client gets a byte. */
  readonly needsWholeBody: boolean;
  readonly #stages: readonly Stage[];
  readonly #textStages: readonly TextStage[];
  /** The plugins of each text stage. */
  readonly #textLinks = new Map<TextStage, ChainLink[]>();
  readonly #observer: ResponseObserver | null;
  readonly #exchange: Exchange;
  readonly #parts: PluginParts;
  readonly #response: ResponseSource;
  readonly #status: number;
  /** Calls are serialized: a hold may expire while a chunk is processed. */
  #lastCall: Promise<unknown> = Promise.resolve();

  constructor(
    exchange: Exchange,
    chain: ResponseChain,
    parts: PluginParts,
    response: ResponseSource,
    status: number,
    observer: ResponseObserver | null,
  ) {
    this.#observer = observer;
    this.#exchange = exchange;
    this.#parts = parts;
    this.#response = response;
    this.#status = status;
    const links = chain.pre_response ?? [];
    this.#stages =
      response.textForm !== null
        ? this.#stagesOf(links)
        : links.filter(({ hooks }) => hooks.pre_response !== undefined);
    this.#textStages = this.#stages.filter((stage) => stage instanceof TextStage);
    this.needsWholeBody =
      chain.needsWholeResponse || (this.#textStages.length > 0 && response.textForm === "whole");
  }

  /** The time of the clock at which `expire` should be called; Infinity if no text is held. */
  get dueAt(): number {
    return Math.min(Infinity, ...this.#textStages.map(({ dueAt }) => dueAt));
  }

  /**
   * Resolves to the bytes that go to the client. `isLast` is true for the end of a stream and for a whole body. `isOwned`: nothing else
   * uses the memory of the chunk, which is empty afterwards if it was moved to another thread.
   */
  run(chunk: Uint8Array, isLast: boolean, isOwned = false): Promise<Uint8Array> {
    return this.#serialize(() => this.#runFrom(0, chunk, isLast, isOwned));
  }

  /** Resolves to the bytes that were held for too long. */
  expire(): Promise<Uint8Array> {
    return this.#serialize(() => this.#runEach((stage) => stage.expire()));
  }

  /** Resolves to the bytes of a response that was cut, with everything that was held. */
  abort(chunk: Uint8Array): Promise<Uint8Array> {
    return this.#serialize(async () => {
      if (this.#textStages.length === 0)
        return chunk.byteLength === 0 ? chunk : this.#runFrom(0, chunk, false);
      const sent: Uint8Array[] = [await this.#runFrom(0, chunk, false)];
      sent.push(await this.#runEach((stage) => stage.abort(new Uint8Array(0))));
      return Buffer.concat(sent);
    });
  }

  #serialize(call: () => Promise<Uint8Array>): Promise<Uint8Array> {
    if (this.#textStages.length === 0) return call();
    const result = this.#lastCall.then(call);
    this.#lastCall = result.catch(() => undefined);
    return result;
  }

  async #runEach(release: (stage: TextStage) => Promise<Uint8Array>): Promise<Uint8Array> {
    const sent: Uint8Array[] = [];
    for (const [index, stage] of this.#stages.entries()) {
      if (!(stage instanceof TextStage)) continue;
      const bytes = await release(stage);
      this.#observeResult(stage, bytes);
      if (bytes.byteLength > 0) sent.push(await this.#runFrom(index + 1, bytes, false));
    }
    return Buffer.concat(sent);
  }

  async #runFrom(first: number, chunk: Uint8Array, isLast: boolean, isOwned = false): Promise<Uint8Array> {
    let current = chunk;
    let isCurrentOwned = isOwned;
    for (let index = first; index < this.#stages.length; index++) {
      const stage = this.#stages[index];
      if (stage === undefined) break;
      this.#observe(stage, current, isLast);
      if (stage instanceof TextStage) {
        current = await stage.run(current, isLast, isCurrentOwned);
        this.#observeResult(stage, current);
        if (current.byteLength === 0 && !isLast) return current;
        continue;
      }
      const call = new PluginCall(this.#exchange, stage, "pre_response", this.#parts);
      const context = new PreResponseContext(call, this.#response, this.#status, current, isLast);
      await callHook(call, "pre_response", context);
      current = context.chunk;
      // The plugin may have kept it.
      isCurrentOwned = false;
      this.#observeResult(stage, current);
    }
    this.#observer?.push(null, current, isLast);
    return current;
  }

  #observe(stage: Stage, chunk: Uint8Array, isLast: boolean): void {
    if (this.#observer === null) return;
    for (const link of this.#linksOf(stage)) this.#observer.push(link, chunk, isLast);
  }

  #observeResult(stage: Stage, chunk: Uint8Array): void {
    if (this.#observer === null) return;
    for (const link of this.#linksOf(stage)) this.#observer.pushResult(link, chunk);
  }

  #linksOf(stage: Stage): readonly ChainLink[] {
    return stage instanceof TextStage ? (this.#textLinks.get(stage) ?? []) : [stage];
  }

  /** A plugin may work on both: on the text first. */
  #stagesOf(links: readonly ChainLink[]): Stage[] {
    const stages: Stage[] = [];
    let texts: TextHolds[] = [];
    let textLinks: ChainLink[] = [];
    const { textForm, isStrict, textReader: reader, transport = null } = this.#response;
    const isStream = textForm === "events";
    const endTexts = () => {
      if (texts.length > 0) {
        const toError = (error: RejectedText) => this.#toError(error);
        const { offLoop } = this.#parts;
        const { isObject, generation } = this.#exchange.fields;
        const choices = isObject ? generation.choices : Infinity;
        const [{ name: guard } = { name: "" }] = textLinks;
        const unreadable = transport === null ? null : () => notApplicable({ guard, transport });
        const options = { reader, isStream, isStrict, unreadable, choices, toError, offLoop };
        const stage = new TextStage({ ...options, holds: texts });
        stages.push(stage);
        this.#textLinks.set(stage, textLinks);
      }
      texts = [];
      textLinks = [];
    };
    for (const link of links) {
      if (isTextLink(link)) {
        texts.push(textHoldsOf(link, this.#exchange, this.#response, this.#status, this.#parts));
        textLinks.push(link);
      }
      if (link.hooks.pre_response === undefined || !link.isPreResponse) continue;
      endTexts();
      stages.push(link);
    }
    endTexts();
    return stages;
  }

  #toError({ rejection: { status, code, message } }: RejectedText): GatewayError {
    const { requestId } = this.#exchange;
    this.#exchange.errorCode = code;
    return { status, code, message, field: null, requestId };
  }
}
