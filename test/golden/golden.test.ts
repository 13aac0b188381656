// Runs every golden case; each was written and reviewed by hand. Streams are also split at every byte, and in two.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import type { FormatName } from "../../src/formats/format-names.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { StreamTranslation } from "../../src/formats/stream-translation.ts";
import { TranslationError } from "../../src/formats/translation-error.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import {
  NO_CONTEXT,
  type InboundTranslator,
  type OutboundTranslator,
  type StreamEnding,
} from "../../src/formats/translator.ts";
import { isLong } from "../support/long-form.ts";
import { StreamUsageFilter } from "../../src/usage/stream-usage-filter.ts";
import { UsageAccumulator } from "../../src/usage/usage-accumulator.ts";

/** In the short form, each stream is split at every third byte, and the next one at other ones: most have all kinds of events. */
const SPLIT_STEP = isLong ? 1 : 3;

/** Folders with the cases of each format: requests from the hub format, and responses to the hub format. */
const FOLDERS = [
  {
    format: "anthropic" satisfies FormatName,
    requests: join(import.meta.dir, "openai-chat-to-anthropic-messages"),
    responses: join(import.meta.dir, "anthropic-messages-to-openai-chat"),
  },
  {
    format: "gemini" satisfies FormatName,
    requests: join(import.meta.dir, "openai-chat-to-gemini"),
    responses: join(import.meta.dir, "gemini-to-openai-chat"),
  },
  {
    format: "responses" satisfies FormatName,
    requests: join(import.meta.dir, "openai-chat-to-responses"),
    responses: join(import.meta.dir, "responses-to-openai-chat"),
  },
] as const;

function casesIn(folder: string) {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.sort().map((file) => {
    const golden = JSON.parse(readFileSync(join(folder, file), "utf8"));
    return { name: file.slice(0, -".json".length), golden };
  });
}

function outboundOf(format: FormatName): OutboundTranslator {
  return formatNamed(format).outbound;
}

function inboundOf(format: FormatName): InboundTranslator {
  const { inbound } = formatNamed(format);
  if (inbound === null) throw new Error(`${format} has no translator for clients`);
  return inbound;
}

describe.each(FOLDERS)("openai chat request to $format", ({ format, requests }) => {
  const { encodeRequest } = outboundOf(format);
  const encode = (request: JsonObject, report = new TranslationReport()) =>
    encodeRequest(request, { report, targetTag: "t" });
  const cases = casesIn(requests);
  for (const { name, golden } of cases) {
    test(name, () => {
      const before = structuredClone(golden.input);
      if (golden.error === undefined) {
        const report = new TranslationReport();
        expect(encode(golden.input, report)).toStrictEqual(golden.output);
        if (golden.dropped !== undefined) expect(report.dropped).toEqual(golden.dropped);
        expect(report.emulatedStop).toEqual(golden.emulatedStop ?? []);
      } else {
        const { path, message } = catchTranslationError(() => encode(golden.input));
        expect({ path, message }).toEqual(golden.error);
      }
      expect(golden.input).toEqual(before);
    });
  }

  test("all cases were found", () => expect(cases.length).toBeGreaterThan(40));
});

describe.each(FOLDERS)("$format response to openai chat", ({ format, responses }) => {
  const translator = outboundOf(format);
  const cases = casesIn(responses);
  const casesOfKind = (kind: string) => cases.filter(({ golden }) => golden.kind === kind);

  for (const { name, golden } of casesOfKind("message")) {
    test(name, () =>
      expect(
        translator.decodeResponse(golden.input, { createdAt: golden.created, targetTag: "t" }),
      ).toStrictEqual(golden.output),
    );
  }
  for (const { name, golden } of casesOfKind("error")) {
    test(name, () =>
      expect(translator.decodeError(golden.input, golden.status)).toStrictEqual(golden.output),
    );
  }
  for (const [index, { name, golden }] of casesOfKind("stream").entries()) {
    const input = new Uint8Array(readFileSync(join(responses, `${name}.in.sse`)));
    const output = readFileSync(join(responses, `${name}.out.sse`), "utf8");
    // Usage is also read from events after an error, which the decoder ignores.
    const usage = golden.error === null ? { usage: tokensOf(golden.usage) } : {};
    const expected = { output, ending: endingOf(golden), ...usage };
    const decode = (chunks: Uint8Array[]) => decodeStream(format, golden, chunks);

    test(`${name}, whole`, () => expect(decode([input])).toMatchObject(expected));
    test(`${name}, byte by byte`, () => {
      expect(decode(Array.from(input, (_, at) => input.subarray(at, at + 1)))).toMatchObject(expected);
    });
    test(`${name}, split in two`, () => {
      const whole = decode([input]);
      for (let at = index % SPLIT_STEP; at <= input.length; at += SPLIT_STEP) {
        const split = decode([input.subarray(0, at), input.subarray(at)]);
        if (!Bun.deepEquals(split, whole)) expect({ at, ...split }).toEqual({ at, ...whole });
      }
    });
  }

  test("every case is of a known kind", () => {
    const kinds = new Set(cases.map(({ golden: { kind } }) => kind));
    expect([...kinds].sort()).toEqual(["error", "message", "stream"]);
  });
});

function endingOf(golden: { complete: boolean; error: object | null }): StreamEnding {
  if (golden.complete) return "complete";
  return golden.error === null ? "truncated" : "error";
}

function tokensOf(usage: { prompt_tokens: number; completion_tokens: number } | null) {
  return usage === null ? null : { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens };
}

/** Decodes a stream and counts its tokens, as the proxy does. */
function decodeStream(
  format: FormatName,
  golden: { created: number; include_usage: boolean },
  chunks: Uint8Array[],
) {
  const decoder = new StreamTranslation(
    outboundOf(format),
    inboundOf("openai"),
    { createdAt: golden.created, targetTag: "t" },
    { ...NO_CONTEXT, includeUsage: golden.include_usage },
  );
  const { usage: reader } = formatNamed(format);
  const accumulator = new UsageAccumulator(reader);
  const filter = new StreamUsageFilter(reader, accumulator, false);
  const parts: Uint8Array[] = [];
  for (const chunk of chunks) {
    const part = decoder.push(filter.push(chunk));
    if (part !== null) parts.push(part);
  }
  filter.end();
  const ending = decoder.ending();
  const rest = decoder.takeRest();
  if (rest !== null) parts.push(rest);
  const usage = accumulator.result(true, false);
  return {
    output: Buffer.concat(parts).toString("utf8"),
    ending,
    usage: usage === null ? null : { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens },
  };
}

function catchTranslationError(run: () => unknown): TranslationError {
  try {
    run();
  } catch (error) {
    if (error instanceof TranslationError) return error;
    throw error;
  }
  throw new Error("The translation succeeded, but an error was expected.");
}
