// Guards on what MCP servers send: every text of every message is inspected, wherever the server puts it, and what no guard can
// inspect is rejected.
import { afterEach, describe, expect, test } from "bun:test";
import { seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { pluginsDirectory } from "../support/plugin-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

type Json = Record<string, unknown>;

/** Declares that it inspects texts, and sees requests only. */
const REQUESTS_ONLY = `import { definePlugin, z } from "gatehouse/sdk";
export default definePlugin({
  name: "requests_only", description: "", stages: ["pre_request"], settings: z.strictObject({}), needs: ["body"],
  inspects: () => ({ files: true, batches: true }),
  create: () => ({ pre_request() {} }),
});`;

const gatehouse = await useGatehouse({
  env: { PLUGINS_DIR: pluginsDirectory({ "requests_only.ts": REQUESTS_ONLY }) },
});

/** Harmless in a repository, and a finding of code_sanitation. */
const CODE = ["SELECT * FROM users WHERE name = '' OR 1=1;", "DROP", "TABLE users; --"].join(" ");
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 1, 2, 3]).toString(
  "base64",
);
const base64 = (value: string | Uint8Array) => Buffer.from(value).toString("base64");
const say = (text: string) => ({ type: "text", text });

const { one: server } = useMcpServers({ one: { tools: { run: {}, other: {} } } });
let toolResult: Json = {};
server.tools["run"] = { run: () => toolResult };

afterEach(() => {
  server.results = {};
  server.errors = {};
});

const sanitation = (action: string) => ({
  name: "code_sanitation",
  stage: "pre_request",
  settings: { languages: [{ language: "sql" }], content_to_check: ["response"], action },
});

async function seed(plugin: object, rule: Json = {}) {
  const route = await seedMcp(
    gatehouse,
    { work: server.url },
    { gateway: { required_plugins: [plugin] }, rule },
  );
  return { ...route, client: new StatelessClient(route.url) };
}

const blocking = seed(sanitation("block"));
const masking = seed(sanitation("sanitize"));
const REJECTED = { error: { data: { code: "code_injection_detected" } } };

const CALLED: Record<string, Json> = {
  "a text": { content: [say(CODE)] },
  "content that is one block": { content: say(CODE) },
  "content that is a text": { content: CODE },
  "a title of a link": { content: [{ type: "resource_link", uri: "a://b", name: "x", title: CODE }] },
  "the name of a link": { content: [{ type: "resource_link", uri: "a://b", name: CODE }] },
  "the description of a link": {
    content: [{ type: "resource_link", uri: "a://b", name: "x", description: CODE }],
  },
  "the URI of a link": { content: [{ type: "resource_link", uri: `a://b?${CODE}`, name: "x" }] },
  "annotations of a block": { content: [{ ...say("fine"), annotations: { note: CODE } }] },
  "_meta of a block": { content: [{ ...say("fine"), _meta: { note: CODE } }] },
  "a media type that is none": { content: [{ type: "image", data: PNG, mimeType: CODE }] },
  "a type that is none": { content: [{ type: CODE }] },
  "an embedded text": { content: [{ type: "resource", resource: { uri: "a://b", text: CODE } }] },
  "an embedded file": {
    content: [{ type: "resource", resource: { uri: "a://b", mimeType: "text/plain", blob: base64(CODE) } }],
  },
  "an image that is a text": { content: [{ type: "image", mimeType: "image/png", data: base64(CODE) }] },
  "a block of another type": { content: [{ type: "note", inner: [{ deep: CODE }] }] },
  _meta: { content: [], _meta: { note: CODE } },
  "a key of _meta": { content: [], _meta: { [CODE]: 1 } },
  "the result of the old specification": { toolResult: CODE },
  "a nested result of the old specification": { toolResult: { rows: [CODE] } },
  "structured content": { content: [], structuredContent: { rows: [CODE] } },
  "another member": { content: [], extra: CODE },
  "a cursor of a block": { content: [{ ...say("fine"), cursor: CODE }] },
  "a cursor of a result that is no list": { content: [], nextCursor: CODE },
  "a state of a result": { content: [], requestState: CODE },
  "a state that is none": { resultType: "input_required", requestState: CODE },
};

describe("every text of a result of a tool is inspected:", () => {
  test.each(Object.keys(CALLED))("%s", async (place) => {
    toolResult = CALLED[place] ?? {};
    const { client } = await blocking;
    const called = await client.request("tools/call", { name: "run", arguments: {} });
    expect(called.last).toMatchObject(REJECTED);
    expect(called.text).not.toContain("users");
  });
});

