// Responses that hide a text or a call from guards: in a body that is not as it is declared, in fields that official clients read, and in
// calls whose name follows the arguments. Nothing of them reaches the client.
import { afterEach, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import type { Fields } from "../support/plugin-fixtures.ts";
import { rawCall, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);
afterEach(() => provider.reset());

const CODE = "<script>alert(1)</script>";
const ARGUMENTS = JSON.stringify({ command: `rm -rf / ${CODE}` });
const when = { properties: { command: { pattern: "rm -rf" } }, required: ["command"] };
const PLUGINS = {
  policy: {
    name: "tool_policy",
    stage: "pre_request",
    settings: { rules: [{ tool: "shell", source: "called", when, action: "deny" }] },
  },
  code: {
    name: "code_sanitation",
    stage: "pre_request",
    settings: { languages: [{ language: "html" }], content_to_check: ["response"], action: "block" },
  },
} as const;
type Guard = keyof typeof PLUGINS;
const ALL: readonly Guard[] = ["policy", "code"];
const GEMINI = "/v1beta/models/m:streamGenerateContent";
const TARGETS: Readonly<Record<string, Fields>> = {
  "/v1/messages": { provider: "anthropic" },
  [GEMINI]: { provider: "google", format: "gemini" },
};
const CHAT = "/v1/chat/completions";

const routes = new Map<string, Promise<{ path: string }>>();
function routeTo(path: string, guard: Guard): Promise<{ path: string }> {
  const key = `${guard} ${path}`;
  const known = routes.get(key);
  if (known !== undefined) return known;
  const target = targetAt(provider, { path, ...(TARGETS[path] ?? { provider: "openai" }) });
  const created = seedRoute(gatehouse, {
    gateway: { required_plugins: [PLUGINS[guard]] },
    upstream: { targets: [target] },
    rule: { methods: ["*"] },
  });
  routes.set(key, created);
  return created;
}

/** Sends a request through a guard; the provider responds with this body. */
async function send(
  path: string,
  guard: Guard,
  body: string | Uint8Array,
  type: string | null,
  fields: Fields,
) {
  const headers: HeaderPair[] = type === null ? [["X-Type", "none"]] : [["Content-Type", type]];
  provider.behave({ status: 200, headers, body, ...fields });
  const { path: route } = await routeTo(path, guard);
  if (path.startsWith("/v1/files/")) return rawCall(gatehouse.proxyUrl, { method: "GET", target: route });
  const messages = [{ role: "user", content: "hi" }];
  const isStream = !type?.startsWith("application/json");
  return rawJson(gatehouse.proxyUrl, route, {
    model: "m",
    max_tokens: 9,
    messages,
    input: "x",
    stream: isStream,
  });
}

async function expectNothingOf(path: string, guard: Guard, body: string | Uint8Array, type: string | null) {
  const { body: sent } = await send(path, guard, body, type, {});
  const text = sent.toString("utf8").replaceAll("\0", "");
  expect(text).not.toContain("script");
  expect(text).not.toContain("rm -rf");
  expect(text).toMatch(REFUSALS);
}

/** Codes, and messages where the error of a format has no code. */
const REFUSALS = new RegExp(
  [
    ...["tool_denied", "code_injection_detected", "upstream_bad_answer"],
    ...["is not allowed here", "njection", "provider's response", "provider's stream", "cannot inspect"],
  ].join("|"),
);

const SSE = "text/event-stream";
const JSON_TYPE = "application/json";
const called = { index: 0, id: "c", type: "function", function: { name: "shell", arguments: ARGUMENTS } };
const message = { role: "assistant", content: CODE, tool_calls: [called] };
const whole = JSON.stringify({ object: "chat.completion", choices: [{ index: 0, message }] });
const chunk = JSON.stringify({ choices: [{ index: 0, delta: message }] });
const event = (data: Fields): string =>
  `${typeof data["type"] === "string" ? `event: ${data["type"]}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
const events = (...all: Fields[]): string => all.map(event).join("");
const nameless = ({ type, ...data }: Fields): string =>
  `event: ${String(type)}\ndata: ${JSON.stringify(data)}\n\n`;

describe("a body that is not as it is declared", () => {
  test.each<[string, string | Uint8Array, string | null]>([
    ["a stream as JSON", `data: ${chunk}\n\ndata: [DONE]\n\n`, JSON_TYPE],
    ["a stream without a type", `data: ${chunk}\n\n`, null],
    ["a stream as binary data", `data: ${chunk}\n\n`, "application/octet-stream"],
    ["JSON as HTML", whole, "text/html"],
    ["JSON as an image", whole, "image/png"],
    ["JSON as a stream", whole, SSE],
    ["JSON without a type", whole, null],
    ["UTF-16 with a mark", Buffer.from(`\ufeff${whole}`, "utf16le"), "application/json; charset=utf-16"],
    ["UTF-16 without a mark", Buffer.from(whole, "utf16le"), JSON_TYPE],
    ["bytes after the document", `${whole}x`, JSON_TYPE],
    ["two documents", `{"choices":[]}\n${whole}`, JSON_TYPE],
    ["an array", `[${whole}]`, JSON_TYPE],
    ["another case", whole.replace('"choices"', '"Choices"'), JSON_TYPE],
    ["another case that Go folds", whole.replace('"choices"', '"choice\u017f"'), JSON_TYPE],
    ["a member twice", whole.replace('"choices"', '"choices":[],"choices"'), JSON_TYPE],
    ["events in a string of JSON", `{"choices":[],"x":"\ndata: ${chunk}\n\n"}`, JSON_TYPE],
    ["data lines without a blank line", `data: {"choices":[]}\ndata: ${chunk}\n\n`, SSE],
    ["lines of JSON", `${chunk}\n${chunk}\n`, "application/x-ndjson"],
    ["an array as an event", `data: [${chunk}]\n\n`, SSE],
    ["another case of a field", `: c\n\nData: ${chunk}\n\n`, SSE],
    ["a space that is none of JSON", `data:\u00a0${chunk}\n\n`, SSE],
  ])("%s", async (_, body, type) => {
    for (const guard of ALL) await expectNothingOf(CHAT, guard, body, type);
  });

  const wide = (text: string) => Buffer.from(text, "utf16le").swap16();
  test.each<[string, string | Uint8Array]>([
    ["a control character", `\u0001${CODE}`],
    ["UTF-16 with other characters", wide(JSON.stringify({ language: "Ж", text: CODE }))],
    ["UTF-32", Buffer.from(Uint32Array.from(CODE, (each) => each.charCodeAt(0)).buffer)],
  ])("an error or a transcript as binary data with %s", async (_, body) => {
    const type = "application/octet-stream";
    await expectNothingOf("/v1/audio/transcriptions", "code", body, type);
    const { body: sent } = await send(CHAT, "code", body, type, { status: 404 });
    expect(sent.toString().replaceAll("\0", "")).not.toContain("script");
    expect(sent.toString()).toMatch(REFUSALS);
  });

  test("an error whose text has code", async () => {
    const { body } = await send(CHAT, "code", `<p>${CODE}</p>`, "text/html", { status: 400 });
    expect(body.toString()).toContain("code_injection_detected");
  });
});

const MS = {
  type: "message_start",
  message: { id: "m", type: "message", role: "assistant", content: [] as Fields[] },
};
const toolUse = { type: "tool_use", id: "t", name: "shell", input: JSON.parse(ARGUMENTS) as Fields };
const call = { type: "function_call", id: "f", call_id: "c", name: "shell", arguments: ARGUMENTS };
const textItem = {
  type: "message",
  id: "m",
  role: "assistant",
  content: [{ type: "output_text", text: CODE }],
};
const created = (output: Fields[]) => ({ type: "response.created", response: { id: "r", output } });
const completed = { type: "response.completed", response: { id: "r", output: [] } };

describe("an ordinary field of the protocol", () => {
  test.each<[string, string, readonly Guard[], string]>([
    ["chat: a message in a stream", CHAT, ALL, events({ choices: [{ index: 0, message }] })],
    [
      "chat: function_call in it",
      CHAT,
      ["policy"],
      events({ choices: [{ message: { function_call: called.function } }] }),
    ],
    [
      "messages: content at the start",
      "/v1/messages",
      ["policy"],
      events({ ...MS, message: { ...MS.message, content: [toolUse] } }),
    ],
    [
      "messages: text at the start",
      "/v1/messages",
      ["code"],
      events({ ...MS, message: { ...MS.message, content: [{ type: "text", text: CODE }] } }),
    ],
    [
      "messages: events without a type",
      "/v1/messages",
      ["code"],
      nameless({ type: "content_block_delta", index: 0, delta: { text: CODE } }),
    ],
    [
      "responses: arguments of an added item",
      "/v1/responses",
      ALL,
      events(created([]), { type: "response.output_item.added", output_index: 0, item: call }, completed),
    ],
    [
      "responses: text of an added item",
      "/v1/responses",
      ["code"],
      events(created([]), { type: "response.output_item.added", output_index: 0, item: textItem }, completed),
    ],
    [
      "responses: an added part",
      "/v1/responses",
      ["code"],
      events(
        {
          type: "response.content_part.added",
          output_index: 0,
          content_index: 0,
          part: { type: "output_text", text: CODE },
        },
        completed,
      ),
    ],
    ["responses: output at the start", "/v1/responses", ALL, events(created([call]), completed)],
    [
      "responses: output in progress",
      "/v1/responses",
      ALL,
      events(created([]), { ...created([call]), type: "response.in_progress" }, completed),
    ],
    [
      "responses: events without a type",
      "/v1/responses",
      ALL,
      nameless({ type: "response.output_item.done", output_index: 0, item: call }),
    ],
    [
      "responses: code for an interpreter",
      "/v1/responses",
      ["code"],
      events(
        ...["<scr", "ipt>alert(1)</scr", "ipt>"].map((delta) => ({
          type: "response.code_interpreter_call_code.delta",
          output_index: 0,
          delta,
        })),
        completed,
      ),
    ],
    [
      "responses: a late item",
      "/v1/responses",
      ["code"],
      events({ type: "response.output_text.annotation.added", annotation: { title: CODE } }),
    ],
    [
      "chat: a note beside a token",
      CHAT,
      ["code"],
      events({
        choices: [{ delta: { content: "a" }, logprobs: { content: [{ token: "a", note: CODE }] } }],
      }),
    ],
    [
      "gemini: a note beside a token",
      GEMINI,
      ["code"],
      events({
        candidates: [{ logprobsResult: { chosenCandidates: [{ token: "a", note: CODE }] } }],
      }),
    ],
    [
      "gemini: arguments in pieces",
      GEMINI,
      ["policy"],
      events({
        candidates: [
          {
            content: {
              parts: [
                {
                  functionCall: {
                    name: "shell",
                    partialArgs: [{ jsonPath: "$.command", stringValue: "rm -rf /" }],
                  },
                },
              ],
            },
          },
        ],
      }),
    ],
    [
      "gemini: code in pieces of arguments",
      GEMINI,
      ["code"],
      events(
        ...["<scr", "ipt>alert(1)</scr", "ipt>"].map((stringValue) => {
          const partialArgs = [{ jsonPath: "$.command", stringValue }];
          return {
            candidates: [{ content: { parts: [{ functionCall: { partialArgs, willContinue: true } }] } }],
          };
        }),
      ),
    ],
    [
      "gemini: code to execute",
      GEMINI,
      ["code"],
      events({
        candidates: [{ content: { parts: [{ executableCode: { language: "PYTHON", code: CODE } }] } }],
      }),
    ],
    [
      "gemini: names in snake case",
      GEMINI,
      ["policy"],
      events({
        candidates: [{ content: { parts: [{ function_call: { name: "shell", args: toolUse.input } }] } }],
      }),
    ],
  ])("%s", async (_, path, guards, body) => {
    for (const guard of guards) await expectNothingOf(path, guard, body, SSE);
  });

  test.each<[string, string, Fields]>([
    [
      "the output of an MCP server",
      "/v1/responses",
      { output: [{ type: "mcp_call", name: "x", arguments: "{}", output: CODE }] },
    ],
    [
      "logs of an interpreter",
      "/v1/responses",
      { output: [{ type: "code_interpreter_call", code: "1", outputs: [{ type: "logs", logs: CODE }] }] },
    ],
    ["an error", "/v1/responses", { output: [], error: { code: "x", message: CODE } }],
    [
      "a result of an MCP server",
      "/v1/messages",
      { content: [{ type: "mcp_tool_result", content: [{ type: "text", text: CODE }] }] },
    ],
    [
      "a citation",
      "/v1/messages",
      { content: [{ type: "text", text: "x", citations: [{ cited_text: CODE }] }] },
    ],
    [
      "an annotation",
      CHAT,
      { choices: [{ message: { content: "x", annotations: [{ url_citation: { title: CODE } }] } }] },
    ],
    [
      "a part with a refusal",
      CHAT,
      { choices: [{ message: { content: [{ type: "refusal", refusal: CODE }] } }] },
    ],
    [
      "tokens beside no text",
      CHAT,
      {
        choices: [
          {
            message: { content: "" },
            logprobs: { content: [{ token: "<script>" }, { token: "alert(1)</script>" }] },
          },
        ],
      },
    ],
    [
      "a note beside a token",
      CHAT,
      { choices: [{ message: { content: "a" }, logprobs: { content: [{ token: "a", note: CODE }] } }] },
    ],
    [
      "bytes of a token",
      CHAT,
      { choices: [{ message: { content: "a" }, logprobs: { content: [{ token: "a", bytes: [CODE] }] } }] },
    ],
    [
      "a name of a member beside a token",
      CHAT,
      { choices: [{ message: { content: "a" }, logprobs: { content: [{ token: "a", [CODE]: 1 }] } }] },
    ],
    ["a name of a member of probabilities", CHAT, { choices: [{ logprobs: { [CODE]: [] } }] }],
    [
      "a note beside a token",
      "/v1/responses",
      {
        output: [
          {
            type: "message",
            content: [{ type: "output_text", text: "a", logprobs: [{ token: "a", note: CODE }] }],
          },
        ],
      },
    ],
    ["a name of a member", CHAT, { choices: [{ message: { content: "x", extra: { [CODE]: 1 } } }] }],
    ["an id", CHAT, { id: CODE, choices: [] }],
  ])("a whole body: %s", async (_, path, body) => {
    await expectNothingOf(path, "code", JSON.stringify(body), JSON_TYPE);
  });
});

describe("a call whose name follows its arguments", () => {
  const delta = (fields: Fields) => ({
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...fields }] } }],
  });
  const end = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };
  test.each([
    [
      "is held until the name is known",
      [delta({ id: "c", function: { arguments: ARGUMENTS } }), delta({ function: { name: "shell" } }), end],
    ],
    ["is denied without a name", [delta({ id: "c", function: { arguments: ARGUMENTS } }), end]],
    [
      "must not get more of a name",
      [
        delta({ id: "c", function: { name: "sh", arguments: "" } }),
        delta({ function: { arguments: "{" } }),
        delta({ function: { name: "ell", arguments: ARGUMENTS.slice(1) } }),
        end,
      ],
    ],
    [
      "must not have another index",
      [{ choices: [{ index: 0, delta: { tool_calls: [{ ...called, index: "1" }] } }] }, end],
    ],
  ])("%s", async (_, chunks) => {
    await expectNothingOf(CHAT, "policy", `${events(...chunks)}data: [DONE]\n\n`, SSE);
  });

  test("passes if it is allowed", async () => {
    const chunks = [
      delta({ id: "c", function: { arguments: "{}" } }),
      delta({ function: { name: "shell" } }),
      end,
    ];
    const { body } = await send(CHAT, "policy", `${events(...chunks)}data: [DONE]\n\n`, SSE, {});
    expect(body.toString()).toContain('"name":"shell"');
    expect(body.toString()).toContain("[DONE]");
  });
});

