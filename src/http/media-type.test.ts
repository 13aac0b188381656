// Which Content-Type fields are those of server-sent events.
import { expect, test } from "bun:test";
import { isEventStreamType } from "./media-type.ts";

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
