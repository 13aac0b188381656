// Providers that reject the option with which the gateway requests the usage of streams.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { CHAT, onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { eventsOf, TEST_PRICES, totalAfter, totalOf } from "../support/usage-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const STREAM = { ...CHAT, stream: true };
const STREAM_WITH_USAGE = { ...STREAM, stream_options: { include_usage: true } };
const USED: Behavior = { usage: { input: 11, output: 7 } };

const [gatehouse, one, two] = await Promise.all([
  useGatehouse(),
  useFakeProvider({ name: "one" }),
  useFakeProvider({ name: "two" }),
]);
expect((await gatehouse.api("PUT", "/prices", { prices: TEST_PRICES })).status).toBe(200);

const routeTo = (target: Record<string, unknown> = {}, rule: Record<string, unknown> = {}) =>
  seedRoute(gatehouse, { upstream: { targets: [targetAt(one, target)] }, rule });

describe("a provider that rejects the option", () => {
  test.each([400, 422])(
    "with %d gets the request again without it, and the gateway remembers that",
    async (refuseStreamOptions) => {
      const route = await routeTo();
      one.behave({ ...USED, refuseStreamOptions });
      const first = await postChat(gatehouse, route, { body: STREAM });
      expect([first.status, first.headers.get("x-gw-attempts")]).toEqual([200, "1"]);
      expect(eventsOf(await first.text()).at(-1)).toBe("[DONE]");
      expect(
        one.requests.map((request) => Object.keys(request.json() as object).includes("stream_options")),
      ).toEqual([true, false]);
      expect(Buffer.from(one.requests[1]!.body).toString()).toBe(JSON.stringify(STREAM));
      await (await postChat(gatehouse, route, { body: STREAM })).text();
      expect(one.requestCount).toBe(3);
      // The provider reports no usage without the option, so that it is estimated.
      const { partial_requests, input_tokens, output_tokens } = await totalAfter(gatehouse, route, 2);
      expect([partial_requests, input_tokens > 0, output_tokens > 0]).toEqual([2, true, true]);
    },
  );

  test("but reports usage without it: the usage is counted, and the client sees the usage event", async () => {
    const route = await routeTo();
    const usageEvent = 'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}\n\n';
    one.behave((request) =>
      Object.hasOwn(request.json() as object, "stream_options")
        ? { refuseStreamOptions: 400 }
        : { body: [usageEvent, "data: [DONE]\n\n"] },
    );
    for (let times = 0; times < 2; times++) {
      const response = await postChat(gatehouse, route, { body: STREAM });
      expect(await response.text()).toBe(`${usageEvent}data: [DONE]\n\n`);
    }
    expect(one.requestCount).toBe(3);
    expect(await totalAfter(gatehouse, route, 2)).toEqual(totalOf(2, 22, 14));
  });

  test("does not count as failing, and its rejection of the client's own option is relayed", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(one), targetAt(two, { priority: 2 })],
        health_checks: { passive: true, threshold: 1, interval: 60 },
        max_attempts: 1,
      },
    });
    one.behave({ ...USED, refuseStreamOptions: 400, gzip: true });
    for (let times = 0; times < 3; times++) {
      const headers = { "Accept-Encoding": "gzip" };
      const response = await postChat(gatehouse, route, { body: STREAM, headers });
      expect([response.status, response.headers.get("x-gw-attempts")]).toEqual([200, "1"]);
      await response.text();
    }
    expect(two.requestCount).toBe(0);
    const rejected = await postChat(gatehouse, route, { body: STREAM_WITH_USAGE });
    expect(rejected.status).toBe(400);
    expect(await rejected.text()).toContain("stream_options");
  });

  test("any other rejection is relayed unchanged after one attempt", async () => {
    const route = await routeTo();
    one.behave({ status: 400, headers: [["X-Own", "yes"]] });
    const response = await postChat(gatehouse, route, { body: STREAM });
    expect([response.status, response.headers.get("x-own")]).toEqual([400, "yes"]);
    expect(await response.json()).toMatchObject({ error: { message: "The request is invalid." } });
    expect(one.requestCount).toBe(1);
  });

  test("an error that only quotes the option is relayed, and the option is added again next time", async () => {
    const route = await routeTo();
    one.behave({ status: 400, body: '{"error":"bad: {\\"stream_options\\":{}}"}' });
    expect((await postChat(gatehouse, route, { body: STREAM })).status).toBe(400);
    one.reset();
    one.behave(USED);
    await (await postChat(gatehouse, route, { body: STREAM })).text();
    expect(onlyRequest(one).json()).toHaveProperty("stream_options");
    expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, 11, 7));
  });
});
