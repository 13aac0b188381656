// Connects a plugin that works on text with the text of one response.
import type { ChainLink, TextLink } from "../snapshot/chain-link.ts";
import { callHook } from "./call-hook.ts";
import type { Exchange } from "./exchange.ts";
import { PluginCall, type PluginParts } from "./plugin-call.ts";
import type { ResponseSource } from "./pre-response-context.ts";
import { CallTextContext, type TextOutcome } from "./response-text-context.ts";
import { TextHolds } from "./texts/text-holds.ts";
import { RejectedText } from "./texts/text-rejection.ts";

export function isTextLink(link: ChainLink): link is TextLink {
  return link.textHolds !== null;
}

export function textHoldsOf(
  link: TextLink,
  exchange: Exchange,
  response: ResponseSource,
  status: number,
  parts: PluginParts,
): TextHolds {
  const { clock } = exchange;
  return new TextHolds({
    limits: link.textHolds,
    now: () => clock.now(),
    repeats: response.textReader.repeats,
    isStream: response.textForm === "events",
    ask: async (given) => {
      const call = new PluginCall(exchange, link, "pre_response", parts);
      const outcome: TextOutcome = { decision: null, rejection: null };
      const context = new CallTextContext(call, response, status, given, outcome);
      await callHook(call, "response_text", context);
      if (outcome.rejection !== null) throw new RejectedText(outcome.rejection);
      return outcome.decision;
    },
  });
}
