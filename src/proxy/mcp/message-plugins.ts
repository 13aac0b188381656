// Runs the pre_response plugins on a message of an MCP server: those that work on text on its texts, the others on its JSON.
import type { MessageText } from "../../mcp/json-rpc.ts";
import { messageTexts } from "../../mcp/message-texts.ts";
import { callHook, callPreResponse } from "../call-hook.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import type { Exchange } from "../exchange.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";
import { PreResponseContext, type ResponseOrigin } from "../pre-response-context.ts";
import { ShadowBodies, type ShadowSource } from "../shadow/shadow-body.ts";
import { isTextLink, textHoldsOf } from "../text-holds-of.ts";
import type { RejectedText } from "../texts/text-rejection.ts";
import { TextStage } from "../texts/text-stage.ts";

/** What plugins see as the origin of a response: the server instead of a provider. */
export function originOf({ mcp }: Exchange): ResponseOrigin {
  return { target: { provider: mcp?.server?.name ?? "mcp" }, model: null };
}

/** Runs the plugins of one request on the messages that its client gets. */
export class MessagePlugins {
  readonly #exchange: Exchange;
  readonly #parts: PluginParts;
  readonly #links: readonly ChainLink[];
  /** Whether files that no plugin can inspect are rejected. */
  readonly #rejectsFiles: boolean;
  /** Null before the first message, which shows which server has responded. */
  #shadows: ShadowBodies | null = null;
  #previous: Promise<unknown> = Promise.resolve();

  constructor(exchange: Exchange, parts: PluginParts) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#links = exchange.gateway?.chain?.mcpResponse ?? [];
    this.#rejectsFiles = exchange.rule?.guards?.rejectsMcpFiles === true;
  }

  /**
   * Resolves to the text that the client gets. `isLast` is true for the response to the request. Rejects with a RejectedText if a plugin
   * rejects the message, and with a GatehouseError if one cannot inspect it.
   */
  inspect(text: MessageText, isLast: boolean): Promise<MessageText> {
    const shadows = (this.#shadows ??= ShadowBodies.begin(this.#exchange, MESSAGES, this.#parts));
    if (this.#links.length === 0 && shadows === null) return Promise.resolve(text);
    return this.#afterOthers(() => this.#run(text, isLast));
  }

  /** Plugins keep notes about a message: those about another one must not replace them. */
  #afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#previous.then(work);
    this.#previous = result.catch(() => undefined);
    return result;
  }

  async #run(text: MessageText, isLast: boolean): Promise<MessageText> {
    let current: Uint8Array = typeof text === "string" ? Buffer.from(text) : text;
    for (const link of this.#links) {
      this.#shadows?.push(link, current, isLast);
      current = await runOnMessage(this.#exchange, link, current, isLast, this.#parts, this.#rejectsFiles);
      this.#shadows?.pushResult(link, current);
    }
    this.#shadows?.push(null, current, isLast);
    return current;
  }
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
    const stage = new TextStage({ reader, isStream: false, isStrict: true, holds, toError, offLoop });
    current = await stage.run(current, true);
  }
  if (link.hooks.pre_response === undefined || !link.isPreResponse) return current;
  const call = new PluginCall(exchange, link, "pre_response", parts);
  const context = new PreResponseContext(call, source, 200, current, isLast);
  await callHook(call, callPreResponse, context);
  return context.chunk;
}
