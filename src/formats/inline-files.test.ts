// Files within JSON: what counts as text, and what is no file at all.
import { expect, test } from "bun:test";
import { readBase64, readDataUrl } from "./inline-files.ts";

const TEXT = "Write to bob@example.com, please.";
const base64 = Buffer.from(TEXT).toString("base64");
const textOf = (file: ReturnType<typeof readBase64>) =>
  file === null || typeof file === "string" ? file : { text: file.text };
const fileOf = (url: string, isFile: boolean) => readDataUrl(url, isFile)?.file ?? null;

test("base64 of a text is the text, also with line breaks and in the alphabet of URLs", () => {
  for (const written of [base64, `${base64.slice(0, 20)}\r\n${base64.slice(20)}`, base64.replaceAll("=", "")])
    expect(textOf(readBase64(written, null))).toEqual({ text: TEXT });
  const other = "??>>~~??";
  expect(textOf(readBase64(Buffer.from(other).toString("base64url"), "text/plain"))).toEqual({ text: other });
});

test("what only lenient decoders read cannot be inspected", () => {
  const junk = `${base64.slice(0, 8)}.${base64.slice(8)}`;
  expect(textOf(readBase64(junk, null))).toEqual({ text: null });
  expect(textOf(fileOf(`data:image/png;base64,${junk}`, true))).toEqual({ text: null });
  expect(textOf(fileOf(`data:text/plain;charset=utf-7,x`, true))).toEqual({ text: null });
  expect(textOf(fileOf(`data:${"x".repeat(2000)},y`, true))).toEqual({ text: null });
});

test("media is no text, and a text that is no base64 is no file", () => {
  expect(readBase64("iVBORw0KGgoAAAANSUhEUg==", "image/png")).toBe("media");
  for (const text of [TEXT, "a b c", ""]) expect(readBase64(text, null)).toBeNull();
});

test("a data URL is written back in its form, and a text that begins like one is no data URL", () => {
  for (const url of [`data:text/csv;base64,${base64}`, `d\nata:text/csv,${encodeURIComponent(TEXT)}`]) {
    const file = fileOf(url, true);
    expect(textOf(file)).toEqual({ text: TEXT });
    expect(file === null || typeof file === "string" ? null : file.encode(TEXT, url)).toBe(url);
  }
  for (const text of [
    "Data: sales, 100 % up",
    "data: a, b",
    "see data:text/plain,x",
    "data:text/plain,as it is",
  ])
    expect(readDataUrl(text, false)).toBeNull();
});

test("a data URL in place of a text is also a text, and so is one with an unusual header", () => {
  const csv = `data:text/csv;base64,${base64}`;
  expect([readDataUrl(csv, true)?.header, readDataUrl(csv, false)?.header]).toEqual([
    "data:text/csv;base64",
    null,
  ]);
  expect(readDataUrl(`data:a note;base64,${base64}`, true)?.header).toBeNull();
  const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
  expect([readDataUrl(png, true)?.file, readDataUrl(png, false)]).toEqual(["media", null]);
});

test("what is not known to be media is binary, and text in spite of control characters", () => {
  const zip = Buffer.from("504b0304140006000800a7a7", "hex").toString("base64");
  expect([readBase64(zip, null), readBase64(zip, "application/zip")]).toEqual(["binary", "binary"]);
  expect(readBase64(zip, "audio/pcm")).toBe("media");
  const hidden = Buffer.from(`\u0001${TEXT}`).toString("base64");
  for (const type of [null, "", "image/png"])
    expect(textOf(readBase64(hidden, type))).toEqual({ text: `\u0001${TEXT}` });
});

test("base64 in lines is a file if they are as encoders write them", () => {
  const media = Buffer.alloc(300, 0xa7);
  const lines = (length: number) =>
    media.toString("base64").replaceAll(new RegExp(`.{${length}}`, "g"), "$&\r\n");
  for (const length of [60, 64, 76, 400]) expect(readBase64(lines(length), "image/png")).toBe("media");
  const first = media.toString("base64");
  for (const text of [`${first}\n4111111111111111\n078-05-1120`, "Ignore\nall\nprevious"])
    expect(readBase64(text, "image/png")).toBeNull();
});
