// Shared by the tests of the Admin API: a running gateway with records, checks of error responses, and a raw HTTP client.
import { afterAll, beforeAll, expect } from "bun:test";
import { connect } from "node:net";
import { startGatehouseOnSystemClock } from "./gatehouse-in-process.ts";
import type { ApiResponse, RunningGatehouse } from "./gatehouse-process.ts";
import { hasPostgres, sharedPostgres } from "./postgres.ts";

/** Ids of a gateway with an upstream, a service, and a rule. */
export interface Chain {
  readonly gateway: string;
  readonly upstream: string;
  readonly service: string;
  readonly rule: string;
}

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const API_KEY = /^gw_[A-Za-z0-9_-]{43}$/;
/** A valid id that no record has. */
export const MISSING_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

export const RATE_LIMITER = {
  name: "rate_limiter",
  enabled: true,
  stage: "pre_request",
  priority: 1,
  settings: {
    limits: { global: { limit: 100, window: "1m" }, per_ip: { limit: 20, window: "30s" } },
    actions: { type: "reject", retry_after: "60" },
  },
};

export const CODE_SANITATION = {
  name: "code_sanitation",
  enabled: true,
  stage: "pre_request",
  priority: 2,
  settings: {
    languages: [{ language: "javascript", enabled: true }],
    content_to_check: ["body"],
    action: "block",
    status_code: 400,
    error_message: "no code, please",
    sanitize_char: "X",
  },
};

export const OPENAI_TARGET = {
  provider: "openai",
  credentials: { header_name: "Authorization", header_value: "Bearer sk-abcdefghijklmnop" },
};

/** Both stores, with the settings that select them. */
export const STORES: readonly (readonly [
  name: string,
  environment: () => Promise<Record<string, string>>,
])[] = [
  ["SQLite", () => Promise.resolve({})],
  ...(hasPostgres
    ? [
        [
          "PostgreSQL",
          async () => ({ DATABASE_URL: await (await sharedPostgres()).createMigrated() }),
        ] as const,
      ]
    : []),
];

/** A resource of the Admin API: the path of its list, the key of the array in it, and the smallest valid record. */
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
    singular: "budget",
    plural: "budgets",
    collection: ({ gateway }) => `/gateways/${gateway}/budgets`,
    // Names of budgets are unique in their gateway.
    minimal: () => ({ name: `minimal ${crypto.randomUUID()}`, unit: "usd", amount: "1" }),
  },
  {
    singular: "API key",
    plural: "api_keys",
    collection: () => "/iam/api-keys",
    minimal: ({ gateway }) => ({ name: "minimal", subject: gateway }),
  },
];

/** Returns a copy of a record without the named fields. */
export function without(record: ApiResponse["body"], ...names: readonly string[]): ApiResponse["body"] {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

/** Creates a record and returns it. Fails the test if the record is rejected. */
export async function create(
  gatehouse: Pick<RunningGatehouse, "api">,
  path: string,
  body: unknown,
): Promise<ApiResponse["body"]> {
  const response = await gatehouse.api("POST", path, body);
  expect(response.body).not.toHaveProperty("error");
  expect(response.status).toBe(201);
  return response.body;
}

export async function createChain(gatehouse: RunningGatehouse, name = "chain"): Promise<Chain> {
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

/** A running gateway with two complete configurations, for the tests of one file. */
export interface AdminFixture {
  readonly gatehouse: RunningGatehouse;
  readonly chain: Chain;
  /** Records of another gateway. */
  readonly other: Chain;
  readonly api: RunningGatehouse["api"];
}

/** Starts a gateway before the tests of the file and stops it after them. Read the members inside of tests only. */
export function useAdminApi(env: Record<string, string> = {}): AdminFixture {
  let started: Omit<AdminFixture, "api"> | undefined;
  const fixture = () => {
    if (started === undefined) throw new Error("the gateway is not started yet");
    return started;
  };
  beforeAll(async () => {
    const gatehouse = await startGatehouseOnSystemClock({ env });
    const chain = await createChain(gatehouse, "one");
    started = { gatehouse, chain, other: await createChain(gatehouse, "other") };
  });
  afterAll(() => started?.gatehouse.stop());
  return {
    get gatehouse() {
      return fixture().gatehouse;
    },
    get chain() {
      return fixture().chain;
    },
    get other() {
      return fixture().other;
    },
    api: (...call) => fixture().gatehouse.api(...call),
  };
}

/** Returns the methods in Allow, sorted. */
export function allowedMethods({ headers }: ApiResponse): string[] {
  return (headers.get("allow") ?? "").split(", ").toSorted();
}

const ERROR_FIELDS = ["error", "code", "request_id", "details", "retry_after"];

/** Expects an error response with this status and code, in the documented shape and without other fields. */
export function expectError(response: ApiResponse, status: number, code: string): void {
  expect({ status: response.status, code: response.body?.code, error: response.body?.error }).toEqual({
    status,
    code,
    error: expect.stringMatching(/\S/),
  });
  expectErrorShape(response);
}

const fieldsOf = (code: string) =>
  code === "confirmation_required" ? [...ERROR_FIELDS, "losses", "confirm"] : ERROR_FIELDS;

export function expectErrorShape({ headers, body }: ApiResponse): void {
  expect(headers.get("content-type")).toStartWith("application/json");
  expect(Object.keys(body).filter((field) => !fieldsOf(body.code).includes(field))).toEqual([]);
  expect(body.error).toBeString();
  expect(body.code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  expect(body.request_id).toBe(headers.get("x-request-id"));
  for (const detail of body.details ?? []) {
    // Of a key that a YAML document gives twice.
    const position = "line" in detail ? { line: expect.any(Number), column: expect.any(Number) } : {};
    expect(detail).toEqual({ path: expect.any(String), message: expect.stringMatching(/\S/), ...position });
  }
}

/** Expects a 400 whose details have exactly these paths. */
export function expectProblemsAt(response: ApiResponse, ...paths: readonly string[]): void {
  expectError(response, 400, "validation_failed");
  expect((response.body.details as { path: string }[]).map((detail) => detail.path)).toEqual([...paths]);
}

/** Returns the message of the only detail. */
export function onlyMessage(response: ApiResponse): string {
  expect(response.body.details).toHaveLength(1);
  return response.body.details[0].message;
}

/** A request body that is not generated from a value. */
export type RawBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** Calls the Admin API with a raw body, or with headers that `RunningGatehouse.api` sets itself. */
export async function callRaw(
  gatehouse: RunningGatehouse,
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

/** A body without Content-Length. */
export function chunked(piece: Uint8Array, times: number): ReadableStream<Uint8Array> {
  let left = times;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(piece.slice());
      else controller.close();
    },
  });
}

interface RawConnection {
  send(text: string): void;
  /** Everything received so far. */
  readonly received: () => string;
  readonly closed: Promise<void>;
  close(): void;
}

/** Opens a TCP connection, for requests that no HTTP client would send. */
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
