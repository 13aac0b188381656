// An MCP server for tests of the data plane: speaks one generation of the protocol or both, records what it receives, and
// lets tests decide about tools and about delays.

import { readFileSync } from "node:fs";

type Json = Record<string, unknown>;

interface ReceivedMessage {
  readonly method: string;
  readonly rpcMethod: string | null;
  readonly id: unknown;
  readonly params: Json;
  readonly headers: Headers;
  readonly body: Json;
  /** Aborted when the gateway closes the connection. */
  readonly signal: AbortSignal;
}

/** Returns the result, or sends messages and then returns it. */
type ToolHandler = (call: ReceivedMessage, send: (message: Json) => void) => Promise<Json> | Json;

interface ScriptedTool {
  readonly definition?: Json;
  readonly run?: ToolHandler;
  /** Whether the response is an event stream. */
  readonly isStream?: boolean;
}

interface Options {
  readonly generation?: "session" | "stateless" | "both";
  readonly tools?: Record<string, ScriptedTool>;
}

const SESSION_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"];
const META = "io.modelcontextprotocol/";

export class ScriptedMcpServer {
  readonly received: ReceivedMessage[] = [];
  readonly sessions = new Set<string>();
  tools: Record<string, ScriptedTool>;
  /** Sends nothing at all while it is true. */
  isSilent = false;
  /** JSON-RPC methods to which it sends nothing. */
  readonly silentMethods = new Set<string>();
  /** Whether it sends nothing in response to a message. */
  isSilentTo: ((message: ReceivedMessage) => boolean) | null = null;
  /** Returns a response that replaces its own; null for the messages that it responds to itself. */
  respond: ((message: ReceivedMessage) => Response | null) | null = null;
  /** Begins JSON with a byte order mark while it is true. */
  sendsByteOrderMark = false;
  /** How long lists of the stateless generation may be kept. */
  ttlMs = 0;
  /** Credentials that it responds to with 401. */
  refuses: RegExp | null = null;
  /** Whether it has completions. */
  completes = false;
  pageSize = Infinity;
  /** Fields of results, by method, in addition to the usual ones or instead of them. */
  results: Record<string, Json> = {};
  /** Errors instead of results, by method. */
  errors: Record<string, Json> = {};
  readonly #generation: string;
  readonly #server: Bun.Server<undefined>;
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>();

