// Tests of roles: which strings of a body belong to which message, in every format, also if the client contradicts itself.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Detector } from "./detector.ts";
import { rangesOfRoles, roleAt, roleSetOf } from "./json-roles.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { ROLES, type Role } from "./settings.ts";
import { anyCharacter } from "../../../test/support/characters.ts";
import { runs } from "../../../test/support/long-form.ts";

/** A detector that finds nothing, and keeps the texts that it is given. */
function listener(): Detector & { readonly texts: string[] } {
  const texts: string[] = [];
  const add = (text: string) => {
    texts.push(text);
    return null;
  };
  return {
    texts,
    workDone: 0,
    limitWork: (_, scan) => scan(),
    countWork: () => undefined,
    isCleanJson: () => false,
    first: add,
    firstIn: (units, start, end) => add(String.fromCharCode(...units.subarray(start, end))),
    findAll: (text) => {
      texts.push(text);
      return [];
    },
    findAllIn: (units, start, end) => {
      texts.push(String.fromCharCode(...units.subarray(start, end)));
      return [];
    },
  };
}

/** The strings of a body that are inspected, values and keys, in the order of the text. */
function inspected(text: string, roles: readonly Role[]): string[] {
  const finding = listener();
  const masking = listener();
  const ranges = rangesOfRoles(text, roleSetOf(roles));
  firstInJson(text, finding, ranges);
  maskJson(text, masking, "X", ranges);
  expect(masking.texts).toEqual(finding.texts);
  return finding.texts;
}

const textsOf = (body: unknown, ...roles: Role[]) =>
  inspected(JSON.stringify(body), roles).filter((text) => /^[A-Z]/.test(text));

describe("the roles of", () => {
  test("a chat completion", () => {
    const body = {
      model: "Model",
      messages: [
        { role: "system", content: "System" },
        { role: "developer", content: "Developer" },
        { role: "user", content: [{ type: "text", text: "User" }] },
        {
          role: "assistant",
          content: "Assistant",
          tool_calls: [{ function: { name: "Call", arguments: "Arguments" } }],
        },
        { role: "tool", tool_call_id: "Id", content: "Tool" },
        { role: "function", name: "f", content: "Function" },
      ],
      tools: [{ type: "function", function: { name: "f", description: "Definition" } }],
      metadata: { key: "Metadata" },
    };
    expect(textsOf(body, "system")).toEqual(["System"]);
    expect(textsOf(body, "developer")).toEqual(["Developer"]);
    expect(textsOf(body, "user")).toEqual(["User"]);
    expect(textsOf(body, "assistant")).toEqual(["Assistant", "Call", "Arguments"]);
    expect(textsOf(body, "tool")).toEqual(["Id", "Tool", "Function"]);
    expect(textsOf(body, "other")).toEqual(["Model", "Definition", "Metadata"]);
    expect(textsOf(body, "user", "tool")).toEqual(["User", "Id", "Tool", "Function"]);
  });

  test("an Anthropic message", () => {
    const body = {
      system: [{ type: "text", text: "System" }],
      messages: [
        { role: "user", content: "User" },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Assistant" },
            { type: "tool_use", id: "t", name: "Name", input: { type: "tool_result", command: "Input" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "text", text: "Before" },
            { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "Result" }] },
            { type: "text", text: "Between" },
            { tool_use_id: "t", content: "Second", type: "tool_result" },
            { type: "text", text: "After" },
          ],
        },
      ],
    };
    expect(textsOf(body, "system")).toEqual(["System"]);
    expect(textsOf(body, "user")).toEqual(["User", "Before", "Between", "After"]);
    expect(textsOf(body, "assistant")).toEqual(["Assistant", "Name", "Input"]);
    expect(textsOf(body, "tool")).toEqual(["Result", "Second"]);
  });

  test("a request of the Responses API", () => {
    expect(textsOf({ input: "User", instructions: "System" }, "user")).toEqual(["User"]);
    const body = {
      instructions: "System",
      input: [
        { role: "developer", content: "Developer" },
        { type: "message", role: "user", content: [{ type: "input_text", text: "User" }] },
        { type: "reasoning", summary: [{ type: "summary_text", text: "Reasoning" }] },
        { type: "function_call", call_id: "c", name: "f", arguments: "Arguments" },
        { type: "function_call_output", call_id: "c", output: "Output" },
        { type: "custom_tool_call_output", call_id: "c", output: "Custom" },
        { type: "item_of_the_future", text: "Unknown" },
      ],
    };
    expect(textsOf(body, "system")).toEqual(["System"]);
    expect(textsOf(body, "developer")).toEqual(["Developer"]);
    expect(textsOf(body, "user")).toEqual(["User", "Unknown"]);
    expect(textsOf(body, "assistant")).toEqual(["Reasoning", "Arguments"]);
    expect(textsOf(body, "tool")).toEqual(["Output", "Custom"]);
  });

  test("anything else are those of the user", () => {
    for (const body of ["User", ["User"], { prompt: "User" }, { messages: "User" }, { messages: ["User"] }])
      expect(textsOf(body, "user")).toEqual(["User"]);
    expect(textsOf({ Prompt: { Key: 1 } }, "user")).toEqual(["Prompt", "Key"]);
    expect(textsOf({ messages: { role: "tool", content: "Tool" } }, "tool")).toEqual(["Tool"]);
  });
});

