// Sections of executables: of files made here, of cut and changed ones, and of the runtime itself.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { closeSync, openSync, readSync } from "node:fs";
import { findElfSection } from "./elf-section.ts";

interface Part {
  readonly name: string;
  readonly address: bigint;
  readonly bytes: bigint;
}

/** Returns an executable that has only headers and the names of sections. */
function executable(parts: readonly Part[], type = 2): Uint8Array {
  const names = Buffer.from(parts.map(({ name }) => `${name}\0`).join("") + ".names\0");
  const tableAt = 64 + names.length;
  const file = Buffer.alloc(tableAt + (parts.length + 1) * 64);
  file.write("\x7fELF\x02\x01\x01", "latin1");
  file.writeUInt16LE(type, 16);
  file.writeBigUInt64LE(BigInt(tableAt), 40);
  file.writeUInt16LE(64, 58);
  file.writeUInt16LE(parts.length + 1, 60);
  file.writeUInt16LE(parts.length, 62);
  names.copy(file, 64);
  let nameAt = 0;
  parts.forEach(({ name, address, bytes }, index) => {
    const at = tableAt + index * 64;
    file.writeUInt32LE(nameAt, at);
    file.writeBigUInt64LE(address, at + 16);
    file.writeBigUInt64LE(bytes, at + 32);
    nameAt += name.length + 1;
  });
  const at = tableAt + parts.length * 64;
  file.writeUInt32LE(nameAt, at);
  file.writeBigUInt64LE(64n, at + 24);
  file.writeBigUInt64LE(BigInt(names.length), at + 32);
  return file;
}

const reader = (file: Uint8Array) => (position: number, length: number) =>
  file.subarray(position, position + length);

const PARTS = [
  { name: ".text", address: 0x1000n, bytes: 0x500n },
  { name: ".bun_builtins", address: 0x2000n, bytes: 0x600n },
  { name: ".bun", address: 0x3000n, bytes: 0x700n },
];

test("a section is found by its whole name", () => {
  const file = executable(PARTS);
  expect(findElfSection(reader(file), ".bun")).toEqual({ address: 0x3000n, bytes: 0x700n });
  expect(findElfSection(reader(file), ".text")).toEqual({ address: 0x1000n, bytes: 0x500n });
  expect(findElfSection(reader(file), ".tex")).toBeNull();
  expect(findElfSection(reader(file), "text")).toBeNull();
});

test("executables that the system may load anywhere, and other files, have no section", () => {
  expect(findElfSection(reader(executable(PARTS, 3)), ".bun")).toBeNull();
  expect(findElfSection(reader(Buffer.from("#!/bin/sh\n".repeat(20))), ".bun")).toBeNull();
  expect(findElfSection(reader(new Uint8Array(0)), ".bun")).toBeNull();
});

test("files that are cut off or changed never throw", () => {
  const file = executable(PARTS);
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(255), (end, at, byte) => {
      const changed = Uint8Array.from(file.subarray(0, end % (file.length + 1)));
      if (changed.length > 0) changed[at % changed.length] = byte;
      findElfSection(reader(changed), ".bun");
    }),
  );
});

test.if(process.platform === "linux")("the code of the runtime itself has a section", () => {
  const file = openSync("/proc/self/exe", "r");
  const section = findElfSection((position, length) => {
    const bytes = new Uint8Array(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, position));
  }, ".text");
  closeSync(file);
  expect(section?.bytes).toBeGreaterThan(1_000_000n);
});
