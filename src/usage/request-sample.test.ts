import { expect, test } from "bun:test";
import { estimateRequestTokens } from "../formats/token-estimate.ts";
import { RequestSample } from "./request-sample.ts";

const PROSE = "The committee of the northern harbor decides tomorrow, and nobody knows how it will vote. ";
const chat = (...contents: unknown[]) => ({
  model: "m",
  messages: contents.map((content) => ({ role: "user", content })),
});
const sampled = (body: object) => new RequestSample(Buffer.from(JSON.stringify(body))).estimateTokens();

test("the estimate of a small body is that of the whole body", () => {
  for (const body of [chat("Good morning"), chat(PROSE.repeat(10), "Why?")])
    expect(sampled(body)).toBe(estimateRequestTokens(body));
});

test("the estimate of a large body is close to that of the whole body, and ignores files", () => {
  for (const length of [50, 1000, 20_000]) {
    const body = chat(...Array.from({ length: Math.ceil(length / 20) }, () => PROSE.repeat(20)));
    expect(sampled(body) / estimateRequestTokens(body)).toBeWithin(0.75, 1.35);
  }
  const url = `data:image/png;base64,${Buffer.alloc(1_000_000, 7).toString("base64")}`;
  const withImage = chat([
    { type: "image_url", image_url: { url } },
    { type: "text", text: "What is this?" },
  ]);
  expect(sampled(withImage)).toBeWithin(800, 1000);
});

test("other bodies have no tokens", () => {
  expect(sampled([])).toBe(0);
  expect(new RequestSample(Buffer.from("--boundary")).estimateTokens()).toBe(0);
});

test("does not keep the memory of the body", () => {
  const bytes = Buffer.from(JSON.stringify(chat("Good morning")));
  const sample = new RequestSample(bytes);
  const before = sample.estimateTokens();
  bytes.fill(0);
  expect(sample.estimateTokens()).toBe(before);
});
