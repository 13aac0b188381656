// Puts the answer of a provider into the OpenAI chat shape, for rules that ask for it: whole, error or stream.
import { GatehouseError } from "../base/errors.ts";
import { translateError, translateMessage } from "../formats/translate/anthropic-messages-to-openai-chat.ts";
import { MessageStreamTranslator } from "../formats/translate/anthropic-stream-to-openai-chat.ts";
import { isAnthropicMessage } from "../formats/anthropic-messages.ts";
import type { Exchange } from "./exchange.ts";
import { asksForUsage } from "../usage/usage-option.ts";

export function translateWhole(status: number, body: Uint8Array): string {
  const value = parse(body);
  if (status >= 400) return JSON.stringify(translateError(value, status));
  if (!isAnthropicMessage(value)) {
    throw new GatehouseError(
      "upstream_bad_answer",
      "The provider's answer is not a message in its own format.",
    );
  }
  return JSON.stringify(translateMessage(value, Math.floor(Date.now() / 1000)));
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

export interface StreamTranslation {
  /** Null where a chunk yields nothing yet. */
  push(chunk: Uint8Array): Uint8Array | null;
  /** How the provider ended its stream: as its format demands, with an error that it told, or not at all. */
  ending(): "complete" | "error" | "broken";
}

export function translateStream({ json }: Exchange): StreamTranslation {
  const includeUsage = json !== null && asksForUsage(json);
  const translator = new MessageStreamTranslator({ created: Math.floor(Date.now() / 1000), includeUsage });
  return {
    push: (chunk) => translator.push(chunk),
    ending: () => {
      const { complete, error } = translator.end();
      return complete ? "complete" : error === null ? "broken" : "error";
    },
  };
}
