// The request log of nodes that share a database and Redis: an admin node shows the requests of proxy nodes.
import { RedisClient } from "bun";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;

describe.skipIf(!hasRedis)("nodes that share Redis", () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let database: string;
  let admin: GatehouseProcess;
  let proxy: GatehouseProcess;
  let route: SeededRoute;

  beforeAll(async () => {
    database = temporaryDirectory();
    [redis, provider] = await Promise.all([startRedis(), startFakeProvider()]);
    const env = {
      REDIS_URL: redis.url,
      REDIS_SILENT_MS: "500",
      WORKERS: "1",
      DATABASE_URL: `sqlite://${join(database, "shared.db")}`,
    };
    admin = await startGatehouseProcess({ env: { ...env, NODE_NAME: "admin-1" }, args: ["--role", "admin"] });
    const proxyEnv = { ...env, NODE_NAME: "proxy-1", WORKERS: "2" };
    proxy = await startGatehouseProcess({ env: proxyEnv, args: ["--role", "proxy"] });
    route = await seedRoute(admin, {
      gateway: { log_bodies: true },
      upstream: { targets: [targetAt(provider)] },
    });
    await waitUntil(async () => (await send("warm-up")) === 200);
  }, START_MS);
  afterAll(async () => {
    await Promise.all([admin.stop(), proxy.stop()]);
    await provider.stop();
    await redis.stop();
    rmSync(database, { recursive: true, force: true });
  });

  /** Each on its own connection, so that every worker of the proxy gets some. */
  async function send(id: string, content = "hello"): Promise<number> {
    const headers = { "X-Request-Id": id, Connection: "close" };
    const body = { ...CHAT, messages: [{ role: "user", content }] };
    const response = await postChat(proxy, route, { body, headers });
    await response.text();
    return response.status;
  }

  async function list(query = ""): Promise<ApiResponse["body"]> {
    const { status, body } = await admin.api("GET", `/gateways/${route.gateway}/requests${query}`);
    expect(status).toBe(200);
    return body;
  }

  async function sharedCount(result: "sent" | "dropped"): Promise<number> {
    const text = await (await fetch(`${proxy.operationsUrl}/metrics`)).text();
    return readMetrics(text).sum("gatehouse_request_log_shared_total", { result });
  }

  test("the admin node lists the requests of all workers of the proxy, each once and with the name of its node", async () => {
    const sent = Array.from({ length: 12 }, (_, index) => `listed-${index}`);
    const statuses = await Promise.all(sent.map((id) => send(id)));
    const served = sent.filter((_, index) => statuses[index] === 200);
    const idsIn = (body: ApiResponse["body"]) =>
      body.requests
        .map((record: ApiResponse["body"]) => record.request_id)
        .filter((id: string) => served.includes(id));
    await waitUntil(async () => idsIn(await list()).length >= served.length);
    const body = await list();
    expect(idsIn(body).sort()).toEqual(served.sort());
    expect(new Set(body.requests.map((record: ApiResponse["body"]) => record.node))).toEqual(
      new Set(["proxy-1"]),
    );
    const page = await list("?limit=2&status=2xx");
    expect([page.requests.length, page.count >= served.length]).toEqual([2, true]);
  });

  test("a client of the admin node follows them; when it ends, nothing is sent any more", async () => {
    const abort = new AbortController();
    const response = await fetch(`${admin.adminUrl}/api/v1/gateways/${route.gateway}/requests/stream`, {
      headers: { Authorization: `Bearer ${admin.token}` },
      signal: abort.signal,
    });
    let text = "";
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    })().catch(() => undefined);
    // The proxy may not know of the follower yet.
    for (let count = 0; !text.includes('"request_id":"followed-'); count++) await send(`followed-${count}`);
    expect(text).toContain('"node":"proxy-1"');
    abort.abort();
    await reading;
    await waitUntil(async () => {
      const before = await sharedCount("sent");
      await send("unseen");
      await list("?request_id=none");
      return (await sharedCount("sent")) === before;
    });
  }, 60_000);

  test("records cannot be read in Redis", async () => {
    const messages: string[] = [];
    const channels = (await redis.command("PUBSUB", "CHANNELS", "gatehouse:nodes:*")) as string[];
    expect(channels.length).toBe(4);
    const client = new RedisClient(redis.url);
    for (const channel of channels) await client.subscribe(channel, (text) => void messages.push(text));
    // A worker may not know the route yet.
    await waitUntil(async () => (await send("private", "confidential")) === 200);
    await waitUntil(async () => (await list("?request_id=private")).count === 1);
    await waitUntil(() => messages.length > 2);
    client.close();
    for (const message of messages) {
      expect(message).not.toContain("private");
      expect(Buffer.from(message, "base64").toString("latin1")).not.toContain("confidential");
    }
  });

  test("while Redis is unavailable the log shows this node only, and all nodes when it is back", async () => {
    await redis.kill();
    expect((await list()).requests).toEqual([]);
    await redis.start();
    await waitUntil(async () => (await list()).requests.length > 0);
    // A query of anyone else gets no reply, and does no harm.
    const [channel = ""] = (await redis.command("PUBSUB", "CHANNELS", "gatehouse:nodes:*")) as string[];
    for (const text of ["{}", "not sealed", ""]) await redis.command("PUBLISH", channel, text);
    expect((await list()).requests.length).toBeGreaterThan(0);
  }, 60_000);
});
