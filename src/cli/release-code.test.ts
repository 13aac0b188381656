// Which mappings of a process may be unmapped.
import { expect, test } from "bun:test";
import { areOfFile, cleanMappingsOf } from "./release-code.ts";

const mapping = (line: string, anonymous: number): string =>
  `${line}\nSize: 8 kB\nRss: 8 kB\nAnonymous: ${String(anonymous).padStart(12)} kB\nVmFlags: rd mr mw me\n`;

test("only read-only mappings of the file without modified pages are released", () => {
  const smaps = [
    mapping("00200000-00400000 r--p 00000000 fe:00 4711                       /opt/a gateway", 0),
    mapping("00400000-00a00000 r-xp 00200000 fe:00 4711                       /opt/a gateway", 0),
    mapping("00a00000-00a10000 r--p 00800000 fe:00 4711                       /opt/a gateway", 64),
    mapping("00a10000-00a20000 rw-p 00810000 fe:00 4711                       /opt/a gateway", 0),
    mapping("7f0000000000-7f0000001000 r-xp 00000000 fe:00 4712               /lib/libc.so.6", 0),
    mapping("7f0000002000-7f0000003000 r--p 00000000 00:00 0 ", 0),
    mapping("7f0000004000-7f0000005000 r-xp 00000000 00:00 0                  [vdso]", 0),
  ].join("");
  expect(cleanMappingsOf("/opt/a gateway", smaps)).toEqual([
    { address: 0x200000n, bytes: 0x200000n },
    { address: 0x400000n, bytes: 0x600000n },
  ]);
});

test("embedded modules are released only if no page of them was modified", () => {
  const pagemap = (...flags: number[]) =>
    Uint8Array.from(flags.flatMap((flag) => [1, 2, 3, 0, 0, 0, 0, flag]));
  // 0x80: present, 0x20: of a file, 0: not mapped.
  expect(areOfFile(pagemap(0xa0, 0, 0xa0))).toBe(true);
  expect(areOfFile(pagemap(0xa0, 0x80, 0xa0))).toBe(false);
  // 0x40: in swap space, which only modified pages are.
  expect(areOfFile(pagemap(0xa0, 0x40))).toBe(false);
});
