// A pattern of tool names: `*` matches any number of characters, all others match themselves.
import { z } from "zod";

const MAX_TOOL_PATTERNS = 1000;

const toolPatternField = z
  .string()
  .min(1, "must not be empty")
  .max(256, "must not be longer than 256 characters")
  .regex(/^[\x21-\x7E]*$/, "must contain only visible ASCII characters without spaces");

export const toolPatternsField = z
  .array(toolPatternField)
  .max(MAX_TOOL_PATTERNS, `must not contain more than ${MAX_TOOL_PATTERNS} patterns`)
  .overwrite((patterns) => [...new Set(patterns)]);
