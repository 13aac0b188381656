// Random interleavings of what happens to a budget in Redis and in the database: requests over several nodes, writes, resets, lost data,
// nodes that stall and die. The oracle adds and subtracts. The clock is that of the test. `GATEHOUSE_LONG=1` runs twenty times as many.
import fc from "fast-check";
import { RedisClient } from "bun";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import type { Clock } from "../../src/base/clock.ts";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import type { BudgetAmounts, Reservation } from "../../src/ledger/ledger.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import type { AccountJournal } from "../../src/ledger/spent-journal.ts";
import { openLedgerStore, type LedgerStore } from "../support/ledger-store.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { runs } from "../support/long-form.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { eventLoopTurns, untilConnected, waitUntil } from "../support/waiting.ts";

const WALKS = runs({ short: 40, long: 800 });
const LIMIT = 1000;
const NODES = 3;
const LEASE_MS = 31_000;

/** The client decodes texts, so that the bytes of a dump are passed as hexadecimal digits. */
const DUMP_HEX = `return (string.gsub(redis.call('DUMP', KEYS[1]), '.', function(byte)
  return string.format('%02x', string.byte(byte)) end))`;
const RESTORE_HEX = `return redis.call('RESTORE', KEYS[1], 0, (string.gsub(ARGV[1], '..', function(digits)
  return string.char(tonumber(digits, 16)) end)))`;

type Step =
  | Act
  /** A reservation that uses what it has read of the database only after the other steps. */
  | {
      readonly kind: "slow";
      readonly node: number;
      readonly amount: number;
      readonly meanwhile: readonly Act[];
    };
type Act =
  | { readonly kind: "reserve"; readonly node: number; readonly amount: number }
  | { readonly kind: "settle"; readonly which: number; readonly amount: number }
  | { readonly kind: "release"; readonly which: number }
  | { readonly kind: "adjust"; readonly node: number; readonly amount: number }
  | { readonly kind: "reset" | "restart" | "crash"; readonly node: number }
  | { readonly kind: "write" | "pass" | "stall" | "flush" | "save" | "restore" };

const node = fc.nat(NODES - 1);
const amount = fc.integer({ min: 1, max: 300 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("reserve"), node, amount }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("settle"), which: fc.nat(20), amount }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release"), which: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("adjust"),
      node,
      amount: fc.integer({ min: -200, max: 200 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("reset", "restart", "crash"), node }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("write", "write", "pass", "stall", "flush", "save", "restore"),
    }),
  },
);
const isBeside = ({ kind }: Act) => kind !== "restart" && kind !== "crash";
const meanwhile = fc.array(act.filter(isBeside), { maxLength: 4, size: "max" });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: act },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("slow"), node, amount, meanwhile }) },
);

/** Walks that have failed. */
const FOUND: readonly (readonly Step[])[] = [
  // Another node sets Redis to what the database has before this one writes.
  [
    { kind: "reserve", node: 1, amount: 1 },
    { kind: "settle", which: 0, amount: 1 },
    { kind: "flush" },
    { kind: "reserve", node: 0, amount: 1 },
    { kind: "write" },
  ],
  // Or before it stops.
  [
    { kind: "reserve", node: 1, amount: 1 },
    { kind: "settle", which: 0, amount: 1 },
    { kind: "flush" },
    { kind: "reserve", node: 0, amount: 1 },
    { kind: "restart", node: 1 },
  ],
  // Redis loses data again between a comparison's read and its write, and the sum was reported in between.
  [
    { kind: "reserve", node: 1, amount: 1 },
    { kind: "settle", which: 0, amount: 5 },
    { kind: "flush" },
    { kind: "slow", node: 0, amount: 1, meanwhile: [{ kind: "pass" }, { kind: "flush" }] },
  ],
  [
    { kind: "reserve", node: 0, amount: 1 },
    { kind: "settle", which: 0, amount: 1 },
    { kind: "write" },
    { kind: "reserve", node: 1, amount: 1 },
    { kind: "settle", which: 0, amount: 5 },
    { kind: "flush" },
    { kind: "slow", node: 0, amount: 1, meanwhile: [{ kind: "pass" }, { kind: "flush" }] },
  ],
];

