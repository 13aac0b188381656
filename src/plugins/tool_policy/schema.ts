// A subset of JSON Schema for the conditions of rules, validated with bounded work. Unsupported keywords are errors of the configuration: a
// condition that is ignored would be a hole in the policy.
import { isDeepStrictEqual } from "node:util";
import { LinearPattern } from "../../sdk/index.ts";

const MAX_DEPTH = 20;
const MAX_STEPS = 100_000;
/** Longer texts cannot be matched from start to end in linear time. */
const MAX_ANCHORED_LENGTH = 256;
const ANNOTATIONS = new Set(["$schema", "title", "description", "default", "examples"]);
const TYPES = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** The value takes too much work to check, or cannot be checked. */
export class Undecidable extends Error {
  override readonly name = "Undecidable";
}

interface Work {
  steps: number;
}

type Check = (value: unknown, work: Work) => boolean;
type Schema = Readonly<Record<string, unknown>>;

/** Returns a function that checks a value, and throws Undecidable. Throws if the schema is not supported. */
export function compileSchema(schema: unknown): (value: unknown) => boolean {
  const check = compile(schema, "when", 0);
  return (value) => check(value, { steps: MAX_STEPS });
}

function compile(schema: unknown, path: string, depth: number): Check {
  if (typeof schema === "boolean") return () => schema;
  if (!isObject(schema)) throw new Error(`${path} must be an object or a boolean`);
  if (depth > MAX_DEPTH) throw new Error(`${path} is nested more than ${MAX_DEPTH} levels deep`);
  const checks: Check[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (ANNOTATIONS.has(keyword)) continue;
    const build = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
    if (build === undefined) throw new Error(`${path}.${keyword} is not supported`);
    checks.push(build(value, `${path}.${keyword}`, depth, schema));
  }
  return (value, work) => {
    if (--work.steps < 0) throw new Undecidable("too many steps");
    return checks.every((check) => check(value, work));
  };
}

type Build = (value: unknown, path: string, depth: number, schema: Schema) => Check;

const KEYWORDS: Readonly<Record<string, Build>> = {
  type: (value, path) => {
    const types = Array.isArray(value) ? value : [value];
    if (types.length === 0 || !types.every((type) => TYPES.has(String(type))))
      throw new Error(`${path} must be one of ${[...TYPES].join(", ")}, or a list of them`);
    return (given) => types.some((type) => isOfType(given, String(type)));
  },
  const: (value) => (given) => isDeepStrictEqual(given, value),
  enum: (value, path) => {
    const options = listOf(value, path);
    return (given) => options.some((option) => isDeepStrictEqual(given, option));
  },
  properties: (value, path, depth) => {
    const properties = entriesOf(value, path).map(
      ([name, schema]) => [name, compile(schema, `${path}.${name}`, depth + 1)] as const,
    );
    return (given, work) =>
      !isObject(given) ||
      properties.every(([name, check]) => !Object.hasOwn(given, name) || check(given[name], work));
  },
  additionalProperties: (value, path, depth, { properties }) => {
    const named = new Set(isObject(properties) ? Object.keys(properties) : []);
    const check = compile(value, path, depth + 1);
    return (given, work) =>
      !isObject(given) ||
      Object.entries(given).every(([name, property]) => named.has(name) || check(property, work));
  },
  required: (value, path) => {
    const names = listOf(value, path).map(String);
    return (given) => !isObject(given) || names.every((name) => Object.hasOwn(given, name));
  },
  items: (value, path, depth) => {
    const check = compile(value, path, depth + 1);
    return (given, work) => !Array.isArray(given) || given.every((item) => check(item, work));
  },
  minItems: limit(
    (given) => (Array.isArray(given) ? given.length : null),
    (size, bound) => size >= bound,
  ),
  maxItems: limit(
    (given) => (Array.isArray(given) ? given.length : null),
    (size, bound) => size <= bound,
  ),
  minLength: limit(lengthOf, (size, bound) => size >= bound),
  maxLength: limit(lengthOf, (size, bound) => size <= bound),
  minimum: limit(numberOf, (number, bound) => number >= bound),
  maximum: limit(numberOf, (number, bound) => number <= bound),
  exclusiveMinimum: limit(numberOf, (number, bound) => number > bound),
  exclusiveMaximum: limit(numberOf, (number, bound) => number < bound),
  pattern: (value, path) => compilePattern(value, path),
  anyOf: combine((checks, given, work) => checks.some((check) => check(given, work))),
  allOf: combine((checks, given, work) => checks.every((check) => check(given, work))),
  oneOf: combine((checks, given, work) => checks.filter((check) => check(given, work)).length === 1),
  not: (value, path, depth) => {
    const check = compile(value, path, depth + 1);
    return (given, work) => !check(given, work);
  },
};

function limit(
  sizeOf: (given: unknown) => number | null,
  isWithin: (size: number, bound: number) => boolean,
): Build {
  return (value, path) => {
    if (typeof value !== "number" || !Number.isFinite(value)) throw new Error(`${path} must be a number`);
    return (given) => {
      const size = sizeOf(given);
      return size === null || isWithin(size, value);
    };
  };
}

function combine(decide: (checks: readonly Check[], given: unknown, work: Work) => boolean): Build {
  return (value, path, depth) => {
    const checks = listOf(value, path).map((schema, index) =>
      compile(schema, `${path}[${index}]`, depth + 1),
    );
    return (given, work) => decide(checks, given, work);
  };
}

/** `^` at the start and `$` at the end are supported together. */
function compilePattern(value: unknown, path: string): Check {
  if (typeof value !== "string") throw new Error(`${path} must be a string`);
  const isAnchored = value.startsWith("^") && value.endsWith("$") && !value.endsWith("\\$");
  const pattern = patternOf(isAnchored ? value.slice(1, -1) : value, path);
  return (given, work) => {
    if (typeof given !== "string") return true;
    work.steps -= given.length;
    if (work.steps < 0) throw new Undecidable("too many steps");
    if (!isAnchored) return pattern.matches(given).length > 0;
    if (given.length > MAX_ANCHORED_LENGTH) throw new Undecidable("the text is too long");
    const [first] = pattern.matches(given);
    return first !== undefined && first.start === 0 && first.end === given.length;
  };
}

function patternOf(source: string, path: string): LinearPattern {
  try {
    return new LinearPattern(source);
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** In code points, as JSON Schema counts. */
function lengthOf(value: unknown): number | null {
  return typeof value === "string" ? Array.from(value).length : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function listOf(value: unknown, path: string): unknown[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new Error(`${path} must be a list that is not empty`);
  return value;
}

function entriesOf(value: unknown, path: string): [string, unknown][] {
  if (!isObject(value)) throw new Error(`${path} must be an object`);
  return Object.entries(value);
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
