// Tests of the memory of clean texts: what is found, and what a request may take, does not depend on earlier requests.
import { isUtf8 } from "node:buffer";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { definePlugin, LARGE_BODY_BYTES, type PluginHost, type TextMemory } from "../../sdk/index.ts";
import { testPlugin, type PluginTest } from "../../sdk/testing.ts";
import { TextMemories } from "../../base/text-memories.ts";
import { CleanTexts, MIN_REMEMBERED_BYTES } from "./clean-texts.ts";
import { compileDetector } from "./detector.ts";
import { firstInJson } from "./json-text.ts";
import { patternsOf } from "./languages/by-language.ts";
import { roleSetOf, type RoleSet } from "./json-roles.ts";
import { codeSanitation } from "./plugin.ts";
import { inspectAndRecordBody } from "./record-body.ts";
import { RecordingDetector } from "./recording-detector.ts";
import { RunEnds } from "./run-ends.ts";
import { LANGUAGES, ROLES } from "./settings.ts";
import { WorkExhausted } from "./work-budget.ts";
import { runs } from "../../../test/support/long-form.ts";

const ATTACK = "1' UNION SELECT name, password FROM users -- ";
const PROSE =
  "Please read the report below and write a summary of about 200 words, with the risks that are open. ";
const repeatTo = (piece: string, length: number) =>
  piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
const chat = (...texts: string[]) => ({
  model: "m",
  messages: texts.map((content) => ({ role: "user", content })),
});

function open(settings: Record<string, unknown> = {}, host: Partial<PluginHost> = {}): PluginTest {
  const plugin = definePlugin({
    ...codeSanitation,
    create: (parsed: Parameters<typeof codeSanitation.create>[0], given) =>
      codeSanitation.create(parsed, { ...given, ...host }),
  });
  return testPlugin(plugin, {
    languages: LANGUAGES.map((language) => ({ language })),
    content_to_check: ["body"],
    action: "block",
    ...settings,
  });
}

const isBlocked = async (plugin: PluginTest, body: unknown) =>
  (await plugin.preRequest({ body })).response !== null;

