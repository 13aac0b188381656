// Finds what identifies the conversation of a large body in a worker thread.
import { isJsonObject } from "../../base/json.ts";
import { hashText } from "../../balance/text-hash.ts";
import { conversationTextOf } from "./conversation-text.ts";

export function run({ bytes }: { readonly bytes: Uint8Array }): number {
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return isJsonObject(json) ? hashText(conversationTextOf(json)) : 0;
}
