// The texts of responses in every format, whole and streamed, however the bytes are cut and however much a plugin holds back.
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FORMAT_NAMES, type FormatName } from "../../formats/format-names.ts";
import { formatNamed } from "../../formats/registry.ts";
import { OffLoop } from "../../off-loop/off-loop.ts";
import { completeHolds } from "../../sdk/texts.ts";
import { runs as runsOf } from "../../../test/support/long-form.ts";
import {
  readStreamedResponse,
  readWholeResponse,
  streamedResponse,
  wholeResponse,
  type ResponseTexts,
} from "../../../test/support/text-streams.ts";
import { countTurns } from "../../../test/support/counted-turns.ts";
import { TextHolds, type AskPlugin } from "./text-holds.ts";
import { RejectedText } from "./text-rejection.ts";
import { TextStage } from "./text-stage.ts";
import { grapheme } from "../../../test/support/characters.ts";

function stageOf(
  format: FormatName,
  isStream: boolean,
  plugins: readonly AskPlugin[],
  now = () => 0,
): TextStage {
  const reader = formatNamed(format).texts;
  const limits = completeHolds({ tool_arguments: { characters: 65_536, ms: 30_000 } });
  const holds = plugins.map(
    (ask) => new TextHolds({ ask, limits, now, repeats: reader.repeats, isStream: true }),
  );
  const toError = ({ rejection }: RejectedText) => ({ ...rejection, field: null, requestId: "r" });
  return new TextStage({ reader, isStream, isStrict: true, choices: Infinity, holds, toError, offLoop });
}

const offLoop = new OffLoop({ maxThreads: 1 });
afterAll(() => offLoop.close());

async function pass(stage: TextStage, bytes: Uint8Array, sizes: readonly number[]): Promise<Buffer> {
  const sent: Uint8Array[] = [];
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    sent.push(await stage.run(bytes.slice(start, start + size), false));
    start += size;
  }
  sent.push(await stage.run(new Uint8Array(0), true));
  return Buffer.concat(sent);
}

/** A change of text whose result does not depend on where the text is cut, and that leaves escape sequences as they are. */
function changed(text: string): string {
  return text.replaceAll("s", "XYZ").replaceAll("k", "");
}

/** Holds back a random number of characters, and changes the others. */
function changing(holds: readonly number[]): AskPlugin {
  let turn = 0;
  return ({ text, isLast, isForced }) => {
    const held = isLast || isForced ? 0 : Math.min(holds[turn++ % holds.length] ?? 0, text.length);
    const length = text.length - held;
    return Promise.resolve({ length, replacement: changed(text.slice(0, length)) });
  };
}

const keeping =
  (holds: readonly number[]): AskPlugin =>
  async (given) => {
    const decision = await changing(holds)(given);
    return decision === null ? null : { ...decision, replacement: null };
  };

const piece = fc.oneof(
  fc.string({ unit: grapheme, maxLength: 12 }),
  fc.constantFrom("bananas and <KEYS_1>", '"\\\n\r\t', "\ud83d", "\ude00", "é漢😀", "ssss", "k"),
);
const pieces = fc.array(piece, { minLength: 1, maxLength: 8 });
/** Cut anywhere, so that pieces may end within an escape sequence. */
const argumentPieces = fc
  .tuple(
    fc.dictionary(fc.constantFrom("to", "body", "n"), piece, { minKeys: 1 }),
    fc.integer({ min: 1, max: 9 }),
  )
  .map(([value, size]) => cut(JSON.stringify(value), size));
const texts: fc.Arbitrary<ResponseTexts> = fc.record({
  content: pieces,
  reasoning: pieces,
  toolArguments: argumentPieces,
});
const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 5 });
const holds = fc.array(fc.nat(40), { minLength: 1, maxLength: 4 });
const lineEnd = fc.constantFrom("\n", "\r\n");
const runs = { numRuns: runsOf({ short: 25, long: 500 }) };

function cut(text: string, size: number): string[] {
  return text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
}

function joined({ content, reasoning, toolArguments }: ResponseTexts) {
  return { content: content.join(""), reasoning: reasoning.join(""), toolArguments: toolArguments.join("") };
}

