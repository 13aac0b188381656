// WebAssembly rejects only triggers where no pattern can match, and this changes neither findings nor counted work.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DIGIT } from "./char-classes.ts";
import { StateTriggers } from "./candidates.ts";
import { charSet, charSetExcept, charSetHas, NON_ASCII } from "./char-set.ts";
import { keyword, seq } from "./combinators.ts";
import { compileEntries, entriesOf, type CompiledPatterns } from "./compiled-patterns.ts";
import { detectorOf } from "./detector.ts";
import { patternsOf } from "./languages/by-language.ts";
import { requiring, type LookBehind } from "./look-behind.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import { canMatchAt, searching } from "./matcher.ts";
import { pattern, type Pattern } from "./pattern.ts";
import { Prefilter } from "./prefilter.ts";
import { hasPrefix, prefixesStartingWith, type PrefixSet } from "./prefix-set.ts";
import {
  farFromStart,
  isFoundBefore,
  NAME_WITH_ON,
  NEAR_START_UNITS,
  OPEN_STRING,
  precededByPairs,
} from "./required-before.ts";
import { scratchBufferFor } from "./scratch-buffer.ts";
import {
  BATCH_CONDITION,
  CLOSED_WORD,
  CONSTANT_OPERAND,
  isFoundAfter,
  NAME_AND_PATH,
} from "./search-after.ts";
import type { Language } from "./settings.ts";
import { TriggerFilter, type ListConditions } from "./trigger-filter.ts";
import { BLOCK_UNITS, MIN_READ_UNITS } from "./trigger-memory.ts";
import { ows } from "./tokens.ts";
import { mayHaveWord, wordHashAt, wordSetOf } from "./word-set.ts";
import { triggerEnds, TriggerScanner, triggerStates } from "./trigger-scanner.ts";
import { runs } from "../../../test/support/long-form.ts";

const LANGUAGE: Language = "sql";
/** Those of which patterns have the most conditions on the units around a trigger. */
const PATTERNS = (["sql", "shell", "html"] as const).flatMap((language) => patternsOf(language));

/** Triggers, texts that patterns find or ignore, and what separates them. */
const PIECES = [
  ...PATTERNS.flatMap(({ triggers }) => triggers),
  ...PATTERNS.flatMap(({ finds, ignores }) => [...finds, ...ignores]),
];
const SEPARATORS = [
  "",
  " ",
  "\n",
  "x",
  "é",
  "'",
  "1",
  "(",
  ". ",
  " the wind and the sea or the sky for all ",
];
const textOf = (maxLength: number) =>
  fc
    .array(fc.tuple(fc.nat(), fc.constantFrom(...SEPARATORS)), { maxLength, size: "max" })
    .map((parts) =>
      parts.map(([piece, separator]) => `${PIECES[piece % PIECES.length] ?? ""}${separator}`).join(""),
    );
/** Texts whose pieces are located where one block ends and the next begins. */
const acrossBlocks = fc
  .tuple(fc.nat(), textOf(4))
  .map(([units, text]) => `${"z".repeat(BLOCK_UNITS - (units % 40))} ${text}${"z".repeat(200)}`);
const anyText = fc.oneof(textOf(10), textOf(60), textOf(300), acrossBlocks);

interface Recorded {
  readonly ends: number[];
  /** Recorded or rejected. */
  readonly count: number;
}

function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length + 8);
  for (let index = 0; index < text.length; index++) units[index] = text.charCodeAt(index);
  return units;
}

/** Returns where triggers are recorded. `known`: looks up their candidates, so that they may be rejected the next time. */
function scan(prefilter: Prefilter<unknown>, text: string, known?: CompiledPatterns): Recorded {
  const units = unitsOf(text);
  const scanner = new TriggerScanner();
  const ends: number[] = [];
  let count = 0;
  for (let from = 0; from <= text.length;) {
    from = scanner.scan(prefilter, units, from, text.length + 1);
    count += scanner.count + scanner.rejected;
    for (let index = 0; index < scanner.count; index++) {
      const end = triggerEnds[index]!;
      ends.push(end);
      known?.candidates.at(triggerStates[index]!, end, units[end]!);
    }
  }
  return { ends, count };
}

interface Match {
  readonly pattern: Pattern;
  readonly trigger: string;
  readonly end: number;
}

