// An explanation against what then really happens: on random configurations and requests the gateway answers as it
// was foretold, or the provider gets the very request that was shown. GATEHOUSE_EXPLAIN_RUNS says how many worlds.
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { rmSync } from "node:fs";
import {
  startFakeProvider,
  type FakeProvider,
  type RecordedRequest,
} from "../../src/fake-provider/server.ts";
import {
  ACTING_PLUGIN,
  removeWorld,
  seedWorld,
  worlds,
  type SeededGateway,
  type WorldRequest,
} from "../support/explain-worlds.ts";
import {
  startGatehouseProcess,
  waitFor,
  type ApiAnswer,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { pluginsDirectory } from "../support/plugin-fixtures.ts";
import { rawCall, type RawAnswer } from "../support/proxy-fixtures.ts";

const RUNS = Number(process.env["GATEHOUSE_EXPLAIN_RUNS"] ?? 60);
const START_MS = 60_000;

type Explanation = ApiAnswer["body"];

let gatehouse: GatehouseProcess;
let providers: FakeProvider[];
let directory: string;
/** What was met, so that a test which meets nothing cannot pass for one that proves something. */
const met = { answered: new Map<string, number>(), forwarded: 0, changed: 0 };

beforeAll(async () => {
  directory = pluginsDirectory({ "acting.ts": ACTING_PLUGIN });
  const env = { PLUGINS_DIR: directory };
  [gatehouse, ...providers] = await Promise.all([
    startGatehouseProcess({ env }),
    startFakeProvider(),
    startFakeProvider(),
  ]);
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  for (const provider of providers) await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** The headers that a request of a world has, by gateway. */
function headersOf(request: WorldRequest, gateways: readonly SeededGateway[]): Record<string, string> {
  const gateway = gateways[request.host];
  const owner = gateway ?? gateways[0];
  const key = { none: null, unknown: `gw_${"x".repeat(43)}`, all: owner?.keys.all, one: owner?.keys.one };
  const presented = key[request.key];
  return {
    Host: gateway?.host ?? "nowhere.example.com",
    ...request.headers,
    ...(request.body[1] !== null && { "Content-Type": request.body[1] }),
    ...(presented !== null && presented !== undefined && { "X-GW-API-Key": presented }),
  };
}

async function explain(request: WorldRequest, gateways: readonly SeededGateway[]): Promise<Explanation> {
  const { method, path, query, body } = request;
  const { status, body: explanation } = await gatehouse.api("POST", `/gateways/${gateways[0]?.id}/explain`, {
    method,
    path: path + query,
    headers: headersOf(request, gateways),
    ...(body[0] !== null && { body: body[0] }),
  });
  expect(explanation).not.toHaveProperty("error");
  expect(status).toBe(200);
  return explanation;
}

test(`${RUNS} random worlds: what is explained is what happens`, async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const gateways = await seedWorld(gatehouse, world, providers);
      try {
        for (const request of world.requests)
          for (let time = 0; time < request.times; time++) await compare(request, gateways);
      } finally {
        await removeWorld(gatehouse, gateways);
      }
    }),
    { numRuns: RUNS },
  );
  expect(met.forwarded).toBeGreaterThan(RUNS / 10);
  expect(met.answered.size).toBeGreaterThan(3);
  if (process.env["GATEHOUSE_EXPLAIN_RUNS"] !== undefined)
    process.stdout.write(`${JSON.stringify({ ...met, answered: Object.fromEntries(met.answered) })}\n`);
}, 600_000);

async function compare(request: WorldRequest, gateways: readonly SeededGateway[]): Promise<void> {
  for (const provider of providers) provider.reset();
  const explanation = await explain(request, gateways);
  const again = await explain(request, gateways);
  expect(withoutTimes(again)).toEqual(withoutTimes(explanation));
  expect(sent()).toHaveLength(0);

  const requestId = crypto.randomUUID();
  const answer = await call(request, gateways, requestId);
  // The balancer has been told of the end when this line is written.
  const line = await accessLineOf(requestId);
  expect({ rule: line.rule, key: line.api_key }).toEqual({
    rule: explanation.rule?.id,
    key: explanation.authentication.api_key?.name,
  });
  if (explanation.rule !== null) expect(line.gateway).toBe(explanation.gateway.name);
  compareLimits(explanation, answer);
  if (explanation.answer === null) compareForwarded(explanation);
  else compareAnswered(explanation, answer, request.method);
  if (explanation.plugins.some(({ verdict }: { verdict: string }) => verdict === "changed")) met.changed++;
}

