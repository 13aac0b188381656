// Traffic rollups in the Store: batches count once, are summed, bounded by age, and outlive their gateway.
import { describe, expect, test } from "bun:test";
import { ALL_GATEWAYS } from "../../src/store/sql-traffic.ts";
import type { TrafficSecond } from "../../src/telemetry/requests/second-ring.ts";
import { insert, openForTest, type StoreMaker } from "./store-fixture.ts";
import { gatewayRecord } from "./store-records.ts";

const HOUR = 3600;
const NOW = 500_000 * HOUR;

function point(second: number, fields: Partial<TrafficSecond> = {}): TrafficSecond {
  return {
    second,
    requests: 1,
    errors: 0,
    durations: [0, 1],
    firstBytes: [],
    firstTokens: [],
    inputTokens: 2,
    outputTokens: 3,
    cost: 0.5,
    unpriced: 0,
    refused: {},
    failed: {},
    ...fields,
  };
}

export function describeStoreTraffic({ createMigrated }: StoreMaker): void {
  describe("traffic", () => {
    test("a batch is added once; batches of several processes are summed", async () => {
      const store = openForTest(await createMigrated());
      const later = point(NOW + 60, { durations: [1, 0, 4], failed: { x: 1 } });
      const minutes = new Map([[ALL_GATEWAYS, [point(NOW), later]]]);
      const batch = { writer: "a", number: 1, minutes, now: NOW + 60 };
      await store.traffic.add(batch);
      await store.traffic.add(batch);
      await store.traffic.add({ ...batch, writer: "b" });
      const read = (step: number) =>
        store.traffic.read({ gatewayIds: [ALL_GATEWAYS], step, from: NOW, to: NOW + 60 });
      expect((await read(60)).map(({ second, requests }) => [second - NOW, requests])).toEqual([
        [0, 2],
        [60, 2],
      ]);
      const sums = { requests: 4, durations: [2, 2, 8], cost: 2, inputTokens: 8, failed: { x: 2 } };
      expect(await read(900)).toMatchObject([sums]);
      expect(await read(HOUR)).toMatchObject([sums]);
    });

    test("old rollups are removed, and the error codes of one are bounded", async () => {
      const store = openForTest(await createMigrated());
      const failed = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`code ${index}`, 1]));
      const add = (number: number, added: TrafficSecond) =>
        store.traffic.add({
          writer: "a",
          number,
          minutes: new Map([[ALL_GATEWAYS, [added]]]),
          now: added.second,
        });
      const read = (step: number) =>
        store.traffic.read({ gatewayIds: [ALL_GATEWAYS], step, from: 0, to: 2 * NOW });
      await add(1, point(NOW, { failed }));
      const counts = Object.values((await read(60))[0]?.failed ?? {});
      expect(counts.length).toBeLessThanOrEqual(32);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(50);
      await add(2, point(NOW + 3 * HOUR));
      expect((await read(60)).map(({ second }) => second - NOW)).toEqual([3 * HOUR]);
      expect(await read(HOUR)).toHaveLength(2);
    });

    test("the rollups of a gateway outlive it until they are too old, and a late batch counts", async () => {
      const store = openForTest(await createMigrated());
      const gateway = gatewayRecord();
      await insert(store, "gateways", gateway);
      const minutes = new Map([[gateway.id, [point(NOW)]]]);
      const add = (number: number) => store.traffic.add({ writer: "a", number, minutes, now: NOW });
      const read = () => store.traffic.read({ gatewayIds: [gateway.id], step: 60, from: NOW, to: NOW });
      await add(1);
      expect(await read()).toHaveLength(1);
      await store.write((transaction) => transaction.removeGateway(gateway.id, false));
      await add(2);
      expect(await read()).toMatchObject([{ requests: 2 * point(NOW).requests }]);
    });
  });
}
