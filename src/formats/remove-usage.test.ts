// Bodies and events of all formats without their token counts.
import { expect, test } from "bun:test";
import { bodyWithoutUsage, eventWithoutUsage } from "./remove-usage.ts";

test("usage is removed from bodies, and other texts stay as they are", () => {
  expect(bodyWithoutUsage('{"id":"a","usage":{"total_tokens":3}}')).toBe('{"id":"a"}');
  expect(bodyWithoutUsage('{"candidates":[],"usageMetadata":{}}')).toBe('{"candidates":[]}');
  for (const text of ["", "[1]", "no JSON"]) expect(bodyWithoutUsage(text)).toBe(text);
});

test("usage is removed from events; events without anything else disappear", () => {
  const usageOnly = 'data: {"choices":[],"usage":{"total_tokens":3}}\n\n';
  expect(eventWithoutUsage(usageOnly)).toBe("");
  const start = 'event: message_start\ndata: {"message":{"id":"m","usage":{"input_tokens":1}}}\n\n';
  expect(eventWithoutUsage(start)).toBe('event: message_start\ndata: {"message":{"id":"m"}}\n\n');
  const completed = 'event: c\ndata: {"response":{"id":"r","usage":{}},"sequence_number":7}\n\n';
  expect(eventWithoutUsage(completed)).toBe(
    'event: c\ndata: {"response":{"id":"r"},"sequence_number":7}\n\n',
  );
  for (const event of ["data: [DONE]\n\n", ": comment\n\n"]) expect(eventWithoutUsage(event)).toBe(event);
});
