// Streams whose pieces clients join in another way than their marks say: guards see each text and each name that a client could read. The
// streams of ordinary providers pass unchanged beside the same guards.
import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import type { Fields } from "../support/plugin-fixtures.ts";
import { rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);
afterEach(() => provider.reset());

const SSE = "text/event-stream";
const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";
const GEMINI = "/v1beta/models/m:streamGenerateContent";
const TARGETS: Readonly<Record<string, Fields>> = {
  [CHAT]: { provider: "openai" },
  [MESSAGES]: { provider: "anthropic" },
  [RESPONSES]: { provider: "openai" },
  [GEMINI]: { provider: "google", format: "gemini" },
};
const guard = (name: string, settings: Fields): Fields => ({ name, stage: "pre_request", settings });
const removes = { properties: { command: { pattern: "rm -rf" } }, required: ["command"] };
const GUARDS = [
  guard("pii_mask", {}),
  guard("code_sanitation", {
    languages: [{ language: "html" }, { language: "javascript" }],
    content_to_check: ["response"],
    action: "block",
  }),
  guard("tool_policy", {
    rules: [
      { tool: "shell", source: "called", action: "deny" },
      { tool: "*", source: "called", when: removes, action: "deny" },
    ],
  }),
];
const GETTERS_ONLY = [
  guard("tool_policy", { default: "deny", rules: [{ tool: "get_*", source: "called", action: "allow" }] }),
];

const routes = new Map<string, Promise<{ path: string }>>();
interface Sending {
  readonly plugins?: readonly Fields[];
  readonly type?: string;
  readonly prompt?: string;
  readonly fields?: Fields;
}

/** Sends a request through guards; the provider responds with this body. Returns the response. */
async function send(
  path: string,
  body: string,
  { plugins = GUARDS, type = SSE, prompt = "hi", fields = {} }: Sending = {},
): Promise<string> {
  const key = `${path} ${GUARDS === plugins}`;
  const route =
    routes.get(key) ??
    seedRoute(gatehouse, {
      gateway: { required_plugins: plugins },
      upstream: { targets: [targetAt(provider, { path, ...TARGETS[path] })] },
    });
  routes.set(key, route);
  provider.behave({ status: 200, headers: [["Content-Type", type]], body });
  const messages = [{ role: "user", content: prompt }];
  const given = path === GEMINI ? { contents: [{ parts: [{ text: prompt }] }] } : { messages, input: prompt };
  const { body: sent } = await rawJson(gatehouse.proxyUrl, (await route).path, {
    model: "m",
    max_tokens: 9,
    stream: type === SSE,
    stream_options: { include_usage: true },
    ...given,
    ...fields,
  });
  return sent.toString();
}

const REFUSED = /tool_denied|code_injection_detected|is not allowed here|njection|provider's stream/;
const events = (...all: Fields[]): string =>
  all
    .map((data) => {
      const name = typeof data["type"] === "string" ? `event: ${data["type"]}\n` : "";
      return `${name}data: ${JSON.stringify(data)}\n\n`;
    })
    .join("");
const DONE = "data: [DONE]\n\n";
const chunk = (delta: Fields, fields: Fields = {}): Fields => ({ choices: [{ index: 0, delta, ...fields }] });
const calls = (...tool_calls: Fields[]): Fields => chunk({ tool_calls });
const ended = chunk({}, { finish_reason: "tool_calls" });
const ARGUMENTS = JSON.stringify({ command: "rm -rf /" });

