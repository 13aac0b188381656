// What the tests of the Admin API share: records to start from, the one error shape, and a raw HTTP client.
import { expect } from "bun:test";
import { connect } from "node:net";
import type { ApiResponse, GatehouseProcess } from "./gatehouse-process.ts";
import { hasPostgres, sharedPostgres } from "./postgres.ts";

/** The ids of one gateway with an upstream, a service and a rule. */
export interface Chain {
  readonly gateway: string;
  readonly upstream: string;
  readonly service: string;
  readonly rule: string;
}

export const OPENAI_TARGET = {
  provider: "openai",
  credentials: { header_name: "Authorization", header_value: "Bearer sk-abcdefghijklmnop" },
};

/** Both stores, with the settings that choose each. */
export const STORES: readonly (readonly [
  name: string,
  environment: () => Promise<Record<string, string>>,
])[] = [
  ["SQLite", () => Promise.resolve({})],
  ...(hasPostgres
    ? [
        [
          "PostgreSQL",
          async () => ({ DATABASE_URL: await (await sharedPostgres()).createDatabase() }),
        ] as const,
      ]
    : []),
];

/** A resource of the Admin API: where its collection is, the key of its list, and the least that makes one. */
export interface ResourceExample {
  readonly singular: string;
  readonly plural: string;
  readonly collection: (chain: Chain) => string;
  readonly minimal: (chain: Chain) => Record<string, unknown>;
}

export const RESOURCES: readonly ResourceExample[] = [
  {
    singular: "gateway",
    plural: "gateways",
    collection: () => "/gateways",
    minimal: () => ({ name: "minimal" }),
  },
  {
    singular: "upstream",
    plural: "upstreams",
    collection: ({ gateway }) => `/gateways/${gateway}/upstreams`,
    minimal: () => ({ name: "minimal", targets: [{ provider: "openai" }] }),
  },
  {
    singular: "service",
    plural: "services",
    collection: ({ gateway }) => `/gateways/${gateway}/services`,
    minimal: ({ upstream }) => ({ name: "minimal", upstream_id: upstream }),
  },
  {
    singular: "rule",
    plural: "rules",
    collection: ({ gateway }) => `/gateways/${gateway}/rules`,
    minimal: ({ service }) => ({ service_id: service, path: "/minimal", methods: ["POST"] }),
  },
  {
    singular: "API key",
    plural: "api_keys",
    collection: () => "/iam/api-keys",
    minimal: ({ gateway }) => ({ name: "minimal", subject: gateway }),
  },
];

/** A record less the fields that an answer holds only at its creation, or that a test wants gone. */
export function without(record: ApiResponse["body"], ...names: readonly string[]): ApiResponse["body"] {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

/** Creates a record, fails the test when that does not work, and returns it. */
export async function create(
  gatehouse: Pick<GatehouseProcess, "api">,
  path: string,
  body: unknown,
): Promise<ApiResponse["body"]> {
  const answer = await gatehouse.api("POST", path, body);
  expect(answer.body).not.toHaveProperty("error");
  expect(answer.status).toBe(201);
  return answer.body;
}

export async function createChain(gatehouse: GatehouseProcess, name = "chain"): Promise<Chain> {
  const gateway = await create(gatehouse, "/gateways", { name });
  const upstream = await create(gatehouse, `/gateways/${gateway.id}/upstreams`, {
    name: "models",
    targets: [OPENAI_TARGET],
  });
  const service = await create(gatehouse, `/gateways/${gateway.id}/services`, {
    name: "chat",
    upstream_id: upstream.id,
  });
  const rule = await create(gatehouse, `/gateways/${gateway.id}/rules`, {
    name: "chat rule",
    service_id: service.id,
    path: "/v1/chat/completions",
    methods: ["POST"],
  });
  return { gateway: gateway.id, upstream: upstream.id, service: service.id, rule: rule.id };
}

const ERROR_FIELDS = ["error", "code", "request_id", "details", "retry_after"];

/** The one error shape: a sentence, a stable code, the request id; and nothing that is not part of it. */
export function expectError(answer: ApiResponse, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body?.code, error: answer.body?.error }).toEqual({
    status,
    code,
    error: expect.stringMatching(/\S/),
  });
  expectErrorShape(answer);
}

export function expectErrorShape({ headers, body }: ApiResponse): void {
  expect(headers.get("content-type")).toStartWith("application/json");
  expect(Object.keys(body).filter((field) => !ERROR_FIELDS.includes(field))).toEqual([]);
  expect(body.error).toBeString();
  expect(body.code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  expect(body.request_id).toBe(headers.get("x-request-id"));
  for (const detail of body.details ?? []) {
    expect(detail).toEqual({ path: expect.any(String), message: expect.stringMatching(/\S/) });
  }
}

/** A 400 whose details name exactly these places. */
export function expectProblemsAt(answer: ApiResponse, ...paths: readonly string[]): void {
  expectError(answer, 400, "validation_failed");
  expect((answer.body.details as { path: string }[]).map((detail) => detail.path)).toEqual([...paths]);
}

/** The message of the only detail. */
export function onlyMessage(answer: ApiResponse): string {
  expect(answer.body.details).toHaveLength(1);
  return answer.body.details[0].message;
}

/** What a request may carry besides JSON of our making. */
export type RawBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** Calls the Admin API with a body of raw bytes, or with headers that `api` would set itself. */
export async function callRaw(
  gatehouse: GatehouseProcess,
  method: string,
  path: string,
  init: { headers?: Record<string, string>; body?: RawBody } = {},
): Promise<ApiResponse> {
  const response = await fetch(`${gatehouse.adminUrl}${path}`, {
    method,
    headers: { Authorization: `Bearer ${gatehouse.token}`, ...init.headers },
    ...(init.body !== undefined && { body: init.body }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
}

/** A body without a declared length. */
export function chunked(piece: Uint8Array, times: number): ReadableStream<Uint8Array> {
  let left = times;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(piece.slice());
      else controller.close();
    },
  });
}

export interface RawConnection {
  send(text: string): void;
  /** Everything received so far. */
  readonly received: () => string;
  readonly closed: Promise<void>;
  close(): void;
}

/** A bare TCP connection, for what no HTTP client would send. */
export async function openConnection(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return {
    send: (text) => void socket.write(text),
    received: () => received,
    closed,
    close: () => void socket.destroy(),
  };
}
