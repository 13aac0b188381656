// Settings of prompt_guard: which texts are inspected, with which rules, and what happens to the request.
import { z } from "../../sdk/index.ts";

export const RULE_IDS = [
  "override_instructions",
  "stop_following",
  "forget_everything",
  "new_instructions",
  "no_restrictions",
  "jailbreak_persona",
  "keep_secret",
  "addresses_model",
  "override_translated",
  "template_tokens",
  "system_turn",
  "assistant_turn",
  "closed_boundary",
  "reveal_prompt",
  "ask_prompt",
  "repeat_above",
  "starts_with_you_are",
  "invisible_characters",
  "tag_characters",
  "variation_selectors",
  "base64_payload",
  "hex_payload",
] as const;
export type RuleId = (typeof RULE_IDS)[number];

export const DEFAULT_MESSAGE = "The request looks like a prompt injection.";

export const SOURCES = ["user", "tool", "document"] as const;
export type Source = (typeof SOURCES)[number];

const isWithoutRepetition = (list: readonly string[]): boolean => new Set(list).size === list.length;

const judgeSettings = () =>
  z.strictObject({
    service: z.string().min(1, "must not be empty").max(255, "must not be longer than 255 characters").meta({
      description: "Name of a service of this gateway with an upstream.",
    }),
    model: z
      .string()
      .min(1, "must not be empty")
      .max(255, "must not be longer than 255 characters")
      .meta({ description: "The model, or virtual model, that judges." }),
    timeout_ms: z.int().min(100).max(10_000).default(2000).meta({
      description: "How long the response is held for the verdict, in milliseconds.",
    }),
    ask_from: z.int().min(0).max(100).default(0).meta({
      description:
        "The judge is asked if the score of the rules is at least this, and below `threshold`. 0: for every request with a text.",
    }),
    on_error: z.enum(["heuristics", "block"]).default("heuristics").meta({
      description:
        "If there is no verdict in time: `heuristics`: the rules alone decide. `block`: the request is rejected with status 503.",
    }),
  });

export type JudgeSettings = z.output<ReturnType<typeof judgeSettings>>;

export const promptGuardSettings = () =>
  z.strictObject({
    threshold: z.int().min(1).max(100).default(5).meta({
      description:
        "The score from which a message counts as an attack. The score is the sum of those of the rules that match, each counted once.",
    }),
    action: z.enum(["block", "tag"]).default("block").meta({
      description:
        "`block`: the request, or the message of an MCP server, is rejected. `tag`: it is forwarded unchanged; the response header X-GW-Prompt-Guard lists what was found in the request, and the request log also what was found in messages of MCP servers.",
    }),
    sources: z
      .array(z.enum(SOURCES))
      .min(1, "must contain at least one source")
      .refine(isWithoutRepetition, "must not contain a source twice")
      .default([...SOURCES])
      .meta({
        description:
          "The texts that are inspected: messages of the `user`, results of a `tool`, or a `document` in a message. Of MCP servers, resources that a client reads are documents, and all other texts are results of a `tool`.",
      }),
    exclude: z
      .array(z.enum(RULE_IDS))
      .refine(isWithoutRepetition, "must not contain a rule twice")
      .default([])
      .meta({ description: "Rules that are not used." }),
    judge: judgeSettings().nullable().default(null).meta({
      description:
        "A model that gives a second opinion on requests while the request is sent to its provider; its score, from 0 to 10, is added to that of the rules. Null: none.",
    }),
    status_code: z
      .int()
      .min(400)
      .max(599)
      .default(403)
      .meta({ description: "Status returned when blocking." }),
    error_message: z
      .string()
      .min(1, "must not be empty")
      .max(1000, "must not be longer than 1000 characters")
      .default(DEFAULT_MESSAGE)
      .meta({ description: "Message returned when blocking." }),
  });

export type PromptGuardSettings = z.output<ReturnType<typeof promptGuardSettings>>;
