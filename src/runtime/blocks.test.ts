// Blocks with a real store: effective immediately, written once, and retried until they can be written.
import { afterEach, expect, test } from "bun:test";
import { gatewayRecord, temporarySqliteUrl, withSql } from "../../test/contract/store-records.ts";
import { ALL, closeOpened, insert, openForTest } from "../../test/contract/store-fixture.ts";
import { waitUntil } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import type { Store } from "../store/store.ts";
import { createLog } from "../telemetry/log/log.ts";
import { Blocks } from "./blocks.ts";

const UPKEEP_MS = 1000;

const printed: string[] = [];
const log = createLog({ level: "debug", format: "json" }, { write: (line) => void printed.push(line) });
const clock = new ManualClock();
const started: Blocks[] = [];

afterEach(async () => {
  for (const blocks of started.splice(0)) blocks.stop();
  await closeOpened();
});

function node(store: Store, maxPerType = 100): Blocks {
  const blocks = new Blocks(store, new MemoryLedger(), maxPerType, log, clock);
  started.push(blocks);
  return blocks;
}

const listOf = async (store: Store, gatewayId: string) => (await store.listBlocks(gatewayId, ALL)).records;
const untilCount = (store: Store, gatewayId: string, count: number) =>
  waitUntil(async () => (await listOf(store, gatewayId)).length === count);

test("a block is effective before it is written, for its subject only, and is written once", async () => {
  const store = openForTest(temporarySqliteUrl());
  const { id } = await insert(store, "gateways", gatewayRecord());
  const blocks = node(store);
  const entry = `${id}/rate_limiter/0`;
  expect(blocks.has(entry, "per_ip", "a")).toBe(false);
  for (let again = 0; again < 3; again++) blocks.add(entry, { type: "per_ip", subject: "a" }, "counter");
  expect(blocks.has(entry, "per_ip", "a")).toBe(true);
  expect(blocks.has(entry, "per_ip", "b")).toBe(false);
  expect(blocks.has(entry, "per_user", "a")).toBe(false);
  expect(blocks.has(`${id}/rate_limiter/1`, "per_ip", "a")).toBe(false);
  await untilCount(store, id, 1);
  expect(await listOf(store, id)).toMatchObject([
    { gateway_id: id, type: "per_ip", subject: "a", counter_key: "counter" },
  ]);
  blocks.add(entry, { type: "per_ip", subject: "a" }, "counter");
  // Blocks are written in order: when this one is, a second one for "a" would have been written too.
  blocks.add(entry, { type: "per_ip", subject: "b" }, "counter");
  await untilCount(store, id, 2);
  expect((await listOf(store, id)).map(({ subject }) => subject)).toEqual(["a", "b"]);
});

test("two nodes that block the same subject write one block, and removing it takes effect on both", async () => {
  const url = temporarySqliteUrl();
  const [store, other] = [openForTest(url), openForTest(url)];
  const { id } = await insert(store, "gateways", gatewayRecord());
  const nodes = [node(store), node(other)];
  const entry = `${id}/rate_limiter/0`;
  for (const blocks of nodes) blocks.add(entry, { type: "per_ip", subject: "a" }, "counter");
  await untilCount(store, id, 1);
  // A block of another subject is written after the pending ones.
  for (const [index, blocks] of nodes.entries())
    blocks.add(entry, { type: "per_ip", subject: `last ${index}` }, "counter");
  await untilCount(store, id, 3);
  const [first] = await listOf(store, id);
  expect(await nodes[0]!.remove(id, first!.id)).toMatchObject({ blocks: [{ subject: "a" }] });
  await nodes[1]!.refresh();
  for (const blocks of nodes) {
    await waitUntil(() => !blocks.has(entry, "per_ip", "a"));
    expect(blocks.has(entry, "per_ip", "last 0")).toBe(true);
  }
});