describe.each(FORMAT_NAMES)("%s", (format) => {
  test("a large body is read and written in a worker thread, with the same result", async () => {
    const filler = "bananas and kiwis\n".repeat(20_000);
    const given = { content: ["text ", filler], reasoning: ["because"], toolArguments: ['{"to":"bananas"}'] };
    const whole = Buffer.from(wholeResponse(format, joined(given)));
    const before = offLoop.counts.completed;
    const unchanged = await stageOf(format, false, [keeping([0])]).run(whole, true);
    expect(Buffer.compare(unchanged, whole)).toBe(0);
    expect(offLoop.counts.completed - before).toBe(1);
    const sent = await stageOf(format, false, [changing([0]), changing([0])]).run(whole, true);
    expect(offLoop.counts.completed - before).toBe(3);
    const read = readWholeResponse(format, Buffer.from(sent).toString());
    expect(read.content).toBe(changed(changed(joined(given).content)));
    expect(read.toolArguments).toBe(changed(changed(joined(given).toolArguments)));
  });

  test("a plugin that replaces nothing leaves every byte of a stream, whatever it holds back", async () => {
    await fc.assert(
      fc.asyncProperty(texts, sizes, holds, lineEnd, async (given, chunks, held, end) => {
        const bytes = Buffer.from(streamedResponse(format, given, end));
        const sent = await pass(stageOf(format, true, [keeping(held), keeping(chunks)]), bytes, chunks);
        expect(withoutComments(sent, end)).toBe(withoutComments(bytes, end));
      }),
      runs,
    );
  });

  test("replaced text is in the events of a stream, also where the format repeats it", async () => {
    await fc.assert(
      fc.asyncProperty(texts, sizes, holds, lineEnd, async (given, chunks, held, end) => {
        const bytes = Buffer.from(streamedResponse(format, given, end));
        const sent = await pass(stageOf(format, true, [changing(held)]), bytes, chunks);
        const { content, reasoning, toolArguments } = joined(given);
        // The arguments of a call that is sent as an object are normalized by the fixture.
        const isObject = format === "gemini";
        expect(readStreamedResponse(format, sent)).toEqual({
          content: changed(content),
          reasoning: format === "anthropic" ? reasoning : changed(reasoning),
          toolArguments: isObject ? normalized(changedJson(toolArguments)) : changed(toolArguments),
        });
      }),
      runs,
    );
  });

  test("replaced text is the only change of a whole body", async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (given) => {
        const whole = wholeResponse(format, joined(given));
        // Spaces and large numbers are not kept by parsing and writing.
        const body = `{ "large": 12345678901234567890, ${whole.slice(1)}\n`;
        expect(
          Buffer.from(await stageOf(format, false, [keeping([0])]).run(Buffer.from(body), true)).toString(),
        ).toBe(body.toWellFormed());
        const sent = await stageOf(format, false, [changing([0])]).run(Buffer.from(body), true);
        expect(Buffer.from(sent).toString()).toStartWith('{ "large": 12345678901234567890, ');
        const read = readWholeResponse(format, Buffer.from(sent).toString());
        const { content, reasoning } = joined(given);
        expect({ ...read, toolArguments: "" }).toEqual({
          content: changed(content),
          reasoning: changed(reasoning),
          toolArguments: "",
        });
      }),
      runs,
    );
  });

  test("a rejected stream ends with the events before it and an error event of the format", async () => {
    const given = { content: ["one ", "two ", "three"], reasoning: ["r"], toolArguments: ["{}"] };
    const rejecting: AskPlugin = ({ channel, text }) => {
      if (channel.kind === "content" && text.includes("two"))
        throw new RejectedText({ status: 403, code: "tool_denied", message: "Not allowed." });
      return Promise.resolve(null);
    };
    const bytes = Buffer.from(streamedResponse(format, given));
    const failure = await stageOf(format, true, [rejecting])
      .run(bytes, false)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RejectedText);
    const last = failure instanceof RejectedText ? Buffer.from(failure.lastBytes).toString() : "";
    expect(last).toContain("one ");
    expect(last).not.toContain("two ");
    expect(last).toMatch(/error.*Not allowed\./);
    expect(last).toEndWith("\n\n");
    if (format === "responses") {
      const numbers = [...last.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
      expect(numbers).toEqual(numbers.map((_, index) => index));
    }
  });
});

