// Large messages are split and joined again without a change, whatever they contain.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { writeExact } from "../base/exact-json.ts";
import { joinMessage, splitMessage } from "./split-message.ts";

const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, depthSize: "medium" },
    fc.string({ unit: "grapheme" }),
    fc.constantFrom('"', "\\", '\\"', "[", "}", "é".repeat(5000), "x".repeat(5000), '\\"'.repeat(30)),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false, []),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "_meta", 'k"', "params", ""), tie("value"), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
}));

function split(text: string): unknown {
  const bytes = Buffer.from(text);
  const { bytes: valid, root } = splitMessage(bytes, false);
  return joinMessage(valid ?? bytes, root);
}

/** What a peer reads that gets the message again. */
function passedOn(message: unknown): unknown {
  return JSON.parse(Buffer.from(writeExact({ message })).toString()).message;
}

test("a message that was split and joined is the same", () => {
  const message = fc.record({ jsonrpc: fc.constant("2.0"), params: anyValue, result: anyValue, x: anyValue });
  fc.assert(
    fc.property(
      fc.oneof(message, fc.array(message, { maxLength: 3 })),
      fc.constantFrom(0, 2),
      (value, indent) => {
        expect(passedOn(split(JSON.stringify(value, null, indent)))).toEqual(
          JSON.parse(JSON.stringify(value)),
        );
      },
    ),
  );
});

test("fields that the gateway reads are parsed, and large values are not", () => {
  const list = `[${"[],".repeat(5000)}[]]`;
  const text = `\ufeff {"id":1,"params":{"name":"n","arguments":{"a":${list}},"_meta":{"x":{"y":1}}}}`;
  const { params } = split(text) as { params: Record<string, unknown> };
  expect(params).toMatchObject({ name: "n", _meta: { x: { y: 1 } } });
  expect(params["arguments"]).toHaveProperty("isObject", true);
});

test.each([
  ["nested too deeply", `{"params":{"a":${"[".repeat(600)}${"]".repeat(600)}}}`, "more than 512 levels"],
  [
    "with too many fields",
    `{"params":{${Array.from({ length: 3000 }, (_, at) => `"k${at}":1`).join()}}}`,
    "more than 2000 fields",
  ],
  ["that is not JSON", `{"params":`, "not valid JSON"],
])("a message %s is an error", (_, text, message) => {
  expect(() => split(text)).toThrow(message);
});
