// tool_policy: the order of rules, conditions, and tools of every format in requests and responses.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { withoutThreads } from "../../../test/support/without-threads.ts";
import { testPlugin } from "../../sdk/testing.ts";
import { toolPolicy } from "./plugin.ts";
import { UNREADABLE } from "./policy.ts";
import { readJson } from "./read-json.ts";
import { compileSchema } from "./schema.ts";

type Fields = Record<string, unknown>;
const deny = (tool: string, source: string, when?: unknown): Fields => ({
  tool,
  source,
  action: "deny",
  when,
});
const strip = (tool: string, source: string, when?: unknown): Fields => ({
  tool,
  source,
  action: "strip",
  when,
});
const run = (rules: Fields[], body: unknown, fields: Fields = {}) =>
  testPlugin(toolPolicy, { rules, ...fields }).preRequest({ body });
const chatTool = (name: string) => ({ type: "function", function: { name } });

describe("offered tools", () => {
  test("the first rule that matches decides, then the default", async () => {
    const rules = [{ tool: "read_*", source: "offered", action: "allow" }, strip("*", "offered")];
    const body = { tools: [chatTool("read_file"), chatTool("delete_file")], tool_choice: "auto", n: 1 };
    const { body: sent } = await run(rules, body);
    expect(JSON.parse(sent ?? "")).toEqual({ ...body, tools: [chatTool("read_file")] });
    const denied = await run([{ tool: "x", source: "offered", action: "allow" }], body, { default: "deny" });
    expect(denied.response).toMatchObject({ status: 403, body: { code: "tool_denied" } });
  });

  test.each([
    ["chat", { tools: [chatTool("bad"), chatTool("good")] }, { tools: [chatTool("good")] }],
    ["functions", { functions: [{ name: "bad" }, { name: "good" }] }, { functions: [{ name: "good" }] }],
    [
      "messages",
      { tools: [{ name: "bad", input_schema: {} }, { name: "good" }] },
      { tools: [{ name: "good" }] },
    ],
    ["hosted", { tools: [{ type: "bad" }, { type: "web_search" }] }, { tools: [{ type: "web_search" }] }],
    [
      "gemini",
      { tools: [{ functionDeclarations: [{ name: "bad" }, { name: "good" }] }, { bad: {} }] },
      { tools: [{ functionDeclarations: [{ name: "good" }] }] },
    ],
    ["all", { tools: [chatTool("bad")], tool_choice: "auto", parallel_tool_calls: true, x: 1 }, { x: 1 }],
  ])("are stripped: %s", async (_, body, expected) => {
    const { body: sent } = await run([strip("bad", "offered")], body);
    expect(JSON.parse(sent ?? "")).toEqual(expected);
  });

  test.each(["tool_search_output", "mcp_list_tools", "additional_tools"])(
    "in an item of the conversation are offered as well: %s",
    async (type) => {
      const tool = (name: string) => ({ name, parameters: {} });
      const bodyWith = (...names: string[]) => ({
        input: [
          { type, tools: names.map(tool) },
          { role: "user", content: "x" },
        ],
      });
      const denied = await run([deny("bad", "offered")], bodyWith("good", "bad"));
      expect(denied.response).toMatchObject({ status: 403, body: { code: "tool_denied" } });
      const { body: sent } = await run([strip("bad", "offered")], bodyWith("bad", "good"));
      expect(JSON.parse(sent ?? "")).toEqual(bodyWith("good"));
      const { body: emptied } = await run([strip("bad", "offered")], bodyWith("bad"));
      expect(JSON.parse(emptied ?? "")).toEqual(bodyWith());
    },
  );

  test.each([
    ["twice named", `{"tools":[{"type":"function","function":{"name":"bad","name":"good"}}]}`],
    ["in two functions", `{"tools":[{"function":{"name":"bad"},"function":{"name":"good"}}]}`],
    ["in other case", `{"tools":[{"function":{"Name":"bad"}}]}`],
    [
      "in a namespace",
      `{"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"bad"}]}]}`,
    ],
    ["beside functions", `{"tools":[{"functionDeclarations":[{"name":"good"}],"bad":{}}]}`],
    ["second of a Gemini tool", `{"tools":[{"googleSearch":{},"bad":{}}]}`],
    ["no list", `{"tools":{"function_declarations":{"name":"bad"}}}`],
    [
      "two lists of functions",
      `{"tools":[{"functionDeclarations":[],"function_declarations":[{"name":"bad"}]}]}`,
    ],
  ])("are not overlooked: %s", async (_, body) => {
    expect((await run([deny("bad", "offered")], body)).response).toMatchObject({ status: 403 });
    const { body: sent } = await run([strip("bad", "offered")], body);
    expect(sent).not.toContain("bad");
    expect((await run([deny("other", "offered")], body)).response).toBeNull();
  });

  test.each(["web_search_options", "search_parameters", "plugins", "mcp_servers"])(
    "are also the fields that offer hosted tools: %s",
    async (field) => {
      const body = { [field]: {}, tools: [chatTool("good")], tool_choice: "auto" };
      expect((await run([deny(field, "offered")], body)).response).toMatchObject({ status: 403 });
      const { body: sent } = await run([strip(field, "offered")], body);
      expect(JSON.parse(sent ?? "")).toEqual({ tools: [chatTool("good")], tool_choice: "auto" });
      const denied = await run([{ tool: "good", source: "offered", action: "allow" }], body, {
        default: "deny",
      });
      expect(denied.response).toMatchObject({ status: 403 });
      const unset = { ...body, [field]: null };
      expect((await run([deny(field, "offered")], unset)).response).toBeNull();
    },
  );

  test("a stripped function in a namespace, or beside another tool of Gemini, leaves the rest", async () => {
    const tools = [
      { type: "namespace", name: "n", tools: [{ name: "bad" }, { name: "good" }] },
      { functionDeclarations: [{ name: "bad" }], googleSearch: {} },
    ];
    const { body } = await run([strip("bad", "offered")], { tools, n: 1 });
    expect(JSON.parse(body ?? "")).toEqual({
      tools: [{ type: "namespace", name: "n", tools: [{ name: "good" }] }, { googleSearch: {} }],
      n: 1,
    });
  });

  test("other bytes stay, and a forced tool that is stripped is denied", async () => {
    const rest = `"big": 12345678901234567890,"t":[ 1 ]`;
    const tools = JSON.stringify([chatTool("bad"), chatTool("good")]);
    const { body } = await run([strip("bad", "offered")], `{${rest},"tools":${tools}}`);
    expect(body).toBe(`{${rest},"tools":${JSON.stringify([chatTool("good")])}}`);
    const forced = { tools: [chatTool("bad"), chatTool("good")], tool_choice: chatTool("bad") };
    expect((await run([strip("bad", "offered")], forced)).response).toMatchObject({ status: 403 });
  });

  const OFFERED = { tools: [chatTool("bad"), { type: "bad_search" }, chatTool("auto"), chatTool("good")] };
  const limitedTo = (...allowed: string[]) => ({
    functionCallingConfig: { mode: "ANY", allowedFunctionNames: allowed },
  });
  const allowed = (...tools: Fields[]) => ({ type: "allowed_tools", mode: "auto", tools });

  test.each<[string, Fields]>([
    ["a custom tool", { tool_choice: { type: "custom", custom: { name: "bad" } } }],
    ["a hosted tool", { tool_choice: { type: "bad_search" } }],
    ["a function of a hosted tool", { tool_choice: { type: "bad_search", name: "x" } }],
    ["in other case", { Tool_Choice: { Function: { Name: "bad" } } }],
    ["all allowed tools", { tool_choice: allowed({ type: "bad_search" }, chatTool("bad")) }],
    ["all allowed functions of Gemini", { toolConfig: limitedTo("bad") }],
  ])("a request that forces one that is stripped is denied: %s", async (_, choice) => {
    const rules = [strip("bad*", "offered")];
    expect((await run(rules, { ...OFFERED, ...choice })).response).toMatchObject({ status: 403 });
  });

  test.each<[string, Fields, Fields]>([
    ["a mode", { tool_choice: "auto" }, { tool_choice: "auto" }],
    [
      "responses",
      { tool_choice: allowed({ type: "bad_search" }, { type: "function", name: "good" }) },
      { tool_choice: allowed({ type: "function", name: "good" }) },
    ],
    [
      "chat",
      { tool_choice: { allowed_tools: allowed(chatTool("bad"), chatTool("good")) } },
      { tool_choice: { allowed_tools: allowed(chatTool("good")) } },
    ],
    ["gemini", { tool_config: limitedTo("bad", "good") }, { tool_config: limitedTo("good") }],
  ])("one that is stripped is also removed from the allowed tools: %s", async (_, choice, expected) => {
    const rules = [strip("bad*", "offered"), strip("auto", "offered")];
    const { body } = await run(rules, { ...OFFERED, ...choice });
    expect(JSON.parse(body ?? "")).toEqual({ tools: [chatTool("good")], ...expected });
  });

  test("a tool in a second list of the same name is not overlooked", async () => {
    const body = `{"tools":[${JSON.stringify(chatTool("bad"))}],"tools":[]}`;
    expect((await run([deny("bad", "offered")], body)).response).toMatchObject({ status: 403 });
  });
});

