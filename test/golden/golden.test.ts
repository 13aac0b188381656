// Runs every golden pair: a file is one case, written and checked by hand. Streams are also cut at every byte.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import {
  translateError,
  translateMessage,
} from "../../src/formats/translate/anthropic-messages-to-openai-chat.ts";
import { MessageStreamTranslator } from "../../src/formats/translate/anthropic-stream-to-openai-chat.ts";
import { translateChatRequest } from "../../src/formats/translate/openai-chat-to-anthropic-messages.ts";
import { TranslationError } from "../../src/formats/translate/translation-error.ts";

const REQUESTS = join(import.meta.dir, "openai-chat-to-anthropic-messages");
const ANSWERS = join(import.meta.dir, "anthropic-messages-to-openai-chat");

function casesIn(folder: string) {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.sort().map((file) => {
    const golden = JSON.parse(readFileSync(join(folder, file), "utf8"));
    return { name: file.slice(0, -".json".length), golden };
  });
}

describe("openai chat request to anthropic messages", () => {
  for (const { name, golden } of casesIn(REQUESTS)) {
    test(name, () => {
      const before = structuredClone(golden.input);
      if (golden.error === undefined) {
        expect(translateChatRequest(golden.input)).toStrictEqual(golden.output);
      } else {
        const { path, message } = catchTranslationError(() => translateChatRequest(golden.input));
        expect({ path, message }).toEqual(golden.error);
      }
      expect(golden.input).toEqual(before);
    });
  }
});

describe("anthropic answer to openai chat", () => {
  const cases = casesIn(ANSWERS);
  for (const { name, golden } of cases.filter(({ golden: { kind } }) => kind === "message")) {
    test(name, () => expect(translateMessage(golden.input, golden.created)).toStrictEqual(golden.output));
  }
  for (const { name, golden } of cases.filter(({ golden: { kind } }) => kind === "error")) {
    test(name, () => expect(translateError(golden.input, golden.status)).toStrictEqual(golden.output));
  }
  for (const { name, golden } of cases.filter(({ golden: { kind } }) => kind === "stream")) {
    const input = new Uint8Array(readFileSync(join(ANSWERS, `${name}.in.sse`)));
    const output = readFileSync(join(ANSWERS, `${name}.out.sse`), "utf8");
    const { complete, error, model, usage } = golden;
    const expected = { output, end: { complete, error }, model, usage };

    test(`${name}, whole`, () => expect(translateStream(golden, [input])).toEqual(expected));
    test(`${name}, byte by byte`, () => {
      const bytes = Array.from(input, (_, at) => input.subarray(at, at + 1));
      expect(translateStream(golden, bytes)).toEqual(expected);
    });
    test(`${name}, cut in two at every byte`, () => {
      for (let at = 0; at <= input.length; at += 1) {
        expect(translateStream(golden, [input.subarray(0, at), input.subarray(at)])).toEqual(expected);
      }
    });
  }
});

test("every golden file is of a known kind", () => {
  const kinds = new Set(casesIn(ANSWERS).map(({ golden: { kind } }) => kind));
  expect([...kinds].sort()).toEqual(["error", "message", "stream"]);
  expect(casesIn(REQUESTS).length).toBeGreaterThan(50);
});

function translateStream(golden: { created: number; include_usage: boolean }, chunks: Uint8Array[]) {
  const translator = new MessageStreamTranslator({
    created: golden.created,
    includeUsage: golden.include_usage,
  });
  const parts: Uint8Array[] = [];
  for (const chunk of chunks) {
    const part = translator.push(chunk);
    if (part !== null) parts.push(part);
  }
  const output = Buffer.concat(parts).toString("utf8");
  return { output, end: translator.end(), model: translator.model, usage: translator.usage };
}

function catchTranslationError(run: () => unknown): TranslationError {
  try {
    run();
  } catch (error) {
    if (error instanceof TranslationError) return error;
    throw error;
  }
  throw new Error("The translation went through, though an error was expected.");
}
