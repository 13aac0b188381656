// What the tests of the data plane share: a whole route in one call, keys, and a client that adds nothing of its own
// to a request and shows an answer as it stood on the wire.
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { connectRaw } from "./raw-client.ts";
import type { FakeProvider, RecordedRequest } from "../../src/fake-provider/server.ts";
import { create } from "./admin-fixtures.ts";
import type { GatehouseProcess } from "./gatehouse-process.ts";

type Fields = Record<string, unknown>;

export interface RouteSeed {
  /** The id of a gateway that is there, or fields of a new one. */
  readonly gateway?: string | Fields;
  readonly upstream: Fields & { readonly targets: readonly Fields[] };
  readonly rule?: Fields;
}

/** The ids of what was made, and the path of the rule. */
export interface SeededRoute {
  readonly gateway: string;
  readonly upstream: string;
  readonly service: string;
  readonly rule: string;
  readonly path: string;
}

let routes = 0;

/** A gateway (or the one given) with an upstream, a service and a rule: POST on a path of its own, unless told otherwise. */
export async function seedRoute(
  gatehouse: Pick<GatehouseProcess, "api">,
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

/** A target at a fake provider; an `openai` one unless told otherwise. */
export function targetAt(provider: FakeProvider, fields: Fields = {}): Fields {
  return { provider: "openai", base_url: provider.url, ...fields };
}

export async function seedKey(
  gatehouse: GatehouseProcess,
  gateway: string,
  fields: Fields = {},
): Promise<{ readonly id: string; readonly key: string }> {
  return create(gatehouse, "/iam/api-keys", { name: "key", subject: gateway, ...fields });
}

/** The least that is a chat. */
export const CHAT = { model: "gpt-fake", messages: [{ role: "user", content: "Good morning" }] };

export interface RawCall {
  readonly method?: string;
  /** The request target as it is to stand in the request line. */
  readonly target?: string;
  /** Sent in this order and spelling. `Host` is added when there is none; length and `Connection: close` always. */
  readonly headers?: readonly HeaderPair[];
  readonly body?: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  /** Every value of that name, in order. */
  all(name: string): string[];
  /** The only value of that name; undefined when there is none or several. */
  header(name: string): string | undefined;
  /** Without its chunk framing. */
  readonly body: Buffer;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read whatever came back
  json(): any;
}

/** One request over a connection of its own. Bodies must fit into the socket's buffer; use fetch for big ones. */
export async function rawCall(url: string, call: RawCall = {}): Promise<RawAnswer> {
  const { method = "POST", target = "/", headers = [], body } = call;
  const { port, host } = new URL(url);
  const bytes = body === undefined ? null : Buffer.from(body);
  const isNamed = (name: string) => headers.some(([given]) => given.toLowerCase() === name);
  const lines = [`${method} ${target} HTTP/1.1`];
  if (!isNamed("host")) lines.push(`Host: ${host}`);
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (bytes !== null && !isNamed("transfer-encoding")) lines.push(`Content-Length: ${bytes.length}`);
  if (!isNamed("connection")) lines.push("Connection: close");
  const client = await connectRaw(Number(port));
  client.send(`${lines.join("\r\n")}\r\n\r\n${bytes?.toString("latin1") ?? ""}`);
  const isHead = method === "HEAD";
  // An answer without a length ends with its connection.
  const whole = await client
    .until((received) => isComplete(received, isHead))
    .catch(async () => (await client.ended).received);
  client.leave();
  return parseAnswer(whole);
}

/** JSON with the content type that says so. */
export function rawJson(
  url: string,
  target: string,
  value: unknown,
  headers: readonly HeaderPair[] = [],
): Promise<RawAnswer> {
  const body = typeof value === "string" ? value : JSON.stringify(value);
  return rawCall(url, { target, headers: [["Content-Type", "application/json"], ...headers], body });
}

/** The only request that has reached a provider since its last reset. */
export function onlyRequest(provider: FakeProvider): RecordedRequest {
  const [request, ...others] = provider.requests;
  if (request === undefined || others.length > 0)
    throw new Error(`${provider.requests.length} requests reached ${provider.name}, not one`);
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

function parseAnswer(received: string): RawAnswer {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) throw new Error(`no answer but: ${JSON.stringify(received)}`);
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
