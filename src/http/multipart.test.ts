// The boundary of a multipart body is known only if parsers of many languages read the same one.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { isAmbiguousPart, multipartDelimiter } from "./multipart.ts";

test.each([
  ["multipart/form-data; boundary=abc", "--abc"],
  ["multipart/form-data;boundary=abc;", "--abc"],
  ["multipart/form-data; Boundary=abc", "--abc"],
  ['multipart/form-data; charset=utf-8; boundary="a b"', "--a b"],
  ['multipart/related; type="application/json"; start="<a@b>"; boundary=abc', "--abc"],
  ["Multipart/Mixed;boundary=x", "--x"],
  ["multipart/form-data; boundary=----WebKitFormBoundary; charset=utf-8", "------WebKitFormBoundary"],
  ["multipart/form-data; boundary=----=_Part_1_23.45", "------=_Part_1_23.45"],
  ["multipart/form-data", null],
  ["multipart/form-data; boundary=", null],
  ["multipart/form-data; boundary=b; boundary=c", null],
  ["multipart/form-data; boundary=b; xboundary=c", null],
  ["multipart/form-data; xboundary=b; boundary=c", null],
  ["multipart/form-data; x=boundary; y=b; boundary=c", null],
  ["multipart/form-data; Boundary=b; x=boundary; y=c", null],
  ["multipart/form-data; boundary*0=b; boundary*1=c", null],
  ["multipart/form-data; boundary=b; boundary*=utf-8''c", null],
  ['multipart/form-data; x="; boundary=b; y="', null],
  ['multipart/form-data; boundary="x\\"y"', null],
  ['multipart/form-data; boundary="a,b"', null],
  ['multipart/form-data; boundary="a "', null],
  ["multipart/form-data; boundary=a b", null],
  ["multipart/form-data; boundary=a, application/json", null],
  ["text/plain, multipart/form-data; boundary=a", null],
  [`multipart/form-data; boundary=${"a".repeat(71)}`, null],
  ["application/json; boundary=abc", null],
  [null, null],
])("%s: %s", (type, delimiter) => {
  expect(multipartDelimiter(type)).toBe(delimiter);
});

/** Splits at semicolons outside of quotes, as the syntax says. */
function parametersOf(type: string): [name: string, value: string][] {
  const parts = type.match(/(?:"(?:\\.|[^"\\])*"|[^;"])+/g) ?? [];
  return parts.slice(1).map((part) => {
    const equals = part.indexOf("=");
    const value = part.slice(equals + 1).trim();
    const quoted = /^"((?:\\.|[^"\\])*)"/.exec(value)?.[1];
    return [part.slice(0, equals).trim().toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? value];
  });
}

/** Parsers of forms in their own ways; each returns undefined if it finds no boundary. */
const READERS: Readonly<Record<string, (type: string) => string | undefined>> = {
  "the first parameter": (type) => parametersOf(type).find(([name]) => name === "boundary")?.[1],
  "the last parameter": (type) => parametersOf(type).findLast(([name]) => name === "boundary")?.[1],
  "continued parameters": (type) =>
    parametersOf(type)
      .filter(([name]) => /^boundary(?:\*\d+)?\*?$/.test(name))
      .map(([name, value]) => (name.endsWith("*") ? value.replace(/^[\w-]*'[\w-]*'/, "") : value))
      .join("") || undefined,
  "a split at every semicolon": (type) =>
    type
      .split(";")
      .map((part) => part.trim())
      .find((part) => part.startsWith("boundary="))
      ?.slice("boundary=".length)
      .replace(/^"(.*)"$/, "$1"),
  "a search for a value without semicolons": (type) => {
    const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(type) ?? [];
    return quoted ?? plain;
  },
  "a search for the last name, in quotes or not": (type) => /.*boundary="?([^";,]+)"?/i.exec(type)?.[1],
  "a search for the word, and from there for a value": (type) => {
    const at = type.includes("boundary") ? type.indexOf("boundary") : type.toLowerCase().indexOf("boundary");
    const equals = type.indexOf("=", at);
    if (at < 0 || equals < 0) return undefined;
    const value = type.slice(equals + 1);
    return value.startsWith('"') ? value.slice(1).split('"')[0] : value.split(/[,;]/)[0];
  },
};

const token = fc.constantFrom(
  "boundary",
  "Boundary",
  "xboundary",
  "boundary*",
  "boundary*0",
  "boundary*1",
  "charset",
  "=",
  ";",
  "; ",
  " ",
  ",",
  '"',
  "\\",
  "'",
  "a",
  "b",
  "-",
  "utf-8''",
);
const parameter = fc
  .tuple(fc.constantFrom(";", "; "), fc.array(token, { minLength: 1, maxLength: 4 }))
  .map(([separator, tokens]) => separator + tokens.join(""));
const ordinary = fc
  .tuple(fc.constantFrom("boundary=", "charset=", "x="), fc.array(token, { minLength: 1, maxLength: 2 }))
  .map(([name, tokens]) => `; ${name}${tokens.join("")}`);
const type = fc
  .array(fc.oneof(parameter, ordinary), { maxLength: 4 })
  .map((parameters) => `multipart/form-data${parameters.join("")}`);

test("every parser that finds a boundary finds the one that is returned", () => {
  let known = 0;
  fc.assert(
    fc.property(type, (text) => {
      const delimiter = multipartDelimiter(text);
      if (delimiter === null) return;
      known++;
      for (const [how, read] of Object.entries(READERS)) {
        const boundary = read(text);
        if (boundary !== undefined) expect([how, text, `--${boundary}`]).toEqual([how, text, delimiter]);
      }
    }),
    { numRuns: runs({ short: 1500, long: 200_000 }) },
  );
  expect(known).toBeGreaterThan(30);
});

const FILE = '\r\nContent-Disposition: form-data; name="file"; filename';
test.each([
  [`${FILE}="a.wav"\r\nContent-Type: audio/wav\r\nContent-Length: 1`, false],
  [`${FILE}=a.wav; filename*=utf-8''%c3%a4.wav`, false],
  [`${FILE}="=?utf-8?B?w6Q=?="; filename*=UTF-8''%C3%A4`, false],
  [`${FILE}="2*3=6 multipart/mixed.txt"\r\nContent-Type: text/plain`, false],
  [`${FILE}*0="a"; filename*1="b"`, true],
  [`${FILE}*0*=utf-8''a`, true],
  [`${FILE}*=utf-16''a%00`, true],
  [`${FILE}*=a`, true],
  [`${FILE}=a\r\nContent-Type: Multipart/Mixed; boundary=c`, true],
  [`${FILE}=a\ncontent-type:\n multipart/mixed`, true],
])("a part with the fields %j: ambiguous %p", (headers, isAmbiguous) => {
  expect(isAmbiguousPart(headers)).toBe(isAmbiguous);
});

test("long header fields take linear work", () => {
  for (const piece of ["\r\ncontent-type:", "\r\n ", "; a*", "*0", " a", "content-type: multipart "])
    expect(isAmbiguousPart(piece.repeat(100_000))).toBe(false);
});

test("long types take linear work", () => {
  for (const piece of ["; x=a", "; boundary", ' ;x="a"', "\t", "=", '"', "boundary="]) {
    const long = `multipart/form-data; boundary=b${piece.repeat(50_000)}`;
    expect(multipartDelimiter(`${long}\\`)).toBeNull();
  }
});
