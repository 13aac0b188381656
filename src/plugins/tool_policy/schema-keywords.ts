// The keywords of JSON Schema (draft 2020-12) that conditions support, each with its check.
import { LinearPattern } from "../../sdk/index.ts";
import { compareNumbers, isMultipleOf } from "./exact-number.ts";
import {
  canonical,
  countOf,
  entriesOf,
  isNumber,
  isObject,
  isOfType,
  lengthOf,
  listOf,
  namesOf,
  numberOf,
  requireExactNumbers,
  requireType,
  schemasOf,
  spend,
  type Work,
} from "./schema-values.ts";

export type Check = (value: unknown, work: Work) => boolean;
export type Schema = Readonly<Record<string, unknown>>;

/** Compiles the schemas within a keyword. */
export interface Compiler {
  /** A schema for a part of the value. `path` continues the path of the keyword. */
  readonly inner: (schema: unknown, ...path: readonly (string | number)[]) => Check;
  /** A schema for the value itself. */
  readonly same: (schema: unknown, ...path: readonly (string | number)[]) => Check;
  /** The schema of another keyword, for the value itself; null if there is none. */
  readonly sibling: (keyword: string) => Check | null;
  readonly reference: (reference: unknown) => Check;
}

/** Throws an error whose message says what is wrong, without the name of the keyword. */
type Build = (value: unknown, compiler: Compiler, schema: Schema) => Check | null;

const TYPES = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);
const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;
const VOCABULARIES =
  /^https:\/\/json-schema\.org\/draft\/2020-12\/vocab\/(?:core|applicator|unevaluated|validation|meta-data|format-annotation|content)$/;

const NO_CHECK = (): null => null;
const annotation =
  (type: "string" | "boolean"): Build =>
  (value) => (requireType(value, type), null);
const unsupported =
  (hint: string): Build =>
  () => {
    throw new Error(`is not supported${hint}`);
  };