describe("a client cannot avoid the inspection with", () => {
  test.each([
    ["an unknown role", '{"messages":[{"role":"wizard","content":"Found"}]}'],
    ["no role", '{"messages":[{"content":"Found"}]}'],
    ["no role and the type of a call", '{"messages":[{"type":"function_call","content":"Found"}]}'],
    ["a role that is not a string", '{"messages":[{"role":["system"],"content":"Found"}]}'],
    ["a role that is too long", `{"messages":[{"role":"${"system".repeat(60)}","content":"Found"}]}`],
    ["two roles", '{"messages":[{"role":"user","content":"Found","role":"system"}]}'],
    ["two roles in the other order", '{"messages":[{"role":"system","content":"Found","role":"user"}]}'],
    ["an escaped role", '{"messages":[{"content":"Found","role":"us\\u0065r"}]}'],
    ["a role in capitals", '{"messages":[{"role":"USER","content":"Found"}]}'],
    ["an escaped key", '{"m\\u0065ssages":[{"r\\u006fle":"user","content":"Found"}]}'],
    ["keys in capitals", '{"Messages":[{"Role":"user","Content":"Found"}]}'],
    ["two lists of messages", '{"messages":[{"role":"user","content":"Found"}],"messages":[]}'],
    ["a field in capitals", '{"METADATA":"Found"}'],
    [
      "a block with two types",
      '{"messages":[{"role":"user","content":[{"type":"tool_result","type":"text","text":"Found"}]}]}',
    ],
    ["a role inside a block", '{"messages":[{"role":"user","content":[{"role":"system","text":"Found"}]}]}'],
    ["white space", '\n{ "messages" :\t[ {"role" : "user" , "content" : "Found" } ] }'],
    [
      "quotes and brackets in strings",
      '{"a":"]}\\"","messages":[{"name":"\\\\","role":"user","x":"{[","content":"Found"}]}',
    ],
  ])("%s", (_, text) => {
    expect(inspected(text, ["user"])).toContain("Found");
    expect(roleAt(text, text.indexOf("Found"), roleSetOf(["user"]))).toBe("user");
  });
});

test("two roles are inspected as either", () => {
  const text = '{"messages":[{"role":"assistant","content":"Found","role":"tool"}]}';
  for (const role of ["assistant", "tool"] as const) {
    expect(inspected(text, [role])).toContain("Found");
    expect(roleAt(text, text.indexOf("Found"), roleSetOf([role]))).toBe(role);
  }
});

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const NAMED: readonly string[] = ROLES.filter((role) => role !== "other");
const OTHER_FIELDS = ["model", "metadata", "tools", "user"];

