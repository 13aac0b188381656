// Java patterns.
import type { Pattern } from "../pattern.ts";
import { DATA } from "./java/data.ts";
import { EXPRESSIONS } from "./java/expressions.ts";
import { NAMES } from "./java/names.ts";
import { PROCESSES } from "./java/processes.ts";
import { SERIALIZED } from "./java/serialized.ts";

export const JAVA: readonly Pattern[] = [...PROCESSES, ...NAMES, ...EXPRESSIONS, ...SERIALIZED, ...DATA];
