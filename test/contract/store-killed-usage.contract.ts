// Usage totals whose process is killed at any moment, also while it writes: every request counts once. Random walks are compared with a
// naive sum.
import fc from "fast-check";
import { describe, expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import type { Store } from "../../src/store/store.ts";
import { unavailable } from "../../src/store/store-error.ts";
import { createLog } from "../../src/telemetry/log/log.ts";
import { labelSetOf, NO_LABELS } from "../../src/usage/label-set.ts";
import { UsageTotals, type CountedRequest } from "../../src/usage/usage-totals.ts";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { runs } from "../support/long-form.ts";
import { eventLoopTurns, waitUntil } from "../support/waiting.ts";
import { insert, openForTest, type StoreMaker } from "./store-fixture.ts";
import { AWKWARD_TEXT, gatewayRecord } from "./store-records.ts";

/** How the next writes to the database end. */
type WriteMode = "ok" | "fails" | "is confirmed too late" | "hangs";

type Step =
  | { readonly kind: "count"; readonly model: string; readonly costNanos: number | null }
  | { readonly kind: "second" }
  | { readonly kind: "day" }
  | { readonly kind: "write"; readonly mode: WriteMode }
  | { readonly kind: "kill" };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("count" as const),
        model: fc.constantFrom("m", "n", AWKWARD_TEXT),
        costNanos: fc.option(fc.nat({ max: 1000 })),
      }),
    },
    { weight: 3, arbitrary: fc.constant({ kind: "second" as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: "day" as const }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("write" as const),
        mode: fc.constantFrom<WriteMode>("ok", "fails", "is confirmed too late", "hangs"),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: "kill" as const }) },
  ),
  { minLength: 5, maxLength: 50, size: "max" },
);

/** The longest labels: their entry needs several slots. */
const LABELS = labelSetOf(
  Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`label-${at}`, "界".repeat(128)])),
);

const printed: string[] = [];
const log = createLog(
  { level: "warn", format: "json" },
  { write: (line: string) => void printed.push(line) },
);

class KilledUsage {
  readonly directory = temporaryDirectory();
  readonly #store: Store;
  readonly #gatewayId: string;
  #mode: WriteMode = "ok";
  #hanging: (() => void)[] = [];
  readonly #calls = new Set<Promise<unknown>>();
  #clock = new ManualClock();
  totals: UsageTotals;
  requests = 0;
  costNanos = 0;
  unpriced = 0;

  constructor(store: Store, gatewayId: string) {
    this.#store = store;
    this.#gatewayId = gatewayId;
    this.totals = this.#start();
  }

  /** A killed process executes no further step: its clock stands still. */
  #start(): UsageTotals {
    this.#mode = "ok";
    const clock = (this.#clock = new ManualClock());
    const store = {
      addUsage: (batch: Parameters<Store["addUsage"]>[0]) =>
        this.#clock === clock ? this.#addUsage(batch) : new Promise(() => undefined),
      finishUsage: (...args: Parameters<Store["finishUsage"]>) => this.#store.finishUsage(...args),
    };
    return new UsageTotals(store as unknown as Store, log, this.#clock, join(this.directory, "usage"));
  }

  #addUsage(batch: Parameters<Store["addUsage"]>[0]): Promise<void> {
    const mode = this.#mode;
    const call = this.#write(structuredClone(batch), mode);
    if (mode !== "hangs") this.#calls.add(call);
    return call;
  }

  async #write(batch: Parameters<Store["addUsage"]>[0], mode: WriteMode): Promise<void> {
    if (mode === "fails") throw unavailable("not written");
    if (mode === "hangs") await new Promise<void>((resolve) => this.#hanging.push(resolve));
    await this.#store.addUsage(batch);
    if (mode === "is confirmed too late") throw unavailable("the confirmation was lost");
  }

  count(model: string, costNanos: number | null, fields: Partial<CountedRequest> = {}): void {
    this.requests++;
    if (costNanos === null) this.unpriced++;
    else this.costNanos += costNanos;
    this.totals.add({
      gatewayId: this.#gatewayId,
      apiKeyId: null,
      apiKeyName: null,
      model,
      ruleId: "r",
      ruleName: AWKWARD_TEXT,
      provider: "openai",
      labels: this.requests % 2 === 0 ? LABELS : NO_LABELS,
      purpose: "request",
      isPartial: false,
      inputTokens: 1,
      outputTokens: 2,
      costNanos,
      ...fields,
    });
  }

  async run(step: Step): Promise<void> {
    if (step.kind === "count") this.count(step.model, step.costNanos);
    else if (step.kind === "kill") await this.kill();
    else if (step.kind === "write") {
      if (step.mode === "ok") await this.#resume();
      this.#mode = step.mode;
    } else {
      if (step.kind === "day") this.#clock.shiftDate(86_400_000);
      this.#clock.advance(1000);
      await this.#idle();
    }
  }

