// A message of an MCP server that a guard refuses takes nothing else with it: not the lists and instructions of other servers, not the
// response to the call in which it arrives, not the stream, and not the other responses of a batch.
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { readerOf, seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { pluginsDirectory, SCRIPTED_PLUGINS, scripted } from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

type Json = Record<string, unknown>;

/** Rejects a message that arrives while it inspects another one. */
const ONE_AT_A_TIME = `import { definePlugin, z } from "gatehouse/sdk";
export default definePlugin({
  name: "one_at_a_time", description: "", stages: ["pre_request"], settings: z.strictObject({}), needs: ["text"],
  create: () => ({
    async response_text(context) {
      const { notes } = context;
      if (notes.get("busy") === true) context.reject({ status: 403, code: "overlap", message: "overlap" });
      notes.set("busy", true);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      notes.set("busy", false);
    },
  }),
});`;

const PLUGINS = { ...SCRIPTED_PLUGINS, "one_at_a_time.ts": ONE_AT_A_TIME };
const gatehouse = await startGatehouseInProcess({ env: { PLUGINS_DIR: pluginsDirectory(PLUGINS) } });
afterAll(() => gatehouse.stop());
const servers = useMcpServers({
  good: { tools: { read: {} } },
  bad: { tools: { find: {} } },
  worse: { tools: { seek: {} } },
});
const { good, bad, worse } = servers;

afterEach(() => {
  for (const server of Object.values(servers)) {
    server.results = {};
    server.respond = null;
  }
});

/** Harmless in a repository, and a finding of code_sanitation. */
const CODE = ["SELECT * FROM users WHERE name = '' OR 1=1;", "DROP", "TABLE users; --"].join(" ");
const FOUND = "code_injection_detected";
const text = (value: string) => ({ content: [{ type: "text", text: value }] });
const log = (data: string) => ({ method: "notifications/message", params: { level: "info", data } });
const question = (id: unknown, message: string) => ({
  id,
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object" } },
});

const sanitation = (action: string, fields: Json = {}) => ({
  name: "code_sanitation",
  stage: "pre_request",
  settings: { languages: [{ language: "sql" }], content_to_check: ["response"], action },
  ...fields,
});

async function seed(...required_plugins: readonly object[]) {
  const { url, ...route } = await seedMcp(
    gatehouse,
    { good: good.url, bad: bad.url },
    { gateway: { required_plugins } },
  );
  return { ...route, url, client: new StatelessClient(url) };
}

const blocking = seed(sanitation("block"));

const keysIn = (result: Json, field: string, key: string) =>
  (result[field] as Record<string, string>[]).map((item) => item[key]);

/** Resolves to the first record of the gateway that has refusals of this method. */
async function refusalsOf(gateway: string, method: string): Promise<{ error_code: unknown; mcp: Json }> {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
    const records = body.requests as { error_code: unknown; mcp: { refusals: { method: string }[] } }[];
    return records.find(({ mcp }) => mcp.refusals.some((each) => each.method === method)) ?? null;
  });
}

const LISTS: [method: string, field: string, key: string, item: Json][] = [
  ["tools/list", "tools", "name", { name: "x", inputSchema: { type: "object" } }],
  ["prompts/list", "prompts", "name", { name: "x" }],
  ["resources/list", "resources", "uri", { name: "x", uri: "memo://x" }],
  ["resources/templates/list", "resourceTemplates", "uriTemplate", { name: "x", uriTemplate: "memo://{x}" }],
];

