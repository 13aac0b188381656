// Golden cases of messages clients at chat targets: requests, responses, and streams, which are also split at every byte.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { formatNamed } from "../../src/formats/registry.ts";
import { StreamTranslation } from "../../src/formats/stream-translation.ts";
import { TranslationError } from "../../src/formats/translation-error.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import { NO_CONTEXT, type InboundTranslator } from "../../src/formats/translator.ts";

const REQUESTS = join(import.meta.dir, "messages-client-to-chat-target");
const RESPONSES = join(import.meta.dir, "chat-target-to-messages-client");
const OPTIONS = { createdAt: 1760000000, targetTag: "t" };
const { outbound } = formatNamed("openai");
const inbound = inboundOfMessages();

function inboundOfMessages(): InboundTranslator {
  const translator = formatNamed("anthropic").inbound;
  if (translator === null) throw new Error("messages clients have no translator");
  return translator;
}

function casesIn(folder: string) {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.sort().map((file) => {
    const golden = JSON.parse(readFileSync(join(folder, file), "utf8"));
    return { name: file.slice(0, -".json".length), golden };
  });
}

describe("a request", () => {
  const cases = casesIn(REQUESTS);
  for (const { name, golden } of cases) {
    test(name, () => {
      const report = new TranslationReport();
      const encode = () =>
        outbound.encodeRequest(inbound.decodeRequest(golden.input, report), { report, targetTag: "t" });
      const before = structuredClone(golden.input);
      if (golden.error === undefined) {
        expect(encode()).toStrictEqual(golden.output);
        expect(report.dropped).toEqual(golden.dropped ?? []);
        expect(report.emulatedStop).toEqual(golden.emulatedStop ?? []);
      } else {
        expect(encode).toThrow(TranslationError);
        expect(encode).toThrow(expect.objectContaining(golden.error));
      }
      expect(golden.input).toEqual(before);
    });
  }

  test("all cases were found", () => expect(cases.length).toBeGreaterThan(25));
});

describe("a response", () => {
  for (const { name, golden } of casesIn(RESPONSES)) {
    test(name, () => {
      const completion = outbound.decodeResponse(golden.input, OPTIONS);
      if (completion === null) throw new Error("not a response");
      expect(inbound.encodeResponse(completion, NO_CONTEXT)).toStrictEqual(golden.output);
    });
  }
});

describe("a stream", () => {
  const names = readdirSync(RESPONSES).flatMap((file) => /^(.*)\.in\.sse$/.exec(file)?.[1] ?? []);
  test.each(names)("%s, whole and split in two at every byte", (name) => {
    const input = new Uint8Array(readFileSync(join(RESPONSES, `${name}.in.sse`)));
    const output = readFileSync(join(RESPONSES, `${name}.out.sse`), "utf8");
    for (let at = 0; at < input.length; at += 1) {
      const translation = new StreamTranslation(outbound, inbound, OPTIONS, NO_CONTEXT);
      const parts = [input.subarray(0, at), input.subarray(at)].map((part) => translation.push(part));
      expect(Buffer.concat(parts.filter((part) => part !== null)).toString()).toBe(output);
      const isComplete = output.endsWith('data: {"type":"message_stop"}\n\n');
      expect(translation.ending() === "complete").toBe(isComplete);
    }
  });

  test("all cases were found", () => expect(names.length).toBeGreaterThan(4));
});