test("a block is in effect until its counter is cleared, also if all blocks of a gateway are removed", async () => {
  const store = openForTest(temporarySqliteUrl());
  const { id } = await insert(store, "gateways", gatewayRecord());
  const ledger = Object.assign(new MemoryLedger(), { state: { state: "ok" } });
  const cleared: [key: string, isBlocked: boolean][] = [];
  const entry = `${id}/rate_limiter/0`;
  ledger.clear = (_, { key }) => void cleared.push([key, blocks.has(entry, "per_ip", key)]);
  const blocks = new Blocks(store, ledger, 100, log, clock);
  started.push(blocks);
  for (const subject of ["a", "b"]) blocks.add(entry, { type: "per_ip", subject }, subject);
  await untilCount(store, id, 2);
  await blocks.remove(id, null);
  expect(cleared.sort()).toEqual([
    ["a", true],
    ["b", true],
  ]);
  expect(blocks.has(entry, "per_ip", "a")).toBe(false);
});

test("a block that cannot be written is effective in this process and written when the store allows it", async () => {
  const url = temporarySqliteUrl();
  const store = openForTest(url);
  const { id } = await insert(store, "gateways", gatewayRecord());
  const blocks = node(store);
  const rename = (from: string, to: string) =>
    withSql(url, (sql) => sql.unsafe(`ALTER TABLE ${from} RENAME TO ${to}`));
  await rename("blocks", "blocks_renamed");
  blocks.add(`${id}/rate_limiter/0`, { type: "global", subject: "" }, "counter");
  await waitUntil(() => printed.join("").includes("block not written; retrying"));
  expect(blocks.has(`${id}/rate_limiter/0`, "global", "")).toBe(true);
  await rename("blocks_renamed", "blocks");
  expect(await listOf(store, id)).toEqual([]);
  clock.advance(UPKEEP_MS);
  await untilCount(store, id, 1);
  expect(blocks.has(`${id}/rate_limiter/0`, "global", "")).toBe(true);
});

test("a block that expires before it can be written is dropped", async () => {
  const url = temporarySqliteUrl();
  const store = openForTest(url);
  const { id } = await insert(store, "gateways", gatewayRecord());
  const blocks = node(store);
  await blocks.refresh();
  await withSql(url, (sql) => sql.unsafe("ALTER TABLE blocks RENAME TO blocks_renamed"));
  const entry = `${id}/rate_limiter/0`;
  blocks.add(entry, { type: "per_ip", subject: "a", durationMs: 10_000 }, "counter");
  clock.advance(9999);
  expect(blocks.has(entry, "per_ip", "a")).toBe(true);
  clock.advance(1);
  expect(blocks.has(entry, "per_ip", "a")).toBe(false);
  clock.advance(UPKEEP_MS);
  await withSql(url, (sql) => sql.unsafe("ALTER TABLE blocks_renamed RENAME TO blocks"));
  // Blocks are written in order: when this one is, the first one would have been written too.
  blocks.add(entry, { type: "per_ip", subject: "b" }, "counter");
  await waitUntil(async () => {
    clock.advance(UPKEEP_MS);
    return (await listOf(store, id)).length > 0;
  });
  expect((await listOf(store, id)).map(({ subject }) => subject)).toEqual(["b"]);
});

test("blocks that wait for the store count toward the bound of their own gateway and type only", async () => {
  const url = temporarySqliteUrl();
  const store = openForTest(url);
  const [one, two] = [gatewayRecord(), gatewayRecord()];
  for (const gateway of [one, two]) await insert(store, "gateways", gateway);
  const blocks = node(store, 2);
  await blocks.refresh();
  await withSql(url, (sql) => sql.unsafe("ALTER TABLE blocks RENAME TO blocks_renamed"));
  const add = (id: string, type: string, subject: string) =>
    blocks.add(`${id}/p`, { type, subject }, "counter");
  expect(["a", "b", "c", "a"].map((subject) => add(one.id, "per_ip", subject))).toEqual([
    true,
    true,
    false,
    true,
  ]);
  expect(blocks.has(`${one.id}/p`, "per_ip", "c")).toBe(false);
  expect(blocks.canAdd(`${one.id}/p`, { type: "per_ip", subject: "c" })).toBe(false);
  expect(add(one.id, "per_user", "c")).toBe(true);
  expect(add(two.id, "per_ip", "c")).toBe(true);
  expect(blocks.refusals(() => true)).toMatchObject([{ gatewayId: one.id, type: "per_ip", count: 1 }]);
  expect(blocks.refusals((id) => id === two.id)).toEqual([]);
});
