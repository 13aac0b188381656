// YAML documents: their plain values, and what is rejected.
import { describe, expect, test } from "bun:test";
import { GatehouseError } from "./errors.ts";
import { parseYamlObject } from "./yaml.ts";

const parse = (text: string) => parseYamlObject(new TextEncoder().encode(text));

function errorOf(text: string | Uint8Array): GatehouseError {
  try {
    parseYamlObject(typeof text === "string" ? new TextEncoder().encode(text) : text);
  } catch (error) {
    if (error instanceof GatehouseError) return error;
  }
  throw new Error("nothing was rejected");
}

describe("parseYamlObject", () => {
  test("reads YAML and JSON alike; an alias is a copy", () => {
    expect(parse('{"a": [1, "x", null, true]}')).toEqual({ a: [1, "x", null, true] });
    const value = parse("a: &it {b: 1}\nc: *it\nd: ${NAME}\ne: no\nf: 2030-01-01T00:00:00Z\n# a comment\n");
    expect(value).toEqual({ a: { b: 1 }, c: { b: 1 }, d: "${NAME}", e: "no", f: "2030-01-01T00:00:00Z" });
    expect(value["a"]).not.toBe(value["c"]);
  });

  test("reports the line of a syntax error", () => {
    expect(errorOf("a: 1\nb:\n  - x\nc: [1,\n").message).toContain("near line 4");
    expect(errorOf("a: 1\nb: c: d\ne: 1\nf: 2\n").message).toContain("near line 2");
    expect(errorOf("\ta: 1").code).toBe("invalid_yaml");
  });

  test.each(["", "- 1", "text", "a: 1\n---\nb: 2", "null"])("rejects %j: not one object", (text) => {
    expect(errorOf(text).code).toBe("invalid_yaml");
  });

  test("rejects keys that are given twice, with their lines", () => {
    expect(errorOf("a: 1\nb:\n  c: 1\n  c: 2\n").details).toEqual([
      {
        path: "b.c",
        message: "is given twice, in line 3 and in line 4; remove one of them",
        line: 4,
        column: 3,
      },
    ]);
    expect(errorOf('{"a": 1, "a": 2}').code).toBe("validation_failed");
  });

  test("rejects values that no record can store", () => {
    expect(errorOf("a: .inf").details).toEqual([{ path: "a", message: "must be a finite number" }]);
    expect(errorOf("a: [{b: .nan}]").details?.[0]?.path).toBe("a[0].b");
    expect(errorOf('a: "\\0"').code).toBe("validation_failed");
    expect(errorOf("__proto__: {x: 1}").code).toBe("validation_failed");
    expect(errorOf(new Uint8Array([0x61, 0x3a, 0x20, 0xff])).code).toBe("invalid_yaml");
  });

  test("limits nesting, cycles, and aliases of aliases", () => {
    expect(errorOf("[".repeat(100_000)).code).toBe("invalid_yaml");
    expect(errorOf(`a: ${"[".repeat(40)}${"]".repeat(40)}`).code).toBe("validation_failed");
    expect(errorOf("a: &a [*a]").message).toContain("aliases");
    const bomb = (levels: number) =>
      Array.from({ length: levels }, (_, level) => {
        const items = Array<string>(10).fill(level === 0 ? "x" : `*a${level - 1}`);
        return `a${level}: &a${level} [${items.join(", ")}]\n`;
      }).join("");
    for (const levels of [4, 6, 12])
      expect(errorOf(bomb(levels)).message).toContain("expand to too many values");
  });
});
