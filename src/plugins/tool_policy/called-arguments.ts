// The arguments of the tool that an MCP client calls, as its message has them.
import { JsonDocument } from "../../sdk/index.ts";
import { UNREADABLE } from "./policy.ts";
import { readJson } from "./read-json.ts";

/** `body`: a JSON-RPC message, or a batch, of which one message calls a tool. */
export function calledArguments(body: Uint8Array): unknown {
  const json = JsonDocument.parse(body);
  if (json === null) return UNREADABLE;
  const { root } = json;
  const calls = (root.type === "array" ? root.children : [root]).filter(
    (message) => json.text(message.get("method")) === "tools/call",
  );
  const [call] = calls;
  if (call === undefined || calls.length > 1) return UNREADABLE;
  const node = call.get("params")?.get("arguments") ?? null;
  return node === null ? {} : readJson(json.source(node));
}
