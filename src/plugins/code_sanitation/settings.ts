// Settings of code_sanitation (specification 2.8): languages to detect, parts to scan, and the action.
import { z } from "../../sdk/index.ts";

export const LANGUAGES = [
  "javascript",
  "python",
  "php",
  "sql",
  "shell",
  "java",
  "csharp",
  "ruby",
  "html",
] as const;

export const codeSanitationSettings = z.strictObject({
  languages: z
    .array(z.strictObject({ language: z.enum(LANGUAGES), enabled: z.boolean().default(true) }))
    .min(1, "must contain at least one language")
    .refine(
      (entries) => new Set(entries.map((entry) => entry.language)).size === entries.length,
      "must not contain a language twice",
    )
    .meta({ description: "Only enabled languages are scanned." }),
  content_to_check: z
    .array(z.enum(["headers", "path_and_query", "body", "all"]))
    .min(1, "must contain at least one part")
    .meta({ description: "The parts of a request that are scanned." }),
  action: z.enum(["block", "sanitize"]),
  on_incomplete: z.enum(["block", "continue"]).default("block").meta({
    description:
      "What happens to a request that takes too much work to inspect: it is blocked, or forwarded without complete inspection.",
  }),
  status_code: z.int().min(400).max(599).default(400).meta({ description: "Status returned when blocking." }),
  error_message: z
    .string()
    .min(1, "must not be empty")
    .max(1000, "must not be longer than 1000 characters")
    .default("Potential code injection detected")
    .meta({ description: "Message returned when blocking." }),
  sanitize_char: z
    .string()
    .regex(/^[\x20-\x7E]$/, "must be one printable ASCII character")
    .default("X")
    .meta({ description: "Replaces every matched character when sanitizing." }),
});

export type CodeSanitationSettings = z.output<typeof codeSanitationSettings>;
