// Fixtures of the data plane tests: complete routes, API keys, and a client that adds nothing to a request and shows the
// response exactly as received.
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { connectRaw } from "./raw-client.ts";
import type { FakeProvider, RecordedRequest } from "../../src/fake-provider/server.ts";
import { create } from "./admin-fixtures.ts";
import type { RunningGatehouse } from "./gatehouse-process.ts";

type Fields = Record<string, unknown>;

interface RouteSeed {
  /** The id of an existing gateway, or the fields of a new one. */
  readonly gateway?: string | Fields;
  readonly upstream: Fields & { readonly targets: readonly Fields[] };
  readonly rule?: Fields;
}

/** The ids of the created records, and the path of the rule. */
export interface SeededRoute {
  readonly gateway: string;
  readonly upstream: string;
  readonly service: string;
  readonly rule: string;
  readonly path: string;
}

let routes = 0;

/** Creates a gateway, unless one is given, with an upstream, a service and a rule. By default: POST on a unique path. */
export async function seedRoute(
  gatehouse: Pick<RunningGatehouse, "api">,
  { gateway = {}, upstream, rule = {} }: RouteSeed,
): Promise<SeededRoute> {
  const serial = ++routes;
  const gatewayId: string =
    typeof gateway === "string"
      ? gateway
      : (await create(gatehouse, "/gateways", { name: `gateway ${serial}`, ...gateway })).id;
  const at = `/gateways/${gatewayId}`;
  const { id: upstreamId } = await create(gatehouse, `${at}/upstreams`, { name: "models", ...upstream });
  const { id: service } = await create(gatehouse, `${at}/services`, {
    name: "chat",
    upstream_id: upstreamId,
  });
  const made = await create(gatehouse, `${at}/rules`, {
    path: `/route-${serial}`,
    methods: ["POST"],
    ...rule,
    service_id: service,
  });
  return { gateway: gatewayId, upstream: upstreamId, service, rule: made.id, path: made.path };
}

/** Returns the fields of a target at a fake provider, `openai` by default. */
export function targetAt(provider: FakeProvider, fields: Fields = {}): Fields {
  return { provider: "openai", base_url: provider.url, ...fields };
}

export async function seedKey(
  gatehouse: RunningGatehouse,
  gateway: string,
  fields: Fields = {},
): Promise<{ readonly id: string; readonly key: string }> {
  return create(gatehouse, "/iam/api-keys", { name: "key", subject: gateway, ...fields });
}

/** A minimal chat request. */
export const CHAT = { model: "gpt-fake", messages: [{ role: "user", content: "Good morning" }] };

export interface RawCall {
  readonly method?: string;
  /** The request target, exactly as in the request line. */
  readonly target?: string;
  /** Sent in this order and spelling. Host, Content-Length and `Connection: close` are added if absent. */
  readonly headers?: readonly HeaderPair[];
  readonly body?: string;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  /** Returns every value of the header, in order. */
  all(name: string): string[];
  /** Returns the only value of the header; undefined if there is none or several. */
  header(name: string): string | undefined;
  /** The body without chunk framing. */
  readonly body: Buffer;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read arbitrary JSON
  json(): any;
}

/** Sends one request over a new connection. The body must fit into the socket's buffer; use fetch for large ones. */
export async function rawCall(url: string, call: RawCall = {}): Promise<RawResponse> {
  const { method = "POST", target = "/", headers = [], body } = call;
  const { port, host } = new URL(url);
  const bytes = body === undefined ? null : Buffer.from(body);
  const hasHeader = (name: string) => headers.some(([given]) => given.toLowerCase() === name);
  const lines = [`${method} ${target} HTTP/1.1`];
  if (!hasHeader("host")) lines.push(`Host: ${host}`);
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (bytes !== null && !hasHeader("transfer-encoding")) lines.push(`Content-Length: ${bytes.length}`);
  if (!hasHeader("connection")) lines.push("Connection: close");
  const client = await connectRaw(Number(port));
  client.send(`${lines.join("\r\n")}\r\n\r\n${bytes?.toString("latin1") ?? ""}`);
  const isHead = method === "HEAD";
  // A response without a length ends with its connection.
  const whole = await client
    .until((received) => isComplete(received, isHead))
    .catch(async () => (await client.ended).received);
  client.disconnect();
  return parseResponse(whole);
}

/** Sends JSON with its content type. */
export function rawJson(
  url: string,
  target: string,
  value: unknown,
  headers: readonly HeaderPair[] = [],
): Promise<RawResponse> {
  const body = typeof value === "string" ? value : JSON.stringify(value);
  return rawCall(url, { target, headers: [["Content-Type", "application/json"], ...headers], body });
}

/** Returns the only request that the provider has received since its last reset. */
export function onlyRequest(provider: FakeProvider): RecordedRequest {
  const [request, ...others] = provider.requests;
  if (request === undefined || others.length > 0)
    throw new Error(`${provider.requests.length} requests reached ${provider.name} instead of one`);
  return request;
}

function isComplete(received: string, isHead: boolean): boolean {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const head = received.slice(0, end);
  if (isHead || /^HTTP\/1\.1 (?:204|304)/.test(head)) return true;
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return received.endsWith("\r\n0\r\n\r\n");
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  return length !== undefined && received.length >= end + 4 + Number(length);
}

function parseResponse(received: string): RawResponse {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) throw new Error(`no response, but: ${JSON.stringify(received)}`);
  const [statusLine = "", ...lines] = received.slice(0, end).split("\r\n");
  const headers = lines.map((line): HeaderPair => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const all = (name: string) =>
    headers.filter(([given]) => given.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  const rest = received.slice(end + 4);
  const body = Buffer.from(all("transfer-encoding").length > 0 ? withoutChunks(rest) : rest, "latin1");
  return {
    status: Number(statusLine.split(" ")[1]),
    headers,
    all,
    header: (name) => (all(name).length === 1 ? all(name)[0] : undefined),
    body,
    json: () => JSON.parse(body.toString()),
  };
}

function withoutChunks(framed: string): string {
  let body = "";
  for (let at = 0; ;) {
    const lineEnd = framed.indexOf("\r\n", at);
    const size = Number.parseInt(framed.slice(at, lineEnd), 16);
    if (!(size > 0)) return body;
    body += framed.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
