// Positions in YAML documents: where a path is, and keys that are given twice.
import { describe, expect, test } from "bun:test";
import { YamlPositions } from "./yaml-positions.ts";

function positionsOf(text: string): YamlPositions {
  const positions = YamlPositions.read(text, Bun.YAML.parse(text));
  if (positions === null) throw new Error("the structure was not recognized");
  return positions;
}
const at = (text: string, path: string) => Object.values(positionsOf(text).at(path)).join(":");
const duplicatesIn = (text: string) =>
  positionsOf(text)
    .duplicates()
    .map(({ path, first, again }) => `${path} ${first.line}:${first.column} ${again.line}:${again.column}`);

const DOCUMENT = `# a comment
version: 1   # another: one
gateways:
- name: "acme: inc"
  text: |
    name: not a key

    name: nor this
  folded: >-
   a
   b
  plain: one
    two # three
    # four
  url: http://a/b#c
  upstreams:
    - name: models
      targets: [{provider: openai, headers: {X-A.b: 'it''s', "c\\td": 1}}, {provider: x}]
    -
      name: other
      targets:
        - &first
          provider: openai
        - *first
  empty:
  rules: []
- {name: second, rules: [
    {path: /a, methods: [GET, POST]},
    {path: /b}
  ], }
`;

describe("YamlPositions", () => {
  test.each([
    ["", "2:1"],
    ["version", "2:1"],
    ["gateways", "3:1"],
    ["gateways[0]", "4:3"],
    ["gateways[0].name", "4:3"],
    ["gateways[0].plain", "12:3"],
    ["gateways[0].url", "15:3"],
    ["gateways[0].upstreams[0].targets[0].headers.X-A.b", "18:46"],
    ["gateways[0].upstreams[0].targets[1].provider", "18:76"],
    ["gateways[0].upstreams[1].name", "20:7"],
    ["gateways[0].upstreams[1].targets[0].provider", "23:11"],
    ["gateways[0].upstreams[1].targets[1].provider", "24:11"],
    ["gateways[0].rules", "26:3"],
    ["gateways[1].rules[1].path", "29:6"],
    ["gateways[1].rules[1].service", "29:5"],
    ["gateways[7].name", "3:1"],
  ])("%j is at %s", (path, position) => {
    expect(at(DOCUMENT, path)).toBe(position);
  });

  test("finds keys that are given twice, at any depth and in any style", () => {
    expect(duplicatesIn(DOCUMENT)).toEqual([]);
    expect(duplicatesIn("a: 1\nb:\n  c: 1\n  'c': 2\na: 3\n")).toEqual(["b.c 3:3 4:3", "a 1:1 5:1"]);
    expect(duplicatesIn('x: [{a: 1, "a": 2}]')).toEqual(["x[0].a 1:6 1:12"]);
    expect(duplicatesIn("x:\n- a: 1\n  b: |\n    a: 1\n  a: 2\n")).toEqual(["x[0].a 2:3 5:3"]);
    expect(duplicatesIn("x: {a: 1}\ny: {a: 1}\n")).toEqual([]);
    expect(duplicatesIn("x: [a: 1, a: {b: 1, b: 2}, c: ]\ny: &l\n- 1\nx: 2\n")).toEqual([
      "x[1].a.b 1:15 1:21",
      "x 1:1 4:1",
    ]);
    expect(duplicatesIn("---\nx: &a\n  p: 1\ny:\n  <<: *a\n  p: 2\n...\n")).toEqual([]);
  });

  test("reads what Bun writes: random values, also with odd keys and texts", () => {
    const texts = [
      "a",
      "a: b",
      "- x",
      "#",
      "a #b",
      "",
      " ",
      "'",
      '"',
      "\n",
      "a\nb",
      "{",
      "[x",
      "*a",
      "&b",
      "!c",
      "true",
      "1",
      "~",
      "|",
      "%",
      "?",
      "é",
      "a,b",
      "x:",
      ":x",
    ];
    const pick = () => texts[Math.floor(Math.random() * texts.length)]!;
    const value = (depth: number): unknown => {
      const kind = Math.random();
      if (depth === 0 || kind < 0.3) return Math.random() < 0.2 ? null : pick();
      const count = Math.floor(Math.random() * 4);
      if (kind < 0.6) return Array.from({ length: count }, () => value(depth - 1));
      return Object.fromEntries(Array.from({ length: count }, () => [pick(), value(depth - 1)]));
    };
    for (let times = 0; times < 2000; times++) {
      const root = { root: value(4) };
      for (const text of [
        Bun.YAML.stringify(root, null, 2),
        Bun.YAML.stringify(root),
        JSON.stringify(root),
        JSON.stringify(root, null, 1),
      ]) {
        const parsed: unknown = Bun.YAML.parse(text);
        const positions = YamlPositions.read(text, parsed);
        if (positions === null || positions.duplicates().length > 0)
          throw new Error(`not recognized: ${JSON.stringify(text)}`);
      }
    }
  });

  test.each(["? a\n: b\n", "x: &a k\n*a : b\n", "x: {&a k: 1, *a : 2}\n"])("does not know %j", (text) => {
    expect(YamlPositions.read(text, Bun.YAML.parse(text))).toBeNull();
  });
});
