// The body of a request inside an isolate: what a plugin reads must not depend on where it runs.
import { expect, test } from "bun:test";
import { RequestData } from "./request-data.ts";

function dataOf(body: string | Uint8Array): RequestData {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const fields = { path: "/", query: "", headers: [], bodySize: bytes.byteLength, bytesProblem: null };
  return new RequestData(
    { ...fields, isJson: true, bodyUser: null, requestedModel: null },
    bytes,
    () => null,
  );
}

test("a byte order mark before JSON is not part of the text, and does not hide the JSON", () => {
  const data = dataOf('\ufeff{"model":"m"}');
  expect([data.text, data.json]).toEqual(['{"model":"m"}', { model: "m" }]);
  data.replaceBody('\ufeff{"user":"u"}');
  expect([data.text, data.json, data.user]).toEqual(['{"user":"u"}', { user: "u" }, "u"]);
});

test("bytes that are no UTF-8 have no text and no JSON", () => {
  const data = dataOf(Uint8Array.of(0x7b, 0xff, 0x7d));
  expect([data.text, data.json]).toEqual([null, null]);
});