  constructor({ generation = "both", tools = {} }: Options = {}) {
    this.#generation = generation;
    this.tools = tools;
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: async (request) => this.#marked(await this.#handle(request)),
    });
  }

  /** Open connections, by the ports of their clients. */
  get connections(): number {
    return connectionsTo(this.#server.port ?? 0);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port ?? 0}/mcp`;
  }

  /** The JSON-RPC methods that were received. */
  get methods(): (string | null)[] {
    return this.received.map(({ rpcMethod }) => rpcMethod);
  }

  /** Sends a message on all open streams without a request. */
  broadcast(message: Json): void {
    const bytes = new TextEncoder().encode(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    for (const stream of this.#streams) stream.enqueue(bytes);
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #marked(response: Response): Promise<Response> {
    if (!this.sendsByteOrderMark || response.headers.get("content-type")?.includes("json") !== true)
      return response;
    return new Response(`\ufeff${await response.text()}`, response);
  }

  async #handle(request: Request): Promise<Response> {
    if (this.isSilent) return new Promise(() => undefined);
    const text = await request.text();
    const parsed: unknown = text === "" ? {} : JSON.parse(text);
    const body: Json = isObject(parsed) ? parsed : {};
    const params = isObject(body["params"]) ? body["params"] : {};
    const rpcMethod = typeof body["method"] === "string" ? body["method"] : null;
    const message: ReceivedMessage = {
      method: request.method,
      rpcMethod,
      id: body["id"],
      params,
      headers: request.headers,
      body,
      signal: request.signal,
    };
    this.received.push(message);
    if (this.silentMethods.has(rpcMethod ?? "") || this.isSilentTo?.(message) === true)
      return new Promise(() => undefined);
    const own = this.respond?.(message) ?? null;
    if (own !== null) return own;
    if (this.refuses?.test(request.headers.get("authorization") ?? "") === true)
      return error(401, body["id"], -32000, "Unauthorized");
    const meta = isObject(params["_meta"]) ? params["_meta"] : {};
    const isStateless = `${META}protocolVersion` in meta;
    if (isStateless && this.#generation === "session") return error(400, body["id"], -32000, "Bad Request");
    if (!isStateless && this.#generation === "stateless")
      return error(400, body["id"], -32022, "Unsupported protocol version");
    return isStateless ? this.#stateless(message) : this.#session(message);
  }

  #stateless(message: ReceivedMessage): Promise<Response> | Response {
    const { rpcMethod, id } = message;
    if (rpcMethod === "server/discover")
      return result(id, {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
        ttlMs: 0,
        cacheScope: "private",
        _meta: { [`${META}serverInfo`]: { name: "scripted", version: "1" } },
        ...this.results["server/discover"],
      });
    if (rpcMethod === "subscriptions/listen") return this.#stream(message.signal);
    return this.#serve(message, { resultType: "complete", ttlMs: this.ttlMs, cacheScope: "public" });
  }

  #session(message: ReceivedMessage): Promise<Response> | Response {
    const { method, rpcMethod, id, params, headers } = message;
    if (rpcMethod === "initialize") {
      const sessionId = crypto.randomUUID();
      this.sessions.add(sessionId);
      const requested = String(params["protocolVersion"]);
      const response = result(id, {
        protocolVersion: SESSION_VERSIONS.includes(requested) ? requested : "2025-11-25",
        capabilities: {
          tools: { listChanged: true },
          resources: { subscribe: true },
          prompts: {},
          logging: {},
        },
        serverInfo: { name: "scripted", version: "1" },
        instructions: "Use the tools.",
        ...this.results["initialize"],
      });
      response.headers.set("Mcp-Session-Id", sessionId);
      return response;
    }
    const sessionId = headers.get("mcp-session-id") ?? "";
    if (!this.sessions.has(sessionId)) return error(404, id, -32001, "Session not found");
    if (method === "DELETE") {
      this.sessions.delete(sessionId);
      return new Response(null, { status: 204 });
    }
    if (method === "GET") return this.#stream(message.signal);
    if (id === undefined || rpcMethod === null) return new Response(null, { status: 202 });
    if (rpcMethod === "logging/setLevel" || rpcMethod === "resources/subscribe") return result(id, {});
    return this.#serve(message, {});
  }

  async #serve(message: ReceivedMessage, given: Json): Promise<Response> {
    const { rpcMethod, id, params } = message;
    const failure = this.errors[rpcMethod ?? ""];
    if (failure !== undefined) return Response.json({ jsonrpc: "2.0", id, error: failure });
    const scripted = this.results[rpcMethod ?? ""];
    const fields = { ...given, ...scripted };
    if (scripted !== undefined) return result(id, fields);
    switch (rpcMethod) {
      case "tools/list":
        return result(id, { ...fields, ...this.#page(params["cursor"]) });
      case "prompts/list":
        return result(id, { ...fields, prompts: [{ name: "greet" }] });
      case "prompts/get":
        return result(id, {
          ...fields,
          messages: [{ role: "user", content: { type: "text", text: `prompt ${String(params["name"])}` } }],
        });
      case "resources/list":
        return result(id, { ...fields, resources: [{ name: "notes", uri: "memo://notes" }] });
      case "resources/templates/list":
        return result(id, { ...fields, resourceTemplates: [{ name: "note", uriTemplate: "memo://{name}" }] });
      case "resources/read":
        return result(id, { ...fields, contents: [{ uri: params["uri"], text: "content" }] });
      case "completion/complete":
        if (!this.completes) return error(200, id, -32601, "Method not found");
        return result(id, { ...fields, completion: { values: [] } });
      case "tools/call":
        return this.#call(message, fields);
      default:
        return error(200, id, -32601, "Method not found");
    }
  }

  #page(cursor: unknown): Json {
    const all = Object.entries(this.tools).map(([name, tool]) => ({
      name,
      description: `Tool ${name}`,
      inputSchema: { type: "object" },
      ...tool.definition,
    }));
    const start = Number(cursor ?? 0);
    const end = start + this.pageSize;
    return { tools: all.slice(start, end), ...(end < all.length ? { nextCursor: String(end) } : {}) };
  }

  async #call(message: ReceivedMessage, fields: Json): Promise<Response> {
    const { id, params } = message;
    const tool = this.tools[String(params["name"])];
    if (tool === undefined) return error(200, id, -32602, "no such tool at the server");
    const run: ToolHandler =
      tool.run ??
      (({ params: { name, arguments: given } }) => ({
        content: [{ type: "text", text: `${String(name)} ${JSON.stringify(given)}` }],
      }));
    if (tool.isStream !== true) return result(id, { ...fields, ...(await run(message, () => undefined)) });
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async start(stream) {
        const send = (sent: Json) =>
          stream.enqueue(
            encoder.encode(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...sent })}\n\n`),
          );
        const answer = await run(message, send);
        try {
          send({ id, result: { ...fields, ...answer } });
          stream.close();
        } catch {
          // The gateway has closed the connection.
        }
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }

  #stream(signal: AbortSignal): Response {
    const streams = this.#streams;
    const body = new ReadableStream<Uint8Array>({
      start(stream) {
        streams.add(stream);
        stream.enqueue(new TextEncoder().encode(": open\n\n"));
        signal.addEventListener("abort", () => streams.delete(stream));
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function result(id: unknown, value: Json): Response {
  return Response.json({ jsonrpc: "2.0", id, result: value });
}

function error(status: number, id: unknown, code: number, message: string): Response {
  const data = code === -32022 ? { supported: ["2026-07-28"] } : undefined;
  return Response.json({ jsonrpc: "2.0", id: id ?? null, error: { code, message, data } }, { status });
}

/** Returns the number of established connections that a port of this machine has accepted. */
function connectionsTo(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  return lines.filter((line) => {
    const [, address, , state] = line.trim().split(/\s+/);
    return address?.endsWith(local) === true && state === "01";
  }).length;
}
