// The request log of two nodes over a real Redis: followers that end without notice, and records that Redis does not accept.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startFaultProxy } from "../../../test/support/fault-proxy.ts";
import { hasRedis, startRedis, type RedisServer } from "../../../test/support/redis.ts";
import { waitUntil } from "../../../test/support/waiting.ts";
import { systemClock, type Clock } from "../../base/clock.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { NO_LOG } from "../log/log.ts";
import { Metrics } from "../metrics/metrics.ts";
import { requestFacts } from "../requests/request-facts.fixture.ts";
import { MAX_LISTENERS, RequestLog } from "../requests/request-log.ts";
import { NodeRequests } from "./node-requests.ts";

const FILTER = { gatewayId: "gateway-1" };

class Node {
  readonly log = new RequestLog(5000);
  readonly metrics = new Metrics();
  readonly clock = new ManualClock();
  readonly requests: NodeRequests;

  constructor(url: string, name: string, options: { secret?: string; clock?: Clock } = {}) {
    const { log: own, metrics } = this;
    const { secret = "the secret of the nodes", clock = this.clock } = options;
    const identity = { url, secret, node: name, instanceId: name };
    this.requests = new NodeRequests({ ...identity, own, ofNode: own, metrics, log: NO_LOG, clock });
  }

  add(requestId: string): void {
    this.log.add(requestFacts({ requestId, path: `/${"p".repeat(500)}` }));
  }

  count(result: "sent" | "dropped"): number {
    return this.metrics.number("gatehouse_request_log_shared_total", { result }).value;
  }

  async idsOfAll(): Promise<string[]> {
    const { requests } = await this.requests.listRequests(FILTER, 100);
    return requests.map((record) => `${record.node ?? ""} ${record.request_id}`).sort();
  }
}

describe.skipIf(!hasRedis)("two nodes", () => {
  let redis: RedisServer;
  let one: Node;
  let other: Node;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    one = new Node(redis.url, "one");
    other = new Node(redis.url, "other");
    other.add("first");
    await waitUntil(async () => {
      // A node that could not connect in time tries again after a pause.
      for (const node of [one, other]) node.clock.advance(500);
      return (await openChannels()) === 3;
    });
    expect(await one.idsOfAll()).toEqual(["other first"]);
  });
  afterEach(async () => {
    one.requests.close();
    other.requests.close();
    await waitUntil(async () => (await openChannels()) === 0);
  });

  /** The channel of all nodes with one secret, and one for each of these. */
  async function openChannels(): Promise<number> {
    const channels = await redis.command("PUBSUB", "CHANNELS", "gatehouse:nodes:*");
    return Array.isArray(channels) ? channels.length : 0;
  }

  function follow(): { readonly ids: string[]; readonly stop: () => void } {
    const ids: string[] = [];
    const onRequest = ({ request_id, node }: { request_id: string; node?: string }) =>
      void ids.push(`${node ?? ""} ${request_id}`);
    const stop = one.requests.followRequests({ filter: FILTER, onRequest, onClose: () => undefined });
    return { ids, stop: stop ?? (() => undefined) };
  }

  /** Adds requests to the other node until it knows the follower. */
  async function untilFollowed(ids: readonly string[]): Promise<void> {
    await waitUntil(() => {
      other.add("probe");
      return ids.includes("other probe");
    });
  }

  test("both list the requests of both", async () => {
    one.add("second");
    expect(await one.idsOfAll()).toEqual(["one second", "other first"]);
    expect(await other.idsOfAll()).toEqual(["one second", "other first"]);
  });

  test("nodes with another secret neither reply nor are heard", async () => {
    const stranger = new Node(redis.url, "stranger", { secret: "another secret" });
    stranger.add("strange");
    await waitUntil(async () => (await openChannels()) === 5);
    expect(await stranger.idsOfAll()).toEqual(["stranger strange"]);
    expect(await one.idsOfAll()).toEqual(["other first"]);
    stranger.requests.close();
  });

  test("a connection that has gone silent is replaced", async () => {
    const network = startFaultProxy({ port: redis.port });
    const remote = new Node(network.through(redis.url), "remote");
    // A list waits for the node that is silent.
    const viewer = new Node(redis.url, "viewer", { clock: systemClock });
    remote.add("third");
    const isListed = async () => (await viewer.idsOfAll()).includes("remote third");
    await waitUntil(isListed);
    network.strand();
    expect(await isListed()).toBe(false);
    for (let interval = 0; interval < 2; interval++) remote.clock.advance(10_000);
    remote.clock.advance(500);
    await waitUntil(isListed);
    for (const each of [remote, viewer]) each.requests.close();
    network.stop();
  });

  test("a follower that ends without notice is dropped when its lease expires", async () => {
    const { ids } = follow();
    await untilFollowed(ids);
    one.clock.advance(5000);
    other.clock.advance(14_000);
    other.add("renewed");
    await waitUntil(() => ids.includes("other renewed"));
    one.requests.close();
    await waitUntil(() => {
      other.add("unheard");
      return other.count("dropped") > 0;
    });
    other.clock.advance(15_000);
    const places = Array.from({ length: MAX_LISTENERS }, () =>
      other.log.followRequests({ filter: FILTER, onRequest: () => undefined, onClose: () => undefined }),
    );
    expect(places).not.toContain(null);
  });

  test("records that Redis does not accept in time are dropped and counted", async () => {
    const { ids, stop } = follow();
    await untilFollowed(ids);
    redis.pause();
    for (let index = 0; index < 9000; index++) other.add("many");
    expect(other.count("dropped")).toBeGreaterThan(0);
    redis.resume();
    other.add("last");
    await waitUntil(() => {
      other.add("after");
      return ids.includes("other after");
    });
    stop();
  });
});
