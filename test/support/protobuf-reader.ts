// Reads protobuf messages by a shape, strictly: a field that is not in the shape, or has another type, is an error.

type Scalar = "text" | "hex" | "number" | "fixed64" | "double" | "packed fixed64" | "packed double";
type Kind = Scalar | MessageShape | readonly [MessageShape];
/** By field number: the name and the type of the field. A list with one shape is a repeated field. */
export interface MessageShape {
  readonly [field: number]: readonly [name: string, kind: Kind];
}

const WIRE: Readonly<Record<string, number>> = { number: 0, fixed64: 1, double: 1 };

/** Returns integers as decimal digits, like 64-bit numbers in the JSON encoding of protobuf. */
export function readMessage(bytes: Uint8Array, shape: MessageShape): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("cut off");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.byteLength) throw new Error("cut off");
    at += length;
    return bytes.subarray(at - length, at);
  };
  for (const [, [name, kind]] of Object.entries(shape)) if (Array.isArray(kind)) message[name] = [];
  while (at < bytes.byteLength) {
    const tag = Number(varint());
    const known = shape[tag >> 3];
    if (known === undefined) throw new Error(`unknown field ${tag >> 3}`);
    const [name, kind] = known;
    const wire = typeof kind === "string" ? (WIRE[kind] ?? 2) : 2;
    if ((tag & 7) !== wire) throw new Error(`${name} has wire type ${tag & 7}`);
    if (kind === "number") message[name] = String(varint());
    else if (kind === "fixed64") message[name] = fixed64In(take(8));
    else if (kind === "double") message[name] = doubleIn(take(8));
    else {
      const held = take(Number(varint()));
      if (kind === "packed fixed64") message[name] = eachOf(held, fixed64In);
      else if (kind === "packed double") message[name] = eachOf(held, doubleIn);
      else if (kind === "text") message[name] = new TextDecoder("utf-8", { fatal: true }).decode(held);
      else if (kind === "hex") message[name] = Buffer.from(held).toString("hex");
      else if (Array.isArray(kind))
        (message[name] as unknown[]).push(readMessage(held, (kind as [MessageShape])[0]));
      else message[name] = readMessage(held, kind as MessageShape);
    }
  }
  return message;
}

function fixed64In(bytes: Uint8Array): string {
  return String(Buffer.from(bytes).readBigUInt64LE());
}

function doubleIn(bytes: Uint8Array): number {
  return Buffer.from(bytes).readDoubleLE();
}

function eachOf<T>(bytes: Uint8Array, read: (bytes: Uint8Array) => T): T[] {
  if (bytes.byteLength % 8 !== 0) throw new Error("cut off");
  return Array.from({ length: bytes.byteLength / 8 }, (_, index) =>
    read(bytes.subarray(index * 8, index * 8 + 8)),
  );
}