export const KEYWORDS: ReadonlyMap<string, Build> = new Map<string, Build>([
  ["$schema", textLike(DIALECT, "must be https://json-schema.org/draft/2020-12/schema")],
  ["$vocabulary", vocabularies],
  ["$anchor", textLike(/^[A-Za-z_][-A-Za-z0-9._]*$/, "must be a name")],
  ["$comment", annotation("string")],
  ["title", annotation("string")],
  ["description", annotation("string")],
  ["format", annotation("string")],
  ["contentEncoding", annotation("string")],
  ["contentMediaType", annotation("string")],
  ["contentSchema", NO_CHECK],
  ["default", NO_CHECK],
  ["examples", (value) => (listOf(value), null)],
  ["deprecated", annotation("boolean")],
  ["readOnly", annotation("boolean")],
  ["writeOnly", annotation("boolean")],
  ["$ref", (value, { reference }) => reference(value)],
  ["$defs", definitions],
  ["definitions", definitions],
  ["type", typeCheck],
  ["const", (value) => equalTo([value])],
  ["enum", (value) => equalTo(listOf(value))],
  ["properties", properties],
  ["patternProperties", patternProperties],
  ["additionalProperties", additionalProperties],
  [
    "propertyNames",
    (value, { inner }) => {
      const check = inner(value);
      return (given, work) => !isObject(given) || Object.keys(given).every((name) => check(name, work));
    },
  ],
  ["required", (value) => hasAll(namesOf(value))],
  ["dependentRequired", dependents((names) => hasAll(namesOf(names)))],
  ["dependentSchemas", dependents((schema, name, { same }) => same(schema, name))],
  ["minProperties", size((given) => (isObject(given) ? Object.keys(given).length : null), atLeast)],
  ["maxProperties", size((given) => (isObject(given) ? Object.keys(given).length : null), atMost)],
  ["prefixItems", prefixItems],
  ["items", items],
  ["contains", contains],
  ["minContains", (value) => (countOf(value), null)],
  ["maxContains", (value) => (countOf(value), null)],
  ["minItems", size((given) => (Array.isArray(given) ? given.length : null), atLeast)],
  ["maxItems", size((given) => (Array.isArray(given) ? given.length : null), atMost)],
  ["uniqueItems", uniqueItems],
  ["minLength", size(lengthOf, atLeast)],
  ["maxLength", size(lengthOf, atMost)],
  [
    "pattern",
    (value) => {
      const pattern = patternOf(value);
      return (given, work) => typeof given !== "string" || matches(pattern, given, work);
    },
  ],
  ["minimum", bound((order) => order >= 0)],
  ["maximum", bound((order) => order <= 0)],
  ["exclusiveMinimum", bound((order) => order > 0)],
  ["exclusiveMaximum", bound((order) => order < 0)],
  [
    "multipleOf",
    (value) => {
      const divisor = numberOf(value);
      if (divisor <= 0) throw new Error("must be above 0");
      return (given) => !isNumber(given) || isMultipleOf(given, divisor);
    },
  ],
  ["anyOf", combination((checks, given, work) => checks.some((check) => check(given, work)))],
  ["allOf", combination((checks, given, work) => checks.every((check) => check(given, work)))],
  ["oneOf", combination((checks, given, work) => checks.filter((check) => check(given, work)).length === 1)],
  [
    "not",
    (value, { same }) => {
      const check = same(value);
      return (given, work) => !check(given, work);
    },
  ],
  ["if", condition],
  ["then", (value, { same }) => (same(value), null)],
  ["else", (value, { same }) => (same(value), null)],
  ["unevaluatedProperties", unsupported("; use additionalProperties")],
  ["unevaluatedItems", unsupported("; use items")],
  ["$dynamicRef", unsupported("; use $ref")],
  ["$dynamicAnchor", unsupported("; use $anchor")],
  // Of earlier drafts: they would be ignored, and mean nothing.
  ["dependencies", unsupported(" since draft 2019-09; use dependentRequired or dependentSchemas")],
  ["additionalItems", unsupported(" since draft 2020-12; use prefixItems and items")],
  ["$recursiveRef", unsupported(" since draft 2020-12; use $ref")],
  ["$recursiveAnchor", unsupported(" since draft 2020-12; use $anchor")],
]);

function textLike(pattern: RegExp, problem: string): Build {
  return (value) => {
    if (typeof value !== "string" || !pattern.test(value)) throw new Error(problem);
    return null;
  };
}

function vocabularies(value: unknown): null {
  if (!entriesOf(value).every(([uri]) => VOCABULARIES.test(uri)))
    throw new Error("must name vocabularies of draft 2020-12 only");
  return null;
}

function definitions(value: unknown, { inner }: Compiler): null {
  for (const [name, schema] of entriesOf(value)) inner(schema, name);
  return null;
}

function typeCheck(value: unknown): Check {
  const types: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isValid = types.every((type) => typeof type === "string" && TYPES.has(type));
  if (types.length === 0 || !isValid || new Set(types).size < types.length)
    throw new Error(`must be one of ${[...TYPES].join(", ")}, or a list of them`);
  return (given) => types.some((type) => isOfType(given, type));
}

function equalTo(options: readonly unknown[]): Check {
  for (const option of options) requireExactNumbers(option);
  const known = new Set(options.map((option) => canonical(option, null)));
  return (given, work) => known.has(canonical(given, work));
}

function properties(value: unknown, { inner }: Compiler): Check {
  const checks = entriesOf(value).map(([name, schema]) => [name, inner(schema, name)] as const);
  return (given, work) =>
    !isObject(given) ||
    checks.every(([name, check]) => !Object.hasOwn(given, name) || check(given[name], work));
}

function patternProperties(value: unknown, { inner }: Compiler): Check {
  const checks = entriesOf(value).map(([name, schema]) => [patternOf(name), inner(schema, name)] as const);
  return (given, work) =>
    !isObject(given) ||
    Object.entries(given).every(([name, property]) =>
      checks.every(([pattern, check]) => !matches(pattern, name, work) || check(property, work)),
    );
}

