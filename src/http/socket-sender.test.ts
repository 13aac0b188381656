// A message arrives complete and in order, whatever part of it the kernel takes with each call.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { COPY_START, copyOfLastText, forgetCopyOfLastText, ROOM_BYTES } from "../base/json-string-end.ts";
import { JsonScanner } from "../base/json-scanner.ts";
import { LineWriter } from "./line-writer.ts";
import { SocketSender } from "./socket-sender.ts";

const scanner = new JsonScanner(["model"]);

/** A socket that takes at most as many bytes as the next of `capacities` says, and then everything. */
class SlowSocket {
  readonly calls: Buffer[] = [];
  readonly #capacities: number[];

  constructor(capacities: number[]) {
    this.#capacities = [...capacities];
  }

  get received(): Buffer {
    return Buffer.concat(this.calls);
  }

  write(bytes: Uint8Array, offset = 0, length = bytes.byteLength - offset): number {
    const taken = Math.min(length, this.#capacities.shift() ?? Infinity);
    this.calls.push(Buffer.from(bytes.subarray(offset, offset + taken)));
    return taken;
  }
}

function headersOf(text: string): LineWriter {
  const writer = new LineWriter();
  writer.text(text);
  return writer;
}

function scanned(text: string): Buffer {
  const body = Buffer.from(text);
  expect(scanner.scan(body)).toBe("object");
  return body;
}

describe("a body that was scanned just before", () => {
  test("is sent with its headers in one call, also if it is large", () => {
    const body = scanned(JSON.stringify({ model: "m".repeat(1_000_000) }));
    const socket = new SlowSocket([]);
    expect(new SocketSender(socket).sendWritten(headersOf("headers"), body)).toBeTrue();
    expect(socket.calls).toEqual([Buffer.concat([Buffer.from("headers"), body])]);
  });

  test("is complete, whatever the socket takes and is scanned meanwhile", () => {
    const sizes = fc.oneof(
      fc.nat(200),
      fc.nat(200_000),
      fc.constantFrom(ROOM_BYTES - 1, ROOM_BYTES, ROOM_BYTES + 1),
    );
    fc.assert(
      fc.property(sizes, sizes, fc.array(sizes, { maxLength: 4 }), (headerSize, bodySize, capacities) => {
        const headers = "h".repeat(headerSize);
        const body = scanned(JSON.stringify({ model: "m".repeat(bodySize) }));
        const socket = new SlowSocket(capacities);
        const sender = new SocketSender(socket);
        const scannerState = copyOfLastText(body)!.subarray(0, COPY_START - ROOM_BYTES);
        const stateBefore = Buffer.from(scannerState);
        expect(sender.sendWritten(headersOf(headers), body)).toBeTrue();
        expect(stateBefore.equals(scannerState)).toBeTrue();
        while (sender.hasUnsent) {
          scanned(JSON.stringify({ model: "another".repeat(40_000) }));
          expect(sender.drain()).toBeTrue();
        }
        expect(socket.received.equals(Buffer.concat([Buffer.from(headers), body]))).toBeTrue();
      }),
    );
  });

  test("follows what the socket has not taken yet", () => {
    const socket = new SlowSocket([3]);
    const sender = new SocketSender(socket);
    sender.send(Buffer.from("before "));
    const body = scanned('{"model":"m"}');
    sender.sendWritten(headersOf("headers "), body);
    sender.drain();
    expect(socket.received.toString()).toBe(`before headers ${body.toString()}`);
  });

  test("is not sent if the socket is closed", () => {
    const sender = new SocketSender({ write: () => -1 });
    expect(sender.sendWritten(headersOf("headers"), scanned('{"model":"m"}'))).toBeFalse();
  });
});

test("what the socket has not taken yet is not changed by the messages of others", () => {
  const sizes = fc.oneof(fc.nat(200), fc.nat(100_000));
  type Send = (sender: SocketSender, letter: string, size: number) => string;
  const messages: readonly Send[] = [
    (sender, letter, size) => {
      const body = letter.repeat(size);
      expect(sender.sendMessage("headers", Buffer.from(body))).toBeTrue();
      return `headers${body}`;
    },
    (sender, letter, size) => {
      const body = letter.repeat(size);
      expect(sender.sendWritten(headersOf("headers"), Buffer.from(body))).toBeTrue();
      return `headers${body}`;
    },
    (sender, letter, size) => {
      const chunk = letter.repeat(size);
      expect(sender.sendChunk("before", Buffer.from(chunk))).toBeTrue();
      return `before${size.toString(16)}\r\n${chunk}\r\n`;
    },
  ];
  const send = fc.constantFrom(...messages);
  fc.assert(
    fc.property(
      send,
      send,
      sizes,
      fc.array(sizes, { minLength: 1, maxLength: 4 }),
      (one, other, size, taken) => {
        const socket = new SlowSocket(taken);
        const sender = new SocketSender(socket);
        let expected = one(sender, "a", size);
        other(new SocketSender(new SlowSocket([])), "b", 50_000);
        expected += one(sender, "c", size);
        other(new SocketSender(new SlowSocket([])), "b", 50_000);
        while (sender.hasUnsent) expect(sender.drain()).toBeTrue();
        expect(socket.received.toString()).toBe(expected);
      },
    ),
  );
});

describe("the copy of a body", () => {
  test("is that of the last one", () => {
    const first = scanned('{"model":"first"}');
    const second = scanned('{"model":"second"}');
    expect(copyOfLastText(first)).toBeNull();
    expect(copyOfLastText(Buffer.from(second))).toBeNull();
    const copy = copyOfLastText(second);
    expect(second.equals(copy!.subarray(COPY_START, COPY_START + second.length))).toBeTrue();
  });

  test("is not used if the body may have changed", () => {
    const body = scanned('{"model":"m"}');
    forgetCopyOfLastText();
    expect(copyOfLastText(body)).toBeNull();
  });

  test("does not exist if it does not fit into the memory", () => {
    const small = scanned('{"model":"m"}');
    const large = scanned(JSON.stringify({ model: "m".repeat(2_200_000) }));
    expect(copyOfLastText(small)).toBeNull();
    expect(copyOfLastText(large)).toBeNull();
    const socket = new SlowSocket([]);
    new SocketSender(socket).sendWritten(headersOf("headers"), large);
    expect(socket.received.equals(Buffer.concat([Buffer.from("headers"), large]))).toBeTrue();
  });
});
