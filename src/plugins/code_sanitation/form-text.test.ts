// Tests of code in form bodies.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { charSet } from "./char-set.ts";
import { compileDetector, detectorOf } from "./detector.ts";
import { firstInForm, maskForm } from "./form-text.ts";
import { pattern } from "./pattern.ts";
import { LANGUAGES } from "./settings.ts";

const detector = compileDetector(LANGUAGES);

test("finds code at the start of a value, with + for a space", () => {
  const atStart = pattern("x.start", ["go now"], {
    catches: "",
    finds: [],
    ignores: [],
    precededBy: charSet(0, "\0"),
  });
  const startDetector = detectorOf("shell", [atStart]);
  const text = "model=m&text=go+now%21&b=2";
  const finding = firstInForm(text, startDetector);
  expect(text.slice(finding?.start, finding?.end)).toBe("go+now");
  expect(maskForm(text, startDetector, "X")).toBe("model=m&text=XXXXXX%21&b=2");
  expect(firstInForm("model=m&text=a+go+now&&&b=2", startDetector)).toBeNull();
});

test("finds code where servers separate pairs with a semicolon", () => {
  for (const text of ["model=m;17+order+by+16=1", "a=1;q=1%20OR%201=1--", "a=1&amp;1%20OR%201=1"]) {
    expect(firstInForm(text, detector)).not.toBeNull();
    expect(firstInForm(maskForm(text, detector, "X"), detector)).toBeNull();
  }
  expect(firstInForm("a=1;b=2&amp;c=3;;", detector)).toBeNull();
});

test("finds code in a name", () => {
  expect(firstInForm("model=m&17+order+by+16=1", detector)).not.toBeNull();
  expect(maskForm("model=m&17+order+by+16=1", detector, "X")).not.toContain("order");
});

test("masks the match only, encodes the mask, and keeps the pairs", () => {
  const text = "a=1%20+x&text=eval%28x%29+y&b=2+c";
  expect(maskForm(text, detector, "X")).toBe("a=1%20+x&text=XXXXXXXx%29+y&b=2+c");
  expect(maskForm(text, detector, "&")).toBe(`a=1%20+x&text=${"%26".repeat(7)}x%29+y&b=2+c`);
});

test("returns a clean form unchanged; with a mask that is syntax, the masked form is clean", () => {
  const piece = fc.constantFrom(
    "a",
    "=",
    "&",
    "+",
    "%20",
    "eval%28x%29",
    "cat+/etc/passwd",
    "'+or+1=1--",
    "<script>",
    ";",
    "id",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom("X", "&", ";", "'"), (pieces, char) => {
      const text = pieces.join("");
      const masked = maskForm(text, detector, char);
      if (char !== "X") expect(firstInForm(masked, detector)).toBeNull();
      if (firstInForm(text, detector) === null) expect(masked).toBe(text);
    }),
    { numRuns: 500 },
  );
});