describe("a condition sees an offered tool in the same shape in every format", () => {
  const parameters = { type: "object", properties: { command: { type: "string" } } };
  const fields = { name: "run", description: "runs a command" };
  const FORMATS: [string, Fields][] = [
    ["chat", { tools: [{ type: "function", function: { ...fields, parameters, strict: true } }] }],
    ["functions", { functions: [{ ...fields, parameters }] }],
    ["messages", { tools: [{ ...fields, input_schema: parameters, cache_control: { type: "ephemeral" } }] }],
    ["responses", { tools: [{ type: "function", ...fields, parameters, strict: false }] }],
    [
      "a namespace",
      { tools: [{ type: "namespace", name: "n", tools: [{ type: "function", ...fields, parameters }] }] },
    ],
    ["gemini", { tools: [{ functionDeclarations: [{ ...fields, parametersJsonSchema: parameters }] }] }],
    [
      "gemini's types",
      {
        tools: [
          {
            function_declarations: [
              { ...fields, parameters: { type: "OBJECT", properties: { command: { type: "STRING" } } } },
            ],
          },
        ],
      },
    ],
    ["other case", { tools: [{ Type: "function", Function: { ...fields, Parameters: parameters } }] }],
  ];

  test.each(FORMATS)("%s", async (_, body) => {
    const shape = { name: "run", description: "runs a command", schema: parameters };
    expect((await run([deny("run", "offered", { const: shape })], body)).response).toMatchObject({
      status: 403,
    });
    const other = { required: ["description"], properties: { description: { const: "reads" } } };
    expect((await run([deny("run", "offered", other)], body)).response).toBeNull();
  });

  test.each([
    [
      "chat",
      { tools: [{ type: "custom", custom: { name: "run", description: "x", format: { type: "text" } } }] },
    ],
    ["responses", { tools: [{ type: "custom", name: "run", description: "x", format: { type: "text" } }] }],
  ])("a tool without a schema: %s", async (_, body) => {
    const when = { const: { name: "run", description: "x" } };
    expect((await run([deny("run", "offered", when)], body)).response).toMatchObject({ status: 403 });
  });

  test.each<[string, string, unknown, Fields]>([
    [
      "mcp",
      "mcp",
      { type: "mcp", server_url: "https://evil" },
      { tools: [{ type: "mcp", server_url: "https://evil" }] },
    ],
    ["bash", "bash", { type: "bash_1", name: "bash" }, { tools: [{ type: "bash_1", name: "bash" }] }],
    ["gemini", "urlContext", { a: 1 }, { tools: [{ urlContext: { a: 1 } }] }],
    ["a field", "web_search_options", { a: 1 }, { web_search_options: { a: 1 } }],
  ])("a hosted tool has its settings: %s", async (_, name, settings, body) => {
    const when = { const: { name, settings } };
    expect((await run([deny(name, "offered", when)], body)).response).toMatchObject({ status: 403 });
  });

  test.each([
    ["two descriptions", `{"tools":[{"name":"run","description":"a","Description":"b"}]}`],
    ["a description outside", `{"tools":[{"description":"a","function":{"name":"run","description":"b"}}]}`],
    ["two schemas", `{"tools":[{"name":"run","parameters":{},"input_schema":{}}]}`],
    ["two equal keys", `{"tools":[{"name":"run","parameters":{"type":"object","type":"array"}}]}`],
  ])("a tool that can be read in two ways meets conditions that deny: %s", async (_, body) => {
    const when = { properties: { description: { const: "c" } }, required: ["description"] };
    expect((await run([deny("run", "offered", when)], body)).response).toMatchObject({ status: 403 });
    const allowed = [{ tool: "run", source: "offered", action: "allow", when: {} }];
    expect((await run(allowed, body, { default: "deny" })).response).toMatchObject({ status: 403 });
  });

  test.each<[string, unknown]>([
    ["properties", { properties: { function: { required: ["parameters"] } } }],
    ["required", { required: ["input_schema"] }],
    ["in a part", { anyOf: [{ not: { required: ["parameters"] } }] }],
  ])("a condition for a member that no offered tool has is rejected: %s", (_, when) => {
    expect(() => testPlugin(toolPolicy, { rules: [deny("x", "offered", when)] })).toThrow(
      "an offered tool has only name, description, schema, settings",
    );
    expect(() => testPlugin(toolPolicy, { rules: [deny("x", "called", when)] })).not.toThrow();
  });
});

