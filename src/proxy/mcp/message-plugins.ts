// Runs the pre_response plugins on a message of an MCP server: those that work on text on its texts, the others on its JSON.
import type { MessageText } from "../../mcp/json-rpc.ts";
import { messageTexts } from "../../mcp/message-texts.ts";
import { callHook } from "../call-hook.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import type { Exchange } from "../exchange.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";
import { PreResponseContext, type ResponseOrigin } from "../pre-response-context.ts";
import type { ShadowBodies, ShadowSource } from "../shadow/shadow-body.ts";
import { SHADOW_RUNNERS } from "../shadow/shadow-runners.ts";
import { isTextLink, textHoldsOf } from "../text-holds-of.ts";
import type { RejectedText } from "../texts/text-rejection.ts";
import { TextStage } from "../texts/text-stage.ts";

/** What plugins see as the origin of a response: the server instead of a provider. */
export function originOf({ mcp }: Exchange): ResponseOrigin {
  return { target: { provider: mcp?.server?.name ?? "mcp" }, model: null };
}

/** What is known of a message that is inspected. */
export interface MessageInspection {
  /** Whether it is the last response to the request. */
  readonly isLast: boolean;
  /** Whether `inspectPart` has inspected what each server adds to the message. */
  readonly hasInspectedParts: boolean;
}

/** Runs the plugins of one request on the messages that its client gets. */
export class MessagePlugins {
  readonly #exchange: Exchange;
  readonly #parts: PluginParts;
  readonly #links: readonly ChainLink[];
  /** The first ones, which see texts only, and so may inspect parts of a result. Others change it as a whole, before the rest runs. */
  readonly #partLinks: readonly ChainLink[];
  /** Whether files that no plugin can inspect are rejected. */
  readonly #rejectsFiles: boolean;
  /** Null before the first message, which shows which server has responded. */
  #shadows: ShadowBodies | null = null;
  #previous: Promise<unknown> = Promise.resolve();

  constructor(exchange: Exchange, parts: PluginParts) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#links = exchange.gateway?.chain?.mcpResponse ?? [];
    const firstOther = this.#links.findIndex((link) => !isTextLink(link) || changesMessages(link));
    this.#partLinks = firstOther < 0 ? this.#links : this.#links.slice(0, firstOther);
    this.#rejectsFiles = exchange.rule?.guards?.rejectsMcpFiles === true;
  }

  get inspectsParts(): boolean {
    return this.#partLinks.length > 0;
  }

  /**
   * Resolves to the text that the client gets. Rejects with a RejectedText if a plugin rejects the message, and with a GatehouseError if
   * one cannot inspect it.
   */
  inspect(text: MessageText, { isLast, hasInspectedParts }: MessageInspection): Promise<MessageText> {
    const shadows = this.#begin();
    const links = hasInspectedParts ? this.#links.slice(this.#partLinks.length) : this.#links;
    if (links.length === 0 && shadows === null) return Promise.resolve(text);
    return this.#afterOthers(async () => {
      const current = await this.#run(links, text, isLast);
      shadows?.push(null, current, isLast);
      return current;
    });
  }

  /** As `inspect`, for the part of one server in a merged result. Resolves to the text itself if no plugin has changed it. */
  inspectPart(text: MessageText): Promise<MessageText> {
    this.#begin();
    return this.#afterOthers(async () => {
      const bytes = bytesOf(text);
      const inspected = await this.#run(this.#partLinks, bytes, false);
      return inspected === bytes ? text : inspected;
    });
  }

  #begin(): ShadowBodies | null {
    return (this.#shadows ??= SHADOW_RUNNERS.pre_response.begin(this.#exchange, MESSAGES, this.#parts));
  }

  /** Plugins keep notes about a message: those about another one must not replace them. */
  #afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#previous.then(work);
    this.#previous = result.catch(() => undefined);
    return result;
  }

  async #run(links: readonly ChainLink[], text: MessageText, isLast: boolean): Promise<Uint8Array> {
    let current = bytesOf(text);
    for (const link of links) {
      this.#shadows?.push(link, current, isLast);
      current = await runOnMessage(this.#exchange, link, current, isLast, this.#parts, this.#rejectsFiles);
      this.#shadows?.pushResult(link, current);
    }
    return current;
  }
}

function bytesOf(text: MessageText): Uint8Array {
  return typeof text === "string" ? Buffer.from(text) : text;
}

function changesMessages({ hooks, isPreResponse }: ChainLink): boolean {
  return isPreResponse && hooks.pre_response !== undefined;
}

const MESSAGES: ShadowSource = {
  encoding: null,
  pluginOn: (copy, link, parts) => ({
    needsWholeBody: false,
    run: (message, isLast) => runOnMessage(copy, link, message, isLast, parts, false),
  }),
};

/** Resolves to the message as the plugin has changed it. */
async function runOnMessage(
  exchange: Exchange,
  link: ChainLink,
  message: Uint8Array,
  isLast: boolean,
  parts: PluginParts,
  rejectsFiles: boolean,
): Promise<Uint8Array> {
  const { mcp, rule } = exchange;
  const service = rule?.mcp ?? null;
  const requests = mcp === null || service === null ? [] : mcp.requestsTo(service);
  const reader = messageTexts({ requests, guard: rejectsFiles ? link.name : null });
  const source = { ...originOf(exchange), textForm: "whole", isStrict: true, textReader: reader } as const;
  let current = message;
  if (isTextLink(link)) {
    const holds = [textHoldsOf(link, exchange, source, 200, parts)];
    const toError = ({ rejection }: RejectedText) => ({
      ...rejection,
      field: null,
      requestId: exchange.requestId,
    });
    const { offLoop } = parts;
    const stage = new TextStage({
      reader,
      isStream: false,
      isStrict: true,
      choices: 1,
      holds,
      toError,
      offLoop,
    });
    current = await stage.run(current, true);
  }
  if (!changesMessages(link)) return current;
  const call = new PluginCall(exchange, link, "pre_response", parts);
  const context = new PreResponseContext(call, source, 200, current, isLast);
  await callHook(call, "pre_response", context);
  return context.chunk;
}
