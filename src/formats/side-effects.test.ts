// Requests that must not be sent twice, as combinations of parts of which each one alone decides.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../base/json.ts";
import { hasSideEffects } from "./side-effects.ts";

interface Part {
  readonly fields: JsonObject;
  readonly hasEffect: boolean;
}

const harmless = (fields: JsonObject): Part => ({ fields, hasEffect: false });
const effect = (fields: JsonObject): Part => ({ fields, hasEffect: true });

const STORE = [
  harmless({ store: false }),
  effect({ store: true }),
  effect({ store: "false" }),
  effect({ store: 0 }),
];
const BACKGROUND = [
  harmless({}),
  harmless({ background: false }),
  harmless({ background: null }),
  effect({ background: true }),
  effect({ background: "no" }),
];
const OPTIONS = [
  harmless({}),
  harmless({ conversation: null, container: null, mcp_servers: [] }),
  effect({ web_search_options: {} }),
  effect({ conversation: "conv_1" }),
  effect({ container: "container_1" }),
  effect({ mcp_servers: [{ url: "https://tools.example" }] }),
  effect({ plugins: [{ id: "web" }] }),
  effect({ search_parameters: { mode: "auto" } }),
];

const CLIENT_TOOLS: readonly unknown[] = [
  { type: "function", function: { name: "f" } },
  { type: "function", name: "f", parameters: {} },
  { type: "custom", name: "patch" },
  { name: "f", input_schema: { type: "object" } },
  { type: null, name: "f" },
  { type: "bash_20250124", name: "bash" },
  { type: "text_editor_20250728", name: "edit" },
  { functionDeclarations: [{ name: "f" }] },
  { function_declarations: [{ name: "f" }] },
  { type: "namespace", tools: [{ type: "function", name: "f" }] },
  { type: "tool_search", execution: "client" },
];
const PROVIDER_TOOLS: readonly unknown[] = [
  { type: "web_search" },
  { type: "web_search_20250305", name: "web_search" },
  { type: "code_execution_20250825", name: "code_execution" },
  { type: "mcp", server_url: "https://tools.example" },
  { type: "image_generation" },
  { type: "function\n" },
  { type: "Function" },
  { type: ["function"] },
  { googleSearch: {} },
  { functionDeclarations: [], codeExecution: {} },
  { type: "namespace", tools: [{ type: "function", name: "f" }, { type: "file_search" }] },
  { type: "namespace" },
  { type: "tool_search", execution: "server" },
  "web_search",
  null,
  [],
];

const toolsArb: fc.Arbitrary<Part> = fc.oneof(
  fc.constantFrom(harmless({}), harmless({ tools: null }), harmless({ tools: [] }), effect({ tools: {} })),
  fc
    .array(fc.constantFrom(...CLIENT_TOOLS), { maxLength: 4 })
    .map((tools): Part => harmless({ tools: [...tools] })),
  fc
    .tuple(
      fc.array(fc.constantFrom(...CLIENT_TOOLS), { maxLength: 3 }),
      fc.constantFrom(...PROVIDER_TOOLS),
      fc.array(fc.constantFrom(...CLIENT_TOOLS), { maxLength: 3 }),
    )
    .map(([before, tool, after]): Part => effect({ tools: [...before, tool, ...after] })),
);

test("property: a request has side effects if one of its parts has", () => {
  const partsArb = fc.tuple(
    fc.constantFrom(...STORE),
    fc.constantFrom(...BACKGROUND),
    fc.constantFrom(...OPTIONS),
    toolsArb,
  );
  fc.assert(
    fc.property(partsArb, fc.boolean(), (parts, storesByDefault) => {
      const body = Object.assign({}, ...parts.map(({ fields }) => fields)) as JsonObject;
      expect(hasSideEffects(body, storesByDefault)).toBe(parts.some(({ hasEffect }) => hasEffect));
    }),
    { numRuns: 300 },
  );
});

describe("a request that does not say whether it is stored", () => {
  test.each([{}, { store: null }])("%j: the default of the format decides", (body) => {
    expect(hasSideEffects(body, true)).toBe(true);
    expect(hasSideEffects(body, false)).toBe(false);
  });
});

test("fields of the prototype are no fields of the request", () => {
  const body = JSON.parse('{"store": false, "__proto__": {"background": true, "tools": [{"type": "mcp"}]}}');
  expect(hasSideEffects(body as JsonObject, false)).toBe(false);
});
