// A fake MCP server over Streamable HTTP, for the demo and for tests: both generations of the protocol, a few tools, a prompt and
// a resource, and misbehavior on request.
import { isJsonObject, parseObject, type JsonObject } from "../base/json.ts";
import { FAKE_PROMPTS, FAKE_RESOURCES, FAKE_TOOLS, type FakeTool } from "./mcp-tools.ts";

const STATELESS_VERSION = "2026-07-28";
const SESSION_VERSIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26"];
const META = "io.modelcontextprotocol/";
const MAX_SESSIONS = 1000;
const MAX_SLOW_MS = 60_000;

interface McpBehavior {
  /** Accepts requests and never responds. */
  readonly silent?: boolean;
  /** Waits before each response. */
  readonly delayMs?: number;
  /** Responds to every request with this status and no body. */
  readonly status?: number;
}

interface FakeMcpServerOptions {
  readonly name?: string;
  readonly port?: number;
  readonly generation?: "stateless" | "session" | "both";
}

export class FakeMcpServer {
  /** The methods of the JSON-RPC messages that have arrived. */
  readonly methods: string[] = [];
  readonly #name: string;
  readonly #generation: "stateless" | "session" | "both";
  readonly #server: Bun.Server<undefined>;
  readonly #sessions = new Set<string>();
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  #tools: readonly FakeTool[] = FAKE_TOOLS;
  #behavior: McpBehavior = {};

  constructor({ name = "fake", port = 0, generation = "both" }: FakeMcpServerOptions = {}) {
    this.#name = name;
    this.#generation = generation;
    const fetch = (request: Request) => this.#respond(request);
    this.#server = Bun.serve({ port, hostname: "127.0.0.1", idleTimeout: 0, fetch });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port ?? 0}/mcp`;
  }

  behave(behavior: McpBehavior): void {
    this.#behavior = behavior;
  }