/** What a node has open, and what it has done since the database had everything of it. */
interface Node {
  readonly clock: ManualClock;
  /** For what is not written when it is killed. */
  readonly directory: string;
  readonly ledger: RedisLedger;
  readonly open: Set<Open>;
  recent: number;
  /** How often it has lost the connection to Redis. */
  losses: number;
  /** Holds back what it reads of accounts in the database. */
  readonly gate: Gate;
}

class Gate {
  #opened: PromiseWithResolvers<undefined> | null = null;
  #reached = Promise.withResolvers<undefined>();

  /** Resolves when something is held back. */
  close(): Promise<void> {
    this.#opened = Promise.withResolvers();
    this.#reached = Promise.withResolvers();
    return this.#reached.promise;
  }

  open(): void {
    this.#opened?.resolve(undefined);
    this.#opened = null;
  }

  get isClosed(): boolean {
    return this.#opened !== null;
  }

  async pass(): Promise<void> {
    this.#reached.resolve(undefined);
    await this.#opened?.promise;
  }
}

interface Open {
  readonly node: Node;
  readonly amount: number;
  readonly reservation: Reservation;
}

class World {
  readonly #url: string;
  readonly #observer: RedisClient;
  readonly #journal: AccountJournal;
  readonly #gateway = crypto.randomUUID();
  readonly #clock = new ManualClock();
  #writes = 0;
  #nodes: Node[] = [];
  #saved: readonly (readonly [key: string, value: unknown])[] = [];
  readonly #dead: Node[] = [];
  /** What is spent. */
  #spent = 0;
  /** What the death of nodes makes uncertain. */
  #uncertain = 0;
  /** What may have been admitted twice because Redis lost data: what was not written and what was open. */
  #slack = 0;
  #hasStalled = false;
  /** Whether Redis has lost data that the database may not have yet. */
  #isLost = false;

