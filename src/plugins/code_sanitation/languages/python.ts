// Python patterns.
import type { Pattern } from "../pattern.ts";
import { CALLS } from "./python/calls.ts";
import { LOADERS } from "./python/loaders.ts";
import { OBJECTS } from "./python/objects.ts";

export const PYTHON: readonly Pattern[] = [...CALLS, ...OBJECTS, ...LOADERS];
