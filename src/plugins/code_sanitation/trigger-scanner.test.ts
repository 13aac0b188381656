// The scanner finds the same triggers as a naive search, however long the text is: short parts of it are read by JavaScript and long ones
// from several positions at the same time by a WebAssembly module.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { LETTER } from "./char-classes.ts";
import { charSet, charSetHas } from "./char-set.ts";
import { Prefilter, type Trigger } from "./prefilter.ts";
import { BLOCK_UNITS, MIN_READ_UNITS } from "./trigger-memory.ts";
import { triggerEnds, TriggerScanner, triggerStates } from "./trigger-scanner.ts";
import { runs } from "../../../test/support/long-form.ts";

const LETTERS = charSet(LETTER);
const LONG_TRIGGER = "a trigger of more than thirty units;";

function triggerOf(text: string, followedBy: Trigger<null>["followedBy"] = null): Trigger<null> {
  return { text, hasDigits: false, owner: null, followedBy };
}

/** Triggers that overlap, that contain each other, and that are found only before a letter. */
const TRIGGERS = [
  ...["a", "abc", "bcd", "cab", "'", "' or", "or", LONG_TRIGGER].map((text) => triggerOf(text)),
  ...["<", "on", "d d"].map((text) => triggerOf(text, LETTERS)),
];
/** Parts of texts. Some begin a trigger and do not end it. */
const PARTS = [
  ...TRIGGERS.map(({ text }) => text),
  ...Array.from(LONG_TRIGGER),
  "ab",
  "B",
  "zz",
  "xyz ",
  "é",
  "\ud83d\ude00",
  "\n",
];

/** A trigger is recorded with the position after it. */
type Found = readonly [end: number, texts: string[]];

/** Returns a prefilter that has read enough for the module to be used. */
function warmPrefilter(triggers: readonly Trigger<null>[]): Prefilter<null> {
  const prefilter = new Prefilter(triggers);
  scan(prefilter, "z".repeat(MIN_READ_UNITS));
  return prefilter;
}

function scan(prefilter: Prefilter<null>, text: string): Found[] {
  const codes = new Uint16Array(text.length + 8);
  for (let index = 0; index < text.length; index++) codes[index] = text.charCodeAt(index);
  const scanner = new TriggerScanner();
  const found: Found[] = [];
  // One unit more, because a trigger is recorded when the unit after it is read.
  for (let from = 0; from <= text.length;) {
    from = scanner.scan(prefilter, codes, from, text.length + 1);
    for (let index = 0; index < scanner.count; index++) {
      const triggers = prefilter.triggersAt(prefilter.finalStates.indexOf(triggerStates[index]!));
      found.push([triggerEnds[index]!, triggers.map((trigger) => trigger.text).sort()]);
    }
  }
  return found;
}

function search(triggers: readonly Trigger<null>[], text: string): Found[] {
  const lower = text.toLowerCase();
  const found: Found[] = [];
  for (let end = 1; end <= text.length; end++) {
    const here = triggers.filter((trigger) => lower.endsWith(trigger.text, end));
    const next = text.charCodeAt(end) || 0;
    if (here.some(({ followedBy }) => followedBy === null || charSetHas(followedBy, next)))
      found.push([end, here.map((trigger) => trigger.text).sort()]);
  }
  return found;
}

const partsOf = (maxLength: number) =>
  fc.array(fc.constantFrom(...PARTS), { maxLength, size: "max" }).map((parts) => parts.join(""));

test("finds the triggers of texts of any length", () => {
  const prefilter = warmPrefilter(TRIGGERS);
  fc.assert(
    fc.property(fc.oneof(partsOf(20), partsOf(200), partsOf(3000)), (text) => {
      expect(scan(prefilter, text)).toEqual(search(TRIGGERS, text));
    }),
    { numRuns: runs({ short: 60, long: 150 }) },
  );
});

test("finds the same before and after the module is used", () => {
  const prefilter = new Prefilter(TRIGGERS);
  const text = `${PARTS.join("")} ${"z".repeat(100)} `.repeat(10);
  const expected = search(TRIGGERS, text);
  for (let units = 0; units < 3 * MIN_READ_UNITS; units += text.length)
    expect(scan(prefilter, text)).toEqual(expected);
});

test("finds one trigger wherever it is located", () => {
  const prefilter = warmPrefilter(TRIGGERS);
  const length = fc.oneof(
    fc.constantFrom(38, 39, 40, 41, 4095, 4096, 4097),
    fc.integer({ min: 0, max: 200 }),
    fc.integer({ min: 0, max: 9000 }),
  );
  fc.assert(
    fc.property(length, fc.nat(), fc.constantFrom(...TRIGGERS), (units, position, { text: trigger }) => {
      const before = position % (units + 1);
      const text = "z".repeat(before) + trigger + "z".repeat(units - before);
      expect(scan(prefilter, text)).toEqual(search(TRIGGERS, text));
    }),
    { numRuns: runs({ short: 100, long: 300 }) },
  );
});

test("a trigger may be longer than the text, and nothing of the text before is found", () => {
  const triggers = ["k".repeat(200), "kz", "y"].map((text) => triggerOf(text));
  const prefilter = warmPrefilter(triggers);
  for (const units of [127, 150, 199, 200, 201, 202, 260, 1000]) {
    for (const text of ["y".repeat(1000), "k".repeat(units), `${"k".repeat(units)}z`])
      expect(scan(prefilter, text)).toEqual(search(triggers, text));
  }
});

test("finds a trigger that ends in a block or with it", () => {
  const prefilter = warmPrefilter(TRIGGERS);
  for (const { text: trigger } of TRIGGERS) {
    for (let end = BLOCK_UNITS - 2; end <= BLOCK_UNITS + trigger.length; end++) {
      const text = `${"z".repeat(end - trigger.length)}${trigger}${"z".repeat(300)}`;
      expect(scan(prefilter, text)).toEqual(search(TRIGGERS, text));
    }
  }
});

test("finds long triggers in a block that is hardly longer, and that began in the block before", () => {
  const triggers = ["k".repeat(200), "kz", "y"].map((text) => triggerOf(text));
  const prefilter = warmPrefilter(triggers);
  for (let units = 195; units < 215; units++) {
    const text = `${"z".repeat(BLOCK_UNITS - 100)}${"k".repeat(100 + units)}`;
    expect(scan(prefilter, text)).toEqual(search(triggers, text));
  }
});

test("distinguishes all characters, and takes no unit outside of ASCII for one of them", () => {
  const triggers = [" `", "` ", "a", "z!", "~", "_{", "?@[", "\\]"].map((text) => triggerOf(text));
  const prefilter = warmPrefilter(triggers);
  const code = fc.oneof(
    fc.constantFrom(...Array.from(" `az!_{\\").map((c) => c.charCodeAt(0))),
    fc.nat(0x7f),
  );
  // These units have the same low bits.
  const unit = fc.tuple(code, fc.constantFrom(0, 0, 0, 0, 0, 0x80, 0x200, 0x4000, 0x8000, 0xff80));
  fc.assert(
    fc.property(fc.array(unit, { minLength: 50, maxLength: 300 }), (units) => {
      const text = units.map(([low, high]) => String.fromCharCode(low + high)).join("");
      expect(scan(prefilter, text)).toEqual(search(triggers, text));
    }),
    { numRuns: runs({ short: 100, long: 300 }) },
  );
});