const BY_METHOD: [place: string, method: string, params: Json, result: Json][] = [
  [
    "a file",
    "resources/read",
    { uri: "memo://x" },
    { contents: [{ uri: "memo://x", mimeType: "text/csv", blob: base64(CODE) }] },
  ],
  [
    "a file without a type",
    "resources/read",
    { uri: "memo://x" },
    { contents: [{ uri: "memo://x", blob: base64(CODE) }] },
  ],
  [
    "a file with a control character",
    "resources/read",
    { uri: "memo://x" },
    { contents: [{ uri: "memo://x", blob: base64(`\u0001${CODE}`) }] },
  ],
  ["a text", "resources/read", { uri: "memo://x" }, { contents: [{ uri: "memo://x", text: CODE }] }],
  [
    "_meta",
    "resources/read",
    { uri: "memo://x" },
    { contents: [{ uri: "memo://x", text: "", _meta: { note: CODE } }] },
  ],
  ["a description", "prompts/get", { name: "greet" }, { description: CODE, messages: [] }],
  ["a message", "prompts/get", { name: "greet" }, { messages: [{ role: "user", content: say(CODE) }] }],
  [
    "a role that is none",
    "prompts/get",
    { name: "greet" },
    { messages: [{ role: CODE, content: say("x") }] },
  ],
  [
    "values",
    "completion/complete",
    { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "a", value: "" } },
    { completion: { values: ["fine", CODE] } },
  ],
  [
    "a description",
    "tools/list",
    {},
    { tools: [{ name: "run", description: CODE, inputSchema: { type: "object" } }] },
  ],
  ["a title", "tools/list", {}, { tools: [{ name: "run", title: CODE, inputSchema: { type: "object" } }] }],
  [
    "a schema",
    "tools/list",
    {},
    { tools: [{ name: "run", inputSchema: { type: "object", properties: { a: { description: CODE } } } }] },
  ],
  ["a description", "prompts/list", {}, { prompts: [{ name: "greet", description: CODE }] }],
  ["a description", "resources/list", {}, { resources: [{ name: "x", uri: "memo://x", description: CODE }] }],
  [
    "a title",
    "resources/templates/list",
    {},
    { resourceTemplates: [{ name: "x", uriTemplate: "memo://{x}", title: CODE }] },
  ],
  ["instructions", "server/discover", {}, { instructions: CODE }],
];

describe("every text of other results is inspected:", () => {
  test.each(BY_METHOD)("%s of %s", async (_, method, params, result) => {
    server.results = { [method]: result };
    const { client } = await seed(sanitation("block"));
    const called = await client.request(method, params);
    expect(called.last).toMatchObject(REJECTED);
    expect(called.text).not.toContain("users");
  });

  test("instructions of a server that begins a session", async () => {
    server.results = { initialize: { instructions: CODE } };
    const { url } = await seed(sanitation("block"));
    const { initialized } = await SessionClient.start(url);
    expect(initialized?.last).toMatchObject(REJECTED);
    expect(initialized?.text).not.toContain("users");
  });

  test("the data of an error", async () => {
    server.errors = { "prompts/get": { code: -32000, message: "failed", data: { trace: [CODE] } } };
    const { client } = await blocking;
    const failed = await client.request("prompts/get", { name: "greet" });
    expect(failed.last).toMatchObject(REJECTED);
    expect(failed.text).not.toContain("users");
  });
});

describe("messages of servers on the stream of a session are inspected:", () => {
  const MESSAGES: [string, Json][] = [
    ["a logger", { method: "notifications/message", params: { level: "info", logger: CODE, data: "x" } }],
    [
      "_meta",
      { method: "notifications/message", params: { level: "info", data: "x", _meta: { note: CODE } } },
    ],
    [
      "a question to the user",
      { id: 1, method: "elicitation/create", params: { message: CODE, requestedSchema: { type: "object" } } },
    ],
    [
      "a prompt for the model",
      {
        id: 1,
        method: "sampling/createMessage",
        params: { messages: [{ role: "user", content: say(CODE) }] },
      },
    ],
  ];

  test.each(MESSAGES)("%s", async (_, message) => {
    const { url } = await seed(sanitation("sanitize"));
    const session = await SessionClient.start(url, { capabilities: { elicitation: {}, sampling: {} } });
    const abort = new AbortController();
    const before = server.openStreams;
    const stream = await session.stream(abort.signal);
    await waitUntil(() => server.openStreams > before);
    server.broadcast(message);
    server.broadcast({ method: "notifications/message", params: { level: "info", data: "the end" } });
    let received = "";
    const decoder = new TextDecoder();
    for await (const chunk of stream.body ?? []) {
      received += decoder.decode(chunk, { stream: true });
      if (received.includes("the end")) break;
    }
    abort.abort();
    expect(received).toContain("XXXX");
    expect(received).not.toContain("OR 1=1");
  });
});