/** Searched for from the end: the log of a thousand worlds is long. */
function accessLineOf(requestId: string): Promise<ApiAnswer["body"]> {
  return waitFor(() => {
    const output = gatehouse.output();
    const at = output.lastIndexOf(`"request_id":"${requestId}"`);
    const end = at < 0 ? -1 : output.indexOf("\n", at);
    if (end < 0) return null;
    const line: ApiAnswer["body"] = JSON.parse(output.slice(output.lastIndexOf("\n", at) + 1, end));
    return line.msg === "request" ? line : null;
  });
}

function call(
  request: WorldRequest,
  gateways: readonly SeededGateway[],
  requestId: string,
): Promise<RawAnswer> {
  const { method, path, query, body } = request;
  const headers = Object.entries({ ...headersOf(request, gateways), "X-Request-Id": requestId });
  return rawCall(gatehouse.proxyUrl, {
    method,
    target: path + query,
    headers,
    ...(body[0] !== null && { body: body[0] }),
  });
}

/** All that reached a provider, the earliest first. */
function sent(): RecordedRequest[] {
  return providers.flatMap(({ requests }) => requests).toSorted((a, b) => a.startedAt - b.startedAt);
}

function compareAnswered({ answer: foretold }: Explanation, answer: RawAnswer, method: string): void {
  expect(answer.status).toBe(foretold.status);
  expect(sent()).toHaveLength(0);
  if (foretold.code === null || method === "HEAD") return;
  const { code, error } = answer.json();
  expect({ code, error }).toEqual({ code: foretold.code, error: foretold.error });
  met.answered.set(code, (met.answered.get(code) ?? 0) + 1);
}

function compareForwarded({ upstream_request: shown, targets }: Explanation): void {
  const [first] = sent();
  if (first === undefined) throw new Error("a request was shown, and none was sent");
  met.forwarded++;
  const at = Number(first.header("x-target"));
  expect(targets[at].eligible).toBe(true);
  const next = targets.findIndex((each: { next: boolean }) => each.next);
  if (next >= 0) expect(at).toBe(next);
  // Where chance decides, the one that is shown may not be the one that was chosen.
  if (targets[at].id !== shown.target_id) return;
  const url = new URL(shown.url);
  expect(first.method).toBe(shown.method);
  expect(first.target).toBe(url.pathname + url.search);
  expect(Buffer.from(first.body).toString()).toBe(shown.body ?? "");
  for (const [name, value] of first.headers) {
    if (["connection", "content-length", "accept", "x-request-id"].includes(name.toLowerCase())) continue;
    const told = shown.headers[name.toLowerCase()];
    if (/^(?:authorization|x-key)$/i.test(name)) {
      expect(told).toBe(value.length < 12 ? "***" : `${value.slice(0, 3)}***${value.slice(-4)}`);
    } else expect({ name, value: told }).toEqual({ name, value });
  }
  for (const name of Object.keys(shown.headers)) expect(first.header(name)).toBeDefined();
}

function compareLimits({ limits }: Explanation, answer: RawAnswer): void {
  // Of two entries with a limit of one type the later one's headers are on the answer.
  const last = new Map<string, { limit: number; remaining: number; reset: string }>();
  for (const limit of limits) last.set(limit.type, limit);
  for (const [type, { limit, remaining, reset }] of last) {
    expect({
      limit: answer.header(`X-RateLimit-${type}-Limit`),
      remaining: answer.header(`X-RateLimit-${type}-Remaining`),
    }).toEqual({ limit: String(limit), remaining: String(remaining) });
    // A window that nothing is counted in yet starts with the request, which came a moment later.
    const later = Number(answer.header(`X-RateLimit-${type}-Reset`)) - Date.parse(reset) / 1000;
    expect(later).toBeWithin(0, 60);
  }
  const isOurs = (name: string) => /^X-RateLimit-(?:global|per_)/.test(name);
  expect(answer.headers.some(([name]) => isOurs(name))).toBe(last.size > 0);
}

/** An explanation less what time alone changes. */
function withoutTimes(explanation: Explanation): Explanation {
  return {
    ...explanation,
    limits: explanation.limits.map((limit: object) => ({ ...limit, reset: "" })),
    targets: explanation.targets.map((target: { reason: string }) => ({
      ...target,
      reason: target.reason.replace(/\d+ s$/, "n s"),
    })),
  };
}
