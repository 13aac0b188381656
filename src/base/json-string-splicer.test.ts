import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { JsonStringSplicer, type JsonPart, type ReplaceString } from "./json-string-splicer.ts";

const NO_KEYS = new Map<string, JsonPart | null>();
const STRING: JsonPart = { kind: "id", keys: NO_KEYS, otherKeys: null, elements: null };
const object = (keys: Record<string, JsonPart | null>, otherKeys: JsonPart | null = null): JsonPart => ({
  kind: null,
  keys: new Map(Object.entries(keys)),
  otherKeys,
  elements: null,
});
const list = (elements: JsonPart): JsonPart => ({ kind: null, keys: NO_KEYS, otherKeys: null, elements });

const OBJECT = object({ id: STRING, data: list(object({ id: STRING })), ids: list(STRING) });
const upperCase: ReplaceString = (value) => value.toUpperCase();

function splice(text: string, part = OBJECT, replace = upperCase): string {
  const splicer = new JsonStringSplicer(part, replace, 64);
  return Buffer.concat([splicer.push(Buffer.from(text)), splicer.end()]).toString();
}

/** Splits the text before every byte whose index is in `cuts`. */
function spliceInChunks(text: string, cuts: readonly number[], replace = upperCase): string {
  const bytes = Buffer.from(text);
  const splicer = new JsonStringSplicer(OBJECT, replace, 64);
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  const pieces = ends.map((end, index) => splicer.push(bytes.subarray(ends[index - 1] ?? 0, end)));
  return Buffer.concat([...pieces, splicer.end()]).toString();
}

describe("JsonStringSplicer", () => {
  test.each([
    ['{"id":"a","x":"a"}', '{"id":"A","x":"a"}'],
    ['{ "x" : {"id":"a"}, "id" : "b" }', '{ "x" : {"id":"a"}, "id" : "B" }'],
    [
      '{"data":[{"id":"a"},{"id":null},["id","b"]],"id":1}',
      '{"data":[{"id":"A"},{"id":null},["id","b"]],"id":1}',
    ],
    ['{"ids":["a",["b"],{"id":"c"},"d"]}', '{"ids":["A",["b"],{"id":"c"},"D"]}'],
    ['{"x":"\\"id\\":\\"a\\"","id":"a"}', '{"x":"\\"id\\":\\"a\\"","id":"A"}'],
    ['{"i\\u0064":"\\u0061\\/"}', '{"id":"A/"}'.replace("id", "i\\u0064")],
    ['{"id":"a","id":"b"}', '{"id":"A","id":"B"}'],
    ['\uFEFF {"id":"a"}', '\uFEFF {"id":"A"}'],
  ])("%s", (text, expected) => {
    expect(splice(text)).toBe(expected);
    for (let cut = 0; cut < text.length; cut++) expect(spliceInChunks(text, [cut])).toBe(expected);
  });

  test.each([
    '<html id="a">"id":"a"',
    '"id"',
    'id,{"id":"a"}',
    "",
    "[DONE]",
    '{"id":"a',
    '{"id',
    "[".repeat(600) + '{"id":"a"}',
  ])("passes %s unchanged", (text) => {
    expect(splice(text)).toBe(text);
  });

  test("reports where a string is in the text, over chunks", () => {
    const text = '{"x":"é","id":"abc","data":[{"id":"d"}]}';
    const bytes = Buffer.from(text);
    const found: string[] = [];
    const splicer = new JsonStringSplicer(
      OBJECT,
      (_, __, start, end) => {
        found.push(bytes.subarray(start, end).toString());
        return null;
      },
      64,
    );
    for (const byte of bytes) splicer.push(Uint8Array.of(byte));
    expect(found).toEqual(['"abc"', '"d"']);
  });

  test("does not depend on the memory of earlier chunks", () => {
    const splicer = new JsonStringSplicer(OBJECT, upperCase, 64);
    const chunk = Buffer.from('{"id":"a');
    const first = splicer.push(chunk).toString();
    chunk.fill(0);
    expect(Buffer.from(splicer.push(Buffer.from('b"}'))).toString()).toBe('"AB"}');
    expect(first).not.toBe("");
  });

  test("keeps a string that is too long to hold back, and what follows it", () => {
    const long = "a".repeat(200);
    const text = `{"${long}":"b","id":"${long}","ids":["c"]}`;
    expect(spliceInChunks(text, [50, 210, 300])).toBe(text.replace('"c"', '"C"'));
    expect(splice(text)).toBe(`{"${long}":"b","id":"${long.toUpperCase()}","ids":["C"]}`);
  });

  const key = fc.constantFrom("id", "data", "ids", "x", 'q"\\', "é");
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom("a", "file-1", 'b"\\\n', "é😀"),
      fc.constantFrom(null, true, 1.5e300),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(key, tie("any"), { maxKeys: 4 }),
    ),
  })).any;

  test("property: in chunks of any size, equals parsing, replacing and serializing", () => {
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, "\t"), fc.array(fc.nat(500)), (json, indent, cuts) => {
        if (typeof json !== "object" || json === null) return;
        const text = JSON.stringify(json, null, indent);
        expect(spliceInChunks(text, cuts)).toBe(JSON.stringify(replaceNaively(json, OBJECT), null, indent));
        expect(spliceInChunks(text, cuts, () => null)).toBe(text);
      }),
    );
  });

  test("property: replacing and replacing back is the identity", () => {
    const inserted = (text: string) => `gw-${text}`;
    const removed = (text: string) => text.slice(3);
    fc.assert(
      fc.property(value, fc.array(fc.nat(500)), (json, cuts) => {
        if (typeof json !== "object" || json === null) return;
        const text = JSON.stringify(json);
        expect(spliceInChunks(spliceInChunks(text, cuts, inserted), cuts, removed)).toBe(text);
      }),
    );
  });
});

function replaceNaively(json: unknown, part: JsonPart | null): unknown {
  if (part === null) return json;
  if (typeof json === "string") return part.kind === null ? json : json.toUpperCase();
  if (Array.isArray(json)) return json.map((element) => replaceNaively(element, part.elements));
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, child]) => {
      const found = part.keys.get(name);
      return [name, replaceNaively(child, found === undefined ? part.otherKeys : found)];
    }),
  );
}
