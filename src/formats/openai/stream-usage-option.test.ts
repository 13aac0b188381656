// The gateway adds the option only to requests that leave it unset or off, and changes no other byte.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { streamUsageOption } from "./stream-usage-option.ts";

function added(text: string): string {
  const { stream_options: options } = JSON.parse(text) as { stream_options?: unknown };
  return Buffer.from(streamUsageOption.add(Buffer.from(text), options)).toString();
}

describe("canAdd", () => {
  test.each([
    [undefined, true],
    [null, true],
    [{}, true],
    [{ include_usage: false }, true],
    [{ include_usage: null, x: 1 }, true],
    [{ include_usage: true }, false],
    [{ include_usage: "yes" }, false],
    ["yes", false],
    [[], false],
  ])("%j: %p", (options, expected) => {
    expect(streamUsageOption.canAdd(options)).toBe(expected);
  });
});

describe("add", () => {
  test.each([
    [' { "stream" : true }', ' {"stream_options":{"include_usage":true}, "stream" : true }'],
    ['{"stream_options":null,"n":1e400}', '{"stream_options":{"include_usage":true},"n":1e400}'],
    ['{"stream_options": { } ,"a":1}', '{"stream_options": {"include_usage":true } ,"a":1}'],
    ['{"stream_options":{"x": 1}}', '{"stream_options":{"include_usage":true,"x": 1}}'],
    [
      '{"stream_options":{"include_usage" : false,"x":1}}',
      '{"stream_options":{"include_usage" : true,"x":1}}',
    ],
  ])("%s", (text, expected) => {
    expect(added(text)).toBe(expected);
  });

  test("equals parsing, setting the option, and serializing", () => {
    const options = fc.oneof(
      fc.constant(undefined),
      fc.constant(null),
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.record({ include_usage: fc.constantFrom(false, null), "}": fc.string() }),
    );
    const other = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(other, options, fc.constantFrom(0, 2), (fields, given, indent) => {
        const body = { ...fields, stream: true, ...(given !== undefined && { stream_options: given }) };
        const wanted = { ...body, stream_options: { ...given, include_usage: true } };
        expect(JSON.parse(added(JSON.stringify(body, null, indent)))).toEqual(
          JSON.parse(JSON.stringify(wanted)),
        );
      }),
    );
  });
});