describe("a call is decided by each name that a client could read", () => {
  const both = {
    id: "c",
    type: "custom",
    function: { name: "get_" },
    custom: { name: "shell", input: "rm -rf /" },
  };
  const start = { type: "message_start", message: { id: "m", role: "assistant", content: [] } };
  const block = (name: string) => ({
    type: "content_block_start",
    index: 0,
    content_block: { type: "tool_use", id: "t", name, input: {} },
  });
  const item = (name: string) => ({
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "function_call", id: "f", call_id: "c", name, arguments: "" },
  });

  test.each<[string, string, string]>([
    ["function and custom", CHAT, events(calls({ index: 0, ...both }), ended) + DONE],
    [
      "a further piece",
      CHAT,
      events(
        calls({ index: 0, id: "c", type: "function", function: { name: "shell", arguments: "" } }),
        calls({ index: 0, function: { name: "_" } }),
        calls({ index: 0, function: { arguments: ARGUMENTS } }),
        ended,
      ) + DONE,
    ],
    [
      "a piece before",
      CHAT,
      events(
        calls({ index: 0, id: "c", type: "function", function: { name: "safe" } }),
        calls({ index: 0, id: "c", function: { name: "shell", arguments: ARGUMENTS } }),
        ended,
      ) + DONE,
    ],
    [
      "in two pieces",
      CHAT,
      events(
        calls({ index: 0, id: "c", type: "function", function: { name: "sh" } }),
        calls({ index: 0, function: { name: "ell", arguments: ARGUMENTS } }),
        ended,
      ) + DONE,
    ],
    [
      "in the call itself",
      CHAT,
      events(calls({ index: 0, id: "c", name: "shell", arguments: ARGUMENTS }), ended) + DONE,
    ],
    [
      "a block that begins twice",
      MESSAGES,
      events(start, block("shell"), block("safe"), {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: ARGUMENTS },
      }),
    ],
    [
      "an item that begins twice",
      RESPONSES,
      events(item("shell"), item("safe"), {
        type: "response.function_call_arguments.delta",
        output_index: 0,
        delta: ARGUMENTS,
      }),
    ],
  ])("%s", async (_, path, body) => {
    const sent = await send(path, body);
    expect(sent).toMatch(REFUSED);
    expect(sent).not.toContain("rm -rf");
  });

  test("function and custom in a whole response, where few tools are allowed", async () => {
    const whole = JSON.stringify({
      choices: [{ index: 0, message: { role: "assistant", tool_calls: [both] } }],
    });
    const sent = await send(CHAT, whole, { plugins: GETTERS_ONLY, type: "application/json" });
    expect(sent).toMatch(REFUSED);
    expect(sent).not.toContain("rm -rf");
  });

  test.each<[string, Fields]>([
    ["with ids", { id: "c" }],
    ["without ids", {}],
  ])("a name that a server repeats in each delta is no longer one: %s", async (_, repeated) => {
    const body =
      events(
        calls({ index: 0, id: "c", type: "function", function: { name: "get_x", arguments: "" } }),
        calls({ index: 0, ...repeated, function: { name: "get_x", arguments: "{" } }),
        calls({ index: 0, ...repeated, function: { name: "get_x", arguments: "}" } }),
        ended,
      ) + DONE;
    expect(await send(CHAT, body, { plugins: GETTERS_ONLY })).toBe(body);
  });
});

const HALVES = ["x document.wr", "ite(1)"] as const;
const [FIRST, SECOND] = HALVES;

describe("a text that goes on is inspected together with its beginning", () => {
  const text = (each: string, index = 0) => ({
    type: "content_block_delta",
    index,
    delta: { type: "text_delta", text: each },
  });
  const thinking = { ...text(""), delta: { type: "thinking_delta", thinking: "Hm." } };
  const output = (delta: string, fields: Fields = {}) => ({
    type: "response.output_text.delta",
    item_id: "i",
    output_index: 0,
    content_index: 0,
    delta,
    ...fields,
  });
  const done = (each: string) => ({ ...output("Hm."), type: "response.output_text.done", text: each });
  const candidate = (each: string, fields: Fields = {}) => ({
    candidates: [{ index: 0, content: { parts: [{ text: each }] }, ...fields }],
  });
  const args = (index: number, id: string | null, piece: string) =>
    calls({
      index,
      ...(id !== null && { id, type: "function" }),
      function: { ...(id !== null && { name: `safe_${id}` }), arguments: piece },
    });

  test.each<[string, string, string]>([
    [
      "after the reason of an end",
      CHAT,
      events(chunk({ content: FIRST }, { finish_reason: "stop" }), chunk({ content: SECOND })) + DONE,
    ],
    [
      "beside an empty reason",
      CHAT,
      events(...HALVES.map((content) => chunk({ content }, { finish_reason: "" }))) + DONE,
    ],
    ["after [DONE]", CHAT, events(chunk({ content: FIRST })) + DONE + events(chunk({ content: SECOND }))],
    [
      "in a member that is not known",
      CHAT,
      events(...HALVES.map((reasoning_text) => chunk({ reasoning_text }))) + DONE,
    ],
    ["in one of an object", CHAT, events(...HALVES.map((a) => chunk({ extra: { a } }))) + DONE],
    [
      "as another choice",
      CHAT,
      events(chunk({ content: FIRST }), chunk({ content: SECOND }, { index: 1 })) + DONE,
    ],
    [
      "in the arguments of a call, after those of another",
      CHAT,
      events(args(0, "a", `{"x":"${FIRST}`), args(1, "b", "{}"), args(0, null, `${SECOND}"}`), ended) + DONE,
    ],
    [
      "after the end of a block",
      MESSAGES,
      events(text(FIRST), { type: "content_block_stop", index: 0 }, text(SECOND), { type: "message_stop" }),
    ],
    ["around another text of a block", MESSAGES, events(text(FIRST), thinking, text(SECOND))],
    ["after the end of a text", RESPONSES, events(output(FIRST), done(FIRST), output(SECOND))],
    ["after the end of another text", RESPONSES, events(output(FIRST), done("Hm."), output(SECOND))],
    ["in an item at another place", RESPONSES, events(output(FIRST), output(SECOND, { output_index: 1 }))],
    [
      "after the reason of an end",
      GEMINI,
      events(candidate(FIRST, { finishReason: "STOP" }), candidate(SECOND, { finishReason: "STOP" })),
    ],
    [
      "as another candidate",
      GEMINI,
      events(candidate(FIRST), { candidates: [{ ...candidate(SECOND).candidates[0], index: 1 }] }),
    ],
  ])("%s: %s", async (_, path, body) => {
    const sent = await send(path, body);
    expect(sent).toMatch(REFUSED);
    expect(sent).not.toContain(SECOND);
  });

  test.each<[string, string, (content: string) => Fields]>([
    ["an empty reason", CHAT, (content) => chunk({ content }, { finish_reason: "" })],
    ["a reason of an end", CHAT, (content) => chunk({ content }, { finish_reason: "stop" })],
    ["a reason of an end", GEMINI, (content) => candidate(content, { finishReason: "STOP" })],
  ])("personal data is restored although each event has %s: %s", async (_, path, event) => {
    const body = events(...["Write to <EMA", "IL_1>", "."].map(event));
    const sent = await send(path, body, { prompt: "write to zq@corp.io" });
    expect(sent).toContain("zq@corp.io");
    expect(sent).not.toContain("EMA");
  });
});