describe("a changed text is written back", () => {
  test("into a file", async () => {
    const { client } = await masking;
    server.results = {
      "resources/read": {
        contents: [{ uri: "memo://x", mimeType: "text/csv", blob: base64(`a,b\n${CODE}`) }],
      },
    };
    const read = await client.request("resources/read", { uri: "memo://x" });
    const [{ blob }] = read.result["contents"] as [{ blob: string }];
    const text = Buffer.from(blob, "base64").toString();
    expect(text).toStartWith("a,b\n");
    expect(text).toContain("XXXX");
    expect(text).not.toContain("OR 1=1");
  });

  test("into a list, without another change", async () => {
    const { client } = await masking;
    const tool = {
      name: "run",
      description: `before ${CODE}`,
      inputSchema: { type: "object", properties: { n: { maximum: 1 } } },
    };
    server.results = { "tools/list": { tools: [tool, { name: "other", inputSchema: { type: "object" } }] } };
    const listed = await client.request("tools/list");
    expect(listed.text).not.toContain("OR 1=1");
    expect(listed.result["tools"]).toMatchObject([
      { name: "other" },
      { name: "run", description: expect.stringMatching(/^before .*XXXX/) },
    ]);
  });

  test("into a list without the tool whose name it is", async () => {
    const { client } = await masking;
    server.results = {
      "tools/list": {
        tools: [
          { name: CODE, inputSchema: { type: "object" } },
          { name: "other", inputSchema: { type: "object" } },
        ],
      },
    };
    const listed = await client.request("tools/list");
    expect((listed.result["tools"] as Json[]).map(({ name }) => name)).toEqual(["other"]);
  });
});

describe("what a guard cannot inspect", () => {
  const FILES: [string, Json][] = [
    [
      "a text that is not UTF-8",
      { uri: "memo://x", mimeType: "text/plain", blob: base64(Buffer.from(`\ufeff${CODE}`, "utf16le")) },
    ],
    [
      "base64 that decoders read differently",
      {
        uri: "memo://x",
        mimeType: "text/plain",
        blob: `${base64(CODE).slice(0, 40)}-${base64(CODE).slice(40)}`,
      },
    ],
  ];

  test.each(FILES)("%s is rejected, unless the rule lets it pass", async (_, contents) => {
    server.results = { "resources/read": { contents: [contents] } };
    const { client } = await blocking;
    const rejected = await client.request("resources/read", { uri: "memo://x" });
    expect(rejected.status).toBe(403);
    expect(rejected.last).toMatchObject({ error: { data: { code: "guard_not_applicable" } } });
    for (const part of ["code_sanitation", "mcp", "unguarded"]) expect(rejected.text).toContain(part);
    const open = await seed(sanitation("block"), { unguarded: ["mcp"] });
    const read = await open.client.request("resources/read", { uri: "memo://x" });
    expect(read.result["contents"]).toMatchObject([contents]);
  });

  test("other texts are inspected although the rule lets such files pass", async () => {
    server.results = { "resources/read": { contents: [{ uri: "memo://x", text: CODE }] } };
    const { client } = await seed(sanitation("block"), { unguarded: ["mcp"] });
    expect((await client.request("resources/read", { uri: "memo://x" })).last).toMatchObject(REJECTED);
  });

  test("images and audio pass", async () => {
    toolResult = {
      content: [
        { type: "image", mimeType: "image/png", data: PNG },
        { type: "resource", resource: { uri: "a://b", mimeType: "application/octet-stream", blob: PNG } },
      ],
    };
    const { client } = await blocking;
    const called = await client.request("tools/call", { name: "run", arguments: {} });
    expect(called.result).toMatchObject(toolResult);
  });

  test("in shadow mode rejects nothing", async () => {
    server.results = { "resources/read": { contents: [FILES[0]?.[1]] } };
    const { client } = await seed({ ...sanitation("block"), mode: "shadow" });
    const read = await client.request("resources/read", { uri: "memo://x" });
    expect(read.result["contents"]).toMatchObject([FILES[0]?.[1] ?? {}]);
  });
});

describe("a guard that sees no messages of servers", () => {
  const plugin = { name: "requests_only", stage: "pre_request", settings: {} };

  test("rejects requests to MCP servers before they are sent", async () => {
    const { client, url } = await seed(plugin);
    const before = server.received.length;
    const rejected = await client.request("tools/list");
    expect(rejected.status).toBe(403);
    expect(rejected.last).toMatchObject({ error: { data: { code: "guard_not_applicable" } } });
    for (const part of ["requests_only", "mcp", "unguarded"]) expect(rejected.text).toContain(part);
    const stream = await fetch(url, { headers: { Accept: "text/event-stream" } });
    expect(stream.status).toBe(403);
    expect(server.received).toHaveLength(before);
  });

  test("lets them pass where the rule says so, which explain lists and a warning names", async () => {
    const route = await seed(plugin, { unguarded: ["mcp"] });
    expect((await route.client.request("tools/list")).status).toBe(200);
    const { body: explained } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
      path: route.path,
      mcp: { method: "tools/list" },
    });
    expect(explained).toMatchObject({ answer: null, unguarded: ["mcp"] });
    const { body: changed } = await gatehouse.api("PATCH", `/gateways/${route.gateway}/rules/${route.rule}`, {
      name: "tools",
    });
    expect(changed.warnings).toEqual([{ path: "unguarded", message: expect.stringContaining("mcp") }]);
  });
});
