// The slots of the request log: what is read is equal to what was set, whichever requests share facts.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Metrics } from "../metrics/metrics.ts";
import { ObservedPlugin, PluginRun } from "../metrics/observed-plugin.ts";
import { ObservedRoutes } from "../metrics/observed-route.ts";
import { RequestTrace } from "../traces/request-trace.ts";
import { BodyCapture } from "./body-capture.ts";
import { KeptRequests } from "./kept-requests.ts";
import type { AttemptFacts, RequestFacts } from "./request-facts.ts";
import { requestFacts, servedBy } from "./request-facts.fixture.ts";
import type { ShadowRun } from "./shadow-report.ts";
import { recordOf, startOf } from "./request-record.ts";

const metrics = new Metrics();
const routes = new ObservedRoutes(metrics);
const observedPlugins = ["pre_request", "post_request", "post_response"].map(
  (stage) => new ObservedPlugin(metrics, "g", `plugin-${stage}`, stage),
);
const TOKENS = { input: 3, output: 4, cachedInput: 1, cacheWrite: 2, reasoning: 5, isPartial: false };

function run(index: number, fields: Partial<PluginRun> = {}): PluginRun {
  return Object.assign(new PluginRun(observedPlugins[index] as ObservedPlugin), fields);
}

/** For each field a value that the facts of the fixture do not have. */
const OTHER: RequestFacts = {
  requestId: "other",
  mirrorOf: "id-0",
  revision: 8,
  method: "GET",
  path: "/other",
  sentPath: "/sent",
  operation: "embeddings",
  hasMessages: true,
  hasPrompt: true,
  gatewayId: "gateway-2",
  gatewayName: "other",
  gateway: routes.gateway(null, "other"),
  isDrained: true,
  rule: null,
  apiKeyId: "key-1",
  apiKeyName: "key",
  status: 429,
  outcome: "refused",
  errorCode: "rate_limit_exceeded",
  requestedModel: "model",
  virtualModel: { name: "v", target: null, fallback: null, reason: null, canary: null, cacheSavings: 0 },
  mcp: {
    method: "tools/call",
    tool: "search",
    prompt: null,
    isKnown: true,
    server: null,
    protocolVersion: null,
    rpcId: "1",
    errorCode: null,
    result: null,
    calls: [],
    refusals: [],
  },
  fault: "latency",
  isStream: true,
  firstTokenAt: 1100,
  relaysReasoning: true,
  attempts: [servedBy(1, { status: 500 })],
  hedge: { result: "won", afterMs: 5, cost: null },
  finalAttempt: null,
  tokens: TOKENS,
  cost: 0.25,
  isUnpriced: true,
  isUsageCounted: true,
  startedAt: 1001,
  endedAt: 1260,
  endedWallMs: 1e12,
  bodyMs: 2,
  plugins: [run(0, { ms: 3 }), run(1, { ms: 4, verdict: "changed", detail: "why" })],
  shadow: [
    { name: "p", stage: "pre_request", outcome: "passed", status: null, agrees: null, ms: 1, detail: null },
  ],
  bodies: new BodyCapture(null),
  series: routes.gateway(null, "other").unmatched,
  trace: new RequestTrace("0".repeat(32), null, null),
  sampling: { maxTokens: 1, temperature: null },
};

/** Private fields of plugin runs are not compared by `toEqual`, but the record shows what they contain. */
async function expectSame(actual: RequestFacts, expected: RequestFacts): Promise<void> {
  expect(actual).toEqual(expected);
  // Equal metrics are not the same metrics.
  expect(actual.gateway).toBe(expected.gateway);
  expect(actual.series).toBe(expected.series);
  expect(await recordOf(actual)).toEqual(await recordOf(expected));
}

/** An attempt whose response was sent to the client. */
function served(fields: Partial<AttemptFacts>): Pick<RequestFacts, "attempts" | "finalAttempt"> {
  const attempt = servedBy(0, { status: 200, firstByteAt: 1015, ...fields });
  return { attempts: [attempt], finalAttempt: attempt };
}

describe("a request that differs from the one before in one field", () => {
  for (const [name, value] of Object.entries(OTHER))
    test(name, async () => {
      const kept = new KeptRequests();
      const base = requestFacts(name === "attempts" ? {} : served({}));
      const other = { ...base, [name]: value };
      [base, other, base].forEach((facts, slot) => kept.set(slot, facts));
      for (const [slot, facts] of [base, other, base].entries()) {
        await expectSame(kept.get(slot), facts);
        expect([kept.requestIdAt(slot), kept.apiKeyIdAt(slot), kept.startAt(slot)]).toEqual([
          facts.requestId,
          facts.apiKeyId,
          startOf(facts),
        ]);
      }
    });
});