  /** Changes the description of a tool, and notifies clients of the changed list. */
  describeTool(name: string, description: string): void {
    this.#tools = this.#tools.map((tool) =>
      tool.definition.name === name ? { ...tool, definition: { ...tool.definition, description } } : tool,
    );
    const event = eventOf({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    for (const stream of this.#streams) stream.enqueue(event);
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #respond(request: Request): Promise<Response> {
    const { silent = false, delayMs = 0, status } = this.#behavior;
    if (silent) return new Promise(() => undefined);
    if (delayMs > 0) await Bun.sleep(delayMs);
    if (status !== undefined) return new Response(null, { status });
    if (new URL(request.url).pathname !== "/mcp") return new Response(null, { status: 404 });
    if (request.method === "GET") return this.#hasSessions ? this.#stream(request.signal) : notAllowed();
    if (request.method === "DELETE") {
      const ended = this.#sessions.delete(request.headers.get("mcp-session-id") ?? "");
      return new Response(null, { status: ended ? 200 : 404 });
    }
    if (request.method !== "POST") return notAllowed();
    const message = parseObject(await request.text());
    if (message === null) return failure(null, -32700, "Parse error", 400);
    return this.#handle(request, message);
  }

  get #hasSessions(): boolean {
    return this.#generation !== "stateless";
  }

  #handle(request: Request, message: JsonObject): Response {
    const { method, id = null } = message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    if (typeof method !== "string") return new Response(null, { status: 202 });
    this.methods.push(method);
    const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    if (Object.hasOwn(meta, `${META}protocolVersion`)) {
      if (this.#generation === "session") return failure(id, -32000, "Bad Request: no session", 400);
      if (meta[`${META}protocolVersion`] !== STATELESS_VERSION) return this.#unsupported(id);
      return this.#serve(request, method, id, params, true);
    }
    if (!this.#hasSessions) return this.#unsupported(id);
    if (method === "initialize") return this.#initialize(id, params);
    if (!this.#sessions.has(request.headers.get("mcp-session-id") ?? ""))
      return failure(id, -32001, "Session not found", 404);
    if (id === null) return new Response(null, { status: 202 });
    return this.#serve(request, method, id, params, false);
  }

  #unsupported(id: unknown): Response {
    const data = { supported: this.#generation === "stateless" ? [STATELESS_VERSION] : SESSION_VERSIONS };
    return failure(id, -32022, "Unsupported protocol version", 400, data);
  }

  #initialize(id: unknown, { protocolVersion }: JsonObject): Response {
    const [oldest] = this.#sessions;
    if (this.#sessions.size >= MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    const session = crypto.randomUUID();
    this.#sessions.add(session);
    const version = SESSION_VERSIONS.find((each) => each === protocolVersion) ?? SESSION_VERSIONS[0];
    const serverInfo = { name: this.#name, version: "1" };
    const result = { protocolVersion: version, capabilities: CAPABILITIES, serverInfo };
    return Response.json({ jsonrpc: "2.0", id, result }, { headers: { "Mcp-Session-Id": session } });
  }

  #serve(request: Request, method: string, id: unknown, params: JsonObject, isStateless: boolean): Response {
    const own = isStateless ? { resultType: "complete" } : {};
    const listed = isStateless ? { ...own, ttlMs: 0, cacheScope: "public" } : {};
    const succeed = (result: JsonObject) => Response.json({ jsonrpc: "2.0", id, result });
    switch (method) {
      case "server/discover": {
        const _meta = { [`${META}serverInfo`]: { name: this.#name, version: "1" } };
        return succeed({
          ...listed,
          supportedVersions: [STATELESS_VERSION],
          capabilities: CAPABILITIES,
          _meta,
        });
      }
      case "ping":
        return succeed({});
      case "subscriptions/listen":
        return this.#stream(request.signal);
      case "tools/list":
        return succeed({ ...listed, tools: this.#tools.map(({ definition }) => definition) });
      case "prompts/list":
        return succeed({ ...listed, prompts: FAKE_PROMPTS });
      case "prompts/get":
        return succeed({
          ...own,
          messages: [{ role: "user", content: { type: "text", text: "Say hello." } }],
        });
      case "resources/list":
        return succeed({ ...listed, resources: FAKE_RESOURCES });
      case "resources/templates/list":
        return succeed({ ...listed, resourceTemplates: [] });
      case "resources/read":
        return succeed({ ...listed, contents: [{ uri: params["uri"], text: "A fake resource." }] });
      case "tools/call":
        return this.#call(id, params, own);
      default:
        return failure(id, -32601, `Method not found: ${method}`, isStateless ? 404 : 200);
    }
  }

  #call(id: unknown, params: JsonObject, own: JsonObject): Response {
    const { name, arguments: given } = params;
    const tool = this.#tools.find(({ definition }) => definition.name === name);
    if (tool === undefined) return failure(id, -32602, `Unknown tool: ${String(name)}`, 200);
    const input = isJsonObject(given) ? given : {};
    const result = { jsonrpc: "2.0", id, result: { ...own, ...tool.run(input) } };
    if (tool.definition.name !== "slow") return Response.json(result);
    const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    const progress = { progressToken: meta["progressToken"] ?? 0, progress: 1, total: 2 };
    const waitMs = Math.min(MAX_SLOW_MS, Math.max(0, Number(input["ms"] ?? 100) || 0));
    const stream = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        if (meta["progressToken"] !== undefined)
          controller.enqueue(eventOf({ jsonrpc: "2.0", method: "notifications/progress", params: progress }));
        await Bun.sleep(waitMs);
        try {
          controller.enqueue(eventOf(result));
          controller.close();
        } catch {
          // The client has disconnected.
        }
      },
    });
    return new Response(stream, { headers: EVENT_STREAM });
  }

  /** A stream of notifications, until the client disconnects. */
  #stream(signal: AbortSignal): Response {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#streams.add(controller);
        signal.addEventListener("abort", () => this.#streams.delete(controller));
        controller.enqueue(new TextEncoder().encode(": open\n\n"));
      },
    });
    return new Response(stream, { headers: EVENT_STREAM });
  }
}

const EVENT_STREAM = { "Content-Type": "text/event-stream", "Cache-Control": "no-store" };
const CAPABILITIES = { tools: { listChanged: true }, prompts: {}, resources: {} };

function eventOf(message: JsonObject): Uint8Array {
  return new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

function failure(id: unknown, code: number, message: string, status: number, data?: JsonObject): Response {
  const error = { code, message, ...(data !== undefined && { data }) };
  return Response.json({ jsonrpc: "2.0", id, error }, { status });
}

function notAllowed(): Response {
  return new Response(null, { status: 405 });
}