/** Returns all triggers with a pattern whose conditions are met, as they are written in the pattern. */
function matchesIn(text: string): Match[] {
  const lower = text.toLowerCase();
  const input = inputOf(text);
  const matches: Match[] = [];
  for (const pattern of PATTERNS) {
    for (const trigger of pattern.triggers) {
      const wanted = trigger.toLowerCase();
      for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + 1)) {
        const end = at + wanted.length;
        if (isMatch(pattern, input, at, end)) matches.push({ pattern, trigger, end });
      }
    }
  }
  return matches;
}

function isMatch(pattern: Pattern, input: NormalizedText, start: number, end: number): boolean {
  const { precededBy, followedBy, guard, after, before } = pattern.conditions;
  return (
    (precededBy === undefined || charSetHas(precededBy, unitAt(input, start - 1))) &&
    (followedBy === undefined || charSetHas(followedBy, unitAt(input, end))) &&
    (pattern.conditions.start ?? guard ?? anywhere)(input, start) >= 0 &&
    // The FIRST set of some matchers is a condition of its own.
    canMatchAt(pattern.requiredAfter, input, end) &&
    (after === undefined || after(input, end) >= 0) &&
    (before ?? anywhere)(input, start) >= 0
  );
}

const anywhere: LookBehind = (_, at) => at;

/** Returns the text as input of matchers, without normalization. */
function inputOf(text: string): NormalizedText {
  const codes = unitsOf(text);
  const buffer = scratchBufferFor(text.length, 0);
  buffer.codes.set(codes);
  return buffer.finish(text.length, null, { steps: 0, limit: Infinity });
}

describe("the filter of recorded triggers", () => {
  const filtered = compileEntries(entriesOf(LANGUAGE, PATTERNS));
  /** Without tables: records every trigger. */
  const complete = new Prefilter(filtered.prefilter.triggers);
  for (const prefilter of [filtered.prefilter, complete]) scan(prefilter, "z".repeat(MIN_READ_UNITS));

  test("keeps every trigger where a pattern may match, and counts all", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const all = scan(complete, text);
        const matchEnds = matchesIn(text).map(({ end }) => end);
        for (const { ends, count } of [
          scan(filtered.prefilter, text, filtered),
          scan(filtered.prefilter, text, filtered),
        ]) {
          expect(matchEnds.filter((end) => !ends.includes(end))).toEqual([]);
          expect(ends.filter((end) => !all.ends.includes(end))).toEqual([]);
          expect(count).toBe(all.count);
        }
      }),
      { numRuns: runs({ short: 100, long: 500 }), endOnFailure: true },
    );
  });

  test("rejects nearly all triggers of prose once their candidates are known", () => {
    const prose =
      "The fog came in for a while, and the order of the ships or the hour did not matter. ".repeat(60);
    const first = scan(filtered.prefilter, prose, filtered);
    const second = scan(filtered.prefilter, prose, filtered);
    expect(second.count).toBe(first.count);
    expect(second.ends.length).toBeLessThan(second.count / 4);
  });
});

test("what must be around a trigger is there wherever a pattern matches", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const input = inputOf(text);
      for (const { pattern, trigger, end } of matchesIn(text)) {
        const owner = { pattern, names: [{ language: LANGUAGE, pattern: pattern.id }] };
        const state = new StateTriggers([
          { text: trigger, hasDigits: /\d/.test(trigger), owner, followedBy: pattern.followedBy },
        ]);
        const list = state.candidatesBefore(Math.min(unitAt(input, end), NON_ASCII), end <= NEAR_START_UNITS);
        const candidate = list?.candidates[0];
        const start = end - trigger.length;
        expect(candidate).toBeDefined();
        if (candidate === undefined) return;
        const { lastUnits, words, search, searchAfter } = candidate;
        const around = text.slice(start - 2, end + 5);
        expect([around, words === null || mayHaveWord(words, wordHashAt(input.codes, end))]).toEqual([
          around,
          true,
        ]);
        const [last, other] = [unitAt(input, start - 1), unitAt(input, start - 2)];
        expect([around, lastUnits === null || hasPrefix(lastUnits, last, other)]).toEqual([around, true]);
        expect([around, isFoundBefore(search, input, start)]).toEqual([around, true]);
        expect([around, isFoundAfter(searchAfter, input, end)]).toEqual([around, true]);
      }
    }),
    { numRuns: runs({ short: 100, long: 500 }), endOnFailure: true },
  );
});