describe("a text that was found clean", () => {
  test("is not inspected again, in the same or another message", async () => {
    const plugin = open();
    const [first, second] = [repeatTo(PROSE, 2000), repeatTo(`2. ${PROSE}`, 3000)];
    expect(await isBlocked(plugin, chat(first))).toBe(false);
    expect(plugin.counted).toEqual({ "texts inspected": 1 });
    expect(await isBlocked(plugin, chat(second, first))).toBe(false);
    expect(plugin.counted).toEqual({ "texts inspected": 2, "texts remembered": 1 });
  });

  test("is inspected again if it is short: that takes no longer than to look it up", async () => {
    const plugin = open();
    const text = repeatTo(PROSE, MIN_REMEMBERED_BYTES - 1);
    for (let turn = 0; turn < 2; turn++) expect(await isBlocked(plugin, chat(text))).toBe(false);
    expect(plugin.counted).toEqual({});
  });

  test("is remembered by a thread that inspects large bodies", async () => {
    const plugin = open();
    const texts = Array.from({ length: 300 }, (_, index) => repeatTo(`${index}. ${PROSE}`, 1000));
    const body = chat(...texts);
    expect(JSON.stringify(body).length).toBeGreaterThan(LARGE_BODY_BYTES);
    for (let turn = 0; turn < 2; turn++) expect(await isBlocked(plugin, body)).toBe(false);
    const { "texts inspected": inspected = 0, "texts remembered": remembered = 0 } = plugin.counted;
    expect(inspected + remembered).toBe(600);
    // A table that is still small may have dropped a few.
    expect(remembered).toBeGreaterThan(280);
    const [last = ""] = texts.splice(-1);
    expect(await isBlocked(plugin, chat(...texts, `${last} ${ATTACK}`))).toBe(true);
  });

  describe("in a long conversation", () => {
    const texts = Array.from({ length: 70 }, (_, index) =>
      repeatTo(`${index * 7919}. ${PROSE}`, 900 + index),
    );
    const inspectedBy = async (plugin: PluginTest, ...given: string[]) => {
      const before = plugin.counted["texts inspected"] ?? 0;
      expect(await isBlocked(plugin, chat(...given))).toBe(false);
      return (plugin.counted["texts inspected"] ?? 0) - before;
    };

    test("is not inspected again in the next turns", async () => {
      const plugin = open();
      expect(await inspectedBy(plugin, ...texts.slice(0, 50))).toBe(50);
      for (let length = 52; length <= 70; length += 2)
        expect(await inspectedBy(plugin, ...texts.slice(0, length))).toBe(2);
    });

    test("is mostly not inspected again after the first messages were removed, or one was inserted", async () => {
      const plugin = open();
      await inspectedBy(plugin, ...texts);
      expect(await inspectedBy(plugin, ...texts.slice(3))).toBeLessThan(35);
      expect(await inspectedBy(plugin, repeatTo(`Now: ${PROSE}`, 5000), ...texts)).toBeLessThan(35);
    });

    test("is found with code in each place", async () => {
      const plugin = open();
      await inspectedBy(plugin, ...texts);
      for (let place = 0; place < texts.length; place += 5) {
        const changed = texts.with(place, `${texts[place]} ${ATTACK}`);
        expect(await isBlocked(plugin, chat(...changed))).toBe(true);
        expect(await isBlocked(plugin, chat(...changed))).toBe(true);
      }
    });
  });

  test("is remembered where only some roles are inspected", async () => {
    const plugin = open({ roles: ["user"] });
    const text = repeatTo(PROSE, 2000);
    const messages = (...given: [role: string, content: string][]) => ({
      messages: given.map(([role, content]) => ({ role, content })),
    });
    expect(await isBlocked(plugin, messages(["system", ATTACK + text], ["user", text]))).toBe(false);
    expect(await isBlocked(plugin, messages(["user", text], ["system", ATTACK + text]))).toBe(false);
    expect(plugin.counted).toEqual({ "texts inspected": 1, "texts remembered": 1 });
    // What was skipped in one role was not inspected, so it is not known.
    expect(await isBlocked(plugin, messages(["user", ATTACK + text]))).toBe(true);
  });
});

describe("a text with code", () => {
  const text = `${repeatTo(PROSE, 1000)}${ATTACK}${repeatTo(PROSE, 1000)}`;

  test.each(["block", "sanitize"])("is found every time (%s)", async (action) => {
    const plugin = open({ action });
    const clean = repeatTo(PROSE, 2000);
    const results = [];
    for (let turn = 0; turn < 3; turn++)
      results.push(await plugin.preRequest({ body: chat(clean, text, clean) }));
    for (const result of results) expect([result]).toEqual(results.slice(0, 1));
    expect(results[0]?.body).not.toBe(
      action === "sanitize" ? JSON.stringify(chat(clean, text, clean)) : null,
    );
    expect(plugin.counted["found sql"]).toBe(3);
  });

  test("that differs from a clean text only in the middle is found after it", async () => {
    const side = repeatTo(PROSE, 70_000);
    const around = (middle: string) => side + middle + side;
    const plugin = open();
    expect(await isBlocked(plugin, chat(around(repeatTo(PROSE, ATTACK.length))))).toBe(false);
    expect(await isBlocked(plugin, chat(around(ATTACK)))).toBe(true);
  });

  test("is found by settings that are created later, after others passed it", async () => {
    const memories = new TextMemories();
    const host: Partial<PluginHost> = {
      textMemory: (version = "") => memories.open({ owner: "g", name: `${crypto.randomUUID()} ${version}` }),
    };
    const only = (language: string, more = {}) => open({ languages: [{ language, ...more }] }, host);
    for (const passing of [
      only("python"),
      only("sql", { exclude: patternsOf("sql").map(({ id }) => id) }),
      open({ roles: ["system"] }, host),
      open({ content_to_check: ["headers"] }, host),
    ]) {
      expect(await isBlocked(passing, chat(text))).toBe(false);
      expect(await isBlocked(only("sql"), chat(text))).toBe(true);
    }
  });
});

