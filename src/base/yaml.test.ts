// YAML documents: the plain values they stand for, and a bounded refusal of everything else.
import { describe, expect, test } from "bun:test";
import { GatehouseError } from "./errors.ts";
import { parseYamlObject } from "./yaml.ts";

const parse = (text: string) => parseYamlObject(new TextEncoder().encode(text));

function refusal(text: string | Uint8Array): GatehouseError {
  try {
    parseYamlObject(typeof text === "string" ? new TextEncoder().encode(text) : text);
  } catch (error) {
    if (error instanceof GatehouseError) return error;
  }
  throw new Error("was not refused");
}

describe("parseYamlObject", () => {
  test("reads YAML and JSON alike; an alias is a copy", () => {
    expect(parse('{"a": [1, "x", null, true]}')).toEqual({ a: [1, "x", null, true] });
    const value = parse("a: &it {b: 1}\nc: *it\nd: ${NAME}\ne: no\nf: 2030-01-01T00:00:00Z\n# a comment\n");
    expect(value).toEqual({ a: { b: 1 }, c: { b: 1 }, d: "${NAME}", e: "no", f: "2030-01-01T00:00:00Z" });
    expect(value["a"]).not.toBe(value["c"]);
  });

  test("tells about where a document breaks off", () => {
    expect(refusal("a: 1\nb:\n  - x\nc: [1,\n").message).toContain("near line 4");
    expect(refusal("a: 1\nb: c: d\ne: 1\nf: 2\n").message).toContain("near line 2");
    expect(refusal("\ta: 1").code).toBe("invalid_yaml");
  });

  test.each(["", "- 1", "text", "a: 1\n---\nb: 2", "null"])("refuses %j: not one object", (text) => {
    expect(refusal(text).code).toBe("invalid_yaml");
  });

  test("refuses what no record may hold", () => {
    expect(refusal("a: .inf").details).toEqual([{ path: "a", message: "must be a finite number" }]);
    expect(refusal("a: [{b: .nan}]").details?.[0]?.path).toBe("a[0].b");
    expect(refusal('a: "\\0"').code).toBe("validation_failed");
    expect(refusal("__proto__: {x: 1}").code).toBe("validation_failed");
    expect(refusal(new Uint8Array([0x61, 0x3a, 0x20, 0xff])).code).toBe("invalid_yaml");
  });

  test("is bounded: nesting, cycles, and aliases of aliases", () => {
    expect(refusal("[".repeat(100_000)).code).toBe("invalid_yaml");
    expect(refusal(`a: ${"[".repeat(40)}${"]".repeat(40)}`).code).toBe("validation_failed");
    expect(refusal("a: &a [*a]").message).toContain("aliases");
    const bomb = (levels: number) =>
      Array.from({ length: levels }, (_, level) => {
        const items = Array<string>(10).fill(level === 0 ? "x" : `*a${level - 1}`);
        return `a${level}: &a${level} [${items.join(", ")}]\n`;
      }).join("");
    for (const levels of [4, 6, 12]) expect(refusal(bomb(levels)).message).toContain("repeat too much");
  });
});
