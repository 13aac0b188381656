// tool_policy on MCP services: results without text, prompts, resources and completions, and what servers list.
import { afterEach, describe, expect, test } from "bun:test";
import { seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

type Json = Record<string, unknown>;

const gatehouse = await useGatehouse();
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1, 2, 3]).toString("base64");
const say = (text: string) => ({ type: "text", text });

const { one, two } = useMcpServers({ one: { tools: { run: {} } }, two: {} });
let result: Json = {};
one.tools["run"] = { run: () => result };
one.completes = true;

afterEach(() => {
  one.results = {};
  one.errors = {};
});

async function seed(rules: Json[], fields: Json = {}, hasTwo = false) {
  const plugin = { name: "tool_policy", stage: "pre_request", settings: { rules, ...fields } };
  const servers = { work: one.url, ...(hasTwo && { home: two.url }) };
  const route = await seedMcp(gatehouse, servers, { gateway: { required_plugins: [plugin] } });
  return new StatelessClient(route.url);
}

const rule = (source: string, tool: string, action: string, when?: Json): Json => ({
  source,
  tool,
  action,
  when,
});
const denied = (source: string, name: string) => ({
  error: {
    message: `The tool ${JSON.stringify(name)} is not allowed here (${source}).`,
    data: { code: "tool_denied" },
  },
});
const ref = { type: "ref/prompt", name: "greet" };
const complete = { ref, argument: { name: "who", value: "A" } };

describe("a rule that denies results without a condition holds for", () => {
  const RESULTS: Record<string, Json> = {
    "an image": { content: [{ type: "image", mimeType: "image/png", data: PNG }] },
    "a file": { content: [{ type: "resource", resource: { uri: "a://b", blob: PNG } }] },
    "only _meta": { content: [], _meta: { note: "x" } },
    "an empty list": { content: [] },
    nothing: {},
    "an empty text": { content: [say("")] },
    "content that is a text": { content: "text" },
    "the result of the old specification": { toolResult: "text" },
  };

  test.each(Object.keys(RESULTS))("%s", async (name) => {
    result = RESULTS[name] ?? {};
    const client = await seed([rule("result", "run", "deny")]);
    const called = await client.request("tools/call", { name: "run", arguments: {} });
    expect(called.status).toBe(403);
    expect(called.last).toMatchObject(denied("result", "run"));
    expect(called.last).not.toHaveProperty("result");
  });

  test("an error", async () => {
    one.errors = { "prompts/get": { code: -32000, message: "" } };
    const client = await seed([rule("result", "greet", "deny")]);
    expect((await client.request("prompts/get", { name: "greet" })).last).toMatchObject(
      denied("result", "greet"),
    );
  });

  test("prompts, resources and completions", async () => {
    const client = await seed([rule("result", "greet", "deny"), rule("result", "memo://*", "deny")]);
    const got = await client.request("prompts/get", { name: "greet" });
    expect(got.last).toMatchObject(denied("result", "greet"));
    const completed = await client.request("completion/complete", complete);
    expect(completed.last).toMatchObject(denied("result", "greet"));
    const read = await client.request("resources/read", { uri: "memo://notes" });
    expect(read.last).toMatchObject(denied("result", "memo://notes"));
  });
});

test("the text of a result is stripped wherever it is", async () => {
  one.results = {
    "resources/read": { contents: [{ uri: "memo://x", mimeType: "text/plain", blob: btoa("secret") }] },
    "completion/complete": { completion: { values: ["secret"] } },
  };
  const client = await seed([rule("result", "*", "strip")]);
  const read = await client.request("resources/read", { uri: "memo://x" });
  expect(read.result["contents"]).toMatchObject([{ blob: btoa("[removed by tool_policy]") }]);
  const completed = await client.request("completion/complete", complete);
  expect(completed.result["completion"]).toEqual({ values: ["[removed by tool_policy]"] });
});