describe("a text with code that has the hash of a clean text", () => {
  const letters = () => {
    let word = "";
    for (let at = 0; at < 12; at++) word += String.fromCharCode(0x61 + Math.floor(Math.random() * 26));
    return word;
  };
  const [cleanStart, attackStart] = [repeatTo(PROSE, 200), repeatTo(ATTACK + PROSE, 200)];

  type Hash = (text: string) => number;
  type Pair = readonly [clean: string, attack: string];
  const pairs = new Map<Hash, Pair>();

  /** Returns a clean text and one with code that have the same hash. Any 32-bit hash has some among so many pairs. */
  function forge(hash: Hash): Pair {
    const pair = pairs.get(hash) ?? search(hash);
    pairs.set(hash, pair);
    return pair;
  }

  function search(hash: Hash): Pair {
    const cleanByHash = new Map<number, string>();
    for (let index = 0; index < 400_000; index++) {
      const clean = `${cleanStart} ${letters()}`;
      cleanByHash.set(hash(clean), clean);
      const attack = `${attackStart} ${letters()}`;
      const found = cleanByHash.get(hash(attack));
      if (found !== undefined) return [found, attack];
    }
    throw new Error("no collision found");
  }

  /** The hash of a text of ASCII characters, one after the other; the states after the starts are computed once. */
  function iterated(initial: number, next: (hash: number, code: number) => number): Hash {
    const run = (from: number, text: string, at: number) => {
      let hash = from;
      for (let index = at; index < text.length; index++) hash = next(hash, text.charCodeAt(index));
      return hash >>> 0;
    };
    const states = new Map([cleanStart, attackStart].map((start) => [start, run(initial, start, 0)]));
    return (text) => run(states.get(text.slice(0, 200)) ?? initial, text, 200);
  }

  const HASHES: readonly [string, Hash][] = [
    ["FNV-1a", iterated(0x811c9dc5, (hash, code) => Math.imul(hash ^ code, 0x01000193))],
    ["the polynomial of 31", iterated(0, (hash, code) => (Math.imul(hash, 31) + code) | 0)],
    ["the polynomial of 33", iterated(5381, (hash, code) => (Math.imul(hash, 33) + code) | 0)],
    ["CRC-32", (text) => Bun.hash.crc32(text)],
    ["xxHash32", (text) => Bun.hash.xxHash32(text)],
    ["MurmurHash3", (text) => Bun.hash.murmur32v3(text)],
    ["CityHash32", (text) => Bun.hash.cityHash32(text)],
  ];

  test.each(HASHES)("%s is found after it", async (_, hash) => {
    const [clean, attack] = forge(hash);
    expect(hash(attack)).toBe(hash(clean));
    expect(attack.length).toBe(clean.length);
    const plugin = open();
    for (let turn = 0; turn < 2; turn++) expect(await isBlocked(plugin, chat(clean))).toBe(false);
    expect(plugin.counted).toEqual({ "texts inspected": 1, "texts remembered": 1 });
    expect(await isBlocked(plugin, chat(attack))).toBe(true);
    expect(await isBlocked(plugin, chat(clean, attack))).toBe(true);
  });

  // Longer texts are hashed in other ways (base/keyed-hash.ts). Hashes that read one byte after the other stay equal when the texts go on equally.
  describe.each([2000, 20_000])("and goes on for %d bytes:", (length) => {
    test.each(HASHES.slice(0, 4))("%s is found after it", async (_, hash) => {
      const rest = repeatTo(PROSE, length);
      const [cleanBeginning, attackBeginning] = forge(hash);
      const [clean, attack] = [cleanBeginning + rest, attackBeginning + rest];
      expect(hash(attack)).toBe(hash(clean));
      const plugin = open();
      for (let turn = 0; turn < 2; turn++) expect(await isBlocked(plugin, chat(clean))).toBe(false);
      expect(plugin.counted).toEqual({ "texts inspected": 1, "texts remembered": 1 });
      expect(await isBlocked(plugin, chat(attack))).toBe(true);
    });
  });
});

/** As an instance of the plugin has it. */
interface OpenMemory {
  readonly memory: TextMemory;
  readonly runEnds: RunEnds;
}

