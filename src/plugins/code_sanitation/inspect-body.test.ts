// A text with code is found in every form of body that has it as a value.
import { describe, expect, spyOn, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isLong } from "../../../test/support/long-form.ts";
import type { InspectedBody } from "./body-text.ts";
import { compileDetector } from "./detector.ts";
import { inspectBody } from "./inspect-body.ts";
import { LANGUAGES } from "./settings.ts";
import { stepsForBody, WorkExhausted } from "./work-budget.ts";

const CORPUS = join(import.meta.dirname, "corpus");
const detector = compileDetector(LANGUAGES.map((language) => ({ language })));
const ATTACKS = readdirSync(CORPUS)
  .filter((file) => file.endsWith("-attacks.jsonl"))
  .flatMap((file) => readFileSync(join(CORPUS, file), "utf8").trim().split("\n"))
  .map((line) => (JSON.parse(line) as { text: string }).text)
  .filter((text) => detector.first(text) !== null);

const strict = new TextDecoder("utf-8", { fatal: true });

function bodyOf(type: string, ...parts: (string | Uint8Array)[]): InspectedBody {
  const body = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
  let bodyText: string | null = null;
  try {
    bodyText = strict.decode(body);
  } catch {
    // Not UTF-8.
  }
  const isJson = type === "application/json";
  return { body, bodyView: body, bodyText, isJson, headers: new Headers({ "content-type": type }) };
}

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data; boundary=b";
const NOT_UTF8 = Buffer.of(0xff);
const chat = (content: string) => `{"model": "m", "messages": [{"role": "user", "content": ${content}}]}`;
const part = (name: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; ${name}\r\n\r\n${content}\r\n`;
const escaped = (text: string) =>
  Array.from(
    { length: text.length },
    (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
/** Invisible characters and full-width letters. */
const obfuscated = (text: string) =>
  text.replaceAll(/[a-z]/g, (letter) => `\u200b${String.fromCharCode(letter.charCodeAt(0) + 0xfee0)}`);

const FORMS: [what: string, of: (text: string) => InspectedBody][] = [
  ["a string of JSON", (text) => bodyOf("application/json", chat(JSON.stringify(text)))],
  ["an escaped string", (text) => bodyOf("application/json", chat(`"${escaped(text)}"`))],
  ["text", (text) => bodyOf("text/plain", text)],
  ["JSON with the type of text", (text) => bodyOf("text/plain", chat(JSON.stringify(text)))],
  ["escaped JSON with the type of text", (text) => bodyOf("text/plain", ` ${chat(`"${escaped(text)}"`)}\n`)],
  ["JSON before other text", (text) => bodyOf("text/plain", `${chat(JSON.stringify(text))} a`)],
  ["JSON with the type of a form", (text) => bodyOf(FORM, chat(JSON.stringify(text)))],
  ["a form", (text) => bodyOf(FORM, new URLSearchParams({ a: "b", q: text }).toString())],
  ["a multipart form", (text) => bodyOf(MULTIPART, part('name="prompt"', text), "--b--\r\n")],
  [
    "a multipart form with two boundaries",
    (text) => bodyOf(`${MULTIPART}; boundary=b`, part('name="prompt"', text), "--b--\r\n"),
  ],
  [
    "a multipart form with an escaped boundary",
    (text) =>
      bodyOf(
        'multipart/form-data; boundary="a\\"b"',
        part('name="image"; filename="a.png"', "").replace("--b", "--a\\"),
        NOT_UTF8,
        part('name="prompt"', text).replace("--b", '\r\n--a"b'),
        '--a"b--\r\n',
      ),
  ],
  [
    "JSON in a multipart form",
    (text) => bodyOf(MULTIPART, part('name="prompt"', chat(JSON.stringify(text))), "--b--\r\n"),
  ],
  [
    "a multipart form with a binary file",
    (text) =>
      bodyOf(
        MULTIPART,
        part('name="image"; filename="a.png"', "\r\n").slice(0, -2),
        NOT_UTF8,
        `\r\n${part('name="prompt"', text)}--b--\r\n`,
      ),
  ],
  [
    "obfuscated, beside a binary file",
    (text) =>
      bodyOf(
        MULTIPART,
        part('name="image"; filename="a.png"', "").slice(0, -2),
        NOT_UTF8,
        `\r\n${part('name="prompt"', obfuscated(text))}--b--\r\n`,
      ),
  ],
  [
    "escaped JSON in UTF-16 without a byte order mark",
    (text) => bodyOf("text/plain", Buffer.from(chat(`"${escaped(text)}"`), "utf16le")),
  ],
  ["UTF-16", (text) => bodyOf("text/plain", Buffer.from(`\ufeff${text}`, "utf16le"))],
];

/** Every form has other attacks in the default run. */
const FORMS_PER_ATTACK = isLong ? FORMS.length : 2;

describe.each(FORMS.map(([what, of], index) => [what, of, index] as const))("%s", (_, of, form) => {
  const attacks = ATTACKS.filter((__, index) => (index + form) % FORMS.length < FORMS_PER_ATTACK);

  test("is found", () => {
    expect(attacks.length * FORMS.length).toBeGreaterThan(500 * FORMS_PER_ATTACK);
    expect(attacks.filter((text) => inspectBody(of(text), detector, null).kind !== "found")).toEqual([]);
  });

  test("is masked", () => {
    for (const text of attacks) expect(inspectBody(of(text), detector, "X").kind).toBe("masked");
  });
});

test("the budget is enough for a program in JSON with the type of text", () => {
  const program = readFileSync(join(import.meta.dirname, "json-string-cursor.ts"), "utf8");
  const body = bodyOf("text/plain", chat(JSON.stringify(program.repeat(30))));
  const size = body.body?.length ?? 0;
  const verdict = detector.limitWork(stepsForBody(size, false), () => inspectBody(body, detector, null));
  expect(verdict.kind).toBe("clean");
  expect(detector.workDone).toBeGreaterThan(stepsForBody(size, true));
});

test.each([
  ["base64", "unreadable"],
  ["\tQuoted-Printable", "unreadable"],
  ["8bit", "clean"],
  [" Binary ", "clean"],
])("Content-Transfer-Encoding: %s", (encoding, kind) => {
  const text = part(`name="prompt"\r\nContent-Transfer-Encoding:${encoding}`, "hello");
  for (const mask of [null, "X"]) {
    expect(inspectBody(bodyOf(MULTIPART, text), detector, mask).kind).toBe(kind as "clean");
    expect(inspectBody(bodyOf(MULTIPART, NOT_UTF8, text), detector, mask).kind).toBe(kind as "clean");
  }
});

const CODE = "<script>alert(1)</script>";
const utf16 = (text: string) => Buffer.from(text, "utf16le");
const utf16be = (text: string) => utf16(text).swap16();
const utf32 = (text: string) => {
  const codePoints = Uint32Array.from(Array.from(text, (character) => character.codePointAt(0) ?? 0));
  return Buffer.from(codePoints.buffer);
};
const utf32be = (text: string) => utf32(text).swap32();
const field = (field: string, content: string) => part(`name="prompt"\r\n${field}`, content);

describe.each([
  ["a charset", bodyOf("text/plain; charset=utf-7", "hello")],
  ["a charset of JSON", bodyOf("application/json; charset=UTF-7", chat('"hello"'))],
  ["a second charset", bodyOf("text/plain; charset=utf-8; charset=ibm037", "hello")],
  ["a charset in pieces", bodyOf("text/plain; charset*0=utf; charset*1=-7", "hello")],
  ["a charset of a form", bodyOf(`${FORM}; charset=ibm500`, "a=%C5")],
  ["UTF-16 of a form", bodyOf(`${FORM}; charset=utf-16`, "\ufeffa=b", utf16("\ufeffa=b"))],
  ["UTF-16 without a byte order mark", bodyOf("text/plain; charset=utf-16", utf16("\u4e01hello"))],
  ["UTF-16 with a byte order", bodyOf("text/plain; charset=utf-16be", utf16("\ufeffhello"))],
  ["UTF-32", bodyOf("text/plain", utf32("hello"))],
  ["UTF-32 with a byte order mark", bodyOf("text/plain", utf32("\ufeffhello"))],
  ["UTF-32, big-endian", bodyOf("text/plain", utf32be("\u4e01hello"))],
  ["UTF-32 with a byte order mark, big-endian", bodyOf("text/plain", utf32be("\ufeffhello"))],
  ["UTF-32 with another character first", bodyOf("text/plain", utf32("\u4e01hello"))],
  ["a form in a part", bodyOf(MULTIPART, field("Content-Type: multipart/mixed; boundary=c", "hello"))],
  [
    "a form in a file",
    bodyOf(MULTIPART, part('name="f"; filename="a"\r\nContent-Type: multipart/mixed; boundary=c', "hello")),
  ],
  [
    "an encoded part of a form in a repeated field",
    bodyOf(`text/plain, ${MULTIPART}`, field("Content-Transfer-Encoding: base64", "aGVsbG8=")),
  ],
  ["a charset of a part", bodyOf(MULTIPART, field("Content-Type: text/plain; charset=utf-16le", "hello"))],
  ["a charset of all parts", bodyOf(MULTIPART, part('name="_charset_"', "utf-7"), field("a: b", "hello"))],
  ["Content-Encoding of a part", bodyOf(MULTIPART, field("Content-Encoding: gzip", "hello"))],
  ["a name in pieces", bodyOf(MULTIPART, part('name="f"; filename*0="he"; filename*1="llo"', "x"))],
  ["a name in UTF-16", bodyOf(MULTIPART, part("name=f; filename*=utf-16''h%00i%00", "x"))],
  ["an encoded word in UTF-7", bodyOf(MULTIPART, part('name="=?utf-7?q?hello?="', "x"))],
  ...[utf16, utf16be, utf32, utf32be].flatMap((encode): [string, InspectedBody][] =>
    ["", "\ufeff"].map((mark) => [
      `a part in ${encode.name}${mark && " with a byte order mark"}`,
      bodyOf(MULTIPART, part('name="prompt"', "").slice(0, -2), encode(`${mark}hello`), "\r\n--b--"),
    ]),
  ),
])("%s", (_, body) => {
  test("is rejected", () => {
    for (const mask of [null, "X"]) expect(inspectBody(body, detector, mask).kind).toBe("unreadable");
  });
});

test.each([
  ["text/plain; charset=utf-8", "hello"],
  ['application/json; charset="UTF8"', chat('"hello"')],
  [`${FORM};charset=iso-8859-1`, "a=b"],
  ["text/html; charset=windows-1252; x=1", "hello"],
  ["text/plain; charset=utf-16", utf16("\ufeffhello")],
  ["text/plain", utf16("\ufeffhello")],
  [MULTIPART, field("Content-Type: text/plain; charset=UTF-8", "hello")],
  [MULTIPART, field("Content-Type: text/plain;charset=us-ascii\r\nContent-Encoding: identity", "hello")],
  [MULTIPART, part('name="_charset_"', "utf-8")],
  [MULTIPART, part('name="f"; filename="=?utf-8?B?w6Q=?="; filename*=utf-8\'\'%C3%A4', "hello")],
  [MULTIPART, part('name="f"; filename="a"\r\nContent-Type: text/plain; charset=utf-16', "hello")],
  // The start of MP4, without a file name.
  [MULTIPART, part('name="f"', "\0\0\0\u0018ftypmp42")],
  ["application/octet-stream", Buffer.from("\0\0\0\u0018ftypmp42\0\0\0\0")],
  ["text/plain; charset=utf-7", ""],
])("%s is inspected: %p", (type, content) => {
  expect(inspectBody(bodyOf(type, content), detector, null).kind).toBe("clean");
});

test("code in an encoded word is found, and blocks the request where it cannot be masked", () => {
  for (const words of [
    `=?utf-8?B?${Buffer.from(CODE).toString("base64")}?=`,
    "=?us-ascii*en?q?=3Cscript=3Ealert(1)?=",
    "=?utf-8?q?<scr?= =?utf-8?q?ipt>?=",
  ]) {
    for (const name of [`name="${words}"`, `name="f"; filename="${words}"`]) {
      for (const form of [bodyOf(MULTIPART, part(name, "x")), bodyOf(MULTIPART, part(name, "x"), NOT_UTF8)])
        for (const mask of [null, "X"]) expect(inspectBody(form, detector, mask).kind).toBe("found");
    }
  }
});

test("files may have a Content-Transfer-Encoding", () => {
  const text = part('name="f"; filename="a.eml"\r\nContent-Transfer-Encoding: base64', "aGVsbG8=");
  expect(inspectBody(bodyOf(MULTIPART, text), detector, null).kind).toBe("clean");
  expect(inspectBody(bodyOf(MULTIPART, text, NOT_UTF8), detector, null).kind).toBe("clean");
});

test("code is found across what may be a delimiter", () => {
  const body = bodyOf(
    `${MULTIPART}; boundary=c`,
    part('name="prompt"', "1 union\n--\nselect password from users"),
  );
  expect(inspectBody(body, detector, null).kind).toBe("found");
  expect(inspectBody(body, detector, "X").kind).toBe("masked");
});

test("a form with very many parts is rejected before all of them are read", () => {
  for (const mask of [null, "X"]) {
    for (const text of ["--b", "--b\n\n"]) {
      const body = bodyOf(MULTIPART, text.repeat(50_000), NOT_UTF8);
      const steps = stepsForBody(body.body?.length ?? 0, false);
      expect(() => detector.limitWork(steps, () => inspectBody(body, detector, mask))).toThrow(WorkExhausted);
      expect(detector.workDone).toBeLessThan(steps + 100);
    }
  }
});

test("the content type is read as often for many parts as for one", () => {
  const readsOf = (parts: number) => {
    const body = bodyOf(MULTIPART, NOT_UTF8, "--b".repeat(parts));
    const reads = spyOn(body.headers, "get");
    inspectBody(body, detector, null);
    return reads.mock.calls.length;
  };
  expect(readsOf(1000)).toBe(readsOf(1));
});
