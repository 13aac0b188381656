// Computes the hash of the conversation that a large body belongs to, in a worker thread.
import { isJsonObject } from "../../base/json.ts";
import { hashText } from "../../balance/text-hash.ts";
import { conversationTextOf } from "./conversation-text.ts";

export function run({ bytes }: { readonly bytes: Uint8Array }): number {
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return isJsonObject(json) ? hashText(conversationTextOf(json)) : 0;
}
