// The tables of models: names, sources, and what the rows must not contradict.
import { describe, expect, test } from "bun:test";
import { findModel } from "./find-model.ts";
import { GEMINI_MODELS, geminiModelNamed } from "./gemini-models.ts";
import { MODEL_SOURCES } from "./model-sources.ts";
import { OPENAI_MODELS, openaiModelNamed } from "./openai-models.ts";

test("every name is in one row, and every row has sources with a URL and a date", () => {
  for (const rows of [OPENAI_MODELS, GEMINI_MODELS]) {
    const names = rows.flatMap((row) => row.names);
    expect(new Set(names).size).toBe(names.length);
    for (const { sources } of rows) expect(sources.length).toBeGreaterThan(0);
  }
  for (const { url, date } of Object.values(MODEL_SOURCES)) {
    expect(url).toMatch(/^https:\/\//);
    expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  }
});

test("a model without chat completions is served by the Responses API", () => {
  for (const { hasChat, usesResponses, chatTools } of OPENAI_MODELS) {
    if (!hasChat) expect([usesResponses, chatTools]).toEqual([true, "never"]);
    if (chatTools !== "always") expect(usesResponses).toBe(true);
  }
});

test("effort none is a way to turn reasoning off, and only models with it accept sampling parameters sometimes", () => {
  for (const { efforts, sampling, chatTools } of OPENAI_MODELS) {
    if (sampling === "without reasoning") expect(efforts).toContain("none");
    if (chatTools === "without reasoning") expect(efforts).toContain("none");
  }
});

describe("the row of a name", () => {
  const nameOf = (name: string) => openaiModelNamed(name)?.names[0] ?? null;

  test.each([
    ["gpt-5.4", "gpt-5.4"],
    ["gpt-5.4-2026-03-05", "gpt-5.4"],
    ["gpt-5.4-mini-2026-03-17", "gpt-5.4"],
    ["gpt-5.4-pro-2026-03-05", "gpt-5.2-pro"],
    ["openai/gpt-5.4:free", "gpt-5.4"],
    ["GPT-5.6-Terra", "gpt-5.6"],
    ["ft:gpt-4.1-mini-2025-04-14:acme::id", "gpt-3.5"],
    ["gpt-5", "gpt-5"],
    ["gpt-5-chat-latest", "gpt-5-chat"],
    ["gpt-4o-mini", "gpt-3.5"],
    ["o3-pro-2025-06-10", "o1-pro"],
    // A new name gets what all newer models accept, not what a name that it begins with does.
    ["gpt-5.7", null],
    ["gpt-50", null],
  ])("%s", (name, expected) => {
    const found = nameOf(name);
    expect(found ?? null).toBe(expected);
    if (expected === null) expect(openaiModelNamed(name)?.chatTools).toBe("never");
  });

  test.each(["claude-opus-4-6", "my-deployment", "gpt-oss-120b", "o", "mistral/o3x", ""])(
    "%s has none",
    (name) => {
      expect(openaiModelNamed(name)).toBeNull();
    },
  );

  test("of Gemini", () => {
    expect(geminiModelNamed("gemini-2.5-flash-lite-preview-09-2025").thinking).toMatchObject({ least: 512 });
    expect(geminiModelNamed("models/gemini-2.5-pro").thinking).toMatchObject({ least: 128 });
    expect(geminiModelNamed("gemini-3-pro-preview").thinking).toMatchObject({ levels: ["low", "high"] });
    expect(geminiModelNamed("gemini-4-flash").isGemini3).toBe(true);
    expect(findModel(GEMINI_MODELS, "gemini-flash-latest")).toBeNull();
  });
});
