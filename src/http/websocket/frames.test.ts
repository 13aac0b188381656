// Frames of both directions: what a client sends, and what a server may and may not send.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { BodyBudget } from "../body-budget.ts";
import { CLOSE } from "./close-codes.ts";
import { FrameError, FrameParser } from "./frame-parser.ts";
import { encodeClose, encodeFrame, OPCODE, type FrameSender } from "./frames.ts";
import { LargeMessage, type ReceivedMessage } from "./messages.ts";

const LARGE_BYTES = 200_000;

type Event = readonly [string, ...unknown[]];

const clock = new ManualClock();
let memory = { budget: new BodyBudget(Infinity, clock), clock };

function eventOf(message: ReceivedMessage): Event {
  if (typeof message === "string") return ["text", message];
  if (message instanceof LargeMessage) return ["large", message.isText, Buffer.from(message.bytes)];
  return ["binary", Buffer.from(message).toString("hex")];
}

/** Parses bytes that arrive in these pieces. */
function parse(pieces: readonly Uint8Array[], maxBytes = 1_000_000, sender: FrameSender = "server"): Event[] {
  const events: Event[] = [];
  const parser = new FrameParser(
    {
      onMessage: (message) => void events.push(eventOf(message)),
      onPing: (payload) => void events.push(["ping", Buffer.from(payload).toString()]),
      onClose: (code, reason) => void events.push(["close", code, reason]),
      onRefused: ({ code }) => void events.push(["refused", code]),
    },
    { maxBytes, isLarge: ({ byteLength }) => byteLength > LARGE_BYTES },
    sender,
    memory,
  );
  for (const piece of pieces) for (let at = 0; at < piece.length;) at = parser.read(piece, at);
  return events;
}

/** Returns a frame of a server, which is not masked. */
function frame(opcode: number, payload: string | Uint8Array, { isFinal = true, firstBits = 0 } = {}): Buffer {
  const bytes = Buffer.from(payload as Uint8Array);
  const first = (isFinal ? 0x80 : 0) | firstBits | opcode;
  if (bytes.length < 126) return Buffer.concat([Buffer.from([first, bytes.length]), bytes]);
  const header = Buffer.alloc(bytes.length < 65_536 ? 4 : 10);
  header[0] = first;
  header[1] = header.length === 4 ? 126 : 127;
  if (header.length === 4) header.writeUInt16BE(bytes.length, 2);
  else header.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([header, bytes]);
}

/** Undoes the masking of a client's frame. */
function unmask(encoded: Uint8Array): Buffer {
  const bytes = Buffer.from(encoded);
  const short = (bytes[1] ?? 0) & 0x7f;
  const headerBytes = short === 126 ? 4 : short === 127 ? 10 : 2;
  const mask = bytes.subarray(headerBytes, headerBytes + 4);
  const payload = Buffer.from(bytes.subarray(headerBytes + 4));
  for (let at = 0; at < payload.length; at++) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
  const header = Buffer.from(bytes.subarray(0, headerBytes));
  header[1] = short;
  return Buffer.concat([header, payload]);
}

function errorOf(pieces: readonly Uint8Array[], maxBytes?: number, sender?: FrameSender): number {
  try {
    parse(pieces, maxBytes, sender);
  } catch (error) {
    if (error instanceof FrameError) return error.code;
    throw error;
  }
  return 0;
}

describe("frames of a client", () => {
  test("are masked, and a server reads them, whatever their size", () => {
    for (const size of [0, 1, 2, 3, 4, 5, 125, 126, 127, 65_535, 65_536, 70_001]) {
      const payload = Buffer.alloc(size, "abcdefg");
      const encoded = encodeFrame(OPCODE.binary, payload, "client");
      expect((encoded[1] ?? 0) & 0x80).toBe(0x80);
      expect(parse([unmask(encoded)])).toEqual([["binary", payload.toString("hex")]]);
      const pieces = Array.from({ length: Math.ceil(encoded.length / 997) }, (_, index) =>
        encoded.subarray(index * 997, (index + 1) * 997),
      );
      expect(parse(pieces, undefined, "client")).toEqual([["binary", payload.toString("hex")]]);
    }
    expect(parse([unmask(encodeFrame(OPCODE.text, "ünï 🎤", "client"))])).toEqual([["text", "ünï 🎤"]]);
  });

  test("without a mask are rejected before more bytes arrive", () => {
    expect(errorOf([frame(1, "x")], undefined, "client")).toBe(CLOSE.protocolError);
  });

  test("have different masks", () => {
    const masks = new Set<string>();
    for (let index = 0; index < 1000; index++)
      masks.add(Buffer.from(encodeFrame(OPCODE.text, "x", "client").subarray(2, 6)).toString("hex"));
    expect(masks.size).toBeGreaterThan(990);
  });

  test("that close have a code and a reason, or neither", () => {
    expect(parse([unmask(encodeClose(4000, "grün", "client"))])).toEqual([["close", 4000, "grün"]]);
    expect(parse([unmask(encodeClose(null, "", "client"))])).toEqual([["close", CLOSE.noStatus, ""]]);
    expect(parse([unmask(encodeClose(1000, "x".repeat(124), "client"))])).toEqual([["close", 1000, ""]]);
  });
});