describe("an attempt that differs from the one before in one field", () => {
  const attempt = servedBy(1, { model: "m", fault: "broken", wasSent: false, firstByteAt: 1016 });
  const others: Partial<AttemptFacts>[] = [
    { target: attempt.target },
    { startedAt: 1011 },
    { model: "m" },
    { translation: { from: "openai", to: "anthropic", dropped: [] } },
    { status: 201 },
    { fault: "cut" },
    { wasSent: false },
    { firstByteAt: null },
    { endedAt: 1021 },
    { purpose: "mirror" },
    { retryRefusedBy: "monthly" },
    { spanId: "1" },
    { responseModel: "m" },
  ];
  for (const other of others)
    test(Object.keys(other).join(), async () => {
      const kept = new KeptRequests();
      const all = [requestFacts(served({})), requestFacts(served(other))];
      all.forEach((facts, slot) => kept.set(slot, facts));
      for (const [slot, facts] of all.entries()) await expectSame(kept.get(slot), facts);
    });
});

describe("a plugin run that differs from the one before", () => {
  const others = { plugin: run(1), ms: run(0, { ms: 5 }), verdict: run(0, { verdict: "changed" }) };
  for (const [what, other] of Object.entries({ ...others, detail: run(0, { detail: "why" }) }))
    test(what, async () => {
      const kept = new KeptRequests();
      const all = [requestFacts({ plugins: [run(0)] }), requestFacts({ plugins: [other] })];
      all.forEach((facts, slot) => kept.set(slot, facts));
      for (const [slot, facts] of all.entries()) await expectSame(kept.get(slot), facts);
    });
});

test("random requests in random slots agree with a list of the requests", async () => {
  const names = Object.keys(OTHER);
  const request = fc.record({
    others: fc.array(fc.nat({ max: names.length - 1 }), { maxLength: 3 }),
    startedAt: fc.nat(5000),
    attempts: fc.nat(2),
    ms: fc.array(fc.nat(20), { maxLength: 8 }),
    tokens: fc.option(fc.nat(1000)),
    slot: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 100 }), async (requests) => {
      const kept = new KeptRequests();
      const expected: RequestFacts[] = [];
      for (const [at, { others, startedAt, attempts, ms, tokens, slot }] of requests.entries()) {
        const fields = Object.fromEntries(
          others.map((index) => [names[index] ?? "", Object.values(OTHER)[index] as unknown]),
        );
        const facts = requestFacts({
          requestId: `id-${at}`,
          startedAt,
          ...(attempts > 0 && served({ startedAt: startedAt + 1 })),
          ...(attempts > 1 && { attempts: [servedBy(1), servedBy(0)], finalAttempt: null }),
          plugins: ms.map((each) => run(each % 2, { ms: each })),
          tokens: tokens === null ? null : { ...TOKENS, input: tokens },
          ...fields,
        });
        const used = slot % (expected.length + 1);
        kept.set(used, facts);
        expected[used] = facts;
      }
      for (const [slot, facts] of expected.entries()) await expectSame(kept.get(slot), facts);
    }),
    { numRuns: 60 },
  );
});

test("requests of the same kind share one object, also with several kinds in turn", async () => {
  const kept = new KeptRequests();
  const all = Array.from({ length: 600 }, (_, slot) => {
    const fields = { requestId: crypto.randomUUID(), apiKeyId: `key-${slot}`, path: `/${slot % 3}` };
    return requestFacts({ ...fields, startedAt: slot, ...served({ startedAt: slot }) });
  });
  all.forEach((facts, slot) => kept.set(slot, facts));
  for (const [slot, facts] of all.entries()) await expectSame(kept.get(slot), facts);
  const shared = new Set(Array.from({ length: 600 }, (_, slot) => kept.sharedAt(slot)));
  expect(shared.size).toBe(3);
});

test("ids of every length and alphabet are read as they were", () => {
  const unit = fc.constantFrom("a", "-", "0", "\u00ff", "\u0100", "\ud83d\ude00");
  const id = fc.oneof(
    fc.uuid(),
    fc.array(unit, { minLength: 34, maxLength: 38 }).map((units) => units.join("")),
  );
  fc.assert(
    fc.property(fc.array(id, { maxLength: 150 }), (ids) => {
      const kept = new KeptRequests();
      ids.forEach((requestId, slot) => kept.set(slot, requestFacts({ requestId })));
      expect(ids.map((_, slot) => kept.get(slot).requestId)).toEqual(ids);
    }),
  );
});

test("the run of a post_response hook, which ends after the request, is read as it is at that time", () => {
  const kept = new KeptRequests();
  const plugins = [run(2)];
  kept.set(0, requestFacts({ plugins }));
  plugins[0]!.ms = 7;
  expect(kept.get(0).plugins?.map(({ ms }) => ms)).toEqual([7]);
});

test("results of shadow mode that arrive after the request are read with it, and only with it", () => {
  const kept = new KeptRequests();
  const runs: ShadowRun[][] = [[], []];
  runs.forEach((shadow, slot) => kept.set(slot, requestFacts({ shadow })));
  const late: ShadowRun = {
    name: "p",
    stage: "pre_request",
    outcome: "passed",
    status: null,
    agrees: null,
    ms: 1,
    detail: null,
  };
  runs[1]?.push(late);
  expect([kept.get(0).shadow, kept.get(1).shadow]).toEqual([[], [late]]);
  expect(kept.sharedAt(1)).toBe(kept.sharedAt(0));
});

test("a slot that was never set is a mistake of the caller", () => {
  expect(() => new KeptRequests().get(0)).toThrow("slot 0 was never set");
});