describe("the work of an inspection", () => {
  const detector = compileDetector(LANGUAGES);
  const memories = new TextMemories();
  const piece = fc.constantFrom(PROSE, "${", "'||'", "a = b(c)[d]; ", "%25", "é\n", ATTACK);
  const text = fc.array(piece, { minLength: 1, maxLength: 20 }).map((pieces) => pieces.join(""));
  const body = fc.array(text, { minLength: 1, maxLength: 6 }).map((texts) => JSON.stringify(chat(...texts)));
  const roles = fc.option(fc.subarray([...ROLES], { minLength: 1 }).map(roleSetOf), { nil: null });

  /** What an inspection with this memory results in, and the work that it took. */
  function inspect(
    json: string | Buffer,
    { memory, runEnds }: OpenMemory,
    mask: string | null,
    set: RoleSet | null,
    limit: number,
  ) {
    const recorder = new RecordingDetector(detector);
    const bytes = Buffer.from(json);
    const bodyText = isUtf8(bytes) ? bytes.toString() : null;
    const inspected = { body: bytes, bodyView: bytes, bodyText, isJson: true, headers: new Headers() };
    const texts = new CleanTexts(memory, runEnds);
    try {
      const verdict = recorder.limitWork(limit, () =>
        inspectAndRecordBody(inspected, recorder, mask, set, texts),
      );
      return { verdict, details: recorder.details, work: recorder.workDone };
    } catch (error) {
      if (!(error instanceof WorkExhausted)) throw error;
      return { verdict: { kind: "incomplete" }, details: recorder.details };
    }
  }
  const openMemory = (): OpenMemory => ({
    memory: memories.open({ owner: "g", name: crypto.randomUUID() }),
    runEnds: new RunEnds(),
  });

  test("is the same when its texts are known, and so is the result, with any limit", () => {
    fc.assert(
      fc.property(
        fc.array(body, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(null, "X"),
        roles,
        fc.integer({ min: 200, max: 6000 }),
        (bodies, mask, set, limit) => {
          const memory = openMemory();
          for (const json of bodies) inspect(json, memory, mask, set, Infinity);
          for (const json of bodies)
            expect(inspect(json, memory, mask, set, limit)).toEqual(
              inspect(json, openMemory(), mask, set, limit),
            );
        },
      ),
      { numRuns: runs({ short: 100, long: 300 }) },
    );
  });

  test("and the result are the same for long conversations, whatever their strings begin and end with", () => {
    const part = fc.oneof(
      fc.constantFrom('"}', '}"', '{"', "\\", '\\"}', '"},{"', "}", "é", ATTACK, "short"),
      fc.integer({ min: 20, max: 3000 }).map((length) => repeatTo(PROSE, length)),
    );
    const texts = fc.array(
      fc.array(part, { maxLength: 5 }).map((parts) => parts.join("")),
      // By default, arrays have at most ten elements: too few for several sections.
      { maxLength: 30, size: "max" },
    );
    const isIndented = fc.boolean();
    fc.assert(
      fc.property(texts, texts, fc.nat(40), isIndented, (all, others, kept, indented) => {
        const memory = openMemory();
        const clean = all.map((each) => each.replaceAll(ATTACK, "short"));
        const bodies = [
          clean,
          clean,
          clean,
          [...clean.slice(0, kept), ...others],
          all,
          [...others, ...clean],
        ];
        for (const each of bodies) {
          // Sections end after certain bytes. With other keys, some of them end at a quote that begins a string.
          const messages = each.map((content) => ({ [`text ${content.length}`]: content }));
          const json = JSON.stringify({ messages }, null, indented ? 1 : 0);
          const known = inspect(json, memory, null, null, Infinity);
          expect(known).toEqual(inspect(json, openMemory(), null, null, Infinity));
          expect(known.verdict.kind).toBe(firstInJson(json, detector) === null ? "clean" : "found");
        }
      }),
      { numRuns: runs({ short: 15, long: 40 }) },
    );
  });

  describe("in a conversation with a known beginning", () => {
    const turns = (count: number, ...more: string[]) =>
      JSON.stringify(
        chat(...Array.from({ length: count }, (_, index) => repeatTo(`${index}. ${PROSE}`, 1500)), ...more),
      );
    /** Counts the lookups of texts, sections and beginnings. */
    const counting = (open: OpenMemory) => {
      const lookups: number[] = [];
      const recall: TextMemory["recall"] = (bytes, start, end) => {
        lookups.push(end - start);
        return open.memory.recall(bytes, start, end);
      };
      return { lookups, open: { ...open, memory: { ...open.memory, recall } } };
    };

    test("it takes one lookup for all its sections", () => {
      const { lookups, open: counted } = counting(openMemory());
      inspect(turns(70), counted, null, null, Infinity);
      expect(lookups.length).toBeGreaterThan(10);
      lookups.length = 0;
      inspect(turns(70), counted, null, null, Infinity);
      const [first = 0, ...others] = lookups;
      expect(first).toBeGreaterThan(80_000);
      expect(others.every((bytes) => bytes < 8192)).toBe(true);
    });

    test("the result is the same, with any limit and whatever follows", () => {
      const last = fc.constantFrom("", "short", ATTACK, repeatTo(PROSE, 20_000), "é", '"}');
      const more = fc.array(last, { maxLength: 3 });
      fc.assert(
        fc.property(
          fc.integer({ min: 20, max: 90 }),
          fc.integer({ min: 20, max: 90 }),
          more,
          fc.integer({ min: 1000, max: 200_000 }),
          fc.option(fc.nat(), { nil: null }),
          (before, count, added, limit, broken) => {
            const known = openMemory();
            inspect(turns(before), known, null, null, Infinity);
            const body = Buffer.from(turns(count, ...added));
            // A byte that is not UTF-8: then the whole body is inspected in another way.
            if (broken !== null) body[broken % body.length] = 0xff;
            expect(inspect(body, known, null, null, limit)).toEqual(
              inspect(body, openMemory(), null, null, limit),
            );
          },
        ),
        { numRuns: runs({ short: 35, long: 100 }) },
      );
    });

    test("code is found in it", () => {
      const known = openMemory();
      const clean = turns(70);
      for (let turn = 0; turn < 2; turn++)
        expect(inspect(clean, known, null, null, Infinity).verdict.kind).toBe("clean");
      for (let at = 1000; at < clean.length - 1000; at += 9973) {
        // Of the same length and with the same end.
        const body = clean.slice(0, at) + ATTACK + clean.slice(at + ATTACK.length);
        const { verdict } = inspect(body, known, null, null, Infinity);
        expect(verdict).toEqual(inspect(body, openMemory(), null, null, Infinity).verdict);
        if (firstInJson(body, detector) !== null) expect(verdict.kind).toBe("found");
      }
    });
  });

  test.each([PROSE, "a = b(c)[d]; ", "it's 1 or 2; "])("%j is the same at the very limit", (given) => {
    const json = JSON.stringify(
      chat(`${repeatTo(given, 500)} and then matchers with bounded work around each`),
    );
    const memory = openMemory();
    const { work = 0 } = inspect(json, memory, null, null, Infinity);
    for (let limit = work - 100; limit <= work + 1; limit++)
      expect(inspect(json, memory, null, null, limit)).toEqual(
        inspect(json, openMemory(), null, null, limit),
      );
  });

  test("that is incomplete leaves nothing behind: the text is inspected again", async () => {
    const plugin = open({ on_incomplete: "continue" });
    const hostile = repeatTo("${", 100_000);
    for (let turn = 0; turn < 2; turn++) expect(await isBlocked(plugin, chat(hostile))).toBe(false);
    expect(plugin.counted).toEqual({ "texts inspected": 2, "incomplete budget": 2 });
  });

  test("that is known takes no time of the event loop, so bodies stay on it", async () => {
    let tasks = 0;
    const runOffLoop = (() => {
      tasks++;
      return Promise.resolve({ verdict: { kind: "clean" }, found: [] });
    }) as PluginHost["runOffLoop"];
    const plugin = open({}, { runOffLoop });
    const known = chat(repeatTo(PROSE, 200_000));
    await plugin.preRequest({ body: known });
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all(Array.from({ length: 20 }, () => plugin.preRequest({ body: known })));
    expect(tasks).toBe(0);
    expect(plugin.counted).toEqual({ "texts inspected": 1, "texts remembered": 20 });
  });
});
