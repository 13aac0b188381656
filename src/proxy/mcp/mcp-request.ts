// The part of an exchange that only requests to MCP services have.
import { GatehouseError } from "../../base/errors.ts";
import { parseObject, type JsonObject } from "../../base/json.ts";
import { JsonScanner } from "../../base/json-scanner.ts";
import type { RawJson } from "../../base/raw-json.ts";
import type { McpRequestName } from "../../formats/text-channels.ts";
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import { textOf, type RpcMessage } from "../../mcp/json-rpc.ts";
import { namedPrompts, requestNames, type NamedPrompt } from "../../mcp/named-items.ts";
import { STATELESS_VERSION, type Generation } from "../../mcp/protocol.ts";
import { serviceTargets } from "../../mcp/server-target.ts";
import type { ClientSession } from "../../mcp/session-seal.ts";
import type {
  McpCallFacts,
  McpFacts,
  McpRefusalFacts,
  McpResult,
  ObservedServer,
} from "../../telemetry/requests/mcp-facts.ts";
import { truncateText } from "../../telemetry/truncate-text.ts";
import type { RequestBody } from "../request-body.ts";

/** The call of a tool that a request contains. */
export interface ToolCall {
  /** As the client names it. */
  readonly name: string;
  readonly arguments: Readonly<JsonObject>;
}

/** Servers choose the methods of their requests. */
const MAX_REFUSALS = 20;
/** Reading more values of arguments would keep other requests waiting. */
const MAX_READ_VALUES = 65_536;

/** A call with large arguments: they are parsed when a plugin reads them. */
export class LargeToolCall implements ToolCall {
  readonly name: string;
  readonly #raw: RawJson;
  #arguments: Readonly<JsonObject> | null = null;

  constructor(name: string, raw: RawJson) {
    this.name = name;
    this.#raw = raw;
  }

  get arguments(): Readonly<JsonObject> {
    return (this.#arguments ??= parseObject(this.#raw.text) ?? {});
  }

  /** Throws a GatehouseError if reading the arguments would keep other requests waiting. Call it before plugins run. */
  requireFewValues(): void {
    const result = new JsonScanner([]).scan(this.#raw.bytes, MAX_READ_VALUES);
    if (result !== "too_dense") return;
    throw new GatehouseError(
      "body_too_large",
      `The arguments of the tool have more than ${MAX_READ_VALUES} values, which is too many for the plugins of this gateway.`,
    );
  }
}

/** The messages of a body, and what they say. */
export interface McpMessages {
  readonly messages: readonly RpcMessage[];
  readonly isBatch: boolean;
  readonly generation: Generation;
  /** Null if the request belongs to no session. */
  readonly session: ClientSession | null;
  /** Null if no tool is called. */
  readonly tool: ToolCall | null;
}

export class McpRequest {
  readonly #abort = new AbortController();
  /** Whether the client gets the result in an event stream where JSON would do. */
  readonly prefersStream: boolean;
  /** Null until the body is read, and for requests without one. */
  content: McpMessages | null = null;
  /** The body that the content was read from. */
  body: RequestBody | null = null;
  /** Returns a plugin's secret of the conversation; null until the body is read. */
  conversationKey: ((plugin: string) => string) | null = null;
  /** The call during which a server asked the question that this is the response to; null if it is not known. */
  askedBy: { notesOf(notesKey: string): Map<string, unknown> } | null = null;
  /** The server that the request is for, which offers what the request names; null if there is none. */
  server: ObservedServer | null = null;
  /** What was sent to servers. */
  readonly calls: McpCallFacts[] = [];
  readonly #refusals: McpRefusalFacts[] = [];
  #result: McpResult | null = null;
  #errorCode: number | null = null;

  constructor(prefersStream: boolean) {
    this.prefersStream = prefersStream;
  }

  /** Aborted when the client disconnects. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(): void {
    this.#abort.abort();
  }

  /**
   * Returns a copy for a plugin in shadow mode. The arguments of the tool are copied when the plugin reads them, because nothing
   * prevents it from changing them.
   */
  copy(): McpRequest {
    const copy = new McpRequest(this.prefersStream);
    const { content } = this;
    copy.body = this.body;
    copy.server = this.server;
    copy.conversationKey = this.conversationKey;
    copy.askedBy = this.askedBy;
    if (content === null) return copy;
    let tool: ToolCall | null = null;
    copy.content = {
      ...content,
      get tool() {
        return (tool ??= copyOf(content.tool));
      },
    };
    return copy;
  }

  /** The message that telemetry is about: the tool call, else the first one. */
  get main(): RpcMessage | null {
    const messages = this.content?.messages ?? [];
    return messages.find(isToolCall) ?? messages[0] ?? null;
  }

  /** Returns the prompts and resources that the messages name. */
  promptsOf(service: CompiledMcpService): readonly NamedPrompt[] {
    return namedPrompts(this.content?.messages ?? [], serviceTargets(service).names);
  }

  /** Returns the requests that responses of servers may be to. */
  requestsTo(service: CompiledMcpService): readonly McpRequestName[] {
    return requestNames(this.content?.messages ?? [], serviceTargets(service).names);
  }

  /** The server has responded. `errorCode` is that of a JSON-RPC error. */
  ended(result: McpResult, errorCode: number | null = null): void {
    this.#result = result;
    this.#errorCode = errorCode;
  }

  /** A plugin has refused a message of a server. Returns whether it is recorded, and the first of its kind. */
  refused(server: ObservedServer, sentMethod: string, code: string): boolean {
    const method = truncateText(sentMethod);
    const known = this.#refusals.find(
      (each) => each.server.id === server.id && each.method === method && each.code === code,
    );
    if (known !== undefined) known.count++;
    if (known !== undefined || this.#refusals.length >= MAX_REFUSALS) return false;
    this.#refusals.push({ server, method, code, count: 1 });
    return true;
  }

  facts(): McpFacts {
    const { main, content } = this;
    const isCall = main !== null && main.kind !== "response";
    return {
      method: isCall ? truncateText(main.method) : main === null ? null : "response",
      tool: truncateText(content?.tool?.name ?? null),
      prompt: isCall && main.method === "prompts/get" ? truncateText(textOf(main.params, "name")) : null,
      isKnown: this.server !== null,
      server: this.server,
      protocolVersion: content === null ? null : versionOf(content),
      rpcId: main?.kind === "request" ? truncateText(String(main.id)) : null,
      errorCode: this.#errorCode,
      result: this.#result,
      calls: this.calls,
      refusals: this.#refusals,
    };
  }
}

/** Copies the fields one by one: those of a large call are no properties of its own. */
function copyOf(tool: ToolCall | null): ToolCall | null {
  return tool === null ? null : structuredClone({ name: tool.name, arguments: tool.arguments });
}

function isToolCall(message: RpcMessage): boolean {
  return message.kind === "request" && message.method === "tools/call";
}

function versionOf({ generation, session }: McpMessages): string | null {
  return generation === "stateless" ? STATELESS_VERSION : (session?.version ?? null);
}
