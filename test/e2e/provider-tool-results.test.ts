// Guards on the results of tools that a provider runs, which are part of its response.
import { beforeEach, describe, expect, test } from "bun:test";
import { type Fields } from "../support/plugin-fixtures.ts";
import { CHAT, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);
beforeEach(() => provider.reset());

const deny = (tool: string, when?: Fields) => ({ tool, source: "result", action: "deny", when });

function seed(name: Provider, rules: object[]) {
  return seedRoute(gatehouse, {
    gateway: { required_plugins: [{ name: "tool_policy", stage: "pre_request", settings: { rules } }] },
    upstream: { targets: [targetAt(provider, { provider: name, ...TARGETS[name] })] },
  });
}

type Provider = keyof typeof TARGETS;
const TARGETS = {
  openai: { path: "/v1/responses" },
  anthropic: { path: "/v1/messages" },
  google: { format: "gemini", path: "/v1beta/models/m:generateContent" },
};
const REQUEST = { model: "m", max_tokens: 9, messages: CHAT.messages, input: "x" };

async function whole(name: Provider, rules: object[], reply: object, request: object = REQUEST) {
  provider.behave({ headers: [["Content-Type", "application/json"]], body: JSON.stringify(reply) });
  const { path } = await seed(name, rules);
  const response = await rawJson(gatehouse.proxyUrl, path, request);
  return { status: response.status, json: response.json() as Fields };
}

/** Resolves to what arrives until the stream ends or is broken. */
async function streamed(name: Provider, rules: object[], events: readonly Fields[]) {
  const nameOf = (event: Fields) => (typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "");
  const body = events
    .map((event, at) => `${nameOf(event)}data: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`)
    .join("");
  provider.behave({ headers: [["Content-Type", "text/event-stream"]], body });
  const { path } = await seed(name, rules);
  let sent = "";
  try {
    const response = await fetch(gatehouse.proxyUrl + path, {
      method: "POST",
      body: JSON.stringify({ ...REQUEST, stream: true }),
    });
    for await (const chunk of response.body ?? []) sent += Buffer.from(chunk).toString();
  } catch {
    // A denied response breaks the connection. A reset may discard what was not read in time.
  }
  return sent;
}

const LONG = "word ".repeat(200);
const ITEMS: [tool: string, item: Fields][] = [
  ["lookup", { type: "mcp_call", id: "m1", name: "lookup", arguments: "{}", output: `secret ${LONG}` }],
  ["lookup", { type: "mcp_call", id: "m1", name: "lookup", arguments: "{}", error: { message: "secret" } }],
  ["file_search", { type: "file_search_call", id: "f1", queries: ["q"], results: [{ text: "secret" }] }],
  [
    "code_interpreter",
    { type: "code_interpreter_call", id: "c1", code: "1", outputs: [{ type: "logs", logs: "secret" }] },
  ],
  ["web_search", { type: "web_search_call", id: "w1", status: "completed", action: { type: "search" } }],
  ["image_generation", { type: "image_generation_call", id: "i1", status: "completed", result: "aGVsbG8=" }],
  ["shell", { type: "shell_call_output", id: "s1", output: [{ stdout: "secret" }] }],
];
const BLOCKS: [tool: string, blocks: Fields[]][] = [
  [
    "web_search",
    [
      { type: "server_tool_use", id: "t1", name: "web_search", input: { query: "q" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "t1",
        content: [{ type: "web_search_result", title: `secret ${LONG}` }],
      },
    ],
  ],
  [
    "lookup",
    [
      { type: "mcp_tool_use", id: "t1", name: "lookup", server_name: "s", input: {} },
      { type: "mcp_tool_result", tool_use_id: "t1", is_error: false, content: [] },
    ],
  ],
];
const hosted = (part: Fields, beside: Fields = {}): Candidate => ({ content: { parts: [part] }, ...beside });
const CODE = { language: "PYTHON", code: "secret" };
type Candidate = Fields & { content: { parts: [Fields] } };
const CANDIDATES: [tool: string, source: "called" | "result", candidate: Candidate][] = [
  ["code_execution", "called", hosted({ executableCode: CODE })],
  ["code_execution", "called", hosted({ executable_code: CODE })],
  [
    "code_execution",
    "result",
    hosted({ codeExecutionResult: { outcome: "OUTCOME_OK", output: `secret ${LONG}` } }),
  ],
  ["code_execution", "result", hosted({ codeExecutionResult: { outcome: "OUTCOME_OK" } })],
  ["google_maps", "called", hosted({ toolCall: { toolType: "GOOGLE_MAPS", args: { queries: ["secret"] } } })],
  ["google_maps", "result", hosted({ toolResponse: { toolType: "GOOGLE_MAPS", response: { x: "secret" } } })],
  ["google_search", "result", hosted({ text: "a" }, { groundingMetadata: { webSearchQueries: ["secret"] } })],
  [
    "google_maps",
    "result",
    hosted({ text: "a" }, { groundingMetadata: { groundingChunks: [{ maps: { title: "secret" } }] } }),
  ],
  [
    "url_context",
    "result",
    hosted({ text: "a" }, { urlContextMetadata: { urlMetadata: [{ retrievedUrl: "https://secret.test" }] } }),
  ],
];
const MESSAGE = {
  id: "x",
  type: "message",
  role: "assistant",
  model: "m",
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};
const blockEvents = (blocks: readonly Fields[]) => [
  { type: "message_start", message: { ...MESSAGE, content: [] } },
  ...blocks.flatMap((content_block, index) => [
    { type: "content_block_start", index, content_block },
    { type: "content_block_stop", index },
  ]),
  { type: "message_stop" },
];
const itemEvents = (item: Fields) => [
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: item["type"], id: item["id"], status: "in_progress" },
  },
  { type: "response.output_item.done", output_index: 0, item },
  { type: "response.completed", response: { object: "response", status: "completed", output: [item] } },
];

