// Files within JSON: what counts as text, and what is no file at all.
import { expect, test } from "bun:test";
import { readBase64, readDataUrl } from "./inline-files.ts";

const TEXT = "Write to bob@example.com, please.";
const base64 = Buffer.from(TEXT).toString("base64");
const textOf = (file: ReturnType<typeof readBase64>) =>
  file === null || file === "media" ? file : { text: file.text };

test("base64 of a text is the text, also with line breaks and in the alphabet of URLs", () => {
  for (const written of [base64, `${base64.slice(0, 20)}\r\n${base64.slice(20)}`, base64.replaceAll("=", "")])
    expect(textOf(readBase64(written, null))).toEqual({ text: TEXT });
  const other = "??>>~~??";
  expect(textOf(readBase64(Buffer.from(other).toString("base64url"), "text/plain"))).toEqual({ text: other });
});

test("what only lenient decoders read cannot be inspected", () => {
  const junk = `${base64.slice(0, 8)}.${base64.slice(8)}`;
  expect(textOf(readBase64(junk, null))).toEqual({ text: null });
  expect(textOf(readDataUrl(`data:image/png;base64,${junk}`, true))).toEqual({ text: null });
  expect(textOf(readDataUrl(`data:text/plain;charset=utf-7,x`, true))).toEqual({ text: null });
  expect(textOf(readDataUrl(`data:${"x".repeat(2000)},y`, true))).toEqual({ text: null });
});

test("media is no text, and a text that is no base64 is no file", () => {
  expect(readBase64("iVBORw0KGgoAAAANSUhEUg==", "image/png")).toBe("media");
  for (const text of [TEXT, "a b c", ""]) expect(readBase64(text, null)).toBeNull();
});

test("a data URL is written back in its form, and a text that begins like one is no data URL", () => {
  for (const url of [`data:text/csv;base64,${base64}`, `d\nata:text/csv,${encodeURIComponent(TEXT)}`]) {
    const file = readDataUrl(url, true);
    expect(textOf(file)).toEqual({ text: TEXT });
    expect(file === null || file === "media" ? null : file.encode(TEXT)).toBe(url);
  }
  for (const text of ["Data: sales, 100 % up", "data: a, b", "see data:text/plain,x"])
    expect(readDataUrl(text, false)).toBeNull();
});
