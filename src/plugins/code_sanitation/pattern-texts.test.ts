// Checks every pattern alone against its own texts: detection in every kind of body, through every encoding, masking, and that each part
// of the pattern is needed.
import { describe, expect, test } from "bun:test";
import { ENCODINGS } from "../../../test/support/encodings.ts";
import { isLong } from "../../../test/support/long-form.ts";
import { patternGroups, survivingMutations } from "../../../test/support/pattern-mutations.ts";
import { detectorOf, type Detector } from "./detector.ts";
import { inspectBody } from "./inspect-body.ts";
import { patternsOf } from "./languages/by-language.ts";
import { maskText } from "./mask.ts";
import { firstInPathAndQuery } from "./path-and-query.ts";
import { LANGUAGES, type Language } from "./settings.ts";

const groups = patternGroups();

/** The patterns that a gateway uses unless it sets a sensitivity. */
const balanced = new Map<Language, Detector>(
  LANGUAGES.map((language) => [
    language,
    detectorOf(
      language,
      patternsOf(language).filter(({ from }) => from !== "strict"),
    ),
  ]),
);

function isFoundInBody(text: string, contentType: string, detector: Detector): boolean {
  const isJson = contentType === "application/json";
  const body = { bodyText: text, body: null, isJson, headers: new Headers({ "content-type": contentType }) };
  return inspectBody(body, detector, null).kind === "found";
}

/** Where a client can send a text, and whether it is found there. */
const PLACES: Readonly<Record<string, (text: string, detector: Detector) => boolean>> = {
  "text/plain": (text, detector) => isFoundInBody(text, "text/plain", detector),
  "a JSON string": (text, detector) =>
    isFoundInBody(JSON.stringify({ model: "m", input: [{ text }] }), "application/json", detector),
  "a form": (text, detector) =>
    isFoundInBody(`a=1&text=${encodeURIComponent(text)}&b=2`, "application/x-www-form-urlencoded", detector),
  "a query": (text, detector) =>
    firstInPathAndQuery(`/v1/x?a=1&text=${encodeURIComponent(text)}&b=2`, detector) !== null,
};

/** The long form sends every text in every encoding to every place; the default run sends each encoding of it to one place. */
const COMBINATIONS = [["plain", (text: string) => text] as const, ...Object.entries(ENCODINGS)].flatMap(
  ([encoding, encode], row) =>
    Object.entries(PLACES).map(([place, isFound], column) => ({
      name: `${place}, ${encoding}`,
      isFound: (text: string, detector: Detector) => isFound(encode(text), detector),
      isUsedFor: (text: string) => isLong || row === 0 || (row + text.length) % 4 === column,
    })),
);

test("every pattern has texts that it finds and texts that it ignores", () => {
  const missing = groups.filter(
    ({ finds, ignores, patterns }) =>
      finds.length === 0 || ignores.length === 0 || patterns.some(({ catches }) => catches === ""),
  );
  expect(missing.map(({ id }) => id)).toEqual([]);
});

describe.each(groups.map((group) => [`${group.id} ${group.patterns[0]?.triggers[0] ?? ""}`, group] as const))(
  "%s",
  (_, { language, patterns, finds, ignores }) => {
    const detector = detectorOf(language, patterns);

    test("finds its texts, and each pattern finds one", () => {
      expect(finds.filter((text) => detector.first(text) === null)).toEqual([]);
      const alone = patterns.map((pattern) => ({ pattern, detector: detectorOf(language, [pattern]) }));
      const unused = alone.filter((each) => !finds.some((text) => each.detector.first(text) !== null));
      expect(unused.map(({ pattern }) => pattern.triggers[0])).toEqual([]);
    });

    test("ignores similar harmless texts, as all patterns of the language do", () => {
      expect(ignores.filter((text) => detector.first(text) !== null)).toEqual([]);
      const found = ignores.map((text) => ({ text, pattern: balanced.get(language)?.first(text)?.pattern }));
      expect(found.filter(({ pattern }) => pattern !== undefined)).toEqual([]);
    });

    test("finds its texts wherever a client can send them, and in every encoding", () => {
      const missed = COMBINATIONS.flatMap(({ name, isFound, isUsedFor }) =>
        finds.filter((text) => isUsedFor(text) && !isFound(text, detector)).map((text) => `${name}: ${text}`),
      );
      expect(missed).toEqual([]);
    });

    test("masks only what it found, and finds nothing afterwards", () => {
      for (const text of finds) {
        const masked = maskText(text, detector, "X");
        expect(detector.first(masked)).toBeNull();
        expect(masked).not.toBe(text);
        const spans = detector.findAll(text);
        const outside = Array.from({ length: text.length }, (_unused, index) => index).filter(
          (index) => !spans.some(({ start, end }) => index >= start && index < end),
        );
        expect(outside.filter((index) => masked[index] !== text[index])).toEqual([]);
      }
    });
  },
);

test("a text notices if a pattern loses a trigger, a condition, an alternative or an optional part", () => {
  const survivors = survivingMutations();
  expect(survivors).toEqual([]);
}, 60_000);
