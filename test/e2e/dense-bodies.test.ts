// Requests and responses of less than 256 kB with very many values: plugins and translations work on them in worker threads, as on larger
// ones with few values.
import { describe, expect, test } from "bun:test";
import { seedMcp, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseOnManualClock } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
let blocks = 0;
const { one: server } = useMcpServers({
  one: { tools: { run: { run: () => ({ content: Array(blocks).fill({ type: "text", text: "a" }) }) } } },
});
const gatehouse = await useGatehouseOnManualClock();

const bodyWith = (values: number) =>
  JSON.stringify({
    model: "m",
    messages: [{ role: "user", content: "Good morning ".repeat(2000) }],
    metadata: { values: Array.from({ length: values }, () => "a") },
  });
const SPARSE = bodyWith(100);
const DENSE = bodyWith(20_000);

async function tasks(): Promise<number> {
  const page = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
  return page.sum("gatehouse_off_loop_tasks_total", { result: "completed" });
}

const RULE = { tool: "shell", source: "result", when: { pattern: "rm -rf" }, action: "deny" };
const PLUGINS: Readonly<Record<string, object>> = {
  pii_mask: {},
  prompt_guard: {},
  tool_policy: { rules: [RULE], default: "allow" },
  code_sanitation: { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" },
  response_cache: { isolation: "gateway" },
};

async function tasksFor(path: string, body: string): Promise<number> {
  const before = await tasks();
  const response = await fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
  });
  await response.arrayBuffer();
  expect(response.status).toBe(200);
  return (await tasks()) - before;
}

describe("works on a body with many values in a worker thread, and on one with few on the event loop", () => {
  test.each(Object.entries(PLUGINS))("%s", async (name, settings) => {
    const plugin = { name, stage: "pre_request", mode: "enforce", settings };
    const { path } = await seedRoute(gatehouse, {
      gateway: { required_plugins: [plugin] },
      upstream: { targets: [targetAt(provider)] },
    });
    expect(await tasksFor(path, SPARSE)).toBe(0);
    expect(await tasksFor(path, DENSE)).toBeGreaterThan(0);
  });

  test("a translation", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      rule: { path: "/dense/*", methods: ["*"] },
    });
    const url = `${path.replace("*", "")}v1/chat/completions`;
    expect(await tasksFor(url, SPARSE)).toBe(0);
    expect(await tasksFor(url, DENSE)).toBeGreaterThan(0);
  });
});

describe("a result of an MCP server", () => {
  /** Of which the server returns as many texts as are asked for. */
  async function tasksOf(plugin: string, texts: number): Promise<number> {
    const required_plugins = [{ name: plugin, stage: "pre_request", mode: "enforce", settings: {} }];
    const { url } = await seedMcp(gatehouse, { work: server.url }, { gateway: { required_plugins } });
    blocks = texts;
    const before = await tasks();
    const { status } = await new StatelessClient(url).request("tools/call", { name: "run", arguments: {} });
    expect(status).toBe(200);
    return (await tasks()) - before;
  }

  test("with many texts is inspected in one task", async () => {
    // pii_mask has nothing to restore: its texts are found, and not inspected.
    expect(await tasksOf("prompt_guard", 5000)).toBe((await tasksOf("pii_mask", 5000)) + 1);
    expect(await tasksOf("prompt_guard", 100)).toBe(0);
  });
});
