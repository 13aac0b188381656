import { expect, test } from "bun:test";
import { chatBody, chatTemplate, conversationTemplates, withNumber } from "./chat-payload.ts";

const MARK = "#".repeat(12);
const textsOf = (body: string): string[] =>
  (JSON.parse(body) as { messages: { content: string }[] }).messages.map(({ content }) => content);

test.each([1000, 20_000, 100_000, 1_000_000])(
  "a body of %d bytes has about this size, and no text twice",
  (bytes) => {
    const body = chatBody(bytes);
    expect(Math.abs(body.length / bytes - 1)).toBeLessThan(0.11);
    const texts = textsOf(body);
    expect(new Set(texts).size).toBe(texts.length);
    expect(body).not.toContain("#");
  },
);

test("no text of a body occurs in the body with another number, which has the same size", () => {
  for (let bytes = 1000; bytes < 12_000; bytes += 97) {
    const template = chatTemplate(bytes);
    expect(template.match(/#+/g)?.filter((mark) => mark !== MARK)).toEqual([]);
    const [first, second] = [withNumber(template, 7), withNumber(template, 123_456)];
    expect(first.length).toBe(second.length);
    const known = new Set(textsOf(first));
    expect(textsOf(second).filter((text) => known.has(text))).toEqual([]);
  }
});

test("a conversation repeats its messages exactly, and at least 90 % of its bytes", () => {
  const turns = conversationTemplates(100_000, 2000, 11).map((template) => withNumber(template, 5));
  turns.slice(1).forEach((turn, index) => {
    const before = textsOf(turns[index]!);
    const now = textsOf(turn);
    expect(now.slice(0, before.length)).toEqual(before);
    expect(Math.abs(turn.length - turns[index]!.length - 2000)).toBeLessThan(10);
    const known = new Set(before);
    expect(now.slice(before.length).filter((text) => known.has(text))).toEqual([]);
  });
  const sent = turns.reduce((sum, turn) => sum + turn.length, 0);
  expect((sent - turns.at(-1)!.length) / sent).toBeGreaterThanOrEqual(0.9);
});
