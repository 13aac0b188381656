// Fixtures of the tests of balancing, failover and streams: routes to fake providers, clients that observe how a response
// ends, the access log, and the memory of the process.
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { connectRaw, type RawClient } from "./raw-client.ts";
import type { Behavior, FakeProvider } from "../../src/fake-provider/server.ts";
import type { ApiResponse, GatehouseProcess, RunningGatehouse } from "./gatehouse-process.ts";
import { waitFor } from "./waiting.ts";

type Fields = Record<string, unknown>;

/** A rule with its own upstream. */
export interface Route {
  readonly url: string;
  readonly path: string;
  /** The path of the upstream in the Admin API. */
  readonly upstream: string;
}

let routes = 0;

/** All routes share a gateway: one gateway per route would be slower and test nothing more. */
const gateways = new WeakMap<RunningGatehouse, Promise<string>>();

async function create(gatehouse: RunningGatehouse, path: string, body: Fields): Promise<string> {
  const response = await gatehouse.api("POST", path, body);
  expect(response.body).not.toHaveProperty("error");
  return (response.body as { id: string }).id;
}

export async function seedUpstream(
  gatehouse: RunningGatehouse,
  targets: readonly Fields[],
  upstreamFields: Fields = {},
  ruleFields: Fields = {},
): Promise<Route> {
  const path = `/route-${++routes}`;
  if (!gateways.has(gatehouse)) gateways.set(gatehouse, create(gatehouse, "/gateways", { name: "balanced" }));
  const gateway = `/gateways/${await gateways.get(gatehouse)}`;
  const upstream = await create(gatehouse, `${gateway}/upstreams`, {
    name: path,
    targets,
    ...upstreamFields,
  });
  const service = await create(gatehouse, `${gateway}/services`, { name: path, upstream_id: upstream });
  await create(gatehouse, `${gateway}/rules`, {
    service_id: service,
    path,
    methods: ["GET", "HEAD", "POST"],
    ...ruleFields,
  });
  return { url: gatehouse.proxyUrl + path, path, upstream: `${gateway}/upstreams/${upstream}` };
}

export async function patchUpstream(
  gatehouse: RunningGatehouse,
  route: Route,
  fields: Fields,
): Promise<ApiResponse["body"]> {
  const response = await gatehouse.api("PATCH", route.upstream, fields);
  expect(response.status).toBe(200);
  return response.body;
}

/** Returns the fields of a target. Its provider name, as in X-GW-Provider, is the name of the fake provider. */
export function targetOf({ name, url }: FakeProvider, fields: Fields = {}): Fields {
  return { provider: name, base_url: url, path: "/v1/chat/completions", ...fields };
}

export function anthropicTargetOf({ name, url }: FakeProvider, fields: Fields = {}): Fields {
  return { provider: name, base_url: url, path: "/v1/messages", format: "anthropic", ...fields };
}

export const CHAT_REQUEST = { model: "gpt-fake", messages: [{ role: "user", content: "hello there" }] };

export interface ChatOptions {
  readonly stream?: boolean;
  readonly fake?: Behavior;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export function sendChat(
  route: Route,
  { stream, fake, headers, signal }: ChatOptions = {},
): Promise<Response> {
  return fetch(route.url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(fake !== undefined && { "x-fake": JSON.stringify(fake) }),
      ...headers,
    },
    body: JSON.stringify(stream === true ? { ...CHAT_REQUEST, stream } : CHAT_REQUEST),
    ...(signal !== undefined && { signal }),
  });
}

/** Sends a chat, reads the response, and resolves to the name of the provider that served it. */
export async function servedBy(route: Route, options: ChatOptions = {}): Promise<string> {
  const response = await sendChat(route, options);
  await response.arrayBuffer();
  return response.headers.get("x-gw-provider") ?? `none (${response.status})`;
}

/** Sends chats one after the other. Resolves to the providers that served them, in order. */
export async function servedInTurn(
  route: Route,
  times: number,
  options: ChatOptions = {},
): Promise<string[]> {
  const names: string[] = [];
  for (let count = 0; count < times; count++) names.push(await servedBy(route, options));
  return names;
}

export function countOf(names: readonly string[], wanted: string): number {
  return names.filter((name) => name === wanted).length;
}

