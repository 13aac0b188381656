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
const denies = (...tools: string[]): Fields =>
  guard("tool_policy", { rules: tools.map((tool) => ({ tool, source: "called", action: "deny" })) });
const GUARDS = [
  guard("pii_mask", {}),
  guard("code_sanitation", {
    languages: [{ language: "html" }, { language: "javascript" }],
    content_to_check: ["response"],
    action: "block",
  }),
  denies("shell"),
];
const GETTERS_ONLY = [
  guard("tool_policy", { default: "deny", rules: [{ tool: "get_*", source: "called", action: "allow" }] }),
];

const routes = new Map<string, Promise<{ path: string }>>();
async function send(path: string, body: string, plugins = GUARDS, type = SSE, prompt = "hi") {
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
    ...given,
  });
  return sent.toString();
}

const REFUSED = /tool_denied|code_injection_detected|upstream_bad_answer|is not allowed here|njection/;
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
    const sent = await send(CHAT, whole, GETTERS_ONLY, "application/json");
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
    expect(await send(CHAT, body, GETTERS_ONLY)).toBe(body);
  });
});
