// Blocks with a real store: effective immediately, written once, and retried until they can be written.
import { afterEach, expect, test } from "bun:test";
import { gatewayRecord, temporarySqliteUrl, withSql } from "../../test/contract/store-records.ts";
import { ALL, closeOpened, insert, openForTest } from "../../test/contract/store-fixture.ts";
import { compileContext } from "../../test/support/compile-context.ts";
import { waitUntil } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import type { Store } from "../store/store.ts";
import { Health } from "../telemetry/health.ts";
import { createLog } from "../telemetry/log/log.ts";
import { Blocks } from "./blocks.ts";
import { CurrentConfiguration } from "./current-configuration.ts";

const RETRY_MS = 1000;

const printed: string[] = [];
const log = createLog({ level: "debug", format: "json" }, { write: (line) => void printed.push(line) });
const clock = new ManualClock();
const started: Blocks[] = [];

afterEach(async () => {
  for (const blocks of started.splice(0)) blocks.stop();
  await closeOpened();
});

async function node(store: Store): Promise<{ blocks: Blocks; current: CurrentConfiguration }> {
  const current = new CurrentConfiguration(store, compileContext(), new Health(), log);
  await current.refresh();
  const blocks = new Blocks(() => current, log, clock);
  started.push(blocks);
  return { blocks, current };
}

const countOf = async (store: Store) => (await store.list("blocks", ALL)).count;
const untilCount = (store: Store, count: number) =>
  waitUntil(async () => (await countOf(store)) === count, 5000);

test("a block is effective before it is written, for its subject only, and is written once", async () => {
  const store = openForTest(temporarySqliteUrl());
  const { id } = await insert(store, "gateways", gatewayRecord());
  const { blocks } = await node(store);
  const entry = `${id}/rate_limiter/0`;
  expect(blocks.has(entry, "per_ip", "a")).toBe(false);
  for (let again = 0; again < 3; again++) blocks.add(entry, "per_ip", "a", "counter");
  expect(blocks.has(entry, "per_ip", "a")).toBe(true);
  expect(blocks.has(entry, "per_ip", "b")).toBe(false);
  expect(blocks.has(entry, "per_user", "a")).toBe(false);
  expect(blocks.has(`${id}/rate_limiter/1`, "per_ip", "a")).toBe(false);
  await untilCount(store, 1);
  expect((await store.list("blocks", ALL)).records).toMatchObject([
    { gateway_id: id, type: "per_ip", subject: "a", counter_key: "counter" },
  ]);
  blocks.add(entry, "per_ip", "a", "counter");
  // Blocks are written in order: when this one is, a second one for "a" would have been written too.
  blocks.add(entry, "per_ip", "b", "counter");
  await untilCount(store, 2);
  expect((await store.list("blocks", ALL)).records.map(({ subject }) => subject)).toEqual(["a", "b"]);
});

test("two nodes that block the same subject write one block, and removing it takes effect on both", async () => {
  const url = temporarySqliteUrl();
  const [store, other] = [openForTest(url), openForTest(url)];
  const { id } = await insert(store, "gateways", gatewayRecord());
  const nodes = [await node(store), await node(other)];
  const entry = `${id}/rate_limiter/0`;
  for (const { blocks } of nodes) blocks.add(entry, "per_ip", "a", "counter");
  // The node that finds the block of the other one in the store loads it.
  for (const { current } of nodes) await waitUntil(() => current.snapshot.blocksByName.size === 1);
  const { records } = await store.list("blocks", ALL);
  expect(records).toHaveLength(1);
  await nodes[0]!.current.write((transaction) => transaction.remove("blocks", records[0]!.id));
  await nodes[1]!.current.refresh();
  for (const { blocks } of nodes) await waitUntil(() => !blocks.has(entry, "per_ip", "a"));
});

test("a block that cannot be written is effective in this process and written when the store allows it", async () => {
  const url = temporarySqliteUrl();
  const store = openForTest(url);
  const { id } = await insert(store, "gateways", gatewayRecord());
  const { blocks } = await node(store);
  const rename = (from: string, to: string) =>
    withSql(url, (sql) => sql.unsafe(`ALTER TABLE ${from} RENAME TO ${to}`));
  await rename("blocks", "blocks_renamed");
  blocks.add(`${id}/rate_limiter/0`, "global", "", "counter");
  await waitUntil(() => printed.join("").includes("block not written; retrying"));
  expect(blocks.has(`${id}/rate_limiter/0`, "global", "")).toBe(true);
  await rename("blocks_renamed", "blocks");
  expect(await countOf(store)).toBe(0);
  clock.advance(RETRY_MS);
  await untilCount(store, 1);
  expect(blocks.has(`${id}/rate_limiter/0`, "global", "")).toBe(true);
});
