// The columns of the usage exports of providers, in CSV.

export const EXPORT_FORMATS = ["openai", "anthropic", "generic"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Names of columns. The first one of a list that the file has is read; of the input, all that the file has are added. */
export interface ExportColumns {
  /** The provider of the targets that the export is about; null: any. */
  readonly provider: string | null;
  readonly day: readonly string[];
  readonly model: readonly string[];
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly requests: readonly string[];
  readonly cost: readonly string[];
}

export const EXPORT_COLUMNS: Record<ExportFormat, ExportColumns> = {
  // Cached input is part of input_tokens.
  openai: {
    provider: "openai",
    day: ["start_time_iso", "start_time", "date"],
    model: ["model"],
    input: ["input_tokens"],
    output: ["output_tokens"],
    requests: ["num_model_requests"],
    cost: [],
  },
  // Reads and writes of the cache are beside the other input.
  anthropic: {
    provider: "anthropic",
    day: ["usage_date_utc"],
    model: ["model_version"],
    input: [
      "usage_input_tokens_no_cache",
      "usage_input_tokens_cache_write",
      "usage_input_tokens_cache_write_5m",
      "usage_input_tokens_cache_write_1h",
      "usage_input_tokens_cache_read",
    ],
    output: ["usage_output_tokens"],
    requests: [],
    cost: [],
  },
  generic: {
    provider: null,
    day: ["day", "date"],
    model: ["model"],
    input: ["input_tokens"],
    output: ["output_tokens"],
    requests: ["requests"],
    cost: ["cost"],
  },
};

/** Recognizes the format by the names of the columns. */
export function exportFormatOf(names: readonly string[]): ExportFormat {
  if (names.includes("usage_date_utc")) return "anthropic";
  return names.includes("num_model_requests") || names.includes("start_time") ? "openai" : "generic";
}
