// A messages client's thinking budget at the targets of every table: kept where the target takes budgets
// and it fits, else the nearest level, and never both. The oracle is naive and has its own numbers.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { FormatName } from "../../src/formats/format-names.ts";
import { GEMINI_MODELS } from "../../src/formats/models/gemini-models.ts";
import { OPENAI_MODELS } from "../../src/formats/models/openai-models.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import { runs } from "../support/long-form.ts";

const RUNS = { numRuns: runs({ short: 60, long: 2000 }) };
const { inbound } = formatNamed("anthropic");

/** Sends a messages request through the hub format, as the gateway does. */
function encode(format: FormatName, model: string, thinking: JsonObject, max_tokens: number) {
  if (inbound === null) throw new Error("messages clients have no translator");
  const report = new TranslationReport();
  const messages = [{ role: "user", content: "Hi" }];
  const decoded = inbound.decodeRequest({ model, max_tokens, messages, thinking }, report);
  const encoded = formatNamed(format).outbound.encodeRequest(decoded, { report, targetTag: "t" });
  return { encoded: { ...encoded } as JsonObject, dropped: report.dropped };
}

const TOKENS: Record<string, number> = {
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 49_152,
  max: 98_304,
};

function nearest(levels: readonly string[], budget: number): string | undefined {
  const byDistance = levels
    .filter((level) => level !== "none")
    .map((level) => ({ level, distance: Math.abs((TOKENS[level] ?? NaN) - budget) }));
  // The sort is stable, and the levels are in their order: the lower one of two comes first.
  return byDistance.sort((one, other) => one.distance - other.distance)[0]?.level;
}

const budgets = fc.oneof(
  fc.integer({ min: 1, max: 120_000 }),
  fc.constantFrom(
    0,
    1,
    127,
    128,
    511,
    512,
    1023,
    1024,
    4608,
    8192,
    9000,
    16_384,
    24_576,
    24_577,
    31_999,
    32_768,
  ),
);
const limits = fc.oneof(fc.integer({ min: 1, max: 130_000 }), fc.constantFrom(1, 1024, 9000, 10_000, 24_576));

describe("at Gemini", () => {
  test.each(GEMINI_MODELS.flatMap(({ names }) => names))("%s", (name) => {
    const row = GEMINI_MODELS.find(({ names }) => names.includes(name));
    fc.assert(
      fc.property(budgets, limits, (budget, limit) => {
        const { encoded, dropped } = encode(
          "gemini",
          name,
          { type: "enabled", budget_tokens: budget },
          limit,
        );
        const generation = encoded["generationConfig"];
        const config = isJsonObject(generation) ? generation["thinkingConfig"] : undefined;
        const thinking = row?.thinking ?? null;
        if (thinking === null) {
          expect(config).toBeUndefined();
          expect(dropped).toContain("thinking");
        } else if (thinking.kind === "level") {
          expect(config).toEqual({ thinkingLevel: nearest(thinking.levels, budget), includeThoughts: true });
          expect(dropped).toEqual([]);
        } else {
          const fits = budget >= thinking.least && budget <= thinking.most && budget < limit;
          expect(config).toEqual({ ...(fits ? { thinkingBudget: budget } : {}), includeThoughts: true });
          expect(dropped).toEqual(fits ? [] : ["thinking.budget_tokens"]);
        }
      }),
      RUNS,
    );
  });

  test.each(["none", "minimal", "low", "medium", "high", "xhigh", "max"])(
    "the budget of the effort %s is below the output limit and within the bounds of the model",
    (effort) => {
      for (const { names, thinking } of GEMINI_MODELS)
        for (const max_tokens of [1, 100, 129, 600, 700, 9000, 100_000]) {
          if (thinking?.kind !== "budget") continue;
          const request = { model: names[0], max_tokens, messages: [{ role: "user", content: "Hi" }] };
          const report = new TranslationReport();
          const { outbound } = formatNamed("gemini");
          const encoded = outbound.encodeRequest(
            { ...request, reasoning_effort: effort },
            { report, targetTag: "t" },
          );
          const budget = budgetIn(encoded);
          if (budget === undefined) expect(report.dropped).toEqual(["reasoning_effort"]);
          else {
            expect(budget).toBeLessThan(max_tokens);
            expect(budget === 0 || (budget >= thinking.least && budget <= thinking.most)).toBe(true);
          }
        }
    },
  );
});

function budgetIn(request: object): number | undefined {
  const { generationConfig } = request as {
    generationConfig?: { thinkingConfig?: { thinkingBudget?: number } };
  };
  return generationConfig?.thinkingConfig?.thinkingBudget;
}

describe("at OpenAI", () => {
  test.each(OPENAI_MODELS.flatMap(({ names }) => names))("%s", (name) => {
    const row = OPENAI_MODELS.find(({ names }) => names.includes(name));
    const efforts = row?.efforts ?? [];
    fc.assert(
      fc.property(budgets, limits, (budget, limit) => {
        const thinking = { type: "enabled", budget_tokens: budget };
        const chat = encode("openai", name, thinking, limit).encoded;
        expect(chat["reasoning_effort"]).toBe(nearest(efforts, budget));
        expect(chat["thinking"]).toBeUndefined();
        const { encoded, dropped } = encode("responses", name, thinking, limit);
        const effort = nearest([...efforts, ...(row?.furtherEfforts ?? [])], budget);
        const summary = { summary: "auto" };
        if (effort === undefined) expect(dropped).toContain("reasoning_effort");
        else expect(encoded["reasoning"]).toEqual({ effort, ...summary });
        expect(encoded["thinking"]).toBeUndefined();
      }),
      RUNS,
    );
  });
});

describe("a chat client's budget at Claude models", () => {
  const claude = (model: string, thinking: JsonObject, max_tokens: number) => {
    const report = new TranslationReport();
    const body = { model, max_tokens, messages: [{ role: "user", content: "Hi" }], thinking };
    const { outbound } = formatNamed("anthropic");
    const encoded = outbound.encodeRequest(body, { report, targetTag: "t" });
    return { encoded: { ...encoded } as JsonObject, dropped: report.dropped };
  };

  test("is kept if it fits, else left out and listed", () => {
    fc.assert(
      fc.property(budgets, limits, (budget, limit) => {
        const thinking = { type: "enabled", budget_tokens: budget };
        const { encoded, dropped } = claude("claude-sonnet-4-5", thinking, limit);
        const fits = budget >= 1024 && budget < limit;
        expect(encoded["thinking"]).toEqual(fits ? thinking : undefined);
        expect(dropped).toEqual(fits ? [] : ["thinking"]);
        expect(encoded["output_config"]).toBeUndefined();
      }),
      RUNS,
    );
  });

  test("is the nearest effort of a model with adaptive thinking", () => {
    fc.assert(
      fc.property(budgets, limits, (budget, limit) => {
        const { encoded } = claude("claude-opus-4-7", { type: "enabled", budget_tokens: budget }, limit);
        expect(encoded["thinking"]).toMatchObject({ type: "adaptive" });
        const effort = nearest(["low", "medium", "high", "xhigh", "max"], budget);
        expect(encoded["output_config"]).toEqual({ effort });
      }),
      RUNS,
    );
  });
});
