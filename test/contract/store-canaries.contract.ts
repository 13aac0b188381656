// Counts of canaries in the Store, with every database: each node sees those of the others for the same version.
import { describe, expect, test } from "bun:test";
import { openForTest, type StoreMaker } from "./store-fixture.ts";

const HOUR_MS = 60 * 60 * 1000;

export function describeStoreCanaries({ database, createMigrated }: StoreMaker): void {
  describe(`${database}: counts of canaries`, () => {
    test("are exchanged between nodes by version, replaced, and removed after an hour", async () => {
      const { canaries } = openForTest(await createMigrated());
      const now = Date.now();
      const exchange = (node: string, version: string, counts: string, at = now) =>
        canaries.exchangeCounts({ modelId: "model", version, node }, counts, at);
      expect(await exchange("a", "1", "a1")).toEqual([]);
      expect(await exchange("b", "1", "b1")).toEqual(["a1"]);
      expect(await exchange("a", "1", "a2")).toEqual(["b1"]);
      expect((await exchange("c", "1", "c1")).sort()).toEqual(["a2", "b1"]);
      expect(await exchange("a", "2", "a3")).toEqual([]);
      expect(await exchange("b", "1", "b2")).toEqual(["c1"]);
      expect(await canaries.exchangeCounts({ modelId: "other", version: "1", node: "a" }, "o", now)).toEqual(
        [],
      );
      expect(await exchange("b", "1", "b3", now + HOUR_MS + 1)).toEqual([]);
    });
  });
}