/** Reference implementation on the parsed body: returns all strings with their role. */
function naive(body: unknown): [string, Role][] {
  const found: [string, Role][] = [];
  const addAll = (value: unknown, role: Role): void => {
    if (typeof value === "string") found.push([value, role]);
    else if (Array.isArray(value)) for (const each of value) addAll(each, role);
    else if (isFields(value))
      for (const [key, each] of Object.entries(value)) {
        found.push([key, role]);
        addAll(each, role);
      }
  };
  const addMessage = (message: unknown, isItem: boolean): void => {
    if (!isFields(message)) {
      addAll(message, "user");
      return;
    }
    const role = naiveRole(message, isItem);
    for (const [key, value] of Object.entries(message)) {
      found.push([key, role]);
      if (key !== "content" || !Array.isArray(value)) addAll(value, role);
      else
        for (const block of value)
          addAll(block, isFields(block) && block["type"] === "tool_result" ? "tool" : role);
    }
  };
  if (!isFields(body)) {
    addAll(body, "user");
    return found;
  }
  for (const [key, value] of Object.entries(body)) {
    if (key === "messages" || key === "input") {
      if (Array.isArray(value)) for (const each of value) addMessage(each, key === "input");
      else addMessage(value, key === "input");
      continue;
    }
    addAll(
      { [key]: value },
      key === "system" || key === "instructions" ? "system" : OTHER_FIELDS.includes(key) ? "other" : "user",
    );
  }
  return found;
}

function naiveRole({ role, type }: Fields, isItem: boolean): Role {
  if (role !== undefined) return ROLES.find((each) => each === role && each !== "other") ?? "user";
  if (isItem && type === "function_call") return "assistant";
  return isItem && type === "function_call_output" ? "tool" : "user";
}

const word = fc.oneof(
  fc.constantFrom("role", "type", "content", "user", "tool", "tool_result", "system", '"', "\\", "{", "]"),
  fc.string({ unit: anyCharacter, maxLength: 5 }),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    word,
    fc.double(),
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(word, tie("any"), { maxKeys: 3 }),
  ),
})).any;
const block = fc.oneof(
  value,
  fc.record(
    { type: fc.constantFrom("text", "tool_result"), text: word, content: value },
    { requiredKeys: [] },
  ),
);
const messageWith = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.oneof(
    value.filter((each) => !isFields(each)),
    fc.record(
      { content: fc.oneof(word, fc.array(block, { maxLength: 3 })), name: value, ...fields },
      { requiredKeys: [] },
    ),
  );
const role = fc.oneof(fc.constantFrom(...NAMED, "wizard"), fc.constantFrom(null, 3));
const body = fc.record(
  {
    model: word,
    messages: fc.oneof(fc.array(messageWith({ role }), { maxLength: 4 }), word),
    system: value,
    instructions: word,
    input: fc.oneof(
      word,
      fc.array(
        fc.oneof(
          messageWith({ role }),
          messageWith({ type: fc.constantFrom("function_call", "function_call_output") }),
        ),
        { maxLength: 4 },
      ),
    ),
    tools: value,
    metadata: value,
    prompt: value,
  },
  { requiredKeys: [] },
);

test("equals parsing the body, for any body, roles, order of keys and indentation", () => {
  fc.assert(
    fc.property(
      fc.oneof(body, value),
      fc.subarray([...ROLES]),
      fc.constantFrom(0, 2),
      fc.boolean(),
      (parsed, roles, indent, isReversed) => {
        const ordered: unknown =
          isReversed && isFields(parsed) ? Object.fromEntries(Object.entries(parsed).reverse()) : parsed;
        const text = JSON.stringify(ordered, null, indent);
        const strings = naive(JSON.parse(text));
        const expected = strings.filter(([, each]) => roles.includes(each)).map(([each]) => each);
        // These two keys have no role, and are inspected or not.
        const actual = inspected(text, roles).filter((each) => each !== "messages" && each !== "input");
        expect(actual).toEqual(expected);
      },
    ),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

test("does not throw for text that is not JSON, and keeps all strings inspected", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...Array.from('{}[]":,\\a 1')), maxLength: 40 }),
      (text) => {
        inspected(text, ["user"]);
        inspected(`{"messages":${text}`, ["tool"]);
      },
    ),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

test("the work for many messages is linear", () => {
  const count = 50_000;
  for (const element of ["{}", "1", '""', "[]", '{"content":[{}]}']) {
    const text = `{"messages":[${Array.from({ length: count }, () => element).join()}]}`;
    firstInJson(text, listener(), rangesOfRoles(text, roleSetOf(["tool"])));
    expect(maskJson(text, listener(), "X", rangesOfRoles(text, roleSetOf(["user"])))).toBe(text);
  }
});
