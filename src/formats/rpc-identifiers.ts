// The strings of JSON-RPC messages of MCP clients that name the client, its version, and running requests. They are identifiers only in
// their place: elsewhere, such as in arguments of tools, the same names mean nothing.
import type { JsonDocument, JsonNode } from "../base/json-nodes.ts";

const PREFIX = "io.modelcontextprotocol/";
const IN_PARAMS = ["protocolVersion", "progressToken", "requestId"];
const IN_META = [`${PREFIX}protocolVersion`, "progressToken"];
const IN_INFO = ["name", "version"];
const NONE: ReadonlySet<JsonNode> = new Set();

/** Returns the strings of the body that are identifiers of the protocol. */
export function rpcIdentifiersOf(json: JsonDocument): ReadonlySet<JsonNode> {
  const { root } = json;
  let found: Set<JsonNode> | null = null;
  for (const message of root.type === "array" ? root.children : [root]) {
    if (message.type !== "object" || json.text(message.get("jsonrpc")) !== "2.0") continue;
    const params = message.get("params");
    if (params !== null) addOfParams(params, (found ??= new Set()));
  }
  return found ?? NONE;
}

function addOfParams(params: JsonNode, found: Set<JsonNode>): void {
  addMembers(params, IN_PARAMS, found);
  addMembers(params.get("clientInfo"), IN_INFO, found);
  const meta = params.get("_meta");
  addMembers(meta, IN_META, found);
  addMembers(meta?.get(`${PREFIX}clientInfo`) ?? null, IN_INFO, found);
}

function addMembers(node: JsonNode | null, names: readonly string[], found: Set<JsonNode>): void {
  for (const name of names) {
    const value = node?.get(name) ?? null;
    if (value?.type === "string") found.add(value);
  }
}
