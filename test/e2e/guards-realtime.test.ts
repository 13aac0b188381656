// Guards beside WebSockets: no plugin inspects their messages, so the handshake is refused unless the rule lets them pass.
import { describe, expect, test } from "bun:test";
import { pluginsDirectory, type Fields } from "../support/plugin-fixtures.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { connectRaw } from "../support/raw-client.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const TEXT_PLUGIN = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "custom_guard", description: "Reads texts.", stages: ["pre_response"], settings: z.strictObject({}),
    needs: ["text"], create: () => ({ response_text() {} }),
  });`;

const provider = useRealtimeProvider();
const gatehouse = await useGatehouse({
  env: { PLUGINS_DIR: pluginsDirectory({ "custom-guard.ts": TEXT_PLUGIN }) },
});

const sanitation = (...content_to_check: string[]) => ({
  name: "code_sanitation",
  stage: "pre_request",
  settings: { languages: [{ language: "sql" }], content_to_check, action: "block" },
});
const PII = { name: "pii_mask", stage: "pre_request", settings: { action: "block" } };
const TOOLS = {
  name: "tool_policy",
  stage: "pre_request",
  settings: { default: "deny", rules: [{ tool: "search", source: "offered", action: "allow" }] },
};
const PROMPTS = { name: "prompt_guard", stage: "pre_request", mode: "enforce", settings: {} };
const CUSTOM = { name: "custom_guard", stage: "pre_response", settings: {} };
const BOTH = ["realtime_text", "realtime_audio"];
const HANDSHAKE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Version": "13",
};

let count = 0;

async function seed(plugin: Fields, rule: Fields = {}) {
  const route = await seedRoute(gatehouse, {
    gateway: { required_plugins: [plugin] },
    upstream: { targets: [{ provider: "openai", base_url: provider.url }] },
    rule: { path: `/guarded${++count}/realtime`, methods: ["GET"], ...rule },
  });
  return { ...route, url: `${gatehouse.proxyUrl}${route.path}?model=gpt-rt` };
}

type Route = Awaited<ReturnType<typeof seed>>;

const explain = async ({ gateway, path }: Route) =>
  (
    await gatehouse.api("POST", `/gateways/${gateway}/explain`, {
      method: "GET",
      path: `${path}?model=gpt-rt`,
      headers: HANDSHAKE,
    })
  ).body;

async function expectRefused(route: Route, guard: string, transport: string): Promise<void> {
  const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
  const headers = Object.entries(HANDSHAKE).map(([name, value]) => `${name}: ${value}\r\n`);
  client.send(`GET ${route.path}?model=gpt-rt HTTP/1.1\r\nHost: x\r\n${headers.join("")}\r\n`);
  expect(await client.until((text) => text.includes("\r\n\r\n"))).toStartWith("HTTP/1.1 403 ");
  const response = await client.until((text) => text.endsWith("}"));
  client.disconnect();
  const { code, error } = JSON.parse(response.slice(response.indexOf("\r\n\r\n")));
  expect(code).toBe("guard_not_applicable");
  for (const part of [guard, transport, "unguarded"]) expect(error).toContain(part);
  expect(provider.handshakes).toHaveLength(0);
  expect((await explain(route)).answer).toMatchObject({ status: 403, code: "guard_not_applicable" });
}

async function expectServed(route: Route): Promise<void> {
  const client = await openRealtime(route.url);
  client.socket.send("hello");
  expect(await client.next()).toBe("hello");
  client.socket.close(1000);
}

describe("the handshake is refused", () => {
  test.each([
    ["pii_mask", PII],
    ["code_sanitation", sanitation("body")],
    ["code_sanitation", sanitation("all")],
    ["code_sanitation", sanitation("response")],
    ["tool_policy", TOOLS],
    ["prompt_guard", PROMPTS],
    ["custom_guard", CUSTOM],
  ])("beside %s", async (name, plugin) => {
    await expectRefused(await seed(plugin), name, "realtime_text");
  });

  test("if the rule lets only texts, or only audio pass", async () => {
    const text = await seed(PII, { unguarded: ["realtime_text", "files", "batches", "mcp"] });
    await expectRefused(text, "pii_mask", "realtime_audio");
    await expectRefused(await seed(PII, { unguarded: ["realtime_audio"] }), "pii_mask", "realtime_text");
  });
});

describe("the handshake passes", () => {
  test("if the rule lets texts and audio pass, which is explained and warned about", async () => {
    const route = await seed(PII, { unguarded: BOTH });
    await expectServed(route);
    expect(await explain(route)).toMatchObject({ answer: null, unguarded: BOTH });
    const { body: rule } = await gatehouse.api("GET", `/gateways/${route.gateway}/rules/${route.rule}`);
    expect(rule.unguarded).toEqual(BOTH);
    const { body: changed } = await gatehouse.api("PATCH", `/gateways/${route.gateway}/rules/${route.rule}`, {
      name: "voice",
    });
    expect(changed.warnings).toEqual([
      { path: "unguarded", message: expect.stringContaining(BOTH.join(", ")) },
    ]);
  });

  test("in shadow mode, if the plugin is disabled, and if it inspects no texts", async () => {
    await expectServed(await seed({ ...PII, mode: "shadow" }));
    await expectServed(await seed({ ...TOOLS, enabled: false }));
    const route = await seed(sanitation("headers", "path_and_query"));
    await expectServed(route);
    expect(await explain(route)).toMatchObject({ answer: null, unguarded: [] });
  });
});

test("a random key that looks like a condition of SQL is not taken for code: it is not forwarded", async () => {
  const route = await seed(sanitation("headers"));
  const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
  const fields = { ...HANDSHAKE, "Sec-WebSocket-Key": "OR5dc1DEkjFTOsfDXBW2OA==" };
  const headers = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  client.send(`GET ${route.path}?model=gpt-rt HTTP/1.1\r\nHost: x\r\n${headers.join("")}\r\n`);
  expect(await client.until((text) => text.includes("\r\n\r\n"))).toStartWith("HTTP/1.1 101 ");
  client.disconnect();
});

test("an open WebSocket is closed when its gateway gets a guard", async () => {
  const route = await seed({ ...PII, mode: "shadow" });
  const client = await openRealtime(route.url);
  const { status } = await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { required_plugins: [PII] });
  expect(status).toBe(200);
  expect(await client.closed).toMatchObject({ code: 1008 });
});