describe("frames of a server", () => {
  const stream = Buffer.concat([
    frame(1, "whole"),
    frame(1, "frag", { isFinal: false }),
    frame(9, "in between"),
    frame(0, "", { isFinal: false }),
    frame(0, "ment 🎤"),
    frame(10, "pong"),
    frame(2, Buffer.alloc(300, 7)),
    frame(2, ""),
    frame(8, Buffer.concat([Buffer.from([0x03, 0xe8]), Buffer.from("bye")])),
    frame(1, "ignored after the close frame"),
  ]);
  const events: Event[] = [
    ["text", "whole"],
    ["ping", "in between"],
    ["text", "fragment 🎤"],
    ["binary", "07".repeat(300)],
    ["binary", ""],
    ["close", 1000, "bye"],
  ];

  test("are read wherever they are split", () => {
    expect(parse([stream])).toEqual(events);
    for (let at = 1; at < stream.length; at++)
      expect(parse([stream.subarray(0, at), stream.subarray(at)])).toEqual(events);
    expect(parse([...stream].map((byte) => Buffer.from([byte])))).toEqual(events);
  });

  test("a message of many small fragments takes no more memory than its bytes", () => {
    const parts = Array.from({ length: 100_000 }, () => frame(0, "x", { isFinal: false }));
    const [event] = parse([frame(1, "", { isFinal: false }), Buffer.concat(parts), frame(0, "")]);
    expect(event).toEqual(["text", "x".repeat(100_000)]);
  });

  test("a large message is not decoded, and a text in it must be UTF-8", () => {
    const text = Buffer.from("é".repeat(LARGE_BYTES / 2));
    expect(parse([frame(1, text)])).toEqual([["text", text.toString()]]);
    const large = Buffer.concat([text, Buffer.from("x")]);
    expect(parse([frame(1, large)])).toEqual([["large", true, large]]);
    expect(parse([frame(2, large)])).toEqual([["large", false, large]]);
    expect(errorOf([frame(1, Buffer.concat([large, Buffer.from([0xff])]))])).toBe(CLOSE.invalidText);
  });

  test.each<[string, number, Uint8Array]>([
    ["reserved bits", CLOSE.protocolError, frame(1, "x", { firstBits: 0x40 })],
    ["a mask", CLOSE.protocolError, encodeFrame(OPCODE.text, "x", "client")],
    ["an unknown data opcode", CLOSE.protocolError, frame(3, "")],
    ["an unknown control opcode", CLOSE.protocolError, frame(11, "")],
    ["a continuation without a message", CLOSE.protocolError, frame(0, "x")],
    [
      "a message inside of another",
      CLOSE.protocolError,
      Buffer.concat([frame(1, "x", { isFinal: false }), frame(1, "y")]),
    ],
    ["a fragmented control frame", CLOSE.protocolError, frame(9, "x", { isFinal: false })],
    ["a control frame of 126 bytes", CLOSE.protocolError, frame(9, "x".repeat(126))],
    ["a length that is not minimal", CLOSE.protocolError, Buffer.from([0x81, 126, 0, 1, 0x78])],
    ["a close code of one byte", CLOSE.protocolError, frame(8, "x")],
    ["the close code 1005", CLOSE.protocolError, frame(8, Buffer.from([0x03, 0xed]))],
    ["the close code 1006", CLOSE.protocolError, frame(8, Buffer.from([0x03, 0xee]))],
    ["the close code 1015", CLOSE.protocolError, frame(8, Buffer.from([0x03, 0xf7]))],
    ["a text that is not UTF-8", CLOSE.invalidText, frame(1, Buffer.from([0xff]))],
    ["a reason that is not UTF-8", CLOSE.invalidText, frame(8, Buffer.from([0x03, 0xe8, 0xff]))],
  ])("with %s are rejected", (_name, code, bytes) => {
    expect(errorOf([bytes])).toBe(code);
  });

  test("that exceed the limit of a message are rejected before they arrive, also in fragments", () => {
    expect(errorOf([frame(1, "x".repeat(1001)).subarray(0, 4)], 1000)).toBe(CLOSE.messageTooBig);
    const fragments = [frame(1, "x".repeat(600), { isFinal: false }), frame(0, "x".repeat(600))];
    expect(errorOf(fragments, 1000)).toBe(CLOSE.messageTooBig);
    const huge = Buffer.from([0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    expect(errorOf([huge], 1000)).toBe(CLOSE.messageTooBig);
  });
});

describe("the memory for messages that are not complete", () => {
  const half = frame(2, Buffer.alloc(100_000), { isFinal: false });
  beforeEach(() => {
    memory = { budget: new BodyBudget(400_000, clock), clock };
  });
  afterAll(() => {
    memory = { budget: new BodyBudget(Infinity, clock), clock };
  });

  test("is taken from that of bodies, and returned when the message is complete", () => {
    parse([half]);
    expect(memory.budget.used).toBe(100_000);
    parse([half, frame(0, Buffer.alloc(50_000))]);
    expect(memory.budget.used).toBe(100_000);
    parse([frame(2, Buffer.alloc(100_000))]);
    expect(memory.budget.used).toBe(100_000);
  });

  test("of a frame of which a part arrived counts as well", () => {
    parse([frame(2, Buffer.alloc(100_000)).subarray(0, 60_000)]);
    expect(memory.budget.used).toBe(60_000 - 10);
  });

  test("is refused with 1013 when it is used up, or lost to others by a message that made no progress", () => {
    const stalled = parse([half]);
    parse([half]);
    parse([half]);
    expect(errorOf([half])).toBe(CLOSE.tryAgainLater);
    clock.advance(2000);
    parse([half]);
    expect(stalled).toEqual([["refused", CLOSE.tryAgainLater]]);
    expect(memory.budget.used).toBe(300_000);
  });
});