test("held text is released at the limit of characters, and after its time", async () => {
  let now = 0;
  const forced: string[] = [];
  const hoarding: AskPlugin = ({ text, isLast, isForced }) => {
    if (isForced) forced.push(text);
    return Promise.resolve(isLast || isForced ? null : { length: 0, replacement: null });
  };
  const stage = stageOf("openai", true, [hoarding], () => now);
  const event = (content: string) =>
    Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
  expect((await stage.run(event("x".repeat(256)), false)).byteLength).toBe(0);
  expect(stage.dueAt).toBe(2000);
  expect((await stage.run(event("y"), false)).byteLength).toBeGreaterThan(256);
  expect(stage.dueAt).toBe(Infinity);
  now = 500;
  await stage.run(event("late"), false);
  expect((await stage.expire()).byteLength).toBe(0);
  now = 2500;
  expect(Buffer.from(await stage.expire()).toString()).toContain("late");
  expect(forced).toEqual([`${"x".repeat(256)}y`, "late"]);
});

test("the event that names a tool waits for its arguments, and comments pass meanwhile", async () => {
  const seen: [string | null, string, boolean][] = [];
  const waiting: AskPlugin = ({ channel, text, isLast }) => {
    if (channel.kind === "tool_arguments") seen.push([channel.tool, text, isLast]);
    return Promise.resolve(
      channel.kind !== "tool_arguments" || isLast ? null : { length: 0, replacement: null },
    );
  };
  for (const format of FORMAT_NAMES) {
    seen.length = 0;
    const given = { content: ["hi"], reasoning: ["r"], toolArguments: ['{"a":', "1}"] };
    const stream = streamedResponse(format, given);
    const first = stream.lastIndexOf(":\n\n", stream.indexOf("lookup"));
    const [before, after] = [stream.slice(0, first), stream.slice(first)];
    const stage = stageOf(format, true, [waiting]);
    await stage.run(Buffer.from(before), false);
    // All of the call but its end.
    const events = after.split(/(?<=\n\n)/);
    const end =
      format === "gemini"
        ? 0
        : events.findIndex((event) => /block_stop|arguments\.done|"tool_calls"}/.test(event));
    const held = await stage.run(Buffer.from(events.slice(0, end).join("")), false);
    expect(Buffer.from(held).toString().replaceAll(":\n\n", "")).toBe("");
    expect(Buffer.from(await stage.run(Buffer.from(": ping\n\n"), false)).toString()).toBe(":\n\n");
    expect(Buffer.from(await stage.run(Buffer.from(events.slice(end).join("")), false)).toString()).toContain(
      "lookup",
    );
    expect(seen.at(-1)).toEqual(["lookup", '{"a":1}', true]);
  }
});

test("signed reasoning stays as it is, and is read", async () => {
  const body = {
    content: [
      { type: "thinking", thinking: "bananas", signature: "c2ln" },
      { type: "thinking", thinking: "bananas", signature: "" },
    ],
  };
  const read: boolean[] = [];
  const plugin: AskPlugin = (given) => {
    read.push(given.channel.isReadOnly);
    return changing([0])(given);
  };
  const sent = await stageOf("anthropic", false, [plugin]).run(Buffer.from(JSON.stringify(body)), true);
  expect(Buffer.from(sent).toString()).toBe(
    JSON.stringify({ content: [body.content[0], { ...body.content[1], thinking: "bananaXYZ" }] }),
  );
  expect(read).toEqual([true, false]);
});

test("a summary of earlier turns is read and changed", async () => {
  const block = { type: "compaction", content: "bananas" };
  const whole = await stageOf("anthropic", false, [changing([0])]).run(
    Buffer.from(JSON.stringify({ content: [block] })),
    true,
  );
  expect(Buffer.from(whole).toString()).toBe(
    JSON.stringify({ content: [{ ...block, content: "bananaXYZ" }] }),
  );
  const event = (fields: object) => `data: ${JSON.stringify({ index: 0, ...fields })}\n\n`;
  const delta = (content: string) =>
    event({ type: "content_block_delta", delta: { type: "compaction_delta", content } });
  const start = event({ type: "content_block_start", content_block: { type: "compaction", content: "" } });
  const end = event({ type: "content_block_stop" });
  const stream = Buffer.from([start, delta("bana"), delta("nas"), end].join(""));
  const sent = await pass(stageOf("anthropic", true, [changing([0])]), stream, [50]);
  expect(sent.toString()).toBe([start, delta("bana"), delta("naXYZ"), end].join(""));
});