test("findings and steps are the same with and without WebAssembly", () => {
  const results = (detector: ReturnType<typeof detectorOf>, text: string) =>
    detector.limitWork(Infinity, () => ({ findings: detector.findAll(text), steps: detector.workDone }));
  const warm = detectorOf(LANGUAGE, PATTERNS);
  warm.findAll("z".repeat(MIN_READ_UNITS));
  fc.assert(
    fc.property(fc.oneof(textOf(10), textOf(60), acrossBlocks), (text) => {
      // A detector that has read less than MIN_READ_UNITS does not use it.
      expect(results(warm, text)).toEqual(results(detectorOf(LANGUAGE, PATTERNS), text));
    }),
    { numRuns: runs({ short: 20, long: 60 }), endOnFailure: true },
  );
});

describe("WebAssembly rejects no trigger that JavaScript does not reject", () => {
  const conditions = { catches: "a test", finds: [], ignores: [] };
  const searchesBefore = [OPEN_STRING, NAME_WITH_ON] as const;
  const searchesAfter = [CLOSED_WORD, BATCH_CONDITION, NAME_AND_PATH, CONSTANT_OPERAND] as const;
  const cases: [string, Pattern][] = [
    ...searchesBefore.map((search): [string, Pattern] => [
      `search ${search} before the trigger`,
      pattern("sql.test", ["'"], {
        ...conditions,
        guard: requiring(farFromStart(precededByPairs([[charSetExcept(0), null]], search)), (input, at) =>
          at <= NEAR_START_UNITS || isFoundBefore(search, input, at) ? at : -1,
        ),
      }),
    ]),
    ...searchesAfter.map((search): [string, Pattern] => [
      `search ${search} after the trigger`,
      pattern("sql.test", ["'"], {
        ...conditions,
        after: searching(search, (input, at) => (isFoundAfter(search, input, at) ? at : -1)),
      }),
    ]),
    [
      "words",
      pattern("sql.test", ["'"], {
        ...conditions,
        after: seq(ows, keyword(["on", "not", "exist", "x1", "_"])),
      }),
    ],
    [
      "pairs of units before the trigger",
      pattern("sql.test", ["'"], {
        ...conditions,
        guard: requiring(precededByPairs([[charSet(DIGIT), charSet(0, " x")]]), (input, at) =>
          charSetHas(charSet(DIGIT), unitAt(input, at - 1)) &&
          charSetHas(charSet(0, " x"), unitAt(input, at - 2))
            ? at
            : -1,
        ),
      }),
    ],
  ];
  const piece = fc.constantFrom(
    ...Array.from("'\"` \n/<.~:()[]=!-_ox1é"),
    ..."on not exist not defined errorlevel equ neq gtr geq lss leq == === ' ' ' onload name".split(" "),
    ..."Not null binary true false exists current_user session system utc_date local select nul se a b".split(
      " ",
    ),
    " ",
    "x1'",
    "a word of more than thirty-two letters",
  );
  const texts = fc.array(fc.array(piece, { minLength: 100, maxLength: 300, size: "max" }), {
    minLength: 2,
    maxLength: 4,
  });

  test.each(cases)("%s", (_, tested) => {
    const warm = detectorOf(LANGUAGE, [tested]);
    warm.findAll("z".repeat(MIN_READ_UNITS));
    let found = 0;
    fc.assert(
      fc.property(texts, (lists) => {
        // Reads less than MIN_READ_UNITS, so that it does not use WebAssembly.
        const cold = detectorOf(LANGUAGE, [tested]);
        for (const list of lists) {
          const text = `${list.join("")}${"z".repeat(MIN_READ_UNITS / 100)}`;
          const findings = warm.findAll(text);
          found += findings.length;
          expect(findings).toEqual(cold.findAll(text));
        }
      }),
      { numRuns: runs({ short: 20, long: 60 }), endOnFailure: true },
    );
    expect(found).toBeGreaterThan(0);
  });

  test.each(cases)("%s, at every length up to the longest", (_, tested) => {
    const warm = detectorOf(LANGUAGE, [tested]);
    warm.findAll("z".repeat(MIN_READ_UNITS));
    for (let length = 0; length < 60; length++) {
      const cold = detectorOf(LANGUAGE, [tested]);
      const [name, rest] = ["a".repeat(length), ".".repeat(length)];
      for (const around of [`'${name}'`, `'${name}' x`, `'${name}==b`, `'(${name}==b`, `'(a${rest})==b`])
        for (const text of [around, `on${name}${around}`, `'${name} /${around}`]) {
          const padded = `${"z ".repeat(NEAR_START_UNITS)}${text}${" z".repeat(NEAR_START_UNITS)}`;
          expect([text, warm.findAll(padded)]).toEqual([text, cold.findAll(padded)]);
        }
    }
  });
});

