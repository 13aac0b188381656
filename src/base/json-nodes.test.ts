// The nodes of JSON texts: their values and places, and replacing values without changing another byte.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { applySplices, JsonDocument, type JsonNode } from "./json-nodes.ts";
import { anyCharacter } from "../../test/support/characters.ts";

function valueOf(json: JsonDocument, node: JsonNode): unknown {
  if (node.type === "array") return node.elements.map((child) => valueOf(json, child));
  if (node.type === "string") return json.text(node);
  if (node.type === "scalar") return JSON.parse(json.source(node));
  const entries = node.keys.map((key) => [key, valueOf(json, node.get(key) ?? node)] as const);
  return Object.fromEntries(entries);
}

function stringsIn(node: JsonNode): JsonNode[] {
  return node.type === "string" ? [node] : node.children.flatMap(stringsIn);
}

test("a document has the values that JSON.parse returns", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), fc.nat(4), (value, spaces) => {
      const text = ` ${JSON.stringify(value, null, spaces)}\r\n`;
      const json = JsonDocument.parse(Buffer.from(text));
      expect(json === null ? null : valueOf(json, json.root)).toEqual(JSON.parse(text));
    }),
  );
});

test("a text that is no JSON has no document", () => {
  for (const text of ["", "{", '{"a"}', '{"a":}', "[1,]", '["a]', "[1 2]", "{} x", '{"\\x":1}', "[}", "nul,"])
    expect(JsonDocument.parse(Buffer.from(text))).toBeNull();
  expect(JsonDocument.parse(Buffer.from("[".repeat(513) + "]".repeat(513)))).toBeNull();
  expect(JsonDocument.parse(Buffer.from("[".repeat(512) + "]".repeat(512)))).not.toBeNull();
});

test("any bytes are parsed or rejected", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("{", "}", "[", "]", '"', "\\", ",", ":", "1", "a", " ")),
      (parts) => {
        const text = parts.join("");
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        // Literals are not validated, so a text that is no JSON may have a document.
        if (isJson) expect(JsonDocument.parse(Buffer.from(text))).not.toBeNull();
        else JsonDocument.parse(Buffer.from(text));
      },
    ),
  );
});

test("splices change the selected strings, duplicate keys included, and nothing else", () => {
  const text = '\ufeff{ "a" : "x", "a":"y" , "n": 12345678901234567890, "b":["\\u0078"] }';
  const bytes = Buffer.from(text);
  const json = JsonDocument.parse(bytes);
  const strings = json === null ? [] : stringsIn(json.root);
  expect(strings.map((node) => json?.text(node) ?? null)).toEqual(["x", "y", "x"]);
  expect(json?.text(json.root.get("a"))).toBe("y");
  const splices = strings.map(({ start, end }, index) => ({ start, end, bytes: Buffer.from(`"${index}"`) }));
  expect(Buffer.from(applySplices(bytes, splices)).toString()).toBe(
    '\ufeff{ "a" : "0", "a":"1" , "n": 12345678901234567890, "b":["2"] }',
  );
  expect(applySplices(bytes, [])).toBe(bytes);
});
