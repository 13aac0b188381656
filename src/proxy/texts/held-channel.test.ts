// How the replacement of a text is distributed over the places that the text is located in.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { HeldChannel } from "./held-channel.ts";
import { TextSlot, TextUnit } from "./text-unit.ts";

const CHANNEL = {
  kind: "content",
  index: 0,
  tool: null,
  method: null,
  isJson: false,
  isReadOnly: false,
} as const;
const queued = () => ({ unit: TextUnit.opaque(new Uint8Array(0)), unreleased: 0 });

/** Returns the texts of the places after the replacement. */
function replaced(pieces: readonly string[], replacement: string): string[] {
  const channel = new HeldChannel("key", CHANNEL, { isRepeated: false, isWhole: false, known: undefined });
  const slots = pieces.map((text) => new TextSlot({ start: 0, end: 0, form: "string", text }));
  for (const slot of slots) channel.append(queued(), slot);
  channel.release(pieces.join("").length, replacement, false);
  return slots.map(({ text }) => text);
}

/** Compares character by character. The first piece at the change gets all new text, as in the implementation. */
function replacedNaively(pieces: readonly string[], replacement: string): string[] {
  const original = pieces.join("");
  if (original === replacement) return [...pieces];
  const shorter = Math.min(original.length, replacement.length);
  let start = 0;
  while (start < shorter && original[start] === replacement[start]) start++;
  let end = 0;
  while (end < shorter - start && original.at(-1 - end) === replacement.at(-1 - end)) end++;
  const changeEnd = original.length - end;
  const middle = replacement.slice(start, replacement.length - end);
  let isWritten = false;
  let at = 0;
  return pieces.map((piece) => {
    const [from, to] = [at, at + piece.length];
    at = to;
    const isHere = !isWritten && (to > start || to === original.length);
    isWritten ||= isHere;
    const before = original.slice(from, Math.min(to, start));
    const after = to > changeEnd ? original.slice(Math.max(from, changeEnd), to) : "";
    return before + (isHere ? middle : "") + after;
  });
}

const length = fc.oneof(fc.nat(5), fc.nat(5000), fc.constantFrom(1023, 1024, 1025, 2048));
const piece = fc.tuple(fc.constantFrom("a", "ab", "漢"), length).map(([text, count]) => text.repeat(count));

test("a replacement is written where the text differs, also in long texts", () => {
  const pieces = fc.array(piece, { minLength: 1, maxLength: 5 });
  const insert = fc.constantFrom("", "x", "a", "ab", "xyz".repeat(700));
  fc.assert(
    fc.property(pieces, fc.nat(), fc.nat(), insert, (given, at, removed, inserted) => {
      const text = given.join("");
      const start = at % (text.length + 1);
      const replacement =
        text.slice(0, start) + inserted + text.slice(start + (removed % (text.length - start + 1)));
      const written = replaced(given, replacement);
      expect(written.join("") === replacement).toBe(true);
      const isSame = given.length === 1 || Bun.deepEquals(written, replacedNaively(given, replacement));
      expect(isSame).toBe(true);
    }),
  );
});

test("many small pieces are held and released in linear time", () => {
  const channel = new HeldChannel("key", CHANNEL, { isRepeated: false, isWhole: false, known: undefined });
  const slots: TextSlot[] = [];
  for (let piece = 0; piece < 200_000; piece++) {
    const slot = new TextSlot({ start: 0, end: 0, form: "string", text: "x" });
    slots.push(slot);
    channel.append(queued(), slot);
    channel.release(0, null, true);
  }
  channel.release(slots.length, "y".repeat(slots.length), false);
  expect(slots.map(({ text }) => text).join("")).toBe("y".repeat(slots.length));
});
