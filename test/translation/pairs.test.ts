// Every client format with every target format: what all formats can express survives the translation of requests, responses
// and streams, and a stream that was cut never ends cleanly. Formats that are added to the registry are tested, too.
import fc from "fast-check";
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { FORMAT_NAMES, HUB_FORMAT, type FormatName } from "../../src/formats/format-names.ts";
import type { ChatCompletionChunk } from "../../src/formats/openai/wire-types.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { StreamTranslation } from "../../src/formats/stream-translation.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import type { InboundTranslator } from "../../src/formats/translator.ts";
import { runs } from "../support/long-form.ts";
import { CONTEXT, encodeAs, respondAs, streamAs } from "./as-provider.ts";
import { completions, requests, streams } from "./conversations.ts";
import { replyOf, ReplyCollector, type SharedReply } from "./reply.ts";

const OPTIONS = { createdAt: 1_760_000_000, targetTag: "t" };

interface Client {
  readonly name: FormatName;
  readonly inbound: InboundTranslator;
}

const CLIENTS: readonly Client[] = FORMAT_NAMES.flatMap((name) => {
  const { inbound } = formatNamed(name);
  return inbound === null ? [] : [{ name, inbound }];
});
const PAIRS = CLIENTS.flatMap((client) =>
  FORMAT_NAMES.map((target) => [client.name, target, client] as const),
);

/** All pairs together: about 100,000 inputs in the long form, which take about a minute. */
const inputs = (short: number, long: number) => ({ numRuns: runs({ short, long }) });

/** Fields that requests to targets of a format, and thus of its clients, do not have. */
const LACKING: Partial<Record<FormatName, readonly string[]>> = {
  // The result of a tool is a text. Errors get a prefix.
  responses: ["stop", "is_error"],
};

function sharedBy(client: FormatName, target: FormatName, request: JsonObject): JsonObject {
  const shared = { ...request };
  if (LACKING[client]?.includes("stop") === true || LACKING[target]?.includes("stop") === true)
    delete shared["stop"];
  if (LACKING[client]?.includes("is_error") === true)
    shared["messages"] = JSON.parse(JSON.stringify(shared["messages"]), (key, value: unknown) =>
      key === "is_error" ? undefined : value,
    );
  return shared;
}

/** Translates a stream and reads it as the client does. */
function translateStream(target: FormatName, client: Client, pieces: readonly Uint8Array[]) {
  const translation = new StreamTranslation(formatNamed(target).outbound, client.inbound, OPTIONS, CONTEXT);
  const collector = new ReplyCollector();
  const reader = formatNamed(client.name).outbound.decodeStream(OPTIONS, collector);
  for (const piece of pieces) {
    const translated = translation.push(piece);
    if (translated !== null) reader.push(translated);
  }
  const ending = translation.ending();
  const rest = translation.takeRest();
  if (rest !== null) reader.push(rest);
  return { ending, clientEnding: reader.ending(), collector };
}

function replyIn(chunks: readonly ChatCompletionChunk[]): SharedReply {
  const collector = new ReplyCollector();
  for (const chunk of chunks) collector.chunk(chunk);
  return collector.reply;
}

describe.each(PAIRS)("%s client, %s target", (name, target, client) => {
  test("a request arrives as if the client had sent it in the hub format", () => {
    fc.assert(
      fc.property(requests, (generated) => {
        const request = sharedBy(name, target, generated);
        // Chat clients send the fields of the hub format, which not every chat target accepts.
        const sent = name === HUB_FORMAT ? request : encodeAs(name, request);
        const decoded = client.inbound.decodeRequest(sent, new TranslationReport());
        expect(encodeAs(target, decoded)).toEqual(encodeAs(target, request));
      }),
      inputs(30, 4000),
    );
  });

  test("a response arrives as the target sent it", () => {
    fc.assert(
      fc.property(completions, (completion) => {
        const decoded = formatNamed(target).outbound.decodeResponse(respondAs(target, completion), OPTIONS);
        if (decoded === null) throw new Error("the response was not recognized");
        const received = JSON.parse(JSON.stringify(client.inbound.encodeResponse(decoded, CONTEXT)));
        const read = formatNamed(name).outbound.decodeResponse(received, OPTIONS);
        expect(read === null ? null : replyOf(read)).toEqual(replyOf(completion));
      }),
      inputs(30, 3000),
    );
  });

  test("a stream arrives as the target sent it, however it is split", () => {
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 200 }), (chunks, size) => {
        const bytes = streamAs(target, chunks);
        const pieces: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
        const { ending, clientEnding, collector } = translateStream(target, client, pieces);
        expect([ending, clientEnding, collector.isDone]).toEqual(["complete", "complete", true]);
        expect(collector.reply).toEqual(replyIn(chunks));
      }),
      inputs(15, 1500),
    );
  });

  test("a stream that was cut never ends cleanly", () => {
    fc.assert(
      fc.property(streams, fc.nat(), (chunks, offset) => {
        const bytes = streamAs(target, chunks);
        const cuts = runs({ short: 15, long: 500 });
        const step = Math.max(1, Math.floor(bytes.length / cuts));
        for (let at = offset % step; at < bytes.length; at += step) {
          const { ending, clientEnding, collector } = translateStream(target, client, [
            bytes.subarray(0, at),
          ]);
          expect([ending, clientEnding, collector.isDone, at]).toEqual(["truncated", "truncated", false, at]);
        }
      }),
      inputs(5, 10),
    );
  });
});
