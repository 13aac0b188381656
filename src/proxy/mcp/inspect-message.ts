// Runs the pre_response plugins on a message of an MCP server: those that work on text on its texts, the others on its JSON.
import { messageTexts } from "../../mcp/message-texts.ts";
import type { PluginHooks, ResponseBodyContext } from "../../sdk/index.ts";
import { callHook } from "../call-hook.ts";
import type { Exchange } from "../exchange.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";
import { PreResponseContext, type ResponseOrigin } from "../pre-response-context.ts";
import { isTextLink, textHoldsOf } from "../text-holds-of.ts";
import type { RejectedText } from "../texts/text-rejection.ts";
import { TextStage } from "../texts/text-stage.ts";

/** What plugins see as the origin of a response: the server instead of a provider. */
export function originOf({ mcp }: Exchange): ResponseOrigin {
  return { target: { provider: mcp?.server?.name ?? "mcp" }, model: null };
}

/**
 * Resolves to the text that the client gets. `isLast` is true for the response to the request. Rejects with a RejectedText if a
 * plugin rejects the message.
 */
export async function inspectMessage(
  exchange: Exchange,
  text: string,
  isLast: boolean,
  parts: PluginParts,
): Promise<string> {
  const links = exchange.gateway?.chain?.pre_response ?? null;
  if (links === null) return text;
  const reader = messageTexts(exchange.mcp?.content?.tool?.name ?? null);
  const source = { ...originOf(exchange), isStream: false, isJson: true, textReader: reader };
  let current: Uint8Array = Buffer.from(text);
  for (const link of links) {
    if (isTextLink(link)) {
      const holds = [textHoldsOf(link, exchange, source, 200, parts)];
      const toError = ({ rejection }: RejectedText) => ({
        ...rejection,
        field: null,
        requestId: exchange.requestId,
      });
      const { offLoop } = parts;
      current = await new TextStage({ reader, isStream: false, holds, toError, offLoop }).run(current, true);
    }
    if (link.hooks.pre_response === undefined || !link.isPreResponse) continue;
    const call = new PluginCall(exchange, link, "pre_response", parts);
    const context = new PreResponseContext(call, source, 200, current, isLast);
    await callHook(call, callPreResponse, context);
    current = context.chunk;
  }
  return Buffer.from(current).toString();
}

const callPreResponse = (hooks: PluginHooks, context: ResponseBodyContext) => hooks.pre_response?.(context);
