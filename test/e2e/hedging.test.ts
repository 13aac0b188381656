// Hedged requests: a request without content after some time goes to a second target, and the first content is relayed.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import {
  CHAT_REQUEST,
  outcomeOf,
  seedUpstream,
  targetOf,
  type Route,
} from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { passTimeUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two", "three");
const [one, two] = providers;

const HEDGE = { hedge: { after: 300, budget: 1 } };
const SLOW: Behavior = { delayMs: 5000 };

async function routeTo(fields: object = {}, rule: object = {}): Promise<Route> {
  const targets = [targetOf(one), targetOf(two, { priority: 2 })];
  return seedUpstream(gatehouse, targets, { ...HEDGE, ...fields }, { ...rule });
}

async function send(route: Route, body: object = {}, path = "") {
  const response = await passTimeUntil(
    clock,
    fetch(route.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT_REQUEST, ...body }),
    }),
  );
  const outcome = await passTimeUntil(clock, outcomeOf(response));
  return { ...outcome, hedged: response.headers.get("x-gw-hedged") };
}

describe.each([true, false])("a request with stream: %p", (stream) => {
  test("is served by the second target if that has content first", async () => {
    const route = await routeTo();
    one.behave(SLOW);
    const { status, provider, attempts, hedged } = await send(route, { stream });
    expect({ status, provider, attempts, hedged }).toEqual({
      status: 200,
      provider: "two",
      attempts: "2",
      hedged: "won",
    });
    await one.until(() => one.requests[0]?.aborted === true);
  });

  test("is served by the first target if that has content first", async () => {
    const route = await routeTo();
    one.behave({ delayMs: 600 });
    two.behave(SLOW);
    const { provider, attempts, hedged } = await send(route, { stream });
    expect({ provider, attempts, hedged }).toEqual({ provider: "one", attempts: "2", hedged: "lost" });
    await two.until(() => two.requests[0]?.aborted === true);
  });

  test("is not sent twice if its first target is fast", async () => {
    const route = await routeTo();
    one.behave({ delayMs: 200 });
    const { provider, attempts, hedged } = await send(route, { stream });
    expect({ provider, attempts, hedged }).toEqual({ provider: "one", attempts: "1", hedged: null });
    expect(two.requestCount).toBe(0);
  });
});
