// Facts about Gemini models: how much they think, and what else depends on their generation.
import { findModel, type ModelRow } from "./find-model.ts";
import type { ModelSource } from "./model-sources.ts";

/** A budget in tokens. `off`: whether 0 turns thinking off. */
interface BudgetThinking {
  readonly kind: "budget";
  readonly least: number;
  readonly most: number;
  readonly off: boolean;
}

interface LevelThinking {
  readonly kind: "level";
  /** From the lowest to the highest. */
  readonly levels: readonly GeminiLevel[];
}

type GeminiLevel = "minimal" | "low" | "medium" | "high";

export interface GeminiModel extends ModelRow {
  readonly sources: readonly ModelSource[];
  readonly thinking: BudgetThinking | LevelThinking | null;
  /**
   * Whether the model has the features of Gemini 3: it requires thought signatures, and accepts media in
   * function responses and a response schema beside tools.
   */
  readonly isGemini3: boolean;
}

const budget = (least: number, most: number, off: boolean): BudgetThinking => ({
  kind: "budget",
  least,
  most,
  off,
});
const levels = (...each: GeminiLevel[]): LevelThinking => ({ kind: "level", levels: each });

/**
 * For names without a known generation, such as gemini-flash-latest. All models of the newest one have
 * these levels.
 */
const NEWEST: GeminiModel = {
  names: [],
  thinking: levels("low", "medium", "high"),
  isGemini3: true,
  sources: ["models.dev"],
};

export const GEMINI_MODELS: readonly GeminiModel[] = [
  {
    names: ["gemini-1.0", "gemini-1.5", "gemini-2.0"],
    thinking: null,
    isGemini3: false,
    sources: ["models.dev"],
  },
  {
    names: ["gemini-2.5", "gemini-2.5-flash"],
    thinking: budget(1, 24_576, true),
    isGemini3: false,
    sources: ["models.dev", "google-openai"],
  },
  {
    names: ["gemini-2.5-flash-lite"],
    thinking: budget(512, 24_576, true),
    isGemini3: false,
    sources: ["models.dev"],
  },
  { names: ["gemini-2.5-flash-image"], thinking: null, isGemini3: false, sources: ["models.dev"] },
  {
    names: ["gemini-2.5-pro"],
    thinking: budget(128, 32_768, false),
    isGemini3: false,
    sources: ["models.dev"],
  },
  { names: ["gemini-3-pro"], thinking: levels("low", "high"), isGemini3: true, sources: ["models.dev"] },
  {
    names: ["gemini-3-flash", "gemini-3.1-flash", "gemini-3.1-flash-lite", "gemini-3.5-flash"],
    thinking: levels("minimal", "low", "medium", "high"),
    isGemini3: true,
    sources: ["models.dev"],
  },
  {
    names: ["gemini-3.1-flash-image"],
    thinking: levels("minimal", "high"),
    isGemini3: true,
    sources: ["models.dev"],
  },
  {
    names: ["gemini-3.1-pro"],
    thinking: levels("low", "medium", "high"),
    isGemini3: true,
    sources: ["models.dev"],
  },
];

/** A name without a row is that of a newer model, or of an alias. */
export function geminiModelNamed(name: string | undefined): GeminiModel {
  return findModel(GEMINI_MODELS, name ?? "") ?? NEWEST;
}

export function isGemini3(name: string | undefined): boolean {
  return geminiModelNamed(name).isGemini3;
}

/**
 * The budget of each effort: those of low, medium and high are Google's own for its OpenAI-compatible
 * endpoint.
 */
export const GEMINI_EFFORT_TOKENS: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["minimal", 512],
  ["low", 1024],
  ["medium", 8192],
  ["high", 24_576],
  ["xhigh", 32_768],
  ["max", 32_768],
]);
