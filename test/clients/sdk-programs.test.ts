// Programs with the SDKs that many applications use, through the gateway, to targets of every format. Only base URL and key are
// changed. The official SDKs of OpenAI and Anthropic are tested in test/e2e.
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { hasSdk, runProgram } from "./installed-client.ts";
import { connectTo, MODEL, type TargetFormat } from "./one-rule-gateway.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouseProcess();

const TARGETS: readonly TargetFormat[] = [
  { provider: "openai", format: "openai" },
  { provider: "anthropic", format: "anthropic" },
  { provider: "openai", format: "responses" },
  { provider: "google", format: "gemini" },
];
const TOOL_TURNS = [{ calls: [{ name: "weather", arguments: { city: "Paris" } }] }, { text: "It is sunny." }];

/** Runs a program and returns what it prints, as JSON. */
async function run(name: string, target: TargetFormat, path?: string): Promise<unknown> {
  const key = await connectTo(gatehouse, provider, target, path);
  const program = join(import.meta.dir, "programs", `${name}.mjs`);
  const { code, stdout, stderr } = await runProgram(["node", program], import.meta.dir, {
    GATEHOUSE_URL: gatehouse.proxyUrl,
    GATEHOUSE_KEY: key,
    GATEHOUSE_MODEL: MODEL,
  });
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

const hasAiSdk = hasSdk("ai");
describe.skipIf(!hasAiSdk)("Vercel AI SDK", () => {
  const expected = {
    text: "Good day.",
    stream: "Good day.",
    object: { city: "Paris" },
    tool: "It is sunny.",
    toolResults: ["sunny in Paris"],
  };
  test.each(TARGETS)(
    "to a target of $provider with the format $format",
    async (target) => {
      expect(await run("ai-sdk", target)).toEqual({
        chat: expected,
        responses: expected,
        // The SDK gets objects through a tool here, and the fake provider makes up its arguments.
        messages: { ...expected, object: { city: expect.any(String) } },
      });
    },
    100_000,
  );
});

describe.skipIf(!hasAiSdk)("Vercel AI SDK with its default options", () => {
  const texts = ["It is sunny.", "You are welcome."];
  test.each(TARGETS.filter(({ format }) => format !== "responses"))(
    "in a tool loop at a target of $provider with the format $format",
    async (target) => {
      const expected = { whole: texts, streamed: texts, refers: true };
      expect(await run("ai-sdk-defaults", target)).toEqual(expected);
      const sent = provider.requests.map(({ body }) => body.toString());
      // The text of the first step is part of each later request.
      expect(sent.filter((body) => body.includes("I look.")).length).toBe(4);
      expect(sent.filter((body) => body.includes("It is sunny.") && body.includes("Thanks.")).length).toBe(2);
    },
    100_000,
  );
});

const hasLangchain = hasSdk("@langchain/openai");
describe.skipIf(!hasLangchain)("LangChain", () => {
  const expected = {
    text: "Good day.",
    stream: "Good day.",
    calls: [{ name: "weather", args: { city: "Paris" } }],
    usage: true,
  };
  test.each(TARGETS)(
    "to a target of $provider with the format $format",
    async (target) => {
      expect(await run("langchain", target)).toEqual({
        chat: expected,
        responses: expected,
        messages: expected,
      });
    },
    100_000,
  );
});

const hasAgents = hasSdk("@openai/agents");
describe.skipIf(!hasAgents)("OpenAI Agents SDK", () => {
  test.each(TARGETS)(
    "to a target of $provider with the format $format",
    async (target) => {
      provider.behave({ turns: TOOL_TURNS });
      const answers = ["It is sunny.", "It is sunny."];
      expect(await run("openai-agents", target)).toEqual({
        responses: answers,
        chat: answers,
        asked: new Array(4).fill({ city: "Paris" }),
      });
    },
    100_000,
  );
});

const hasGenai = hasSdk("@google/genai");
test.skipIf(!hasGenai)(
  "Google's SDK to a Gemini target",
  async () => {
    provider.behave({ text: "Good day." });
    const target = { provider: "google", format: "gemini" };
    expect(await run("google-genai", target, "/v1beta/*")).toEqual({
      text: "Good day.",
      stream: "Good day.",
      counted: true,
    });
  },
  100_000,
);