  restart(): UsageTotals {
    return (this.totals = this.#start());
  }

  async kill(): Promise<void> {
    await this.restart().flush();
    await this.check();
    // The database executes now what it has received from the process that is dead.
    await this.#resume();
    await this.check();
  }

  async #idle(): Promise<void> {
    await eventLoopTurns();
    await Promise.allSettled(this.#calls);
    this.#calls.clear();
    await eventLoopTurns();
  }

  async #resume(): Promise<void> {
    for (const resolve of this.#hanging.splice(0)) resolve();
    await eventLoopTurns(20);
    await this.#idle();
  }

  async check(): Promise<void> {
    const sum = await sumOf(this.#store, this.#gatewayId);
    const {
      requests = 0,
      input_tokens = 0,
      output_tokens = 0,
      cost_nanos = 0,
      unpriced_requests = 0,
    } = sum ?? {};
    expect({ requests, input_tokens, output_tokens, cost_nanos, unpriced_requests }).toEqual({
      requests: this.requests,
      input_tokens: this.requests,
      output_tokens: 2 * this.requests,
      cost_nanos: this.costNanos,
      unpriced_requests: this.unpriced,
    });
  }

  async close(): Promise<void> {
    await this.totals.stop();
    await this.check();
    rmSync(this.directory, { recursive: true });
  }
}

async function sumOf(store: Store, gatewayId: string) {
  const query = { from: "2000-01-01", to: "2100-01-01", groupBy: ["purpose"] as const, limit: 10 };
  return (await store.sumUsage({ ...query, gatewayId }))[0];
}

const requestsOf = async (store: Store, gatewayId: string) => (await sumOf(store, gatewayId))?.requests ?? 0;

export function describeStoreKilledUsage({ createMigrated, database }: StoreMaker): void {
  describe("usage of processes that are killed", () => {
    const openWithGateway = async () => {
      const store = openForTest(await createMigrated());
      return { store, id: (await insert(store, "gateways", gatewayRecord())).id };
    };

    test("in random walks every request counts once", async () => {
      const store = openForTest(await createMigrated());
      const property = fc.asyncProperty(steps, async (all) => {
        const { id } = await insert(store, "gateways", gatewayRecord());
        const walk = new KilledUsage(store, id);
        for (const step of all) await walk.run(step);
        await walk.kill();
        await walk.close();
      });
      const short = database === "SQLite" ? 15 : 5;
      await fc.assert(property, { numRuns: runs({ short, long: 20 * short }) });
    }, 300_000);

    test("counts thousands of different rows, and the same row of two batches", async () => {
      const { store, id } = await openWithGateway();
      const walk = new KilledUsage(store, id);
      await walk.run({ kind: "write", mode: "hangs" });
      for (let at = 0; at < 600; at++) walk.count(`model ${at % 550}`, 1, { labels: NO_LABELS });
      // Takes the first 500 rows into a batch.
      await walk.run({ kind: "second" });
      for (let at = 0; at < 1400; at++) walk.count(`model ${at}`, null, { labels: NO_LABELS });
      await walk.kill();
      await walk.close();
    }, 60_000);

    test("a gateway with many rows does not take the space of another one", async () => {
      const { store, id } = await openWithGateway();
      const other = (await insert(store, "gateways", gatewayRecord())).id;
      const walk = new KilledUsage(store, id);
      await walk.run({ kind: "write", mode: "fails" });
      for (let at = 0; at < 5000; at++) walk.count(`model ${at}`, 1, { labels: NO_LABELS });
      const { requests } = walk;
      for (let at = 0; at < 100; at++) walk.count(`model ${at}`, 1, { gatewayId: other, labels: NO_LABELS });
      const restarted = walk.restart();
      await restarted.flush();
      expect(await requestsOf(store, other)).toBe(100);
      expect(await requestsOf(store, id)).toBeWithin(2000, requests);
      await restarted.stop();
      rmSync(walk.directory, { recursive: true });
    }, 60_000);

    test("without a file, requests count as long as the process lives", async () => {
      const { store, id } = await openWithGateway();
      const walk = new KilledUsage(store, id);
      printed.length = 0;
      writeFileSync(join(walk.directory, "usage"), "not a directory");
      walk.count("m", 1);
      walk.count("m", 1);
      await walk.totals.flush();
      await walk.check();
      expect(printed.filter((line) => line.includes("file for unwritten usage not created"))).toHaveLength(1);
      await walk.close();
    });

    test("is kept at shutdown if the store is unavailable, for the next start", async () => {
      const { store, id } = await openWithGateway();
      const walk = new KilledUsage(store, id);
      printed.length = 0;
      walk.count("m", 5);
      await walk.run({ kind: "write", mode: "fails" });
      await walk.totals.stop();
      expect(printed.join("")).toContain("usage not written before shutdown; the next start writes it");
      await walk.kill();
      await waitUntil(() => readdirSync(join(walk.directory, "usage")).length === 0);
      await walk.close();
    });
  });
}