function additionalProperties(value: unknown, { inner }: Compiler, schema: Schema): Check {
  const named = new Set(isObject(schema["properties"]) ? Object.keys(schema["properties"]) : []);
  const patterns = isObject(schema["patternProperties"])
    ? Object.keys(schema["patternProperties"]).map(patternOf)
    : [];
  const check = inner(value);
  return (given, work) =>
    !isObject(given) ||
    Object.entries(given).every(
      ([name, property]) =>
        named.has(name) || patterns.some((pattern) => matches(pattern, name, work)) || check(property, work),
    );
}

function hasAll(names: readonly string[]): Check {
  return (given) => !isObject(given) || names.every((name) => Object.hasOwn(given, name));
}

function dependents(compile: (dependent: unknown, name: string, compiler: Compiler) => Check): Build {
  return (value, compiler) => {
    const checks = entriesOf(value).map(([name, each]) => [name, compile(each, name, compiler)] as const);
    return (given, work) =>
      !isObject(given) || checks.every(([name, check]) => !Object.hasOwn(given, name) || check(given, work));
  };
}

function prefixItems(value: unknown, { inner }: Compiler): Check {
  const checks = schemasOf(value).map((schema, index) => inner(schema, index));
  return (given, work) =>
    !Array.isArray(given) ||
    checks.every((check, index) => index >= given.length || check(given[index], work));
}

function items(value: unknown, { inner }: Compiler, { prefixItems: prefix }: Schema): Check {
  const first = Array.isArray(prefix) ? prefix.length : 0;
  const check = inner(value);
  return (given, work) =>
    !Array.isArray(given) || given.every((item, index) => index < first || check(item, work));
}

function contains(value: unknown, { inner }: Compiler, { minContains, maxContains }: Schema): Check {
  const min = minContains === undefined ? 1 : countOf(minContains);
  const max = maxContains === undefined ? Infinity : countOf(maxContains);
  const check = inner(value);
  return (given, work) => {
    if (!Array.isArray(given)) return true;
    const count = given.filter((item) => check(item, work)).length;
    return count >= min && count <= max;
  };
}

function uniqueItems(value: unknown): Check | null {
  requireType(value, "boolean");
  if (value !== true) return null;
  return (given, work) =>
    !Array.isArray(given) || new Set(given.map((item) => canonical(item, work))).size === given.length;
}

function condition(value: unknown, { same, sibling }: Compiler): Check {
  const [check, then, otherwise] = [same(value), sibling("then"), sibling("else")];
  return (given, work) => (check(given, work) ? then : otherwise)?.(given, work) ?? true;
}

function size(
  sizeOf: (given: unknown) => number | null,
  isWithin: (size: number, count: number) => boolean,
): Build {
  return (value) => {
    const count = countOf(value);
    return (given) => {
      const actual = sizeOf(given);
      return actual === null || isWithin(actual, count);
    };
  };
}

function atLeast(actual: number, count: number): boolean {
  return actual >= count;
}

function atMost(actual: number, count: number): boolean {
  return actual <= count;
}

function bound(isWithin: (order: number) => boolean): Build {
  return (value) => {
    const limit = numberOf(value);
    return (given) => !isNumber(given) || isWithin(compareNumbers(given, limit));
  };
}

function combination(decide: (checks: readonly Check[], given: unknown, work: Work) => boolean): Build {
  return (value, { same }) => {
    const checks = schemasOf(value).map((schema, index) => same(schema, index));
    return (given, work) => decide(checks, given, work);
  };
}

function matches(pattern: LinearPattern, text: string, work: Work): boolean {
  spend(work, text.length);
  return pattern.test(text);
}

function patternOf(source: unknown): LinearPattern {
  if (typeof source !== "string") throw new Error("must be a string");
  return new LinearPattern(source);
}
