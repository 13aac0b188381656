// Network failures between the gateway and a provider: delays and errors reach the client, another target is used, and
// requests succeed again when the network works.
import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  sendChat,
  sendRawChat,
  endedCleanly,
  expectFailure,
  outcomeOf,
  seedUpstream,
  servedBy,
  targetOf,
  type Route,
} from "../support/balancing-fixtures.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";
import { unexpectedOutput } from "./process-watch.ts";

setDefaultTimeout(60_000);
const SHORT = { timeouts: { first_byte: 1000, idle: 1000 } };
const targetThrough = () => ({ ...targetOf(far), base_url: `http://127.0.0.1:${proxy.port}` });
let backed: Route;

const gatehouse = await useGatehouseProcess();
const far = await useFakeProvider({ name: "far" });
const near = await useFakeProvider({ name: "near" });
const proxy = startFaultProxy({ port: far.port });
const target = targetThrough();
const longTimeouts = { timeouts: { first_byte: 30_000, idle: 30_000 } };
// Only the far provider, through the proxy; `backed` also has the near one, for when the far one fails.
const alone = await seedUpstream(gatehouse, [target], longTimeouts);
const shortTimeout = await seedUpstream(gatehouse, [target], SHORT);
afterAll(() => proxy.stop());
beforeEach(async () => {
  // A new upstream per test, because each has only ten retries per second without other requests.
  backed = await seedUpstream(gatehouse, [targetThrough(), targetOf(near, { priority: 2 })], SHORT);
  proxy.heal();
  proxy.dropAll();
});

describe("between the gateway and a provider", () => {
  test("delay and throttling: the response is late and complete", async () => {
    proxy.set({ toServer: { delayMs: 50 }, toClient: { delayMs: 50, bytesPerSecond: 20_000 } });
    const outcome = await outcomeOf(await sendChat(alone, { stream: true }));
    expect(outcome).toMatchObject({ status: 200, provider: "far", attempts: "1" });
    expect(outcome.text).toEndWith("data: [DONE]\n\n");
  });

  test.each(["cutAfterBytes", "resetAfterBytes"] as const)(
    "%s in the headers: 502, or another target",
    async (how) => {
      for (const bytes of [0, 20, 100]) {
        proxy.set({ toClient: { [how]: bytes } });
        await expectFailure(await sendChat(alone), 502, "upstream_unreachable");
        expect(await outcomeOf(await sendChat(backed))).toMatchObject({ status: 200, provider: "near" });
      }
    },
  );

  test.each(["cutAfterBytes", "resetAfterBytes"] as const)(
    "%s in a stream: the stream breaks off",
    async (how) => {
      far.behave({ chunks: 200, chunkDelayMs: 2 });
      proxy.set({ toClient: { [how]: 5000 } });
      const client = await sendRawChat(alone, { stream: true });
      const { received } = await client.ended;
      expect(received).toContain("data: ");
      expect(endedCleanly(received)).toBe(false);
      expect(received).not.toContain("[DONE]");
    },
  );

  test.each(["cutAfterBytes", "resetAfterBytes"] as const)(
    "%s in the request: 502, or another target",
    async (how) => {
      proxy.set({ toServer: { [how]: 50 } });
      await expectFailure(await sendChat(alone), 502, "upstream_unreachable");
      expect(await outcomeOf(await sendChat(backed))).toMatchObject({ status: 200, provider: "near" });
      expect(far.requestCount).toBe(0);
    },
  );

  test("no response: 504, or another target", async () => {
    proxy.set({ toClient: { stallAfterBytes: 0 } });
    const [failed, served] = await Promise.all([sendChat(shortTimeout), sendChat(backed)]);
    await expectFailure(failed, 504, "upstream_timeout");
    expect(await outcomeOf(served)).toMatchObject({ status: 200, provider: "near", attempts: "2" });
  });

  test("no more data in a stream: broken off after the idle timeout, and the request is canceled", async () => {
    far.behave({ chunks: 200 });
    proxy.set({ toClient: { stallAfterBytes: 5000 } });
    const client = await sendRawChat(shortTimeout, { stream: true });
    expect(endedCleanly((await client.ended).received)).toBe(false);
    await waitUntil(() => proxy.openConnections() === 0 || far.requests[0]!.aborted);
  });

  test("refused connections: 502 or another target, until connections are accepted again", async () => {
    proxy.refuse();
    await expectFailure(await sendChat(alone), 502, "upstream_unreachable");
    expect(await servedBy(backed)).toBe("near");
    proxy.heal();
    expect(await servedBy(alone)).toBe("far");
  });

  test("an idle connection that a firewall has dropped costs one timeout, and only one request", async () => {
    expect(await servedBy(shortTimeout)).toBe("far");
    proxy.strand();
    expect(await outcomeOf(await sendChat(backed))).toMatchObject({
      status: 200,
      provider: "near",
      attempts: "2",
    });
    expect(await outcomeOf(await sendChat(backed))).toMatchObject({
      status: 200,
      provider: "far",
      attempts: "1",
    });
  });

  test("idle connections that break cause no error", async () => {
    for (let times = 0; times < 20; times++) {
      expect(await servedBy(alone)).toBe("far");
      proxy.dropAll(times % 2 === 0 ? "cut" : "reset");
    }
  });
});

test("the gateway has logged no error", () => {
  expect(unexpectedOutput(gatehouse)).toEqual([]);
});
