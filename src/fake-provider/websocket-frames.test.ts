// WebSocket frames: messages split in every way, and what a server must reject.
import { describe, expect, test } from "bun:test";
import { acceptKey, encodeClose, encodeFrame, FrameReader, type WebSocketEvent } from "./websocket-frames.ts";

/** Returns a frame as clients send them: with a mask. */
function clientFrame(firstByte: number, payload: string | Uint8Array): Buffer {
  const bytes = Buffer.from(payload);
  const mask = Buffer.from([1, 2, 3, 4]);
  const length = Buffer.from(encodeFrame("text", bytes)).subarray(1, -bytes.length || undefined);
  length[0]! |= 0x80;
  const masked = bytes.map((byte, index) => byte ^ mask[index % 4]!);
  return Buffer.concat([Buffer.from([firstByte]), length, mask, masked]);
}

function eventsOf(...pieces: Uint8Array[]): WebSocketEvent[] {
  const reader = new FrameReader();
  const events: WebSocketEvent[] = [];
  for (const piece of pieces) {
    reader.feed(Buffer.from(piece));
    for (let event = reader.next(); event !== null; event = reader.next()) {
      events.push(event);
      if (event.kind === "error") return events;
    }
  }
  return events;
}

test("the accept key is that of the example in RFC 6455 1.3", () => {
  expect(acceptKey("dGhlIHNhbXBsZSBub25jZQ==")).toBe("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});

test.each([0, 125, 126, 65_535, 65_536])("a message of %d bytes is read", (length) => {
  const text = "x".repeat(length);
  expect(eventsOf(clientFrame(0x81, text))).toEqual([{ kind: "text", text }]);
});

test("messages, fragments and control frames are the same if split at any byte", () => {
  const all = Buffer.concat([
    clientFrame(0x81, "héllo"),
    clientFrame(0x01, "frag"),
    clientFrame(0x89, "ping"),
    clientFrame(0x80, "ment"),
    clientFrame(0x82, new Uint8Array([0, 255])),
    clientFrame(0x8a, ""),
    clientFrame(0x88, Buffer.from([3, 232, 98, 121, 101])),
  ]);
  const expected: WebSocketEvent[] = [
    { kind: "text", text: "héllo" },
    { kind: "ping", payload: Buffer.from("ping") },
    { kind: "text", text: "fragment" },
    { kind: "binary", bytes: Buffer.from([0, 255]) },
    { kind: "pong" },
    { kind: "close", code: 1000, reason: "bye" },
  ];
  for (let at = 0; at <= all.length; at++)
    expect(eventsOf(all.subarray(0, at), all.subarray(at))).toEqual(expected);
  expect(eventsOf(...Array.from(all, (byte) => Buffer.from([byte])))).toEqual(expected);
});

describe("rejected", () => {
  test.each<[name: string, code: number, ...frames: Uint8Array[]]>([
    ["a frame without a mask", 1002, encodeFrame("text", Buffer.from("hi"))],
    ["reserved bits", 1002, clientFrame(0xc1, "hi")],
    ["an unknown opcode", 1002, clientFrame(0x83, "hi")],
    ["an unknown control opcode", 1002, clientFrame(0x8b, "hi")],
    ["a fragmented control frame", 1002, clientFrame(0x09, "hi")],
    ["a long control frame", 1002, clientFrame(0x89, "x".repeat(126))],
    ["a continuation of nothing", 1002, clientFrame(0x80, "hi")],
    ["a new message inside a message", 1002, clientFrame(0x01, "hi"), clientFrame(0x81, "ho")],
    ["a close code of one byte", 1002, clientFrame(0x88, "x")],
    ["a text that is not UTF-8", 1007, clientFrame(0x81, new Uint8Array([0xff, 0xfe]))],
    ["a message that is too large", 1009, Buffer.from([0x81, 0xff, 0, 0, 0, 0, 2, 0, 0, 0])],
  ])("%s", (_name, code, ...frames) => {
    expect(eventsOf(...frames)).toEqual([{ kind: "error", code, reason: expect.any(String) }]);
  });
});

test("a close frame has at most 125 bytes, and may be empty", () => {
  expect(encodeClose(1008, "x".repeat(200))).toHaveLength(127);
  expect([...encodeClose(null)]).toEqual([0x88, 0]);
});
