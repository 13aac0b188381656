// Usage totals: no request is lost or counted twice, whatever the store does, and memory is bounded.
import { afterEach, describe, expect, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { unavailable } from "../store/store-error.ts";
import type { Store } from "../store/store.ts";
import type { UsageBatch } from "../store/usage.ts";
import { createLog } from "../telemetry/log/log.ts";
import { labelSetOf, NO_LABELS } from "./label-set.ts";
import { UsageTotals, type CountedRequest } from "./usage-totals.ts";

const printed: string[] = [];
const log = createLog(
  { level: "error", format: "json" },
  { write: (line: string) => void printed.push(line) },
);
const opened: UsageTotals[] = [];
const clock = new ManualClock();

afterEach(async () => {
  for (const totals of opened.splice(0)) await totals.stop();
  printed.length = 0;
});

/** Returns totals over a store that responds with `respond`, and the batches that the store was given. */
function totalsOver(respond: (batch: UsageBatch) => Promise<void> = () => Promise.resolve()) {
  const batches: UsageBatch[] = [];
  const addUsage = (batch: UsageBatch) => {
    batches.push(structuredClone(batch));
    return respond(batch);
  };
  const totals = new UsageTotals({ addUsage } as unknown as Store, log, clock);
  opened.push(totals);
  return { totals, batches };
}

const request = (fields: Partial<CountedRequest> = {}): CountedRequest => ({
  gatewayId: "g",
  apiKeyId: "k",
  apiKeyName: "key",
  model: "m",
  ruleId: "r",
  ruleName: "rule",
  provider: "openai",
  labels: NO_LABELS,
  purpose: "request",
  isPartial: false,
  inputTokens: 1,
  outputTokens: 2,
  costNanos: 500,
  ...fields,
});

describe("UsageTotals", () => {
  test("are summed by gateway, key, and model, and written once", async () => {
    const { totals, batches } = totalsOver();
    totals.add(request());
    totals.add(request({ isPartial: true, inputTokens: 10 }));
    totals.add(request({ model: "n" }));
    totals.add(request({ apiKeyId: null, apiKeyName: null, model: null }));
    totals.add(request({ gatewayId: "h" }));
    await totals.flush();
    await totals.flush();
    expect(batches).toHaveLength(1);
    const day = new Date(clock.unixNow()).toISOString().slice(0, 10);
    const one = {
      day,
      requests: 1,
      partialRequests: 0,
      inputTokens: 1,
      outputTokens: 2,
      costNanos: 500,
      unpricedRequests: 0,
    };
    const route = { ruleId: "r", ruleName: "rule", provider: "openai", labels: "{}", labelSet: "" };
    const row = {
      gatewayId: "g",
      apiKeyId: "k",
      apiKeyName: "key",
      model: "m",
      ...route,
      purpose: "request",
    } as const;
    expect(batches[0]?.totals).toEqual([
      { ...one, ...row, requests: 2, partialRequests: 1, inputTokens: 11, outputTokens: 4, costNanos: 1000 },
      { ...one, ...row, model: "n" },
      { ...one, ...row, apiKeyId: "", apiKeyName: "", model: "" },
      { ...one, ...row, gatewayId: "h" },
    ]);
  });

  test("are summed by rule, provider, labels, and purpose too", async () => {
    const { totals, batches } = totalsOver();
    const variants = [
      request(),
      request({ provider: "openai b" }),
      request({ ruleId: "s", ruleName: "other rule" }),
      request({ labels: labelSetOf({ team: "a" }) }),
      request({ labels: labelSetOf({ team: "b" }) }),
      request({ purpose: "hedge" }),
    ];
    for (const each of [...variants, ...variants.toReversed()]) totals.add(each);
    totals.add(request({ labels: labelSetOf({ team: "b" }) }));
    await totals.flush();
    const rows = batches.flatMap((batch) => batch.totals);
    expect(
      rows.map(({ ruleId, provider, labels, purpose, requests }) => [
        ruleId,
        provider,
        `${labels} ${purpose}`,
        requests,
      ]),
    ).toEqual([
      ["r", "openai", "{} request", 2],
      ["r", "openai b", "{} request", 2],
      ["s", "openai", "{} request", 2],
      ["r", "openai", '{"team":"a"} request', 2],
      ["r", "openai", '{"team":"b"} request', 3],
      ["r", "openai", "{} hedge", 2],
    ]);
  });

  test("beyond the limit of rows, rules and providers of a key are counted together, labels are not", async () => {
    const { totals, batches } = totalsOver();
    for (let serial = 0; serial < 10_000; serial++) totals.add(request({ model: `m${serial}` }));
    for (let serial = 0; serial < 100; serial++) {
      const labels = serial < 40 ? labelSetOf({ team: "a" }) : NO_LABELS;
      totals.add(request({ ruleId: `r${serial}`, provider: `p${serial % 7}`, labels }));
    }
    await totals.flush();
    const other = batches.flatMap((batch) => batch.totals).slice(10_000);
    const named = { ruleId: "(other)", ruleName: "(other)", provider: "(other)", model: "(other models)" };
    expect(other).toMatchObject([
      { ...named, labels: '{"team":"a"}', requests: 40 },
      { ...named, labels: "{}", requests: 60 },
    ]);
  });

  test("are written once per second", async () => {
    const { totals, batches } = totalsOver();
    totals.add(request());
    clock.advance(1000);
    await eventLoopTurns();
    expect(batches).toHaveLength(1);
  });

  test("a new day starts new totals", async () => {
    const { totals, batches } = totalsOver();
    totals.add(request());
    clock.advance(24 * 3_600_000);
    totals.add(request());
    await totals.flush();
    const days = batches.flatMap((batch) => batch.totals.map(({ day }) => day));
    expect(days).toHaveLength(2);
    expect(Date.parse(days[1]!) - Date.parse(days[0]!)).toBe(24 * 3_600_000);
  });

  test("a failed batch is retried unchanged, and later requests go into the next one", async () => {
    let isUnavailable = true;
    const { totals, batches } = totalsOver(() =>
      isUnavailable ? Promise.reject(unavailable("no connection")) : Promise.resolve(),
    );
    totals.add(request());
    await totals.flush();
    totals.add(request());
    await totals.flush();
    isUnavailable = false;
    await totals.flush();
    expect(batches.map(({ number, totals: rows }) => [number, rows[0]?.requests])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
      [2, 1],
    ]);
    expect(new Set(batches.map(({ writer }) => writer)).size).toBe(1);
    expect(batches[2]).toEqual(batches[0]);
  });

  test("requests that are added while a batch is being written are not lost", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { totals, batches } = totalsOver(() => promise);
    totals.add(request());
    const flushed = totals.flush();
    await eventLoopTurns();
    totals.add(request());
    resolve(undefined);
    await flushed;
    expect(batches.map(({ totals: rows }) => rows[0]?.requests)).toEqual([1, 1]);
  });

  test("nothing is lost while the store is unavailable; a rejected batch does not block later ones forever", async () => {
    const problems: Error[] = Array<Error>(50).fill(unavailable("no connection"));
    const { totals, batches } = totalsOver(() => {
      const error = problems.pop();
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    });
    totals.add(request());
    for (let flushes = 0; flushes < 51; flushes++) await totals.flush();
    expect(batches).toHaveLength(51);
    expect(printed).toEqual([]);
    problems.push(...Array<Error>(10).fill(new Error("no such table")));
    totals.add(request());
    for (let flushes = 0; flushes < 11; flushes++) await totals.flush();
    expect(printed.join()).toContain("no such table");
    totals.add(request());
    await totals.flush();
    expect(batches.at(-1)?.number).toBe(3);
  });

  test("many rows are written in several batches", async () => {
    const { totals, batches } = totalsOver();
    for (let serial = 0; serial < 1200; serial++) totals.add(request({ model: `m${serial}` }));
    await totals.flush();
    expect(batches.map(({ number, totals: rows }) => [number, rows.length])).toEqual([
      [1, 500],
      [2, 500],
      [3, 200],
    ]);
  });

  test("beyond the limit of rows, further models are counted together", async () => {
    const { totals, batches } = totalsOver();
    for (let serial = 0; serial < 10_500; serial++) totals.add(request({ model: `m${serial}` }));
    await totals.flush();
    for (let serial = 0; serial < 10_500; serial++) totals.add(request({ model: `m${serial}` }));
    await totals.flush();
    const rows = batches.flatMap((batch) => batch.totals);
    expect(new Set(rows.map((row) => row.model)).size).toBe(10_001);
    expect(rows.reduce((sum, row) => sum + row.requests, 0)).toBe(21_000);
  });

  test("neither limit of one gateway affects another gateway, and all gateways have rows in a batch", async () => {
    let isUnavailable = true;
    const { totals, batches } = totalsOver(() =>
      isUnavailable ? Promise.reject(unavailable("no connection")) : Promise.resolve(),
    );
    totals.add(request({ gatewayId: "neighbor", model: "early" }));
    // More rows than a gateway may have in memory: 10,000 models of three days.
    for (let day = 0; day < 3; day++) {
      for (let serial = 0; serial < 10_500; serial++) totals.add(request({ model: `m${serial}` }));
      clock.advance(24 * 3_600_000);
    }
    totals.add(request({ gatewayId: "neighbor", model: "late" }));
    await totals.flush();
    expect(printed.join()).toContain("usage lost: store unavailable for too long");
    expect(printed.join()).not.toContain("neighbor");
    isUnavailable = false;
    batches.length = 0;
    await totals.flush();
    const written = batches.map((batch) => batch.totals.filter(({ gatewayId }) => gatewayId === "neighbor"));
    expect(written.flat().map(({ model }) => model)).toEqual(["early", "late"]);
    expect(written.slice(2).flat()).toEqual([]);
  });

  test("a model name that the database cannot store is replaced", async () => {
    const { totals, batches } = totalsOver();
    totals.add(request({ model: "a\0b\uD800" }));
    totals.add(request({ model: "x".repeat(300) }));
    await totals.flush();
    expect(batches[0]?.totals.map((row) => row.model)).toEqual(["a\uFFFDb\uFFFD", "x".repeat(255)]);
  });

  test("stop writes what is pending and logs what it could not write", async () => {
    const { totals, batches } = totalsOver();
    totals.add(request());
    await totals.stop();
    expect(batches).toHaveLength(1);
    const lost = totalsOver(() => Promise.reject(unavailable("no connection")));
    lost.totals.add(request());
    await lost.totals.stop();
    expect(printed.join()).toContain("usage lost: not written before shutdown");
  });
});