describe("rules about calls", () => {
  test("hold for prompts and their arguments, resources and completions, before the server gets them", async () => {
    const client = await seed(
      [
        rule("called", "work__greet", "deny", { properties: { who: { const: "Bob" } }, required: ["who"] }),
        rule("called", "work+memo://secret/*", "deny"),
        rule("called", "home__greet", "deny"),
      ],
      {},
      true,
    );
    const before = one.received.length + two.received.length;
    const refused = [
      [
        "work__greet",
        await client.request("prompts/get", { name: "work__greet", arguments: { who: "Bob" } }),
      ],
      ["work+memo://secret/a", await client.request("resources/read", { uri: "work+memo://secret/a" })],
      [
        "home__greet",
        await client.request("completion/complete", {
          ...complete,
          ref: { type: "ref/prompt", name: "home__greet" },
        }),
      ],
    ] as const;
    for (const [name, { last, status }] of refused)
      expect([status, last]).toMatchObject([403, denied("called", name)]);
    expect(one.received.length + two.received.length).toBe(before);
    const passed = await client.request("prompts/get", { name: "work__greet", arguments: { who: "Ada" } });
    expect(passed.result["messages"]).toHaveLength(1);
    expect(
      (await client.request("resources/read", { uri: "work+memo://open" })).result["contents"],
    ).toHaveLength(1);
  });

  test.each([
    ["the scheme in upper case", "MEMO://secret"],
    ["the prefix in upper case", "WORK+memo://secret"],
    ["escaped letters", "memo://%73ecret"],
    ["dot segments", "memo://x/../secret"],
  ])("hold for another spelling of a URI: %s", async (_, uri) => {
    const hasTwo = uri.startsWith("WORK");
    const client = await seed([rule("called", "*memo://secret", "deny")], {}, hasTwo);
    const read = await client.request("resources/read", { uri });
    expect(read.last).toMatchObject({ error: { data: { code: "tool_denied" } } });
  });

  test("hold for subscriptions of sessions", async () => {
    const plugin = {
      name: "tool_policy",
      stage: "pre_request",
      settings: { rules: [rule("called", "memo://secret", "deny")] },
    };
    const { url } = await seedMcp(gatehouse, { work: one.url }, { gateway: { required_plugins: [plugin] } });
    const session = await SessionClient.start(url);
    const subscribed = await session.request("resources/subscribe", { uri: "memo://secret" });
    expect(subscribed.last).toMatchObject(denied("called", "memo://secret"));
  });

  test("deny prompts and resources that no rule allows, with `default: deny`", async () => {
    const client = await seed([rule("called", "greet", "allow"), rule("result", "*", "allow")], {
      default: "deny",
    });
    expect((await client.request("prompts/get", { name: "greet" })).result["messages"]).toHaveLength(1);
    const other = await client.request("prompts/get", { name: "other" });
    expect(other.last).toMatchObject(denied("called", "other"));
    const read = await client.request("resources/read", { uri: "memo://notes" });
    expect(read.last).toMatchObject(denied("called", "memo://notes"));
  });
});

describe("rules about offered tools", () => {
  const schema = { type: "object", properties: { command: { type: "string" } } };
  const TOOLS = [
    { name: "shell", description: "Runs a command", inputSchema: schema },
    { name: "weather", title: "Weather", inputSchema: { type: "object" }, _meta: { n: 1 } },
  ];
  const names = (list: unknown) => (list as Json[]).map(({ name }) => name);

  test("strip them from lists, by name and by condition, and leave the others as they are", async () => {
    one.results = { "tools/list": { tools: TOOLS } };
    const byName = await (await seed([rule("offered", "shell", "strip")])).request("tools/list");
    expect(byName.result["tools"]).toEqual([TOOLS[1]]);
    for (const when of [
      { properties: { description: { pattern: "command" } }, required: ["description"] },
      { properties: { schema: { properties: { properties: { required: ["command"] } } } } },
    ]) {
      const listed = await (await seed([rule("offered", "*", "strip", when)])).request("tools/list");
      expect(names(listed.result["tools"])).not.toContain("shell");
    }
  });

  test("strip them from large lists", async () => {
    const many = Array.from({ length: 400 }, (_, n) => ({
      ...TOOLS[1],
      name: `t${n}`,
      description: "x".repeat(900),
    }));
    one.results = { "tools/list": { tools: [...many, ...TOOLS] } };
    const listed = await (await seed([rule("offered", "t*", "strip")])).request("tools/list");
    expect(names(listed.result["tools"])).toEqual(["shell", "weather"]);
  });

  test("deny a list with one of them", async () => {
    one.results = { "tools/list": { tools: TOOLS } };
    const listed = await (await seed([rule("offered", "shell", "deny")])).request("tools/list");
    expect(listed.status).toBe(403);
    expect(listed.last).toMatchObject(denied("offered", "shell"));
  });

  test("leave out what no rule allows, with `default: deny`", async () => {
    one.results = { "tools/list": { tools: TOOLS } };
    const client = await seed([rule("offered", "weather", "allow")], { default: "deny" });
    expect((await client.request("tools/list")).result["tools"]).toEqual([TOOLS[1]]);
    expect((await client.request("prompts/list")).result["prompts"]).toEqual([]);
  });

  test("hold for prompts, resources and resource templates", async () => {
    const client = await seed([
      rule("offered", "greet", "strip"),
      rule("offered", "memo://notes", "strip"),
      rule("offered", "memo://{name}", "deny"),
    ]);
    expect((await client.request("prompts/list")).result["prompts"]).toEqual([]);
    expect((await client.request("resources/list")).result["resources"]).toEqual([]);
    const templates = await client.request("resources/templates/list");
    expect(templates.last).toMatchObject(denied("offered", "memo://{name}"));
  });
});