/** Resolves to the status, the provider, the number of attempts, and the body as text. */
export async function outcomeOf(
  response: Response,
): Promise<{ status: number; provider: string | null; attempts: string | null; text: string }> {
  return {
    status: response.status,
    provider: response.headers.get("x-gw-provider"),
    attempts: response.headers.get("x-gw-attempts"),
    text: await response.text(),
  };
}

/** Expects an error in the gateway's format with this status and code. Resolves to the response headers. */
export async function expectFailure(response: Response, status: number, code: string): Promise<Headers> {
  const body: ApiResponse["body"] = await response.json();
  expect({ status: response.status, code: body.code }).toEqual({ status, code });
  expect(body.error).toBeString();
  expect(body.request_id).toBe(response.headers.get("x-request-id"));
  return response.headers;
}

/** Sends a chat over a raw connection, with a request id to find its access log by. */
export async function sendRawChat(
  route: Route,
  { stream, fake, requestId = crypto.randomUUID() }: { stream: boolean; fake?: Behavior; requestId?: string },
): Promise<RawClient> {
  const client = await connectRaw(Number(new URL(route.url).port));
  const body = JSON.stringify({ ...CHAT_REQUEST, stream });
  client.send(
    `POST ${route.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `X-Request-Id: ${requestId}\r\n` +
      (fake === undefined ? "" : `x-fake: ${JSON.stringify(fake)}\r\n`) +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return client;
}

/** Whether a response, as raw bytes, is complete according to its framing. */
export function endedCleanly(received: string): boolean {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const head = received.slice(0, headEnd);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined) return received.length - headEnd - 4 >= Number(length);
  return received.endsWith("\r\n0\r\n\r\n");
}

/** Returns the received payload of a raw response in chunks. */
export function unchunk(received: string): string {
  let at = received.indexOf("\r\n\r\n") + 4;
  let payload = "";
  for (;;) {
    const lineEnd = received.indexOf("\r\n", at);
    const size = lineEnd < 0 ? 0 : Number.parseInt(received.slice(at, lineEnd), 16);
    if (!(size > 0)) return payload;
    payload += received.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}

/** Resolves to the access log record of a request when it is written. */
export function accessLine(gatehouse: RunningGatehouse, requestId: string): Promise<ApiResponse["body"]> {
  return waitFor(() => accessLines(gatehouse).find((line) => line.request_id === requestId) ?? null);
}

export function accessLines(gatehouse: RunningGatehouse): ApiResponse["body"][] {
  return logLines(gatehouse).filter((line) => line?.plane === "proxy" && line.msg === "request");
}

function logLines(gatehouse: RunningGatehouse): ApiResponse["body"][] {
  const whole = gatehouse.output().slice(0, gatehouse.output().lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      try {
        return JSON.parse(line);
      } catch {
        return null;
      }
    });
}

const PINO_WARN = 40;

/** Returns printed lines that are no log records, and log records above `info`. Tests expect none. */
export function strayOutput(gatehouse: RunningGatehouse): string[] {
  return gatehouse
    .output()
    .split("\n")
    .filter((line) => {
      if (line === "") return false;
      try {
        return (JSON.parse(line) as { level: number }).level >= PINO_WARN;
      } catch {
        return true;
      }
    });
}

/** How many requests the gateway is handling now. */
export function inFlightCount(gatehouse: RunningGatehouse): Promise<number> {
  return numberMetric(gatehouse, "gatehouse_requests_in_flight");
}

/** Resolves to the size of the request bodies that are in memory. */
export function bufferedBodyBytes(gatehouse: RunningGatehouse): Promise<number> {
  return numberMetric(gatehouse, "gatehouse_buffered_body_bytes");
}

async function numberMetric({ adminUrl }: RunningGatehouse, name: string): Promise<number> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(metrics)?.[1]);
}

/** Resident memory of the process, in bytes. */
export function residentBytes({ pid }: GatehouseProcess): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

/** How many TCP connections the process has to a port, in any state but the last waits. */
export function connectionsTo(port: number): number {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1);
  const TIME_WAIT = "06";
  return rows.filter((row) => {
    const [, , to, state] = row.trim().split(/\s+/);
    return to?.endsWith(remote) === true && state !== TIME_WAIT;
  }).length;
}