describe("the units around a trigger are read", () => {
  // Only a digit may precede the trigger, and two certain units follow the whitespace after it.
  const patterns = [
    pattern("sql.test", ["trigger"], {
      precededBy: charSet(DIGIT),
      after: seq(ows, keyword(["select"])),
      catches: "a word after a number",
      finds: [],
      ignores: [],
    }),
  ];
  const around = (text: string, units: number) => `${"z".repeat(units)}${text}${"z".repeat(BLOCK_UNITS)}`;

  test("across the boundary of two blocks", () => {
    const detector = detectorOf(LANGUAGE, patterns);
    detector.findAll(around("1trigger select ", MIN_READ_UNITS));
    for (let units = BLOCK_UNITS - 20; units < BLOCK_UNITS + 20; units++) {
      expect(detector.findAll(around("1trigger select ", units)), String(units)).toHaveLength(1);
      for (const text of ["-trigger select ", "1trigger solect ", "1trigger ", "1triggers"])
        expect(detector.findAll(around(text, units))).toEqual([]);
    }
  });

  test("after the end of a range of a text", () => {
    const compiled = compileEntries(entriesOf(LANGUAGE, patterns));
    scan(compiled.prefilter, around("1trigger select ", MIN_READ_UNITS), compiled);
    const scanner = new TriggerScanner();
    for (let end = 200; end < 212; end++) {
      // Otherwise the text of the round before would be there.
      scan(compiled.prefilter, "z".repeat(BLOCK_UNITS));
      const units = unitsOf(around("1trigger select ", end - "1trigger".length));
      scanner.scan(compiled.prefilter, units, 0, end + 1);
      expect([...triggerEnds.subarray(0, scanner.count)]).toEqual([end]);
    }
  });
});

describe("tables that do not fit", () => {
  const CHECKS = 0x14e000;
  const SETS = 0x15e000;
  const SETS_END = 0x19e000;
  const buffer = new ArrayBuffer(0x200000);
  const filter = new TriggerFilter(buffer, 0x1f0000, Int32Array.of(0, 10, -1), Uint16Array.of(7));
  const after = new Uint8Array(buffer).slice(SETS_END);
  /** Every list has another set. */
  const listOf = (number: number, candidates: ListConditions["candidates"] = []): ListConditions => ({
    work: candidates.length,
    candidates,
    seconds: -1,
    afterWhitespace: null,
    lastUnits: prefixesStartingWith(charSet(DIGIT)).map((seconds, code) => (code === 65 ? number : seconds)),
    triggerLength: 1,
  });
  for (let number = 2; number < 10_000; number++) filter.add(number, listOf(number));

  test("are left out, and overwrite nothing", () => {
    expect(Buffer.compare(new Uint8Array(buffer).slice(SETS_END), after)).toBe(0);
    expect(filter.numbers[0]).toBe(7);
  });

  test("are replaced by sets that reject nothing", () => {
    const conditions = {
      length: 1,
      seconds: -1,
      afterWhitespace: null,
      lastUnits: null,
      search: 0,
      searchAfter: 0,
    } as const;
    filter.add(2, listOf(20_000, [{ ...conditions, words: wordSetOf(["select"]) }]));
    const [, lastUnits = 0, afterWhitespace = 0, candidates = 0] = new Int32Array(buffer, CHECKS + 2 * 16, 4);
    expect(lastUnits).toBe(afterWhitespace);
    const candidate = new Int32Array(buffer, SETS + (candidates >>> 16) * 4, 4);
    expect((candidates >>> 8) & 0xff).toBe(1);
    expect([...candidate].slice(1, 3)).toEqual([lastUnits, lastUnits]);
    expect(new Uint32Array(buffer, candidate[3], 256).every((bits) => bits === 0xffffffff)).toBe(true);
  });
});

test("equal sets share their space", () => {
  const buffer = new ArrayBuffer(0x200000);
  const filter = new TriggerFilter(buffer, 0x1f0000, Int32Array.of(0), Uint16Array.of(7));
  const addressOf = (lastUnits: PrefixSet) => {
    filter.add(2, {
      work: 0,
      candidates: [],
      seconds: -1,
      afterWhitespace: null,
      lastUnits,
      triggerLength: 1,
    });
    return new Int32Array(buffer, 0x14e000 + 2 * 16, 4)[1];
  };
  const digits = prefixesStartingWith(charSet(DIGIT));
  expect(addressOf(digits.slice())).toBe(addressOf(digits));
  expect(addressOf(prefixesStartingWith(charSet(0, "x")))).not.toBe(addressOf(digits));
});