describe("a server whose part of a list is refused is left out and named:", () => {
  test.each(LISTS)("%s", async (method, field, key, item) => {
    good.results = { [method]: { [field]: [item] } };
    bad.results = { [method]: { [field]: [{ ...item, description: CODE }] } };
    const { client } = await seed(sanitation("block"));
    const { status, result, text: body } = await client.request(method);
    expect([status, keysIn(result, field, key)]).toEqual([200, [expect.stringContaining("good")]]);
    expect(result).toMatchObject({
      ttlMs: 0,
      _meta: {
        "gatehouse/unavailable_servers": ["bad"],
        "gatehouse/refused_servers": { bad: FOUND },
      },
    });
    expect(body).not.toContain("users");
  });

  test("which is recorded, counted and logged; its tools can be called", async () => {
    bad.results = { "tools/list": { tools: [{ name: "find", title: CODE }] } };
    const { client, gateway, servers: ids } = await seed(sanitation("block"));
    await client.request("tools/list");
    const { error_code, mcp } = await refusalsOf(gateway, "tools/list");
    expect(error_code).toBeNull();
    expect(mcp["refusals"]).toEqual([
      { server_id: ids["bad"], server: "bad", method: "tools/list", code: FOUND, count: 1 },
    ]);
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}`);
    const page = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
    const labels = { gateway: body.name as string, server: "bad", code: FOUND };
    expect(page.sum("gatehouse_mcp_refused_messages_total", labels)).toBe(1);
    expect(gatehouse.output()).toContain("message of MCP server refused by plugin");
    const called = await client.request("tools/call", { name: "bad__find", arguments: {} });
    expect(called.result).toMatchObject(text("find {}"));
  });

  test("the list is an error if nothing of it remains", async () => {
    for (const server of [good, bad]) server.results = { "prompts/list": { prompts: [{ name: CODE }] } };
    const { client } = await seed(sanitation("block"));
    const refused = await client.request("prompts/list");
    expect(refused.status).toBe(400);
    expect(refused.error).toMatchObject({ data: { code: FOUND } });
    expect(refused.text).not.toContain("users");
  });

  test("the list of a key that may use one server is an error", async () => {
    bad.results = { "prompts/list": { prompts: [{ name: "x", description: CODE }] } };
    const { url, gateway } = await blocking;
    const { key } = await seedKey(gatehouse, gateway, { tools: ["bad__*"] });
    const refused = await new StatelessClient(url, { "X-GW-API-Key": key }).request("prompts/list");
    expect(refused.error).toMatchObject({ data: { code: FOUND } });
  });
});

describe("instructions that are refused are left out, and the server stays:", () => {
  test("in a session", async () => {
    bad.results = { initialize: { instructions: CODE } };
    const { url, gateway } = await seed(sanitation("block"));
    const session = await SessionClient.start(url);
    const { result = {}, text: body } = session.initialized ?? {};
    expect(result).toMatchObject({
      instructions: "Tools with the prefix good__:\nUse the tools.",
      _meta: { "gatehouse/refused_servers": { bad: FOUND } },
    });
    expect(body).not.toContain("users");
    expect(JSON.stringify(result)).not.toContain("unavailable");
    const called = await session.request("tools/call", { name: "bad__find", arguments: {} });
    expect(called.result).toMatchObject(text("find {}"));
    expect((await refusalsOf(gateway, "initialize")).mcp["refusals"]).toMatchObject([{ server: "bad" }]);
  });

  test("in server/discover", async () => {
    good.results = { "server/discover": { instructions: "Read." } };
    bad.results = { "server/discover": { instructions: CODE } };
    const { client } = await seed(sanitation("block"));
    const { result } = await client.request("server/discover");
    expect(result).toMatchObject({
      instructions: "Tools with the prefix good__:\nRead.",
      ttlMs: 0,
      _meta: { "gatehouse/refused_servers": { bad: FOUND } },
    });
  });
});

describe("parts that a guard changes are merged as it has changed them:", () => {
  test.each([
    ["a small list", 10],
    ["a list above 64 kB", 100],
    ["a list above 256 kB", 400],
  ])("%s", async (_, count) => {
    const tools = (prefix: string) =>
      Array.from({ length: count }, (_unused, at) => ({
        name: `${prefix}${at}`,
        description: `${at} ${at === 7 ? CODE : "é".repeat(500)}`,
        inputSchema: { type: "object" },
      }));
    good.results = { "tools/list": { tools: tools("a") } };
    bad.results = { "tools/list": { tools: tools("b") } };
    const { client } = await seed(sanitation("sanitize"));
    const { result, text: body } = await client.request("tools/list");
    const names = keysIn(result, "tools", "name");
    expect(names).toHaveLength(2 * count);
    expect(names).toEqual(names.toSorted());
    expect(body.includes("OR 1=1")).toBe(false);
    expect(body.match(/"7 [^"]*XXXX/g)).toHaveLength(2);
    expect(result["_meta"]).toBeUndefined();
  });

  test("tools that tool_policy strips, by the names that clients use", async () => {
    const rules = [
      { tool: "bad__find", source: "offered", action: "strip" },
      { tool: "good__*", source: "offered", action: "deny" },
    ];
    const strip = { name: "tool_policy", stage: "pre_request", settings: { rules: rules.slice(0, 1) } };
    const stripped = await (await seed(strip)).client.request("tools/list");
    expect(keysIn(stripped.result, "tools", "name")).toEqual(["good__read"]);
    const deny = { name: "tool_policy", stage: "pre_request", settings: { rules: rules.slice(1) } };
    const denied = await (await seed(deny)).client.request("tools/list");
    expect(keysIn(denied.result, "tools", "name")).toEqual(["bad__find"]);
    expect(denied.result).toMatchObject({ _meta: { "gatehouse/refused_servers": { good: "tool_denied" } } });
  });
});

test("a pre_response plugin gets the merged list, and a guard after it inspects what the plugin has made of it", async () => {
  const add = (description: string) =>
    scripted(
      "pre_response",
      `const message = JSON.parse(context.text);
       message.result.tools.push({ name: "added", description: ${JSON.stringify(description)} });
       context.replaceChunk(JSON.stringify(message));`,
      { priority: 5 },
    );
  bad.results = { "tools/list": { tools: [{ name: "find", description: CODE }] } };
  const first = sanitation("block", { priority: 1 });
  const last = sanitation("block", { priority: 9 });
  const { result } = await (await seed(first, add("fine"), last)).client.request("tools/list");
  expect(keysIn(result, "tools", "name")).toEqual(["good__read", "added"]);
  const refused = await (await seed(first, add(CODE), last)).client.request("tools/list");
  expect(refused.error).toMatchObject({ data: { code: FOUND } });
});

/** What the servers got in response to their own requests. */
const responsesAt = (server: typeof bad, id: unknown) =>
  server.received.filter((message) => message.id === id && message.rpcMethod === null);
const REFUSED_REQUEST = { error: { code: -32000, message: expect.stringContaining("gateway") } };

describe("on the stream of a session", () => {
  test("refused messages are left out, a refused request gets an error, and the rest arrives", async () => {
    const { url, gateway } = await seed(sanitation("block"));
    const session = await SessionClient.start(url, { capabilities: { elicitation: {}, sampling: {} } });
    const abort = new AbortController();
    const before = [good.openStreams, bad.openStreams];
    const stream = await session.stream(abort.signal);
    await waitUntil(() => good.openStreams > (before[0] ?? 0) && bad.openStreams > (before[1] ?? 0));
    for (const data of [CODE, "between", CODE]) bad.broadcast(log(data));
    bad.broadcast(question("refused-1", CODE));
    bad.broadcast(question("fine-1", "Really?"));
    const read = readerOf(stream);
    await read((received) => received.includes("Really?"));
    good.broadcast(log("the end"));
    const received = await read((all) => all.includes("the end"));
    expect(received).toContain("between");
    expect(received).not.toContain("users");
    expect(received).not.toContain("refused-1");
    await waitUntil(() => responsesAt(bad, "refused-1").length > 0);
    expect(responsesAt(bad, "refused-1").map(({ body }) => body)).toMatchObject([REFUSED_REQUEST]);
    expect(JSON.stringify(responsesAt(bad, "refused-1")[0]?.body)).not.toContain(FOUND);
    expect(responsesAt(bad, "fine-1")).toEqual([]);
    // The same stream of the server: it was not opened again.
    expect(bad.openStreams).toBe((before[1] ?? 0) + 1);
    abort.abort();
    const { mcp } = await refusalsOf(gateway, "notifications/message");
    expect(mcp["refusals"]).toMatchObject([
      { server: "bad", method: "notifications/message", code: FOUND, count: 2 },
      { server: "bad", method: "elicitation/create", code: FOUND, count: 1 },
    ]);
  });

  test("plugins inspect the messages of servers one after the other", async () => {
    const { url } = await seed({ name: "one_at_a_time", stage: "pre_request", settings: {} });
    const session = await SessionClient.start(url);
    const abort = new AbortController();
    const before = good.openStreams + bad.openStreams;
    const read = readerOf(await session.stream(abort.signal));
    await waitUntil(() => good.openStreams + bad.openStreams === before + 2);
    for (let round = 0; round < 5; round++) for (const server of [good, bad]) server.broadcast(log("a text"));
    const received = await read((all) => all.split("a text").length > 10);
    expect(received).not.toContain("overlap");
    abort.abort();
  });

  test("a client resumes after a refused message", async () => {
    const event = (id: string, message: Json) =>
      `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
    const stream = (...events: readonly string[]) =>
      new Response(new ReadableStream({ start: (each) => each.enqueue(Buffer.from(events.join(""))) }), {
        headers: { "Content-Type": "text/event-stream" },
      });
    bad.respond = ({ method, headers }) => {
      if (method !== "GET") return null;
      return headers.get("last-event-id") === "place-2"
        ? stream(event("place-3", log(CODE)), event("place-4", log("second")))
        : stream(event("place-1", log("first")), event("place-2", log(CODE)));
    };
    const { url } = await blocking;
    const session = await SessionClient.start(url);
    const places = (body: string) => [...body.matchAll(/^id: (.+)$/gm)].map(([, place = ""]) => place);
    const abort = new AbortController();
    const first = await readerOf(await session.stream(abort.signal))((all) => places(all).length === 2);
    abort.abort();
    const again = new AbortController();
    const resumed = await session.stream(again.signal, { "Last-Event-ID": places(first)[1] ?? "" });
    const second = await readerOf(resumed)((all) => all.includes("second"));
    again.abort();
    expect(first + second).not.toContain("users");
    expect(places(second)).toHaveLength(2);
  });
});