  constructor(url: string, observer: RedisClient, journal: AccountJournal) {
    this.#url = url;
    this.#observer = observer;
    const counted =
      <A extends unknown[], T>(work: (...given: A) => Promise<T>) =>
      async (...given: A): Promise<T> => {
        this.#writes++;
        try {
          return await work(...given);
        } finally {
          this.#writes--;
        }
      };
    this.#journal = {
      loadSpending: counted((...given) => journal.loadSpending(...given)),
      readSpending: counted((...given) => journal.readSpending(...given)),
      writeSpending: counted((...given) => journal.writeSpending(...given)),
      finishSpending: counted((...given) => journal.finishSpending(...given)),
      installationId: counted(() => journal.installationId()),
      readAccounts: counted((...given) => journal.readAccounts(...given)),
      changeAccount: counted((...given) => journal.changeAccount(...given)),
    };
  }

  get #target() {
    return { kind: "budget", key: this.#gateway, period: "total", endsAt: null } as const;
  }

  get #open(): Open[] {
    return this.#nodes.flatMap(({ open }) => [...open]);
  }

  get #openAmount(): number {
    return this.#open.reduce((sum, each) => sum + each.amount, 0);
  }

  async start(): Promise<void> {
    for (let at = 0; at < NODES; at++) this.#nodes.push(await this.#startNode());
  }

  async #startNode(directory = temporaryDirectory()): Promise<Node> {
    const own = new ManualClock();
    const clock: Clock = {
      now: () => own.now(),
      unixNow: () => this.#clock.unixNow(),
      setTimeout: (callback, ms) => own.setTimeout(callback, ms),
      setInterval: (callback, ms) => own.setInterval(callback, ms),
    };
    let started: Node | null = null;
    const gate = new Gate();
    const journal: AccountJournal = {
      ...this.#journal,
      readAccounts: async (...given) => {
        const accounts = await this.#journal.readAccounts(...given);
        await gate.pass();
        return accounts;
      },
    };
    const ledger = new RedisLedger(this.#url, {
      onStateChange: ({ state }) => {
        if (state === "away" && started !== null) started.losses++;
      },
      clock,
      time: () => this.#clock.unixNow(),
      journal,
      directory,
      silenceTimeoutMs: 1_000_000,
      closedTimeoutMs: 1_000_000,
    });
    await untilConnected(ledger, own);
    started = { clock: own, directory, ledger, open: new Set(), recent: 0, losses: 0, gate };
    return started;
  }

  async run(next: Step): Promise<void> {
    switch (next.kind) {
      case "slow":
        await this.#reserveSlowly(next.node, next.amount, next.meanwhile);
        break;
      case "reserve":
        if (!this.#nodes[next.node]!.gate.isClosed) await this.#reserve(this.#nodes[next.node]!, next.amount);
        break;
      case "settle":
      case "release":
        this.#end(next.which, next.kind === "settle" ? next.amount : null);
        break;
      case "adjust":
        this.#changeAfterLoss();
        await this.#nodes[next.node]!.ledger.adjust(this.#gateway, this.#target, next.amount);
        // The charge for a node that seemed to have ended may be what this was subtracted from.
        if (this.#hasStalled) this.#uncertain += Math.max(0, -(this.#spent + next.amount));
        this.#spent = Math.max(0, this.#spent + next.amount);
        break;
      case "reset":
        this.#changeAfterLoss();
        await this.#nodes[next.node]!.ledger.clear(this.#gateway, this.#target);
        this.#spent = 0;
        // The charge for a node that seemed to have ended stands for what it has open.
        if (this.#hasStalled) this.#slack += this.#openAmount;
        break;
      case "restart":
      case "crash":
        await this.#replace(next.node, next.kind === "crash");
        break;
      case "write":
        await this.#pass(600);
        this.#noteWritten();
        break;
      case "pass":
        for (let second = 0; second < 5; second++) await this.#pass(1000);
        this.#noteWritten();
        break;
      case "stall":
        this.#hasStalled = true;
        this.#clock.advance(LEASE_MS);
        for (const { clock } of this.#nodes) clock.block(LEASE_MS);
        break;
      case "save":
        this.#saved = await this.#dump();
        break;
      case "flush":
      case "restore":
        await this.#lose(next.kind === "restore");
    }
    await this.#quiet();
  }

  async #reserve(on: Node, wanted: number): Promise<void> {
    const claim = { ...this.#target, limit: LIMIT, amount: wanted, enforced: true };
    const reservation = await on.ledger.reserve(this.#gateway, [claim], "closed");
    expect(reservation.source).toBe("redis");
    const used = this.#spent + this.#openAmount + wanted;
    if (!reservation.reserved) return;
    expect(used).toBeLessThanOrEqual(LIMIT + this.#slack + this.#uncertain);
    on.recent += wanted;
    on.open.add({ node: on, amount: wanted, reservation });
  }

  #noteWritten(): void {
    for (const each of this.#nodes) each.recent = 0;
    this.#isLost = false;
  }

  /** The change does not know what neither Redis nor the database has: it may leave that out, or stop at 0 too early. */
  #changeAfterLoss(): void {
    if (this.#isLost) this.#uncertain += this.#recent;
  }

  get #recent(): number {
    return this.#nodes.reduce((sum, each) => sum + each.recent, 0);
  }

  async #reserveSlowly(at: number, wanted: number, others: readonly Act[]): Promise<void> {
    const on = this.#nodes[at]!;
    const held = on.gate.close();
    const reserving = this.#reserve(on, wanted);
    await Promise.race([reserving, held]);
    for (const each of others) await this.run(each);
    on.gate.open();
    await reserving;
  }

  #end(which: number, actual: number | null): void {
    const all = this.#open;
    const found = all[which % all.length];
    if (found === undefined) return;
    found.node.open.delete(found);
    found.node.recent += Math.max(found.amount, actual ?? 0);
    if (actual === null) found.reservation.release();
    else found.reservation.settle([actual]);
    this.#spent += actual ?? 0;
  }

  async #replace(at: number, isCrash: boolean): Promise<void> {
    const old = this.#nodes[at]!;
    // A node that stops waits for its requests, and writes.
    if (!isCrash) {
      for (const each of old.open) this.#end(this.#open.indexOf(each), each.amount);
      await this.#quiet();
      await old.ledger.close();
    } else {
      this.#dead.push(old);
      const open = [...old.open].reduce((sum, each) => sum + each.amount, 0);
      this.#spent += open;
      // The next node writes what was settled. Redis and the database may charge what was open at different times.
      this.#uncertain += open;
    }
    this.#nodes[at] = await this.#startNode(old.directory);
  }

  /** Redis has nothing any more, or what it had when it was saved, in another process. */
  async #lose(isRestored: boolean): Promise<void> {
    this.#slack += this.#recent + this.#openAmount;
    this.#isLost = true;
    const keys = (await this.#observer.send("KEYS", [`gatehouse:{${this.#gateway}}:*`])) as string[];
    for (const key of keys) await this.#observer.send("DEL", [key]);
    if (!isRestored) return;
    for (const [key, value] of this.#saved)
      await this.#observer.send("EVAL", [RESTORE_HEX, "1", key, String(value)]);
    const epoch = `gatehouse:{${this.#gateway}}:epoch`;
    if (this.#saved.some(([key]) => key === epoch))
      await this.#observer.send("HSET", [epoch, "server", "another"]);
    const losses = this.#nodes.map((each) => each.losses);
    await this.#observer.send("CLIENT", ["KILL", "TYPE", "normal", "SKIPME", "yes"]);
    for (const [at, each] of this.#nodes.entries())
      await waitUntil(() => {
        each.clock.advance(10);
        return each.losses > (losses[at] ?? 0) && each.ledger.state.state === "ok";
      });
  }

  async #dump(): Promise<readonly (readonly [string, unknown])[]> {
    const keys = (await this.#observer.send("KEYS", [`gatehouse:{${this.#gateway}}:*`])) as string[];
    const dump = async (key: string) =>
      [key, await this.#observer.send("EVAL", [DUMP_HEX, "1", key])] as const;
    return Promise.all(keys.map(dump));
  }

  async #pass(ms: number): Promise<void> {
    this.#clock.advance(ms);
    for (const { clock } of this.#nodes) clock.advance(ms);
    await this.#quiet();
  }

  /** Waits until Redis and the database have what was sent to them. No node sends anything for that: it would find out what Redis has lost. */
  async #quiet(): Promise<void> {
    let commands = NaN;
    for (let calm = 0; calm < 2;) {
      const before = commands;
      const stats: unknown = await this.#observer.send("INFO", ["stats"]);
      commands = Number(/total_commands_processed:(\d+)/.exec(String(stats))?.[1]);
      // The only command since the last time.
      calm = commands === before + 1 && this.#writes === 0 ? calm + 1 : 0;
      await eventLoopTurns();
    }
  }

  async #amounts(): Promise<BudgetAmounts> {
    const [amounts] = await this.#nodes[0]!.ledger.read(this.#gateway, [this.#target]);
    return amounts!;
  }

  /** All requests end, and the leases of dead nodes. Then Redis and the database have what is spent, and nothing is reserved. */
  async finish(): Promise<void> {
    while (this.#open.length > 0) this.#end(0, 1);
    await this.#quiet();
    for (let passed = 0; passed < 2 * LEASE_MS; passed += 3000) await this.#pass(3000);
    // What the database knows of dead nodes, and of those that seemed to be, reaches Redis with a request.
    if (this.#dead.length > 0 || this.#hasStalled)
      for (const each of this.#nodes) {
        await this.#reserve(each, 1);
        if (each.open.size > 0) this.#end(0, 0);
        await this.#pass(1000);
      }
    const { spent, reserved } = await this.#amounts();
    expect(reserved).toBe(0);
    this.#expectSpent(spent);
    await this.#lose(false);
    this.#expectSpent((await this.#amounts()).spent);
    await Promise.all([...this.#nodes, ...this.#dead].map(({ ledger }) => ledger.close()));
    for (const { directory } of this.#nodes) rmSync(directory, { recursive: true });
  }

  #expectSpent(spent: number): void {
    expect(spent).toBeGreaterThanOrEqual(this.#spent - this.#uncertain);
    expect(spent).toBeLessThanOrEqual(this.#spent + this.#uncertain);
  }
}

describe.skipIf(!hasRedis)("a budget in Redis and in the database", () => {
  let redis: RedisServer;
  let observer: RedisClient;
  let store: LedgerStore;
  beforeAll(async () => {
    redis = await startRedis(["--appendonly", "no"]);
    observer = new RedisClient(redis.url);
    store = openLedgerStore();
  });
  afterAll(async () => {
    observer.close();
    await redis.stop();
    await store.close();
  });

  test("has spent what was settled, whatever happens in which order, and is never exceeded by more than was not written yet", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: "max" }), async (steps) => {
        const world = new World(redis.url, observer, store.journal);
        await world.start();
        for (const each of steps) await world.run(each);
        await world.finish();
      }),
      { numRuns: WALKS, endOnFailure: false, examples: FOUND.map((steps) => [[...steps]]) },
    );
  }, 600_000);
});
