// Guards of responses in a gateway: calls that tool_policy denies, and code that code_sanitation finds in responses.
import { beforeEach, describe, expect, test } from "bun:test";
import { postChat, seedPlugins, STREAMED_CHAT, type Fields } from "../support/plugin-fixtures.ts";
import { CHAT, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { readStreamedResponse, readWholeResponse } from "../support/text-streams.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);
beforeEach(() => provider.reset());

const tool = (name: string) => ({ type: "function", function: { name, parameters: { type: "object" } } });
const TOOLS = [tool("shell"), tool("delete_all")];

interface ReadStream {
  readonly sent: string;
  readonly isComplete: boolean;
}

/** Resolves to what arrived of a stream, and whether it ended as it should. A reset may discard bytes that were not read in time: then again. */
async function readStream(call: () => Promise<Response>): Promise<ReadStream> {
  let result: ReadStream = { sent: "", isComplete: false };
  for (let turn = 0; turn < 5 && !result.sent.includes("error"); turn++)
    result = await readOnce(await call());
  return result;
}

async function readOnce(response: Response): Promise<ReadStream> {
  let sent = "";
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      sent += part.value;
    return { sent, isComplete: true };
  } catch {
    return { sent, isComplete: false };
  }
}

const when = { properties: { command: { pattern: "rm -rf" } }, required: ["command"] };
const rules = [
  { tool: "delete_*", source: "offered", action: "strip" },
  { tool: "shell", source: "called", when, action: "deny" },
];
const plugin = { name: "tool_policy", stage: "pre_request", settings: { rules } };
const route = await seedPlugins(gatehouse, provider, [plugin]);
const seed = (settings: Fields) => {
  const languages = [{ language: "sql" }, { language: "html" }];
  const all = { languages, content_to_check: ["response"], ...settings };
  return seedPlugins(gatehouse, provider, [{ name: "code_sanitation", stage: "pre_request", settings: all }]);
};
const blocking = await seed({ action: "block" });
const masking = await seed({ action: "sanitize" });
const CODE = "<script>alert(1)</script>";
const text = `Here it is. ${"word ".repeat(100)}${CODE} ${"and more ".repeat(60)}`;

describe("tool_policy", () => {
  const call = (command: string, body: Fields = CHAT) => {
    provider.behave({ turns: [{ calls: [{ name: "shell", arguments: { command } }] }] });
    return postChat(gatehouse, route, { body: { ...body, tools: TOOLS } });
  };

  test("an offered tool is stripped, and an allowed call passes", async () => {
    const response = await call("ls");
    expect(readWholeResponse("openai", await response.text()).toolArguments).toContain("ls");
    expect(provider.requests.at(-1)?.json()).toMatchObject({ tools: [TOOLS[0]] });
    const streamed = await call("ls", STREAMED_CHAT);
    const bytes = Buffer.from(await streamed.arrayBuffer());
    expect(readStreamedResponse("openai", bytes).toolArguments).toContain("ls");
  });

  test("a denied call is an error response", async () => {
    const response = await call("rm -rf /");
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: "tool_denied" });
  });

  test("a denied call in a stream is an error event and a broken end, and no part of it is sent", async () => {
    const { sent, isComplete } = await readStream(() => call("rm -rf /", STREAMED_CHAT));
    expect(isComplete).toBe(false);
    expect(sent).toContain('"code":"tool_denied"');
    expect(sent).not.toContain('"tool_calls"');
    expect(sent).not.toContain("rm -rf");
    expect(sent).not.toContain("[DONE]");
  });
});

