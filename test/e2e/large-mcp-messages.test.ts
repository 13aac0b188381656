// Large and hostile messages of MCP clients and servers, eight at a time: no turn of the event loop takes long, and what is too deep or too large
// is an error.
import { afterAll, describe, expect, test } from "bun:test";
import { measureTurns } from "../support/event-loop-meter.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { isLong } from "../support/long-form.ts";
import { seedMcp } from "../support/mcp-fixtures.ts";
import { usePeerThread } from "../support/peer-thread.ts";
import { pluginsDirectory } from "../support/plugin-fixtures.ts";

/** Numbers and sizes matter for the duration of a turn only, which the default run does not assert. */
const AT_ONCE = isLong ? 8 : 1;
const SIZE = isLong ? 1 : 0.1;
/**
 * In CPU time. Parsing one of these messages on the event loop took 469 ms to 4 s. Asserted in the long form only: beside other tests, a collection of the
 * garbage that they left takes as long.
 */
const LONGEST_TURN_MS = isLong ? 300 : Infinity;
const META = "io.modelcontextprotocol/";
const VERSION = "2026-07-28";

const peers = await usePeerThread();
const PLUGIN = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "custom_guard", description: "Reads texts.", stages: ["pre_response"], settings: z.strictObject({}),
    needs: ["text"], create: () => ({ response_text(context) { context.release(context.text.length); } }),
  });`;
const gatehouse = await startGatehouseInProcess({
  env: { PLUGINS_DIR: pluginsDirectory({ "custom-guard.ts": PLUGIN }) },
});
afterAll(() => gatehouse.stop());

const rpc = (result: string) => `{"jsonrpc":"2.0","id":"@id","result":${result}}`;
const DISCOVERED = rpc(
  JSON.stringify({
    resultType: "complete",
    supportedVersions: [VERSION],
    capabilities: { tools: {}, resources: {}, prompts: {} },
    ttlMs: 0,
    cacheScope: "private",
  }),
);
const TOOL = `{"name":"run","inputSchema":{"type":"object"}}`;
const OK = rpc(`{"resultType":"complete","content":[{"type":"text","text":"done"}]}`);
const listOf = (items: string, more = "") =>
  rpc(`{"resultType":"complete","tools":[${items}],"ttlMs":0${more}}`);

/** As many copies as fit into this size, or a tenth of it in the default run. */
const filled = (bytes: number, item: string) => item.repeat(Math.floor((bytes * SIZE) / item.length));
const EMPTY_LISTS = `[${filled(9_000_000, "[],")}[]]`;
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

await peers.respondTo("server/discover", DISCOVERED);
await peers.respondTo("tools/list", listOf(TOOL));
await peers.respondTo("tools/call", OK);
const { url } = await seedMcp(gatehouse, { alpha: `${peers.url}/mcp` });

const sanitation = { languages: [{ language: "sql" }], content_to_check: ["response"], action: "block" };
const toolRule = { tool: "*", source: "result", when: { pattern: "^rm -rf" }, action: "deny" };
const guards = Object.entries({
  pii_mask: {},
  prompt_guard: {},
  code_sanitation: sanitation,
  tool_policy: { rules: [toolRule], default: "allow" },
}).map(([name, settings]) => ({ name, stage: "pre_request", mode: "enforce", settings }));
const { url: guardedUrl } = await seedMcp(
  gatehouse,
  { alpha: `${peers.url}/mcp` },
  {
    gateway: {
      required_plugins: [...guards, { name: "custom_guard", stage: "pre_response", settings: {} }],
    },
  },
);

const ACCEPT = "application/json, text/event-stream";

function request(
  method: string,
  fields = "",
  name: string | null = null,
  target = url,
  count = AT_ONCE,
  accept = ACCEPT,
) {
  const meta = `"${META}protocolVersion":"${VERSION}","${META}clientCapabilities":{},"${META}clientInfo":{"name":"t","version":"1"}`;
  const params = `{"_meta":{${meta}}${name === null ? "" : `,"name":"${name}"`}${fields}}`;
  return peers.send({
    url: target,
    headers: {
      "Content-Type": "application/json",
      Accept: accept,
      "MCP-Protocol-Version": VERSION,
      "Mcp-Method": method,
      ...(name === null ? {} : { "Mcp-Name": name }),
    },
    body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
    count,
  });
}

const call = (fields = "", target = url, count = AT_ONCE) =>
  request("tools/call", fields, "run", target, count);

/** Code and threads are loaded with the first request. */
async function warmUp(): Promise<void> {
  await call(`,"arguments":{"list":[${"[],".repeat(133_000)}[]]}`);
  await request("tools/list");
}
await warmUp();

describe("clients", () => {
  test("many empty lists in the arguments are passed on", async () => {
    const { value, longestMs } = await measureTurns(() => call(`,"arguments":{"list":${EMPTY_LISTS}}`));
    for (const { status, start } of value)
      expect([status, start]).toEqual([200, expect.stringContaining("done")]);
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  });

  test("nesting beyond 512 levels is 400", async () => {
    const { value, longestMs } = await measureTurns(() => call(`,"arguments":{"list":${nested(100_000)}}`));
    for (const { status, start } of value)
      expect([status, start]).toEqual([400, expect.stringContaining("invalid_json")]);
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  });
});

describe("servers", () => {
  test.each([
    [
      "a result with small values",
      `{"resultType":"complete","content":[],"structuredContent":{"list":${EMPTY_LISTS}}}`,
    ],
    [
      "a result with many blocks",
      `{"resultType":"complete","content":[${filled(14_000_000, '{"type":"text","text":"a"},')}{"type":"text","text":"b"}]}`,
    ],
    [
      "a large text",
      `{"resultType":"complete","content":[{"type":"text","text":"${filled(13_000_000, "word é ")}"}]}`,
    ],
  ])("%s is passed on", async (_, result) => {
    await peers.respondTo("tools/call", rpc(result));
    const { value, longestMs } = await measureTurns(() => call());
    for (const { status, length } of value)
      expect([status, length > result.length - 100]).toEqual([200, true]);
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  });

  test("a result with as many texts as may be passes all guards, which change each of them", async () => {
    const text = '{"type":"text","text":"@email"}';
    const texts = isLong ? 65_000 : 2000;
    await peers.respondTo(
      "tools/call",
      rpc(`{"resultType":"complete","content":[${`${text},`.repeat(texts)}${text}]}`),
    );
    const { value, longestMs } = await measureTurns(() =>
      call(`,"arguments":{"to":"ann@example.com"}`, guardedUrl),
    );
    for (const { status, start, length } of value) {
      expect([status, length > texts * text.length]).toEqual([200, true]);
      expect(start).toContain('"text":"ann@example.com"}');
    }
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  });

  test("a result with millions of line breaks is one event", async () => {
    const result = `{"resultType":"complete","content":[],"structuredContent":{"a":[${filled(14_000_000, "1,\n")}1]}}`;
    await peers.respondTo("tools/call", rpc(result));
    const { value, longestMs } = await measureTurns(() =>
      request("tools/call", "", "run", url, AT_ONCE, "text/event-stream, application/json"),
    );
    for (const { status, start, length } of value) {
      expect([status, length > result.length]).toEqual([200, true]);
      expect(start.match(/^data: .{200}/gm)).toHaveLength(1);
    }
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  });

  test("a result that is nested beyond 512 levels is an error", async () => {
    await peers.respondTo(
      "tools/call",
      rpc(`{"resultType":"complete","content":[],"structuredContent":{"a":${nested(100_000)}}}`),
    );
    const { value, longestMs } = await measureTurns(() => call());
    for (const { status, start } of value) {
      expect(status).toBe(200);
      expect(start).toContain("did not respond as expected");
      expect(start).toContain("512 levels");
    }
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
    await peers.respondTo("tools/call", OK);
  });

  test("a large list is merged", async () => {
    const list = "[],".repeat(2333);
    const tools = Array.from({ length: 2000 * SIZE }, (__, index) => {
      return `{"name":"tool_${index}","inputSchema":{"type":"object","x":[${list}[]]}}`;
    });
    await peers.respondTo("tools/list", listOf(`${TOOL},${tools.join(",")}`));
    const { value, longestMs } = await measureTurns(() => request("tools/list"));
    for (const { status, start, length } of value) {
      expect([status, length > 13_000_000 * SIZE]).toEqual([200, true]);
      expect(start).toContain(`"name":"run"`);
    }
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
    await peers.respondTo("tools/list", listOf(TOOL));
  });

  test("items without a name count in the limits of a list", async () => {
    const items = `${filled(15_000_000, '{"a":1},')}{}`;
    for (let page = 0; page < 18; page++)
      await peers.respondTo(
        `tools/list ${page === 0 ? "" : page}`,
        listOf(items, `,"nextCursor":"${page + 1}"`),
      );
    const { value, longestMs } = await measureTurns(() => request("tools/list"));
    for (const { start } of value) expect(start).toContain("No server responded to tools/list");
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
    for (let page = 0; page < 18; page++)
      await peers.respondTo(`tools/list ${page === 0 ? "" : page}`, listOf(TOOL));
  });

  test("a schema that is nested beyond 512 levels makes the server faulty", async () => {
    await peers.respondTo("tools/list ", listOf(`{"name":"run","inputSchema":{"a":${nested(100_000)}}}`));
    const { value, longestMs } = await measureTurns(() => request("tools/list"));
    for (const { start } of value) expect(start).toContain("No server responded to tools/list");
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
    await peers.respondTo("tools/list ", listOf(TOOL));
  });

  test("an event with millions of lines is an error", async () => {
    const event = `${filled(12_000_000, "data:\n")}data: ${OK}\n\n`;
    await peers.respondTo("tools/call", event, "text/event-stream");
    const { value, longestMs } = await measureTurns(() => call());
    for (const { start } of value) expect(start).toContain("did not respond as expected");
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
    await peers.respondTo("tools/call", OK);
  });
});
