// PHP patterns.
import type { Pattern } from "../pattern.ts";
import { CALLS } from "./php/calls.ts";
import { INDIRECT } from "./php/indirect.ts";
import { TAGS } from "./php/tags.ts";
import { VARIABLES } from "./php/variables.ts";

export const PHP: readonly Pattern[] = [...TAGS, ...CALLS, ...VARIABLES, ...INDIRECT];
