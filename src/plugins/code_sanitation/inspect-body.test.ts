// A text with code is found in every form of body that has it as a value.
import { describe, expect, spyOn, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { InspectedBody } from "./body-text.ts";
import { compileDetector } from "./detector.ts";
import { inspectBody } from "./inspect-body.ts";
import { LANGUAGES } from "./settings.ts";
import { stepsForBody } from "./work-budget.ts";

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

describe.each(FORMS)("%s", (_, of) => {
  test("is found", () => {
    expect(ATTACKS.length).toBeGreaterThan(500);
    expect(ATTACKS.filter((text) => inspectBody(of(text), detector, null).kind !== "found")).toEqual([]);
  });

  test("is masked", () => {
    for (const text of ATTACKS) expect(inspectBody(of(text), detector, "X").kind).toBe("masked");
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
  ["base64", "encoded"],
  ["\tQuoted-Printable", "encoded"],
  ["8bit", "clean"],
  [" Binary ", "clean"],
])("Content-Transfer-Encoding: %s", (encoding, kind) => {
  const text = part(`name="prompt"\r\nContent-Transfer-Encoding:${encoding}`, "hello");
  for (const mask of [null, "X"]) {
    expect(inspectBody(bodyOf(MULTIPART, text), detector, mask).kind).toBe(kind as "clean");
    expect(inspectBody(bodyOf(MULTIPART, NOT_UTF8, text), detector, mask).kind).toBe(kind as "clean");
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

test("the content type is read as often for many parts as for one", () => {
  const readsOf = (parts: number) => {
    const body = bodyOf(MULTIPART, NOT_UTF8, "--b".repeat(parts));
    const reads = spyOn(body.headers, "get");
    inspectBody(body, detector, null);
    return reads.mock.calls.length;
  };
  expect(readsOf(1000)).toBe(readsOf(1));
});