describe("in the stream of a call", () => {
  const client = async () =>
    SessionClient.start((await blocking).url, { capabilities: { elicitation: {}, sampling: {} } });

  /** A tool that sends messages, and then waits until the gateway has responded to its questions. */
  const tool = (sent: readonly Json[], result: Json) => ({
    isStream: true,
    run: async (_: unknown, send: (message: Json) => void) => {
      for (const message of sent) send(message);
      const ids = sent.flatMap(({ id }) => (id === undefined ? [] : [id]));
      await waitUntil(() => ids.every((id) => responsesAt(worse, id).length > 0));
      return result;
    },
  });

  async function call(sent: readonly Json[], result: Json) {
    worse.tools["chat"] = tool(sent, result);
    const route = await seedMcp(
      gatehouse,
      { worse: worse.url },
      { gateway: { required_plugins: [sanitation("block")] } },
    );
    const session = await SessionClient.start(route.url, { capabilities: { elicitation: {} } });
    return { ...route, called: await session.request("tools/call", { name: "chat", arguments: {} }, "call") };
  }

  test("a refused notification and a refused request do not lose the response", async () => {
    const sent = [log("begin"), log(CODE), question("refused-2", CODE), log("after")];
    const { called, gateway } = await call(sent, text("done"));
    expect(called.messages).toMatchObject([log("begin"), log("after"), { id: "call", result: text("done") }]);
    expect(called.text).not.toContain("users");
    expect(responsesAt(worse, "refused-2").map(({ body }) => body)).toMatchObject([REFUSED_REQUEST]);
    const { error_code, mcp } = await refusalsOf(gateway, "elicitation/create");
    expect([error_code, mcp["outcome"]]).toEqual([null, "ok"]);
    expect(mcp["refusals"]).toHaveLength(2);
  });

  test("only refused messages leave a response in JSON", async () => {
    const { called } = await call([log(CODE)], text("done"));
    expect(called.headers.get("content-type")).toStartWith("application/json");
    expect(called.last).toMatchObject({ id: "call", result: text("done") });
  });

  test("a refused response is the error at its end", async () => {
    const { called, gateway } = await call([log("begin")], text(CODE));
    expect(called.messages).toMatchObject([log("begin"), { id: "call", error: { data: { code: FOUND } } }]);
    expect(called.text).not.toContain("users");
    const { body } = await waitFor(async () => {
      const found = await gatehouse.api("GET", `/gateways/${gateway}/requests?outcome=refused`);
      return found.body.requests.length > 0 ? found : null;
    });
    expect(body.requests).toMatchObject([{ error_code: FOUND, mcp: { refusals: [] } }]);
  });

  test("a resumed call has its response after a refused message, unless that is refused", async () => {
    const event = (id: string | null, message: Json) =>
      `${id === null ? "" : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
    const stream = (...events: readonly string[]) =>
      new Response(events.join(""), { headers: { "Content-Type": "text/event-stream" } });
    let result = text("done");
    good.respond = ({ method, rpcMethod, headers }) => {
      if (rpcMethod === "tools/call") return stream(event("place-1", log("begin")));
      if (method !== "GET" || !headers.has("last-event-id")) return null;
      return stream(event("place-2", log(CODE)), event(null, { id: "call-1", result }));
    };
    const session = await client();
    const begun = await session.request("tools/call", { name: "good__read", arguments: {} }, "call-1");
    const place = /^id: (.+)$/m.exec(begun.text)?.[1] ?? "";
    const resume = async () =>
      (await session.stream(AbortSignal.timeout(60_000), { "Last-Event-ID": place })).text();
    const resumed = await resume();
    expect(resumed).toContain('"text":"done"');
    expect(resumed).not.toContain("users");
    result = text(CODE);
    const refused = await resume();
    expect(refused).toContain(FOUND);
    expect(refused).not.toContain("users");
  });
});

test("a refused response of a batch leaves the others", async () => {
  const { url } = await blocking;
  const session = await SessionClient.start(url, { version: "2025-03-26" });
  good.results = { "prompts/get": { description: CODE, messages: [] } };
  const batch = await session.post([
    { jsonrpc: "2.0", id: 1, method: "prompts/get", params: { name: "good__greet" } },
    { jsonrpc: "2.0", id: 2, method: "tools/list" },
    { jsonrpc: "2.0", id: 3, method: "ping" },
  ]);
  expect(batch.status).toBe(200);
  const responses = JSON.parse(batch.text) as Json[];
  const byId = responses.toSorted((one, other) => Number(one["id"]) - Number(other["id"]));
  expect(byId).toMatchObject([
    { id: 1, error: { code: -32000, data: { code: FOUND } } },
    { id: 2, result: { tools: [{ name: "bad__find" }, { name: "good__read" }] } },
    { id: 3, result: {} },
  ]);
  expect(batch.text).not.toContain("users");
});