test.each([
  ["a request", { messages: [{ role: "tool", name: "t", content: '{"a":1,"a":2}' }] }],
  ["equal keys inside", { messages: [{ role: "tool", name: "t", content: '[{"b":{"a":1,"\\u0061":2}}]' }] }],
])("a result with equal keys meets conditions that deny: %s", async (_, body) => {
  const when = { const: "nothing else" };
  expect((await run([deny("t", "result", when)], body)).response).toMatchObject({ status: 403 });
  expect((await run([strip("t", "result", when)], body)).body).toContain("[removed by tool_policy]");
  const allowed = [{ tool: "t", source: "result", action: "allow", when: {} }];
  expect((await run(allowed, body, { default: "deny" })).response).toMatchObject({ status: 403 });
});

test("arguments of MCP calls are read as they are written", async () => {
  const rules = [deny("t", "called", { properties: { n: { exclusiveMinimum: 5 } }, required: ["n"] })];
  const call = async (json: string) => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${json}}}`;
    const tool = { name: "t", arguments: JSON.parse(json) as Fields };
    return (await testPlugin(toolPolicy, { rules }).preRequest({ tool, body })).response?.status;
  };
  expect(await call(`{"n":5}`)).toBeUndefined();
  expect(await call(`{"n":5.00000000000000000001}`)).toBe(403);
  expect(await call(`{"n":6,"n":5}`)).toBe(403);
});

test("a result that is nested too deeply to be read meets conditions that deny", async () => {
  const content = `${'{"a":'.repeat(600)}1${"}".repeat(600)}`;
  const rules = [deny("t", "result", { required: ["b"], type: "object" })];
  const body = { messages: [{ role: "tool", name: "t", content }] };
  expect((await run(rules, body)).response).toMatchObject({ status: 403 });
});

test("results are denied or stripped, by tool and by content", async () => {
  const messages = [
    {
      role: "assistant",
      tool_calls: [{ id: "c1", type: "function", function: { name: "search", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c1", content: '{"secret":true}' },
  ];
  const when = { type: "object", required: ["secret"] };
  expect((await run([deny("search", "result", when)], { messages })).response).toMatchObject({ status: 403 });
  const { body } = await run([strip("*", "result", when)], { messages });
  expect(body).toContain('"content":"[removed by tool_policy]"');
  expect((await run([deny("other", "result")], { messages })).response).toBeNull();
});

describe("a condition sees the same value of a result in every format", () => {
  const gemini = (response: unknown) => ({
    contents: [{ role: "user", parts: [{ functionResponse: { name: "t", response } }] }],
  });
  const blocks = (...texts: string[]) => texts.map((text) => ({ type: "text", text }));
  const forms: readonly (readonly [string, (json: string) => unknown])[] = [
    ["chat", (content) => ({ messages: [{ role: "tool", name: "t", content }] })],
    ["parts of chat", (json) => ({ messages: [{ role: "tool", name: "t", content: blocks(json) }] })],
    ["an object", (json) => ({ messages: [{ role: "tool", name: "t", content: JSON.parse(json) }] })],
    [
      "messages",
      (json) => ({
        messages: [
          { role: "assistant", content: [{ type: "tool_use", id: "u", name: "t", input: {} }] },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "u", content: blocks(json.slice(0, 8), json.slice(8)) },
            ],
          },
        ],
      }),
    ],
    [
      "responses",
      (json) => ({
        input: [
          { type: "function_call", call_id: "c", name: "t", arguments: "{}" },
          {
            type: "function_call_output",
            call_id: "c",
            output: [
              { type: "input_text", text: "first" },
              { type: "input_text", text: json },
            ],
          },
        ],
      }),
    ],
    ["gemini", (json) => gemini(JSON.parse(json))],
    ["gemini, wrapped", (json) => gemini({ output: JSON.parse(json) })],
    ["gemini, wrapped with a name", (json) => gemini({ name: "t", content: json })],
    ["gemini, wrapped as text", (json) => gemini({ result: json })],
  ];
  const when = { type: "object", required: ["level"], properties: { level: { const: "secret" } } };

  test.each(forms)("%s", async (_name, bodyWith) => {
    const secret = bodyWith('{"level":"secret"}');
    expect((await run([deny("t", "result", when)], secret)).response).toMatchObject({ status: 403 });
    const { body } = await run([strip("t", "result", when)], secret);
    expect(body).toContain("[removed by tool_policy]");
    expect(body).not.toContain("secret");
    expect((await run([strip("t", "result", when)], JSON.parse(body ?? ""))).body).toBe(body ?? "");
    const other = await run([deny("t", "result", when)], bodyWith('{"level":"public"}'));
    expect(other.response).toBeNull();
  });

  test("equal keys in a response of Gemini", async () => {
    const twice = JSON.stringify(gemini({ level: "secret", x: 1 })).replace('"x":1', '"level":"public"');
    expect((await run([deny("t", "result", when)], twice)).response).toMatchObject({ status: 403 });
  });

  test("a response of Gemini stays an object", async () => {
    const { body } = await run([strip("t", "result", when)], gemini({ level: "secret", n: 1 }));
    expect(JSON.parse(body ?? "")).toEqual(gemini({ output: "[removed by tool_policy]" }));
  });
});

test.each([
  ["chat", { messages: [{ role: "tool", name: "bad", content: "" }] }],
  [
    "messages",
    { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "t", name: "bad" }] }] },
  ],
  [
    "responses",
    {
      input: [
        {
          type: "function_call_output",
          call_id: "c",
          name: "bad",
          output: [{ type: "input_image", image_url: "data:" }],
        },
      ],
    },
  ],
  ["gemini", { contents: [{ parts: [{ functionResponse: { name: "bad", response: { output: "" } } }] }] }],
])("a result without text is denied: %s", async (_, body) => {
  expect((await run([deny("bad", "result")], body)).response).toMatchObject({ status: 403 });
  expect((await run([deny("other", "result")], body, { default: "deny" })).response).toMatchObject({
    status: 403,
  });
  expect((await run([deny("other", "result")], body)).response).toBeNull();
  expect((await run([deny("bad", "result", { pattern: "x" })], body)).response).toBeNull();
});

describe("calls", () => {
  const call = (rules: Fields[], pieces: string[], tool = "shell", isJson = true) =>
    testPlugin(toolPolicy, { rules }).responseText(pieces, { kind: "tool_arguments", tool, isJson });
  const dangerous = { properties: { command: { pattern: "rm -rf" } }, required: ["command"] };

  test("wait until the arguments are whole, and are then decided", async () => {
    const pieces = ['{"command":"r', "m -", 'rf /"}'];
    expect(await call([deny("shell", "called", dangerous)], pieces)).toEqual({
      text: "",
      rejection: {
        status: 403,
        code: "tool_denied",
        message: 'The tool "shell" is not allowed here (called).',
      },
    });
    const harmless = ['{"command":"', 'ls"}'];
    expect(await call([deny("shell", "called", dangerous)], harmless)).toEqual({
      text: harmless.join(""),
      rejection: null,
    });
    expect((await call([deny("shell", "called", dangerous)], pieces, "other")).rejection).toBeNull();
  });

  test("arguments that cannot be read do not pass a rule that denies", async () => {
    expect((await call([deny("shell", "called", dangerous)], ['{"command":'])).rejection).not.toBeNull();
    for (const equal of [
      '{"command":"rm -rf /","command":"ls"}',
      '{"a":[{"b":1,"\\u0062":2}],"command":"ls"}',
    ])
      expect((await call([deny("shell", "called", dangerous)], [equal])).rejection).not.toBeNull();
    const allow = { tool: "*", source: "called", action: "allow", when: { type: "object" } };
    expect((await call([allow, deny("*", "called")], ["[}"])).rejection).not.toBeNull();
  });

  test("a call whose name is not known is held back, and denied if a rule denies any call", async () => {
    const unnamed = (rules: Fields[], pieces: string[]) =>
      testPlugin(toolPolicy, { rules }).responseText(pieces, {
        kind: "tool_arguments",
        tool: null,
        isJson: true,
      });
    const pieces = ['{"command":', '"ls"}'];
    expect(await unnamed([deny("shell", "called", dangerous)], pieces)).toMatchObject({
      text: "",
      rejection: { code: "tool_denied" },
    });
    expect((await unnamed([deny("shell", "called")], pieces)).rejection?.code).toBe("tool_denied");
    const others = [{ tool: "a", source: "called", action: "allow" }, deny("b", "offered")];
    expect(await unnamed(others, pieces)).toEqual({ text: pieces.join(""), rejection: null });
  });

  test("a name decides at once, and plain text is a string", async () => {
    expect((await call([deny("shell", "called")], ["", "{"])).rejection).not.toBeNull();
    expect(
      (await call([deny("shell", "called", { pattern: "rm" })], ["rm x"], "shell", false)).rejection,
    ).not.toBeNull();
  });
});

test("settings that cannot work are rejected", () => {
  const create = (rule: Fields) => () => testPlugin(toolPolicy, { rules: [rule] });
  expect(create(strip("x", "called"))).toThrow("allow or deny");
  const rejected: [unknown, string][] = [
    [{ $ref: "https://example.com/schema" }, "when.$ref: must begin with"],
    [{ $ref: "#/$defs/missing" }, "when.$ref does not refer to a schema"],
    [{ $ref: "#" }, "in a circle"],
    [{ anyOf: [{ type: "string" }, { $ref: "#" }] }, "in a circle"],
    [{ $schema: "http://json-schema.org/draft-07/schema#" }, "2020-12"],
    [{ $vocabulary: { "https://example.com/vocabulary": false } }, "when.$vocabulary"],
    [{ properties: { a: { unevaluatedProperties: false } } }, "when.properties.a.unevaluatedProperties"],
    [{ items: [{}] }, "when.items must be an object or a boolean"],
    [{ dependencies: {} }, "when.dependencies: is not supported"],
    [{ pattern: "(?=a)" }, "when.pattern: look-around"],
    [{ pattern: "(?i)a" }, "(?i:…)"],
    [{ patternProperties: { "\\-": {} } }, "when.patternProperties: "],
    [{ maxLength: -1 }, "when.maxLength: must be a whole number"],
    [{ maximum: 2 ** 53 }, "they are not exact"],
    [{ enum: [[1e300]] }, "they are not exact"],
    [{ type: "integer32" }, "when.type: must be one of"],
    [{ required: [1] }, "when.required: must be a list of names"],
  ];
  for (const [when, message] of rejected) expect(create(deny("x", "called", when))).toThrow(message);
});

test("keywords of JSON Schema", () => {
  const tree = { properties: { children: { items: { $ref: "#" } }, name: { type: "string" } } };
  const cases: [unknown, unknown, boolean][] = [
    [{ type: "integer" }, 1.5, false],
    [{ type: "integer" }, 1, true],
    [{ type: ["null", "string"] }, null, true],
    [{ enum: [{ a: 1, b: 2 }] }, { b: 2, a: 1 }, true],
    [{ const: 1 }, "1", false],
    [{ const: 0 }, -0, true],
    [{ properties: { a: false } }, {}, true],
    [{ properties: { a: {} }, additionalProperties: false }, { a: 1, b: 2 }, false],
    [{ patternProperties: { "^a": {} }, additionalProperties: false }, { ab: 1 }, true],
    [{ patternProperties: { a: { type: "string" } } }, { bab: 1 }, false],
    [{ required: ["toString"] }, {}, false],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, false],
    [{ dependentSchemas: { a: { maxProperties: 1 } } }, { a: 1, b: 2 }, false],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, false],
    [{ items: { minimum: 2 } }, [2, 1], false],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1], true],
    [{ contains: { const: 1 }, maxContains: 1 }, [1, 1], false],
    [{ contains: { const: 1 }, minContains: 0 }, [], true],
    [{ uniqueItems: true }, [{ a: 1 }, { a: 1 }], false],
    [{ minItems: 1, maxItems: 2 }, [1, 2, 3], false],
    [{ maxLength: 1 }, "😀", true],
    [{ exclusiveMaximum: 3 }, 3, false],
    [{ multipleOf: 0.1 }, 0.3, true],
    [{ multipleOf: 0.1 }, 0.35, false],
    [{ pattern: "a*" }, "b", true],
    [{ pattern: "^[a-z]+$" }, "abc1", false],
    [{ pattern: "^[a-z]+$" }, "abc".repeat(1000), true],
    [{ format: "email", "x-note": 1, pattren: "(" }, "no address", true],
    [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, false],
    [{ anyOf: [{ type: "string" }, { minimum: 2 }] }, 3, true],
    [{ allOf: [{ type: "number" }, { not: { const: 3 } }] }, 3, false],
    [{ if: { minimum: 3 }, then: { maximum: 5 }, else: false }, 6, false],
    [{ if: { minimum: 3 }, then: { maximum: 5 }, else: false }, 2, false],
    [tree, { children: [{ name: "a", children: [{ name: 1 }] }] }, false],
    [{ $ref: "#/$defs/a~1b%25", $defs: { "a/b%": { type: "string" } } }, 1, false],
    [{ $ref: "#name", $defs: { a: { $anchor: "name", type: "string" } } }, 1, false],
  ];
  for (const [schema, value, expected] of cases)
    expect({ schema, is: compileSchema(schema)(value) }).toEqual({ schema, is: expected });
  expect(() => compileSchema({ items: {} })(Array.from({ length: 200_000 }, () => 0))).toThrow(
    "too many steps",
  );
});

describe("patterns mean what ECMA-262 says", () => {
  test.each([
    ["^rm|sudo$", "rm -rf /"],
    ["^/etc|^/root", "/etc/passwd"],
    ["^/etc/|/shadow$", "/etc/passwd"],
    ["\\brm\\b", "ls; rm -rf /"],
    ["(?i:select)", "SELECT 1"],
    ["^(?i:ſudo)$", "SUDO"],
  ])("%s denies %s", async (pattern, command) => {
    const when = { properties: { command: { pattern } }, required: ["command"] };
    const call = { kind: "tool_arguments", tool: "shell", isJson: true } as const;
    const plugin = testPlugin(toolPolicy, { rules: [deny("shell", "called", when)] });
    expect((await plugin.responseText([JSON.stringify({ command })], call)).rejection?.code).toBe(
      "tool_denied",
    );
  });
});

test.each([
  ["https://docs.example.com/a", false],
  ["https://docs.example.com.evil.com/", true],
  ["https://docs\u3002example.com/", true],
  ["https://docs\u200b.example.com/", true],
  ["HTTPS://DOCS.EXAMPLE.COM/", true],
  ["https://docs.example.com@evil.com/", true],
])("patterns see the exact text, so that only known hosts can be allowed: %s", async (url, isDenied) => {
  const when = { properties: { url: { pattern: "^https://docs\\.example\\.com/" } }, required: ["url"] };
  const rules = [{ tool: "fetch", source: "called", action: "allow", when }, deny("fetch", "called")];
  const call = { kind: "tool_arguments", tool: "fetch", isJson: true } as const;
  const { rejection } = await testPlugin(toolPolicy, { rules }).responseText([JSON.stringify({ url })], call);
  expect(rejection !== null).toBe(isDenied);
});

describe("numbers", () => {
  const check = (schema: unknown, json: string): boolean => compileSchema(schema)(readJson(json));

  test("that a double rounds are compared as they are written", () => {
    const cases: [unknown, string, boolean][] = [
      [{ maximum: Number.MAX_SAFE_INTEGER }, "9007199254740991.00000000000000000001", false],
      [{ exclusiveMinimum: 5 }, "5.0000000000000000000000000001", true],
      [{ const: 5 }, "5.0000000000000000000000000001", false],
      [{ const: 5 }, "5.000e0", true],
      [{ minimum: 0 }, "-1e-400", false],
      [{ type: "integer" }, "123456789012345678901234567890", true],
      [{ type: "integer" }, "1e-400", false],
      [{ multipleOf: 7 }, "700000000000000000000000000000000000000", true],
      [{ multipleOf: 7 }, "700000000000000000000000000000000000001", false],
      [{ multipleOf: 3 }, "1e400", false],
      [{ uniqueItems: true }, "[9007199254740993, 9007199254740992]", true],
    ];
    for (const [schema, json, expected] of cases)
      expect({ schema, json, is: check(schema, json) }).toEqual({ schema, json, is: expected });
    expect(readJson(`{"a": 1${"0".repeat(1001)}}`)).toBe(UNREADABLE);
  });

  test("are compared and divided as fractions of whole numbers would be", () => {
    const decimal = fc
      .tuple(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), fc.integer({ min: 0, max: 12 }))
      .map(([digits, places]) => ({ digits, places }));
    const bound = fc.tuple(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 0, max: 4 }));
    const scaled = (digits: bigint, places: number): bigint => digits * 10n ** BigInt(12 - places);
    fc.assert(
      fc.property(decimal, bound, ({ digits, places }, [boundDigits, boundPlaces]) => {
        const given = `${digits}e-${places}`;
        const limit = Number(`${boundDigits}e-${boundPlaces}`);
        const [left, right] = [scaled(digits, places), scaled(BigInt(boundDigits), boundPlaces)];
        expect(check({ minimum: limit }, given)).toBe(left >= right);
        expect(check({ exclusiveMinimum: limit }, given)).toBe(left > right);
        expect(check({ const: limit }, given)).toBe(left === right);
        expect(check({ multipleOf: limit }, given)).toBe(left % right === 0n);
      }),
    );
  });
});

test("names with stars match as a regular expression would", () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*"), minLength: 1, maxLength: 6 });
  return fc.assert(
    fc.asyncProperty(pattern, name, async (tool, given) => {
      const { response } = await run([deny(tool, "offered")], { tools: [{ name: given }] });
      expect(response !== null).toBe(new RegExp(`^${tool.replaceAll("*", ".*")}$`).test(given));
    }),
    { numRuns: 100 },
  );
});

test.each(["deny", "allow"])(
  "large arguments count as unreadable if no thread is available: %s",
  async (action) => {
    const other = action === "deny" ? "allow" : "deny";
    const rules = [{ tool: "t", source: "called", action, when: { type: "object" } }];
    const settings = { rules, default: other };
    const large = JSON.stringify({ list: Array.from({ length: 100_000 }, () => [1]) });
    const call = { kind: "tool_arguments", tool: "t", isJson: true } as const;
    const read = await testPlugin(toolPolicy, settings).responseText([large], call);
    expect(read.rejection?.code).toBe(action === "deny" ? "tool_denied" : undefined);
    const unread = await testPlugin(withoutThreads(toolPolicy), settings).responseText([large], call);
    expect(unread.rejection?.code).toBe("tool_denied");
  },
);
