// Fixtures of tests of MCP services: routes to MCP servers, and clients of both generations that show responses as received.
import { afterAll } from "bun:test";
import { create } from "./admin-fixtures.ts";
import type { RunningGatehouse } from "./gatehouse-process.ts";
import { ScriptedMcpServer } from "./scripted-mcp-server.ts";

type Json = Record<string, unknown>;

/** Starts servers that stop after the tests of the file. */
export function useMcpServers<const Names extends string>(
  options: Record<Names, ConstructorParameters<typeof ScriptedMcpServer>[0]>,
): Record<Names, ScriptedMcpServer> {
  const servers: Record<string, ScriptedMcpServer> = {};
  for (const [name, each] of Object.entries<ConstructorParameters<typeof ScriptedMcpServer>[0]>(options))
    servers[name] = new ScriptedMcpServer(each);
  afterAll(async () => {
    for (const server of Object.values(servers)) await server.stop();
  });
  return servers;
}

interface McpSeed {
  /** The id of an existing gateway, or the fields of a new one. */
  readonly gateway?: string | Json;
  readonly rule?: Json;
  /** The name of the service. */
  readonly service?: string;
}

interface McpRoute {
  readonly gateway: string;
  readonly rule: string;
  readonly service: string;
  readonly url: string;
  readonly path: string;
  readonly servers: Readonly<Record<string, string>>;
}

let routes = 0;

/** Creates a rule that leads to MCP servers. `servers` has their URLs, or their fields. */
export async function seedMcp(
  gatehouse: Pick<RunningGatehouse, "api" | "proxyUrl">,
  servers: Readonly<Record<string, string | Json>>,
  { gateway = {}, rule = {}, service: serviceName = "tools" }: McpSeed = {},
): Promise<McpRoute> {
  const serial = ++routes;
  const gatewayId: string =
    typeof gateway === "string"
      ? gateway
      : (await create(gatehouse, "/gateways", { name: `tools ${serial}`, ...gateway })).id;
  const at = `/gateways/${gatewayId}`;
  const ids: Record<string, string> = {};
  for (const [name, fields] of Object.entries(servers)) {
    const record = typeof fields === "string" ? { url: fields } : fields;
    ids[name] = (await create(gatehouse, `${at}/mcp-servers`, { name, ...record })).id;
  }
  const service = await create(gatehouse, `${at}/services`, {
    name: serviceName,
    type: "mcp",
    mcp_server_ids: Object.values(ids),
  });
  const path = `/mcp-${serial}`;
  const made = await create(gatehouse, `${at}/rules`, {
    path,
    methods: ["*"],
    ...rule,
    service_id: service.id,
  });
  return {
    gateway: gatewayId,
    rule: made.id,
    service: service.id,
    url: gatehouse.proxyUrl + path,
    path,
    servers: ids,
  };
}

interface McpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The messages of the body: of JSON, or of the events of a stream. */
  readonly messages: Json[];
  /** The last message. */
  readonly last: Json;
  readonly result: Json;
  readonly error: Json | undefined;
}

const META = "io.modelcontextprotocol/";
const ACCEPT = "application/json, text/event-stream";

export async function postMcp(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<McpResponse> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: ACCEPT, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return readMcpResponse(response);
}

async function readMcpResponse(response: Response): Promise<McpResponse> {
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const texts = isStream
    ? [...text.matchAll(/^data: (\{.*\})$/gm)].map((match) => match[1] ?? "{}")
    : text === ""
      ? []
      : [text];
  const messages = texts.map((each) => JSON.parse(each) as Json);
  const last = messages.at(-1) ?? {};
  return {
    status: response.status,
    headers: response.headers,
    text,
    messages,
    last,
    result: (last["result"] ?? {}) as Json,
    error: last["error"] as Json | undefined,
  };
}

/** A client of the stateless generation. */
export class StatelessClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #id = 0;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  request(
    method: string,
    params: Json = {},
    { meta = {}, headers = {} }: { meta?: Json; headers?: Record<string, string> } = {},
  ): Promise<McpResponse> {
    const name = params["name"] ?? params["uri"];
    return postMcp(
      this.#url,
      {
        jsonrpc: "2.0",
        id: ++this.#id,
        method,
        params: {
          ...params,
          _meta: {
            [`${META}protocolVersion`]: "2026-07-28",
            [`${META}clientCapabilities`]: {},
            [`${META}clientInfo`]: { name: "test", version: "1" },
            ...meta,
          },
        },
      },
      {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        ...(typeof name === "string" ? { "Mcp-Name": name } : {}),
        ...this.#headers,
        ...headers,
      },
    );
  }
}

/** A client of the session generation. */
export class SessionClient {
  readonly url: string;
  sessionId = "";
  readonly headers: Record<string, string>;
  readonly version: string;
  initialized: McpResponse | null = null;
  #id = 0;

  private constructor(url: string, headers: Record<string, string>, version: string) {
    this.url = url;
    this.headers = headers;
    this.version = version;
  }

  static async start(
    url: string,
    {
      headers = {},
      version = "2025-11-25",
      capabilities = {},
    }: { headers?: Record<string, string>; version?: string; capabilities?: Json } = {},
  ): Promise<SessionClient> {
    const client = new SessionClient(url, headers, version);
    const params = { protocolVersion: version, capabilities, clientInfo: { name: "test", version: "1" } };
    client.initialized = await postMcp(
      url,
      { jsonrpc: "2.0", id: "init", method: "initialize", params },
      headers,
    );
    client.sessionId = client.initialized.headers.get("mcp-session-id") ?? "";
    await client.post({ jsonrpc: "2.0", method: "notifications/initialized" });
    return client;
  }

  post(body: unknown): Promise<McpResponse> {
    return postMcp(this.url, body, this.allHeaders);
  }

  get allHeaders(): Record<string, string> {
    return { "MCP-Protocol-Version": this.version, "Mcp-Session-Id": this.sessionId, ...this.headers };
  }

  request(method: string, params: Json = {}, id: string | number = ++this.#id): Promise<McpResponse> {
    return this.post({ jsonrpc: "2.0", id, method, params });
  }

  /** Opens the stream of messages without a request. */
  stream(signal: AbortSignal, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.url, {
      headers: { Accept: "text/event-stream", ...this.allHeaders, ...headers },
      signal,
    });
  }
}

/** Opens the stream of subscriptions of a stateless client. */
export function listenMcp(
  url: string,
  notifications: Json,
  { signal = null, headers = {} }: { signal?: AbortSignal | null; headers?: Record<string, string> } = {},
): Promise<Response> {
  const _meta = { [`${META}protocolVersion`]: "2026-07-28", [`${META}clientCapabilities`]: {} };
  const params = { notifications, _meta };
  return fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: ACCEPT,
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "subscriptions/listen",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: "sub", method: "subscriptions/listen", params }),
    signal,
  });
}

/** Returns a function that reads the body of a stream until a condition holds, and resolves to all that has been received. */
export function readerOf(response: Response): (isEnough: (received: string) => boolean) => Promise<string> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  let received = "";
  return async (isEnough) => {
    while (!isEnough(received)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`the stream has ended: ${received}`);
      received += Buffer.from(value).toString();
    }
    return received;
  };
}
