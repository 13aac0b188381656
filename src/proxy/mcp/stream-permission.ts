// Decides whether a stream of an MCP client may stay open: its key or token, what the key may use, and the
// servers of the service.
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import { ItemAccess } from "../../mcp/item-access.ts";
import type { RpcMessage } from "../../mcp/json-rpc.ts";
import type { PublicNames } from "../../mcp/public-names.ts";
import { serviceTargets, type McpServerTarget } from "../../mcp/server-target.ts";
import type { ToolPatterns } from "../../mcp/tool-patterns.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { ClientPermission, type PermissionParts, type Refusal } from "../client-permission.ts";
import type { Exchange } from "../exchange.ts";

const TOOLS_CHANGED: Refusal = {
  code: "rule_not_allowed",
  reason: "The tools that this API key may use have changed. Open the stream again.",
};
const SERVER_REMOVED: Refusal = {
  code: "rule_not_found",
  reason: "A server of this stream was removed or changed. Open the stream again.",
};

export class StreamPermission {
  readonly #client: ClientPermission;
  readonly #tools: ToolPatterns | null;
  readonly #names: PublicNames<McpServerTarget>;
  /** The messages of a call. Null: the stream belongs to no call, and relays what all servers send. */
  readonly #messages: readonly RpcMessage[] | null;
  readonly #tags: readonly string[];
  /** Servers whose tags were compared. */
  #service: CompiledMcpService;
  #isServerRemoved = false;

  /** `messages` are those of a call; null for a stream that relays what all servers send. */
  constructor(
    exchange: Exchange,
    service: CompiledMcpService,
    messages: readonly RpcMessage[] | null,
    parts: PermissionParts,
  ) {
    this.#client = new ClientPermission(exchange, parts);
    this.#tools = exchange.apiKey?.tools ?? null;
    this.#messages = messages;
    this.#service = service;
    const { servers, names } = serviceTargets(service);
    this.#names = names;
    this.#tags = servers.map(({ tag }) => tag);
  }

  /** Returns why the client must not get more of the stream, or null. */
  refusal(): Refusal | null {
    const refusal = this.#client.refusal();
    if (refusal !== null) return refusal;
    const { key, rule } = this.#client;
    const tools = key?.tools ?? null;
    // A token names its tools itself, and is the same object as long as the stream is open.
    const isSame = sameTools(tools, this.#tools);
    if (this.#messages === null) {
      if (!isSame) return TOOLS_CHANGED;
      return this.#hasAllServers(rule) ? null : SERVER_REMOVED;
    }
    if (isSame || tools === null) return null;
    return new ItemAccess(tools).allows(this.#messages, this.#names) ? null : TOOLS_CHANGED;
  }

  #hasAllServers(rule: CompiledRule | null): boolean {
    const service = rule?.mcp ?? null;
    if (service === null) return false;
    if (service !== this.#service) {
      this.#service = service;
      const tags = new Set(serviceTargets(service).servers.map(({ tag }) => tag));
      this.#isServerRemoved = !this.#tags.every((tag) => tags.has(tag));
    }
    return !this.#isServerRemoved;
  }
}

function sameTools(left: ToolPatterns | null, right: ToolPatterns | null): boolean {
  if (left === null || right === null) return left === right;
  return left === right || left.equals(right);
}
