// The writer of header lines writes what strings would have: whatever was written before, and however long it was.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { dollarsOf } from "../base/decimal.ts";
import { LineWriter } from "./line-writer.ts";
import { runs } from "../../test/support/long-form.ts";

const PARTS = ["a", "X-RateLimit-global-Limit: ", "\r\nX-B: ", "", "x".repeat(5000)].map((text) => ({
  text,
  bytes: Buffer.from(text),
}));

/** Numbers with every count of digits, and their neighbors. */
const amount = fc
  .tuple(fc.nat(), fc.nat(15), fc.nat(2))
  .map(([seed, digits, step]) =>
    Math.max(0, Math.min(seed % 10, 9) * 10 ** digits + (seed % 7) * step - step),
  );
const anyAmount = fc.oneof(amount, fc.nat(), fc.maxSafeNat());
const hundredths = fc.tuple(anyAmount, fc.nat(2000)).map(([count, step]) => count / 100 + step / 1000);
const other = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(NaN, Infinity, -0, 2 ** 53, 1e21, -1));

/** Few of them, so that texts often repeat what the last one had; some differ in nothing but an object. */
const word = fc.constantFrom(
  "",
  "a",
  "b",
  "a: a",
  "\r\n",
  "\xe9\xff",
  "v".repeat(63),
  "v".repeat(64),
  "v".repeat(3000),
);
const anyWord = fc.tuple(word, word).map(([one, other]) => one + other);

const step = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text: fc.oneof(word, anyWord) }),
  fc.record({ kind: fc.constant("field" as const), name: word, value: anyWord }),
  fc.record({ kind: fc.constant("part" as const), part: fc.constantFrom(...PARTS) }),
  fc.record({ kind: fc.constant("number" as const), value: fc.oneof(anyAmount, other) }),
  fc.record({ kind: fc.constant("dollars" as const), value: anyAmount }),
  fc.record({ kind: fc.constant("tenths" as const), value: fc.oneof(hundredths, anyAmount, other) }),
  fc.record({ kind: fc.constant("hundredths" as const), value: fc.oneof(hundredths, anyAmount, other) }),
  fc.record({ kind: fc.constant("end" as const) }),
);

test("any texts, one after the other", () => {
  fc.assert(
    fc.property(fc.array(fc.array(step, { maxLength: 8 }), { maxLength: 6 }), (texts) => {
      const writer = new LineWriter();
      for (const steps of texts) {
        writer.begin();
        let expected = "";
        for (const each of steps) {
          if (each.kind === "part") {
            writer.constant(each.part.bytes);
            expected += each.part.text;
          } else if (each.kind === "text") {
            writer.text(each.text);
            expected += each.text;
          } else if (each.kind === "field") {
            const { name, value } = each;
            if (value.length % 2 === 0 || !writer.repeatField(name, value)) writer.field(name, value);
            expected += `${name}: ${value}\r\n`;
          } else if (each.kind === "number") {
            writer.number(each.value);
            expected += String(each.value);
          } else if (each.kind === "hundredths") {
            writer.hundredths(each.value);
            expected += String(Math.round(each.value * 100) / 100);
          } else if (each.kind === "tenths") {
            writer.tenths(each.value);
            expected += (Math.round(each.value * 10) / 10).toFixed(1);
          } else if (each.kind === "dollars") {
            writer.dollars(each.value);
            expected += dollarsOf(each.value);
          } else {
            writer.lineEnd();
            expected += "\r\n";
          }
        }
        // Every third text is not finished.
        if (expected.length % 3 === 0) continue;
        if (expected.length % 2 === 0) expect(writer.finish()).toBe(expected);
        else {
          expect(writer.length).toBe(expected.length);
          const target = Buffer.alloc(expected.length + 2, "-");
          writer.finishIn(target, 1);
          expect(target.toString("latin1")).toBe(`-${expected}-`);
        }
      }
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

test("the same constant parts with numbers of other lengths in between", () => {
  const writer = new LineWriter();
  const [first, second] = [Buffer.from("a: "), Buffer.from("\r\nb: ")];
  for (const value of [1, 999, 1000, 999, 1_000_000_000, 1_000_000_001, 2 ** 53 - 1, 0]) {
    writer.constant(first);
    writer.number(value);
    writer.constant(second);
    writer.number(value + 1);
    expect(writer.finish()).toBe(`a: ${value}\r\nb: ${value + 1}`);
  }
});

test("a field is repeated only at the same place, with the same name and value, and if it was a field", () => {
  const writer = new LineWriter();
  const repeats = (write: () => void, name: string, value: string) => {
    write();
    writer.finish();
    const isRepeated = writer.repeatField(name, value);
    expect(writer.finish()).toBe(isRepeated ? `${name}: ${value}\r\n` : "");
    return isRepeated;
  };
  expect(repeats(() => writer.field("a", "b"), "a", "b")).toBe(true);
  expect(repeats(() => writer.field("a", "b"), "a", "c")).toBe(false);
  expect(repeats(() => writer.field("a", "b"), "c", "b")).toBe(false);
  const asTexts = () => {
    writer.text("a");
    writer.lineEnd();
    writer.text("b");
    writer.lineEnd();
  };
  expect(repeats(asTexts, "a", "b")).toBe(false);
  const afterText = () => {
    writer.text("x");
    writer.field("a", "b");
  };
  expect(repeats(afterText, "a", "b")).toBe(false);
});

test("dollars whose quotient is rounded up", () => {
  const writer = new LineWriter();
  for (let whole = 8_388_608; whole < 9_007_199; whole += 10_007) {
    writer.dollars(whole * 1e9 - 1);
    expect(writer.finish()).toBe(`${whole - 1}.999999999`);
  }
});
