// The rules of prompt_guard, in the order in which findings are reported.
import { EXTRACTIONS } from "./extraction-rules.ts";
import { FORGERIES } from "./forgery-rules.ts";
import { HIDDEN } from "./hidden-rules.ts";
import { OVERRIDES } from "./override-rules.ts";
import type { Rule } from "./rule.ts";

export const RULES: readonly Rule[] = [...OVERRIDES, ...FORGERIES, ...EXTRACTIONS, ...HIDDEN];