test("data in several lines, a byte order mark, and comments that are no UTF-8 are read", async () => {
  const bytes = Buffer.concat([
    Buffer.from("\ufeffevent: x\r\n:"),
    Buffer.from([0xff]),
    Buffer.from('\r\ndata: {"choices":[{"index":0,\r\ndata: "delta":{"content":"sn"}}]}\r\nid: 1\r\n\r\n'),
  ]);
  const emptied = Buffer.from(bytes.filter((byte) => byte !== 0xff));
  const kept = await pass(stageOf("openai", true, [keeping([3])]), bytes, [7]);
  expect(kept).toEqual(emptied);
  const sent = (await pass(stageOf("openai", true, [changing([0])]), bytes, [7])).toString("latin1");
  expect(sent).toContain(
    'event: x\r\n:\r\ndata: {"choices":[{"index":0, "delta":{"content":"XYZn"}}]}\r\nid: 1\r\n\r\n',
  );
});

test.each(["", "\n", "\r"])("the last event is read without its blank line: %j", async (end) => {
  const event = `data: {"choices":[{"index":0,"delta":{"content":"sn"}}]}${end}`;
  const sent = await pass(stageOf("openai", true, [changing([0])]), Buffer.from(event), [7]);
  expect(sent.toString()).toBe(event.replace("sn", "XYZn"));
});

test("a repetition with another text of the same length is read", async () => {
  const at = { item_id: "i", output_index: 0, content_index: 0 };
  const events = [
    { type: "response.output_text.delta", ...at, delta: "none" },
    { type: "response.output_text.done", ...at, text: "sone" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const sent = await pass(stageOf("responses", true, [changing([0])]), Buffer.from(events.join("")), [70]);
  expect(sent.toString()).toContain('"text":"XYZone"');
});

/** Comments overtake events that are held. */
function withoutComments(bytes: Uint8Array, lineEnd: string): string {
  return Buffer.from(bytes).toString().replaceAll(`:${lineEnd}${lineEnd}`, "");
}

function normalized(json: string): string {
  return JSON.stringify(JSON.parse(json));
}

/** The fixture writes the arguments as JSON.stringify does. */
function changedJson(json: string): string {
  return changed(normalized(json));
}

describe("a stream of which much has arrived at once", () => {
  const EVENT = `data: {"id":"1","choices":[{"index":0,"delta":{"content":"s"}}]}\n\n`;
  const PLUGINS = [keeping([0]), keeping([3])];

  test.each([
    ["small events", EVENT.repeat(20_000)],
    ["comments", ":\n\n".repeat(400_000)],
    ["blank lines", "\n".repeat(500_000)],
    [
      "choices of one event",
      `data: {"choices":[${Array.from({ length: 4000 }, (_, index) => `{"index":${index},"delta":{"content":"s"}}`).join(",")}]}\n\n`,
    ],
    [
      "ends of calls",
      `data: {"choices":[${Array.from({ length: 2000 }, (_, index) => `{"index":${index},"delta":{"content":"s"}}`).join(",")}]}\n\n` +
        `data: {"choices":[{"delta":{"tool_calls":[${'{"index":0},{"index":1},'.repeat(5000)}{}]}}]}\n\n`,
    ],
  ])("is read in several turns of the event loop: %s", async (_, stream) => {
    const bytes = Buffer.from(stream);
    const stage = stageOf("openai", true, PLUGINS);
    const counted = countTurns();
    const sent = [await stage.run(bytes, false), await stage.run(new Uint8Array(0), true)];
    counted.stop();
    expect(Buffer.concat(sent).equals(bytes)).toBe(true);
    expect(counted.count).toBeGreaterThan(0);
  });

  test("an event with too many data lines is an error of the provider", async () => {
    const stage = stageOf("openai", true, PLUGINS);
    const error: unknown = await stage
      .run(Buffer.from("data:\n".repeat(70_000) + "\n"), false)
      .catch((cause: unknown) => cause);
    const message = expect.stringContaining("An event has more than 65536 data lines.");
    expect(error).toMatchObject({ rejection: { code: "upstream_bad_answer", message } });
  });
});
