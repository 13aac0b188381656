// Files of entries: another process reads what was stored last, whatever was allocated and released before.
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../test/support/temporary-directory.ts";
import { runs } from "../../test/support/long-form.ts";
import { readSlotFile, readSlotHeader, SlotFile } from "./slot-file.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

const pathOf = (writer: string) => join(directory, `${writer}.test`);

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("allocate" as const),
      name: fc.string({ unit: "grapheme", maxLength: 1500, size: "max" }),
      numbers: fc.array(fc.double(), { maxLength: 8 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("set" as const),
      which: fc.nat(),
      at: fc.nat({ max: 7 }),
      value: fc.double(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("release" as const), which: fc.nat() }) },
);

test("a reader sees the entries as a list of names and numbers has them", () => {
  let files = 0;
  const property = fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
    const writer = `writer ${++files}`;
    const file = new SlotFile(directory, ".test", writer);
    const entries: { slot: number; name: string; numbers: number[] }[] = [];
    for (const each of steps) {
      if (each.kind === "allocate") {
        const slot = file.allocate(each.name, each.numbers);
        const numbers = Array.from({ length: 8 }, (_, at) => each.numbers[at] ?? 0);
        entries.push({ slot, name: each.name, numbers });
        continue;
      }
      const at = each.which % Math.max(1, entries.length);
      const entry = entries[at];
      if (entry === undefined) continue;
      if (each.kind === "release") {
        file.release(entry.slot);
        entries.splice(at, 1);
      } else {
        file.set(entry.slot, each.at, each.value);
        entry.numbers[each.at] = each.value;
      }
    }
    const expected = entries
      .toSorted((a, b) => a.slot - b.slot)
      .map(({ name, numbers }) => ({ name: JSON.parse(JSON.stringify(name)) as unknown, numbers }));
    expect(readSlotFile(pathOf(writer))).toMatchObject({ writer, lastBatch: 0, entries: expected });
    file.remove();
  });
  fc.assert(property, { numRuns: runs({ short: 8, long: 300 }) });
});

test("the space for names is bounded, and can be used again", () => {
  const file = new SlotFile(directory, ".test", "w");
  const slots: number[] = [];
  for (let slot = file.allocate("x".repeat(800)); slot !== -1; slot = file.allocate("x".repeat(800)))
    slots.push(slot);
  expect(slots).toHaveLength(Math.floor(4095 / 2));
  expect([file.allocate("short"), file.allocate("none left")]).toEqual([4095, -1]);
  for (const slot of slots) file.release(slot);
  for (let count = 0; count < 4094; count++) expect(file.allocate("short")).toBeGreaterThan(0);
  expect(file.allocate("none left")).toBe(-1);
  expect(readSlotFile(pathOf("w"))?.entries).toHaveLength(4095);
});

test("the header has the process, its last batch and its last sign of life", () => {
  const file = new SlotFile(directory, ".test", "w", { pid: 1 });
  file.startBatch(7);
  file.renew(5);
  expect(readSlotHeader(pathOf("w"))).toEqual({ writer: "w", owner: { pid: 1 }, aliveAt: 5 });
  expect(readSlotFile(pathOf("w"))).toMatchObject({ lastBatch: 7, entries: [] });
});

test("a file that does not exist is null, and any damage is a SyntaxError or other values", () => {
  expect([readSlotHeader(pathOf("none")), readSlotFile(pathOf("none"))]).toEqual([null, null]);
  const file = new SlotFile(directory, ".test", "w");
  for (let at = 0; at < 20; at++) file.allocate("y".repeat(at * 60));
  const sound = readFileSync(pathOf("w"));
  const damage = fc.array(fc.record({ at: fc.nat({ max: 25 * 512 }), byte: fc.nat({ max: 255 }) }), {
    minLength: 1,
    maxLength: 20,
  });
  const property = fc.property(damage, (changes) => {
    const bytes = Buffer.from(sound);
    for (const { at, byte } of changes) bytes[at] = byte;
    writeFileSync(pathOf("damaged"), bytes);
    try {
      readSlotHeader(pathOf("damaged"));
      readSlotFile(pathOf("damaged"));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  });
  fc.assert(property, { numRuns: runs({ short: 20, long: 2000 }) });
  for (const length of [0, 100, 512, sound.length - 1]) {
    writeFileSync(pathOf("damaged"), sound.subarray(0, length));
    expect(() => readSlotFile(pathOf("damaged"))).toThrow(SyntaxError);
  }
});

test("no file is created in a directory that is full of them", () => {
  for (let count = 0; count < 256; count++) writeFileSync(join(directory, `${count}.damaged`), "");
  expect(() => new SlotFile(directory, ".test", "w")).toThrow("has 256 files");
  expect(readdirSync(directory)).toHaveLength(256);
});