describe("tool_policy and calls whose arguments have an unusual form", () => {
  const withoutForce = { properties: { command: { items: { not: { pattern: "^-rf$" } } } } };
  const denied = [
    { tool: "shell", source: "called", when, action: "deny" },
    { tool: "wipe", source: "called", action: "deny" },
    { tool: "local_shell", source: "called", when: { not: withoutForce }, action: "deny" },
    { tool: "apply_patch", source: "called", action: "deny" },
  ];
  const command = { command: "rm -rf /" };
  const toolCall = (call: Fields) => ({ id: "c1", type: "function", function: call });
  const chat = (call: Fields) => ({
    choices: [{ message: { role: "assistant", tool_calls: [toolCall(call)] } }],
  });
  const messages = (block: Fields) => ({
    type: "message",
    role: "assistant",
    content: [{ type: "tool_use", id: "t1", ...block }],
  });
  const responses = (item: Fields) => ({
    object: "response",
    output: [{ type: "function_call", call_id: "c1", ...item }],
  });
  const localShell = (...words: string[]) => ({
    type: "local_shell_call",
    action: { type: "exec", command: words, env: {} },
  });
  const seedFor = (targetFields: Fields) =>
    seedRoute(gatehouse, {
      gateway: { required_plugins: [{ ...plugin, settings: { rules: denied } }] },
      upstream: { targets: [targetAt(provider, { path: "/v1/x", ...targetFields })] },
    });
  const send = async (targetFields: Fields, path: string, reply: object) => {
    provider.behave({ headers: [["Content-Type", "application/json"]], body: JSON.stringify(reply) });
    const { path: route } = await seedFor({ ...targetFields, path });
    return rawJson(gatehouse.proxyUrl, route, {
      model: "m",
      max_tokens: 9,
      messages: CHAT.messages,
      input: "x",
    });
  };
  const OPENAI = { provider: "openai" };
  const ANTHROPIC = { provider: "anthropic" };
  const CHAT_PATH = "/v1/chat/completions";

  test.each([
    ["chat, an object", OPENAI, CHAT_PATH, chat({ name: "shell", arguments: command })],
    ["chat, null", OPENAI, CHAT_PATH, chat({ name: "wipe", arguments: null })],
    ["chat, none", OPENAI, CHAT_PATH, chat({ name: "wipe" })],
    [
      "messages, a string",
      ANTHROPIC,
      "/v1/messages",
      messages({ name: "shell", input: JSON.stringify(command) }),
    ],
    ["messages, none", ANTHROPIC, "/v1/messages", messages({ name: "wipe" })],
    ["responses, an object", OPENAI, "/v1/responses", responses({ name: "shell", arguments: command })],
    ["responses, none", OPENAI, "/v1/responses", responses({ name: "wipe" })],
    ["responses, without a name", OPENAI, "/v1/responses", responses(localShell("rm", "-rf", "/"))],
    [
      "responses, unknown fields",
      OPENAI,
      "/v1/responses",
      responses({ type: "apply_patch_call", patch: {} }),
    ],
  ])("are denied: %s", async (_, targetFields, path, reply) => {
    const response = await send(targetFields, path, reply);
    expect([response.status, response.json()]).toEqual([
      403,
      expect.objectContaining({ code: "tool_denied" }),
    ]);
  });

  test("pass unchanged if no rule denies them", async () => {
    const reply = chat({ name: "shell", arguments: { command: "ls" } });
    expect((await send(OPENAI, CHAT_PATH, reply)).json()).toEqual(reply);
    const shell = responses(localShell("ls"));
    expect((await send(OPENAI, "/v1/responses", shell)).json()).toEqual(shell);
  });

  test("are denied in streams", async () => {
    const { path } = await seedFor({ ...OPENAI, path: CHAT_PATH });
    const events = [toolCall({ name: "wipe" }), null].map((call) => {
      const delta = call === null ? {} : { tool_calls: [{ index: 0, ...call }] };
      return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: call && null }] })}\n\n`;
    });
    // Clients that requested a stream read one whatever its type. The fake provider adds none.
    for (const type of ["text/event-stream", "text/plain; charset=utf-8", null]) {
      const headers: [string, string][] = type === null ? [["X-Type", "none"]] : [["Content-Type", type]];
      const body = Buffer.from(`${events.join("")}data: [DONE]\n\n`);
      // The first chunk ends within the name of a field.
      provider.behave({ headers, body: [body.subarray(0, 3), body.subarray(3)] });
      const { sent, isComplete } = await readStream(() =>
        fetch(gatehouse.proxyUrl + path, { method: "POST", body: JSON.stringify(STREAMED_CHAT) }),
      );
      expect([type, isComplete]).toEqual([type, false]);
      expect(sent).toContain('"code":"tool_denied"');
    }
  });

  /** Streams of chat completions with one call whose deltas are given. */
  const callDeltas = (...deltas: Fields[]): string => {
    const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta: { tool_calls: [delta] } }] }));
    const end = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };
    return (
      [...chunks, end].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") + "data: [DONE]\n\n"
    );
  };
  const call = (name: string, id: string, place: Fields = { index: 0 }): Fields => ({
    ...place,
    id,
    function: { name, arguments: "{}" },
  });
  const piece = (fields: Fields, id?: string): Fields => ({ index: 0, ...(id && { id }), function: fields });
  const streamTo = async (path: string, targetFields: Fields, events: string, body: Fields) => {
    const { path: route } = await seedFor({ ...targetFields, path });
    provider.behave({ headers: [["Content-Type", "text/event-stream"]], body: events });
    return readStream(() =>
      fetch(gatehouse.proxyUrl + route, { method: "POST", body: JSON.stringify({ ...body, stream: true }) }),
    );
  };

  test.each([
    ["in two deltas", [piece({ name: "wi" }, "c1"), piece({ name: "pe", arguments: "{}" })]],
    [
      "in equal parts",
      [piece({ name: "wipe" }, "c1"), piece({ name: "wipe" }, "c1"), piece({ arguments: "{}" })],
    ],
    [
      "with empty arguments",
      [piece({ name: "w", arguments: "" }, "c1"), piece({ name: "ip" }), piece({ name: "e" })],
    ],
    ["beside a call without index", [call("wipe", "c1", {}), call("ok", "c2", {})]],
    ["beside a call of the same index", [call("wipe", "c1"), call("ok", "c2")]],
    ["before a call of the same index", [call("ok", "c1"), call("wipe", "c2")]],
    [
      "whose first piece is a denied name",
      [piece({ name: "wipe" }, "c1"), piece({ name: "_table", arguments: "{}" })],
    ],
    ["of a function_call", null],
  ])("are denied if their name is split: %s", async (_, deltas) => {
    const old = [{ name: "wi" }, { name: "pe", arguments: "" }, { arguments: "{}" }].map((function_call) => ({
      choices: [{ index: 0, delta: { function_call } }],
    }));
    const events =
      deltas === null
        ? old.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")
        : callDeltas(...deltas);
    const { sent, isComplete } = await streamTo(CHAT_PATH, OPENAI, events, CHAT);
    expect(isComplete).toBe(false);
    expect(sent).toContain('"code":"tool_denied"');
    expect(sent).not.toContain('wipe",');
  });

  test.each([
    ["a longer name", [piece({ name: "wi" }, "c1"), piece({ name: "pe_table", arguments: "{}" })]],
    ["a repeated name", [piece({ name: "ok" }, "c1"), piece({ name: "ok", arguments: "{}" }, "c1")]],
  ])("pass if their whole name is no denied one: %s", async (_, deltas) => {
    const events = callDeltas(...deltas);
    expect(await streamTo(CHAT_PATH, OPENAI, events, CHAT)).toEqual({ sent: events, isComplete: true });
  });

  test("are denied if the name follows the arguments", async () => {
    const events = callDeltas(piece({ arguments: JSON.stringify(command) }, "c1"), piece({ name: "shell" }));
    const { sent, isComplete } = await streamTo(CHAT_PATH, OPENAI, events, CHAT);
    expect([isComplete, sent.includes('"code":"tool_denied"')]).toEqual([false, true]);
    expect(sent).not.toContain("rm -rf");
  });

  test("are denied in streams of Gemini that send the arguments piece by piece", async () => {
    const calls = [
      { name: "shell", willContinue: true },
      { partialArgs: [{ jsonPath: "$.command", stringValue: "rm -rf /" }], willContinue: true },
      {},
    ];
    const events = calls
      .map((functionCall) => ({
        candidates: [{ index: 0, content: { role: "model", parts: [{ functionCall }] } }],
      }))
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join("");
    const path = "/v1beta/models/m:streamGenerateContent";
    const { sent, isComplete } = await streamTo(path, { provider: "gemini" }, events, { contents: [] });
    expect([isComplete, sent.includes("TOOL_DENIED")]).toEqual([false, true]);
    expect(sent).not.toContain("rm -rf");
  });

  test("are denied if a later event of the Responses API names another tool", async () => {
    const item = (name: string) => ({
      type: "function_call",
      id: "i1",
      call_id: "c1",
      name,
      arguments: "{}",
    });
    const events = [
      { type: "response.output_item.added", output_index: 0, item: { ...item("ok"), arguments: "" } },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: "{}" },
      { type: "response.output_item.done", output_index: 0, item: item("wipe") },
    ].map(
      (event, at) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`,
    );
    const { sent, isComplete } = await streamTo("/v1/responses", OPENAI, events.join(""), {
      model: "m",
      input: "x",
    });
    expect(isComplete).toBe(false);
    expect(sent).toContain('"code":"tool_denied"');
    expect(sent).not.toContain('wipe",');
  });

  test("are denied in a whole response with two calls of the same index", async () => {
    const calls = [
      { index: 0, ...toolCall({ name: "wipe", arguments: "{}" }) },
      { index: 0, ...toolCall({ name: "ok", arguments: "{}" }) },
    ];
    const reply = { choices: [{ index: 0, message: { role: "assistant", tool_calls: calls } }] };
    const { status, body } = await send(OPENAI, CHAT_PATH, reply);
    expect([status, body.includes("tool_denied")]).toEqual([403, true]);
  });

  test("are denied in streams if they have no name", async () => {
    const { path } = await seedFor({ ...OPENAI, path: "/v1/responses" });
    const item = { ...localShell("rm", "-rf", "/"), id: "i1", call_id: "c1" };
    const events = ["added", "done"].map((phase, at) => {
      const type = `response.output_item.${phase}`;
      return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, output_index: 0, item })}\n\n`;
    });
    provider.behave({ headers: [["Content-Type", "text/event-stream"]], body: events.join("") });
    const body = JSON.stringify({ model: "m", input: "x", stream: true });
    const { sent, isComplete } = await readStream(() =>
      fetch(gatehouse.proxyUrl + path, { method: "POST", body }),
    );
    expect(isComplete).toBe(false);
    expect(sent).toContain('"code":"tool_denied"');
    expect(sent).not.toContain("-rf");
  });
});

describe("code_sanitation of responses", () => {
  test("blocks a response, whole and streamed", async () => {
    provider.behave({ text });
    const whole = await postChat(gatehouse, blocking);
    expect(whole.status).toBe(400);
    expect(await whole.json()).toMatchObject({ code: "code_injection_detected" });
    const { sent, isComplete } = await readStream(() =>
      postChat(gatehouse, blocking, { body: STREAMED_CHAT }),
    );
    expect(isComplete).toBe(false);
    expect(sent).toContain('"code":"code_injection_detected"');
    expect(sent).not.toContain("<script");
  });

  test("masks code in a response, whole and streamed, and leaves the rest", async () => {
    provider.behave({ text });
    const whole = readWholeResponse("openai", await (await postChat(gatehouse, masking)).text()).content;
    expect(whole).not.toContain("<script");
    expect(whole).toHaveLength(text.length);
    expect(whole.slice(0, 400)).toBe(text.slice(0, 400));
    const response = await postChat(gatehouse, masking, { body: STREAMED_CHAT });
    const streamed = readStreamedResponse("openai", Buffer.from(await response.arrayBuffer())).content;
    expect(streamed.trim()).toBe(whole.trim());
  });

  test("reads JSON with the content type of text", async () => {
    const body = JSON.stringify({ choices: [{ message: { role: "assistant", content: text } }] });
    provider.behave({ headers: [["Content-Type", "text/plain; charset=utf-8"]], body });
    expect((await postChat(gatehouse, blocking)).status).toBe(400);
    expect(await (await postChat(gatehouse, masking)).text()).not.toContain("<script");
  });

  test("passes harmless responses, and does not scan the request", async () => {
    provider.behave({ text: "Good morning" });
    const body = { ...CHAT, messages: [{ role: "user", content: CODE }] };
    for (const route of [blocking, masking]) {
      const response = await postChat(gatehouse, route, { body });
      expect(readWholeResponse("openai", await response.text()).content).toBe("Good morning");
    }
  });
});
