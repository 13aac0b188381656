// The tools, prompts and resources of the fake MCP server. Their results depend on the arguments only.
import type { JsonObject } from "../base/json.ts";

export interface FakeTool {
  readonly definition: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: JsonObject;
  };
  readonly run: (input: JsonObject) => JsonObject;
}

const textResult = (text: string) => ({ content: [{ type: "text", text }] });

function schemaOf(properties: Record<string, "string" | "number">): JsonObject {
  const described = Object.entries(properties).map(([name, type]) => [name, { type }] as const);
  return { type: "object", properties: Object.fromEntries(described), required: Object.keys(properties) };
}

export const FAKE_TOOLS: readonly FakeTool[] = [
  {
    definition: { name: "echo", description: "Returns the text.", inputSchema: schemaOf({ text: "string" }) },
    run: ({ text }) => textResult(String(text)),
  },
  {
    definition: {
      name: "add",
      description: "Adds two numbers.",
      inputSchema: schemaOf({ a: "number", b: "number" }),
    },
    run: ({ a, b }) => {
      const sum = Number(a) + Number(b);
      return { ...textResult(String(sum)), structuredContent: { sum } };
    },
  },
  {
    definition: {
      name: "get_weather",
      description: "Returns the weather of a city.",
      inputSchema: schemaOf({ city: "string" }),
    },
    run: ({ city }) => textResult(`It is ${(String(city).length * 3) % 30} °C in ${String(city)}.`),
  },
  {
    definition: {
      name: "slow",
      description: "Responds after a number of milliseconds, as a stream, and reports progress.",
      inputSchema: schemaOf({ ms: "number" }),
    },
    run: ({ ms }) => textResult(`done after ${Number(ms)} ms`),
  },
  {
    definition: { name: "fail", description: "Fails.", inputSchema: schemaOf({}) },
    run: () => ({ ...textResult("The tool has failed."), isError: true }),
  },
];

export const FAKE_PROMPTS = [{ name: "greeting", description: "Asks for a greeting." }];

export const FAKE_RESOURCES = [{ uri: "fake://readme", name: "readme", mimeType: "text/plain" }];