describe("pass unchanged", () => {
  test.each<[string, string, string | Uint8Array, string]>([
    ["speech", "/v1/audio/speech", Buffer.from([0, 255, 1, 254, 0x22, 0x7b]), "audio/mpeg"],
    [
      "the content of a file",
      "/v1/files/f/content",
      Buffer.from([0, 255, 1, 254]),
      "application/octet-stream",
    ],
    ["a transcript", "/v1/audio/transcriptions", "identity is a word", "text/plain"],
    ["an unknown operation", "/v1/unknown", Buffer.from([0x89, 0x50, 0, 1]), "image/png"],
    ["audio that begins with silence", "/v1/unknown", Buffer.alloc(600), "audio/pcm"],
    ["undeclared audio", "/v1/unknown", Buffer.from("ID3\u0004\0\0\0TIT2"), "application/octet-stream"],
    ["JSON after white space", CHAT, `\n\n  ${JSON.stringify({ choices: [] })}`, JSON_TYPE],
    [
      "what a response repeats of the request",
      "/v1/responses",
      JSON.stringify({ output: [], instructions: CODE, tools: [] }),
      JSON_TYPE,
    ],
  ])("%s", async (_, path, sent, type) => {
    for (const guard of ALL) {
      const { status, body } = await send(path, guard, sent, type, {});
      expect([status, body.equals(Buffer.from(sent))]).toEqual([200, true]);
    }
  });

  test("except a text with code", async () => {
    const { body } = await send("/v1/audio/transcriptions", "code", `He said ${CODE}`, "text/plain", {});
    expect(body.toString()).toContain("code_injection_detected");
  });
});
