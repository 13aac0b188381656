// Responses that wait for the decision of a plugin, together with hedging, response_cache and MCP.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider, type Behavior } from "../../src/fake-provider/server.ts";
import { CHAT_REQUEST, targetOf } from "../support/balancing-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { pluginsDirectory, scripted, SCRIPTED_PLUGINS, type Fields } from "../support/plugin-fixtures.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { passTimeUntil, waitUntil } from "../support/waiting.ts";

const gatehouse = await startGatehouseInProcess({
  env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) },
});
const { clock } = gatehouse;
const [one, two] = await Promise.all([
  startFakeProvider({ name: "one", clock }),
  startFakeProvider({ name: "two", clock }),
]);
const servers = useMcpServers({
  tools: {
    generation: "session",
    tools: { echo: { run: () => ({ content: [{ type: "text", text: "echoed" }] }) } },
  },
});
beforeEach(() => {
  one.reset();
  two.reset();
});
afterAll(async () => {
  await gatehouse.stop();
  await Promise.all([one.stop(), two.stop()]);
});

const SLOW: Behavior = { delayMs: 3_600_000 };

/** Holds every response until a request with the header X-Decide arrives: it has the status of the rejection, or `pass`. */
const HOLDING = `
  const waiting = host.keep("waiting", () => []);
  const verdict = context.headers.get("x-decide");
  if (verdict === null) return context.holdResponse(new Promise((resolve) => waiting.push(resolve)));
  context.setResponseHeader("X-Decided", String(waiting.length));
  const rejection = { status: Number(verdict), body: { error: "Rejected.", code: "judged" } };
  for (const resolve of waiting.splice(0)) resolve(verdict === "pass" ? null : rejection);
  context.respond({ status: 200, body: {} });`;

function send(url: string, body: Fields = {}, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ ...CHAT_REQUEST, ...body }),
  });
}

/** Decides about the one request that is held, as soon as it is. */
async function decide(url: string, verdict: string): Promise<void> {
  await waitUntil(async () => {
    const response = await send(url, {}, { "X-Decide": verdict });
    await response.arrayBuffer();
    return response.headers.get("x-decided") === "1";
  });
}

describe.each(["inline", "worker", "process"])("isolation %s", (isolation) => {
  const holding = scripted("pre_request", HOLDING, { isolation });

  const seed = async (upstream: Fields = {}, ...plugins: Fields[]) => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 })];
    const gateway = { required_plugins: [holding, ...plugins] };
    return (
      gatehouse.proxyUrl + (await seedRoute(gatehouse, { gateway, upstream: { targets, ...upstream } })).path
    );
  };
  const HEDGE = { hedge: { after: 300, budget: 1 } };

  test("hedging: the response of the faster target waits for the decision", async () => {
    const url = await seed(HEDGE);
    one.behave(SLOW);
    const response = send(url);
    await one.until(() => one.requestCount === 1);
    await passTimeUntil(
      clock,
      two.until(() => two.requests[0]?.finished === true),
    );
    await decide(url, "pass");
    const { status, headers } = await response;
    expect([status, headers.get("x-gw-hedged")]).toEqual([200, "won"]);
  });

  test("hedging: a rejection aborts both attempts", async () => {
    const url = await seed(HEDGE);
    one.behave(SLOW);
    two.behave(SLOW);
    const response = send(url);
    await one.until(() => one.requestCount === 1);
    await passTimeUntil(
      clock,
      two.until(() => two.requestCount === 1),
    );
    await decide(url, "451");
    expect((await response).status).toBe(451);
    expect(await (await response).json()).toMatchObject({ code: "judged" });
    for (const provider of [one, two]) await provider.until(() => provider.requests[0]?.aborted === true);
  });

  test("hedging: a stream that is rejected after comments ends with an error event, without any content", async () => {
    const url = await seed(HEDGE);
    one.behave({ text: "content of the provider" });
    const sent = send(url, { stream: true });
    await one.until(() => one.requestCount === 1);
    const response = await passTimeUntil(clock, sent);
    expect(response.status).toBe(200);
    await decide(url, "451");
    const text = await passTimeUntil(clock, response.text());
    expect(text).toStartWith(": keep-alive\n\n");
    expect(text.replaceAll(": keep-alive\n\n", "")).toMatch(/^data: \{"error":.*\}\n\n$/);
  });

  test("response_cache: a kept response is sent only after the decision, and a rejected request reaches no provider", async () => {
    const url = await seed(
      {},
      { name: "response_cache", stage: "pre_request", settings: { isolation: "gateway" } },
    );
    const decided = async (verdict: string) => {
      const response = send(url);
      await decide(url, verdict);
      const { status, headers } = await response;
      await (await response).arrayBuffer();
      return { status, isHit: headers.get("cache-status")?.includes("; hit") ?? false };
    };
    expect(await decided("451")).toEqual({ status: 451, isHit: false });
    expect(one.requestCount).toBe(0);
    expect(await decided("pass")).toEqual({ status: 200, isHit: false });
    expect(await decided("451")).toEqual({ status: 451, isHit: false });
    expect(await decided("pass")).toEqual({ status: 200, isHit: true });
    expect(one.requestCount).toBe(1);
  });

  test("MCP: a tool is called only after the decision", async () => {
    const { url } = await seedMcp(
      gatehouse,
      { work: servers.tools.url },
      { gateway: { required_plugins: [holding] } },
    );
    const client = new StatelessClient(url);
    const called = () => servers.tools.received.filter(({ params }) => params["name"] === "echo").length;
    const before = called();
    const decided = async (verdict: string) => {
      const response = client.request("tools/call", { name: "echo", arguments: {} });
      await waitUntil(async () => {
        const { headers } = await client.request("ping", {}, { headers: { "X-Decide": verdict } });
        return headers.get("x-decided") === "1";
      });
      return response;
    };
    const rejected = await decided("451");
    expect(rejected.status).toBe(451);
    expect(rejected.last).toMatchObject({ error: { data: { code: "judged" } } });
    expect(called()).toBe(before);
    expect((await decided("pass")).result).toMatchObject({ content: [{ text: "echoed" }] });
    expect(called()).toBe(before + 1);
  });
});
