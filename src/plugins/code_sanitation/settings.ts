// Settings of code_sanitation (specification 2.8): languages to detect, parts to scan, and the action.
import { nearestName, z } from "../../sdk/index.ts";

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
export type Language = (typeof LANGUAGES)[number];

/** How readily text counts as code, in the order in which more of it does. */
export const SENSITIVITIES = ["relaxed", "balanced", "strict"] as const;
export type Sensitivity = (typeof SENSITIVITIES)[number];

/** Whose strings of a body are inspected. `other`: strings outside of messages, such as tool definitions. */
export const ROLES = ["system", "developer", "user", "assistant", "tool", "other"] as const;
export type Role = (typeof ROLES)[number];

const languageEntry = z
  .strictObject({
    language: z.enum(LANGUAGES),
    enabled: z.boolean().default(true),
    sensitivity: z.enum(SENSITIVITIES).default("balanced").meta({
      description:
        "`strict`: also code that is only mentioned. `balanced`: code that could act. `relaxed`: only code that ends a string or hides itself, for gateways that coding agents use.",
    }),
    exclude: z
      .array(z.string())
      .default([])
      .meta({ description: "Ids of patterns that are not used, such as `sql.union-select`." }),
  })
  .superRefine(({ language, exclude }, context) => {
    if (exclude.length === 0) return;
    const known = patternIdsOf(language);
    for (const [index, id] of exclude.entries()) {
      if (known.includes(id)) continue;
      const nearest = nearestName(id, known);
      const hint = nearest === null ? "" : `; did you mean "${nearest}"?`;
      const message = `${language} has no pattern ${JSON.stringify(id.slice(0, MAX_SHOWN_ID))}${hint}`;
      context.addIssue({ code: "custom", path: ["exclude", index], message });
    }
  });

const MAX_SHOWN_ID = 64;

interface PatternTables {
  readonly patternsOf: (language: Language) => readonly { readonly id: string }[];
}

/** Loads the patterns on demand: most configurations exclude none, and loading takes 10 to 20 ms. */
function patternIdsOf(language: Language): string[] {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- validation is synchronous
  const { patternsOf } = require("./languages/by-language.ts") as PatternTables;
  return patternsOf(language).map(({ id }) => id);
}

export const codeSanitationSettings = z.strictObject({
  languages: z
    .array(languageEntry)
    .min(1, "must contain at least one language")
    .refine(
      (entries) => new Set(entries.map((entry) => entry.language)).size === entries.length,
      "must not contain a language twice",
    )
    .meta({ description: "Only enabled languages are scanned." }),
  content_to_check: z
    .array(z.enum(["headers", "path_and_query", "body", "all", "response"]))
    .min(1, "must contain at least one part")
    .meta({
      description:
        "The parts that are scanned: parts of the request, `all` of them, or the text of the `response`, which `all` does not include.",
    }),
  roles: z.array(z.enum(ROLES)).min(1, "must contain at least one role").optional().meta({
    description:
      "The messages of a JSON body that are inspected, by role. Not set: every string of the body. The client chooses the role of a message.",
  }),
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
