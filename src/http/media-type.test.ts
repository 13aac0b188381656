// Which Content-Type fields are those of server-sent events and of forms.
import { expect, test } from "bun:test";
import { isEventStreamType, isMultipart, isUrlEncoded } from "./media-type.ts";

test.each([
  "text/event-stream",
  "Text/Event-Stream",
  "text/event-stream; charset=utf-8",
  "text/event-stream ;charset=utf-8",
])("%s is a stream of events", (type) => expect(isEventStreamType(type)).toBe(true));

test.each([null, "", "application/json", "text/event-streams", "application/json; a=text/event-stream"])(
  "%s is not",
  (type) => expect(isEventStreamType(type)).toBe(false),
);

test.each([
  ["multipart/form-data; boundary=b", true, false],
  ["Multipart/Mixed", true, false],
  ["text/plain, multipart/form-data; boundary=b", true, false],
  ["Application/x-www-form-urlencoded; charset=utf-8", false, true],
  ["text/plain, application/x-www-form-urlencoded", false, true],
  ["text/plain", false, false],
  ["", false, false],
  [null, false, false],
])("%p: multipart %p, URL-encoded %p", (type, isParts, isPairs) => {
  expect(isMultipart(type)).toBe(isParts);
  expect(isUrlEncoded(type)).toBe(isPairs);
});