describe("a rule that denies the results of a tool holds for", () => {
  test.each(ITEMS)("%s of the Responses API: %j", async (tool, item) => {
    const reply = { object: "response", output: [item] };
    expect(await whole("openai", [deny(tool)], reply)).toMatchObject({
      status: 403,
      json: { code: "tool_denied" },
    });
    expect(await whole("openai", [deny("other")], reply)).toMatchObject({ status: 200, json: reply });
    const stopped = await streamed("openai", [deny(tool)], itemEvents(item));
    expect(stopped).not.toContain("response.output_item.done");
    const passed = await streamed("openai", [deny("other")], itemEvents(item));
    expect(passed).toContain("response.completed");
  });

  test.each(BLOCKS)("%s of messages: %j", async (tool, blocks) => {
    const reply = { ...MESSAGE, content: blocks };
    expect(await whole("anthropic", [deny(tool)], reply)).toMatchObject({
      status: 403,
      json: { code: "tool_denied" },
    });
    expect(await whole("anthropic", [deny("other")], reply)).toMatchObject({ status: 200, json: reply });
    const stopped = await streamed("anthropic", [deny(tool)], blockEvents(blocks));
    expect(stopped).not.toContain("_tool_result");
    const passed = await streamed("anthropic", [deny("other")], blockEvents(blocks));
    expect(passed).toContain("message_stop");
  });
});

describe("a rule that denies a tool that Google runs holds for", () => {
  test.each(CANDIDATES)("%s, %s: %j", async (tool, source, candidate) => {
    const reply = { candidates: [{ ...candidate, finishReason: "STOP" }] };
    const ruled = (name: string) => [{ ...deny(name), source }];
    for (const name of [tool, "*"]) {
      const denied = await whole("google", ruled(name), reply);
      expect([denied.status, JSON.stringify(denied.json)]).toEqual([
        403,
        expect.not.stringContaining("secret"),
      ]);
      expect(await streamed("google", ruled(name), [reply])).not.toContain("secret");
    }
    expect(await whole("google", ruled("other"), reply)).toMatchObject({ status: 200, json: reply });
    expect(await streamed("google", ruled("other"), [reply])).toContain("STOP");
  });

  test.each(
    CANDIDATES.filter(([, source, { content }]) => source === "result" && !("text" in content.parts[0])),
  )("%s, %s, in a request: %j", async (tool, _, { content }) => {
    const request = {
      contents: [
        { role: "user", parts: [{ text: "x" }] },
        { role: "model", ...content },
      ],
    };
    const reply = { candidates: [hosted({ text: "a" })] };
    for (const name of [tool, "*"])
      expect((await whole("google", [deny(name)], reply, request)).status).toBe(403);
    expect((await whole("google", [deny("other")], reply, request)).status).toBe(200);
  });

  test("grounding of several tools, whichever is denied", async () => {
    const groundingChunks = [{ web: { uri: "https://a.test" } }, { maps: { title: "secret" } }];
    const reply = { candidates: [hosted({ text: "a" }, { groundingMetadata: { groundingChunks } })] };
    for (const tool of ["google_search", "google_maps"])
      expect((await whole("google", [deny(tool)], reply)).status).toBe(403);
    expect((await whole("google", [{ ...deny("other"), source: "called" }], reply)).status).toBe(200);
  });

  test("the code, by its text", async () => {
    const reply = { candidates: [hosted({ executableCode: CODE })] };
    const matching = (pattern: string) => [
      {
        ...deny("code_execution", { properties: { code: { pattern } }, required: ["code"] }),
        source: "called",
      },
    ];
    expect((await whole("google", matching("^secret"), reply)).status).toBe(403);
    expect((await whole("google", matching("^other"), reply)).status).toBe(200);
  });
});

test("a condition sees the whole result, also in a stream", async () => {
  const [, item] = ITEMS[0] ?? ["", {}];
  const matches = [deny("lookup", { pattern: "^secret " })];
  const others = [deny("lookup", { pattern: "^other" })];
  expect(await streamed("openai", matches, itemEvents(item))).not.toContain("output_item.done");
  expect(await streamed("openai", others, itemEvents(item))).toContain("response.completed");
  const [, blocks] = BLOCKS[0] ?? ["", []];
  const titled = (pattern: string) => [
    deny("web_search", { contains: { properties: { title: { pattern } }, required: ["title"] } }),
  ];
  expect(await streamed("anthropic", titled("^secret "), blockEvents(blocks))).not.toContain("_tool_result");
  expect(await streamed("anthropic", titled("^other"), blockEvents(blocks))).toContain("message_stop");
});