test.each([
  [": ", "\n\n"],
  [": x\u2028data: ", "\r\n\r\n"],
  ["\ufeff:", "\r\r"],
  ["data: {}\n: \u0085", "\n\n"],
])("comments of a stream are emptied: %j", async (start, end) => {
  const hidden = `${start}${JSON.stringify(chunk({ content: HALVES.join("") }))}${end}`;
  const visible = `${events(chunk({ content: "Good morning" }))}${DONE}`;
  const sent = await send(CHAT, hidden + visible);
  expect(sent).not.toContain("document");
  expect(sent).toEndWith(visible);
  expect(sent.slice(0, -visible.length)).toMatch(/^(?:\ufeff|data: \{\}\n)?:[\r\n]+$/);
});

describe("pass unchanged", () => {
  const goldens = new URL("../golden/", import.meta.url);
  const pathOf = (folder: string, isInput: boolean): string => {
    const [from = "", to = ""] = folder.split("-to-");
    const side = isInput ? from : to;
    if (/^gemini/.test(side)) return GEMINI;
    if (/messages/.test(side)) return MESSAGES;
    return /responses/.test(side) ? RESPONSES : CHAT;
  };
  const streams = readdirSync(goldens, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".sse"))
    // The last event of the others is cut, and guards cannot read it.
    .filter((file) => readFileSync(new URL(file, goldens), "utf8").endsWith("\n\n"))
    .sort();

  test.each(streams)("%s", async (file) => {
    const body = readFileSync(new URL(file, goldens), "utf8");
    const path = pathOf(file.slice(0, file.indexOf("/")), file.endsWith(".in.sse"));
    expect(await send(path, body)).toBe(body);
  });

  const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } };
  const opening = chunk({ role: "assistant", content: "", reasoning_content: null }, { finish_reason: null });
  const call = (fields: Fields, name: string, piece: string) =>
    calls({ ...fields, type: "function", function: { name, arguments: piece } });
  const rest = (fields: Fields, piece: string) => calls({ ...fields, function: { arguments: piece } });
  const choice = (index: number, content: string) => ({ choices: [{ index, delta: { content } }] });

  test.each<[string, Fields[], Fields]>([
    ["content after an end", [opening, ended, chunk({ content: "More." }), ended, usage], {}],
    [
      "an empty reason in each event",
      ["Go", "od ", "day"].map((content) => chunk({ role: "assistant", content }, { finish_reason: "" })),
      {},
    ],
    [
      "calls with numbers",
      [
        call({ index: 0, id: "a" }, "ls", ""),
        rest({ index: 0 }, '{"command":'),
        rest({ index: 0 }, '"ls"}'),
        call({ index: 1, id: "b" }, "cat", '{"command":'),
        rest({ index: 1 }, '"cat"}'),
        rest({ index: 0 }, ""),
        ended,
        rest({ index: 1 }, ""),
        usage,
      ],
      {},
    ],
    [
      "calls without numbers",
      [call({ id: "a" }, "ls", '{"command":"ls"}'), call({ id: "b" }, "cat", '{"command":"cat"}'), ended],
      {},
    ],
    [
      "calls in turns",
      [
        call({ index: 0, id: "a" }, "ls", "{}"),
        call({ index: 1, id: "b" }, "cat", '{"command":'),
        rest({ index: 1 }, '"cat"}'),
        call({ index: 0, id: "c" }, "ls", "{}"),
        ended,
      ],
      {},
    ],
    [
      "the parts of a call with empty reasons",
      [call({ index: 0, id: "a" }, "ls", '{"command":'), rest({ index: 0 }, '"ls"}')].map((event) => ({
        choices: (event["choices"] as Fields[]).map((each) => ({ ...each, finish_reason: "" })),
      })),
      {},
    ],
    [
      "several choices",
      [choice(0, "x document.wr"), choice(1, "ite(1)"), choice(0, "ong"), choice(1, "."), usage],
      { n: 2 },
    ],
    [
      "completions of several prompts",
      [0, 1, 0].map((index) => ({ choices: [{ index, text: "Hm.", finish_reason: null }] })),
      { prompt: ["a", "b"] },
    ],
  ])("%s", async (_, chunks, fields) => {
    const body = events(...chunks) + DONE;
    expect(await send(CHAT, body, { fields })).toBe(body);
  });
});
