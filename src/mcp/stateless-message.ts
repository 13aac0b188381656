// A complete request of the stateless generation: what explanations are about, and what replaces a request that was not recorded.
import { stringifyExact } from "../base/exact-json.ts";
import type { JsonObject } from "../base/json.ts";
import { headerText } from "./header-text.ts";
import { metaOf, textOf } from "./json-rpc.ts";
import { META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_VERSION, STATELESS_VERSION } from "./protocol.ts";

interface StatelessMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function statelessMessage(method: string, params: JsonObject): StatelessMessage {
  const name = textOf(params, "name") ?? textOf(params, "uri");
  const meta = {
    ...metaOf(params),
    [META_VERSION]: STATELESS_VERSION,
    [META_CLIENT_CAPABILITIES]: {},
    [META_CLIENT_INFO]: { name: "gatehouse", version: "1" },
  };
  return {
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": STATELESS_VERSION,
      "Mcp-Method": method,
      ...(name !== null && { "Mcp-Name": headerText(name) }),
    },
    body: stringifyExact({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  };
}
