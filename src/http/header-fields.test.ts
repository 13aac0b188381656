// Header fields that the gateway sends: no value and no name can start another line.
import { describe, expect, test } from "bun:test";
import { HeaderFields } from "./header-fields.ts";

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
