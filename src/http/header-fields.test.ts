// Header fields that the gateway sends: no value and no name can start another line.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { HeaderFields } from "./header-fields.ts";
import type { LineWriter } from "./line-writer.ts";
import { runs } from "../../test/support/long-form.ts";

describe("a field that cannot be sent is refused", () => {
  // U+010A and U+010D become LF and CR if only their low byte is sent.
  test.each(["a\r\nX: b", "a\rb", "a\nb", "a\0b", "a\x7fb", "\u010aX: b", "\u010d\u010aX: b", "\u2028"])(
    "value %j",
    (value) => {
      const fields = new HeaderFields();
      expect(() => fields.set("X-A", value)).toThrow(TypeError);
      expect(() => fields.append("X-A", value)).toThrow(TypeError);
      expect(() => HeaderFields.from({ "X-A": value })).toThrow(TypeError);
      expect(fields.toLines()).toBe("");
    },
  );

  test.each(["", "X A", "X:", "X\r\nY", "X\u010a", "\xe9"])("name %j", (name) => {
    const fields = new HeaderFields();
    expect(() => fields.set(name, "a")).toThrow(TypeError);
    expect(() => fields.append(name, "a")).toThrow(TypeError);
    expect(fields.toLines()).toBe("");
  });
});

test("fields are found in any spelling, sent as they were set, and joined if they are repeated", () => {
  const fields = HeaderFields.from({ "X-A": "1", "X-B": "\xe9" });
  fields.append("x-a", "2");
  fields.add("x-c", "3");
  expect(fields.get("x-a")).toBe("1, 2");
  expect(fields.toLines()).toBe("X-A: 1\r\nX-B: \xe9\r\nx-a: 2\r\nx-c: 3\r\n");
  expect([...fields.entries()]).toEqual([
    ["x-a", "1, 2"],
    ["x-b", "\xe9"],
    ["x-c", "3"],
  ]);
  fields.set("X-a", "4");
  expect(fields.toLines()).toBe("X-a: 4\r\nX-B: \xe9\r\nx-c: 3\r\n");
  fields.delete("X-A");
  expect(fields.has("x-a")).toBe(false);
});

test("property: any changes, in any spelling, have the result of changes of a list", () => {
  const name = fc.constantFrom("a", "A", "b", "B", "c", "C");
  const value = fc.constantFrom("1", "2", "3");
  const change = fc.record({
    kind: fc.constantFrom("add", "append", "set", "delete", "clone"),
    name,
    value,
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 15 }), (changes) => {
      let fields = new HeaderFields();
      let list: { spelling: string; value: string }[] = [];
      for (const { kind, name: spelling, value: given } of changes) {
        const lower = spelling.toLowerCase();
        const isOther = (each: { spelling: string }) => each.spelling.toLowerCase() !== lower;
        if (kind === "clone") fields = fields.clone();
        else if (kind === "delete") {
          fields.delete(spelling);
          list = list.filter(isOther);
        } else if (kind === "set") {
          fields.set(spelling, given);
          const first = list.findIndex((each) => !isOther(each));
          if (first < 0) list.push({ spelling, value: given });
          else
            list = list
              .with(first, { spelling, value: given })
              .filter((each, at) => at === first || isOther(each));
        } else if (kind === "append") {
          fields.append(spelling, given);
          list.push({ spelling, value: given });
        } else {
          fields.add(lower, given);
          list.push({ spelling: lower, value: given });
        }
        expect(fields.toLines()).toBe(list.map((each) => `${each.spelling}: ${each.value}\r\n`).join(""));
        expect(fields.names).toEqual(list.map((each) => each.spelling.toLowerCase()));
        expect(fields.values).toEqual(list.map((each) => each.value));
      }
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

const LINES = "X-L-a: 1\r\nX-L-b: 2\r\n";

describe.each([
  ["that are written", LINES],
  ["that are not written yet", { write: (writer: LineWriter) => writer.constant(Buffer.from(LINES)) }],
])("a block of fields %s", (_, lines) => {
  test("is sent after the other fields, and is found like them", () => {
    const fields = HeaderFields.from({ Date: "now" });
    fields.addBlock("x-l-", lines);
    expect(fields.toLines()).toBe(`Date: now\r\n${LINES}`);
    expect([fields.has("x-l-a"), fields.get("x-l-b"), fields.get("date"), fields.has("x-l-c")]).toEqual([
      true,
      "2",
      "now",
      false,
    ]);
    expect(fields.toLines()).toBe(`Date: now\r\n${LINES}`);
  });

  /** What is done with fields that have a block, and with fields that were set one by one. */
  const actions: Record<string, (fields: HeaderFields) => unknown> = {
    "set another": (fields) => fields.set("X-Other", "3"),
    "set one of the block": (fields) => fields.set("x-l-A", "3"),
    "append one of the block": (fields) => fields.append("X-L-a", "3"),
    "delete one of the block": (fields) => fields.delete("X-L-b"),
    clone: (fields) => fields.clone().set("X-L-a", "3"),
    "read names": (fields) => fields.names,
    "read values": (fields) => fields.values,
    "read entries": (fields) => [...fields.entries()],
    "add a second block": (fields) => fields.addBlock("x-l-", "X-L-b: 4\r\nX-L-c: 5\r\n"),
    "add another block": (fields) => fields.addBlock("x-m-", "X-M-a: 6\r\n"),
  };
  test.each(Object.keys(actions))("behaves like fields that were set: %s", (name) => {
    const [block, single] = [HeaderFields.from({ Date: "now" }), HeaderFields.from({ Date: "now" })];
    block.addBlock("x-l-", lines);
    for (const [field, value] of [
      ["X-L-a", "1"],
      ["X-L-b", "2"],
    ] as const)
      single.set(field, value);
    expect(actions[name]?.(block)).toEqual(actions[name]?.(single));
    expect(new Set(block.toLines().split("\r\n"))).toEqual(new Set(single.toLines().split("\r\n")));
    expect([...block.entries()].sort()).toEqual([...single.entries()].sort());
  });

  test("replaces fields with the same names", () => {
    const fields = HeaderFields.from({ "X-l-B": "old", "X-L-z": "9" });
    fields.addBlock("x-l-", lines);
    expect([...fields.entries()].sort()).toEqual([
      ["x-l-a", "1"],
      ["x-l-b", "2"],
      ["x-l-z", "9"],
    ]);
  });
});
