// Validates values with zod schemas and converts the issues to error details. Unknown names get a suggestion.
import { z } from "zod";
import { validationError, type ErrorDetail } from "../base/errors.ts";
import { nearestName } from "../base/nearest-name.ts";
import { shorten } from "../base/shorten.ts";
import { alternativeFor, alternativesOf, childSchema, unwrapSchema } from "./schema-walk.ts";

/** A response reports no more problems than these. */
export const MAX_DETAILS = 50;
const MAX_NAME_CHARACTERS = 100;

type Validated<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly details: ErrorDetail[] };

/** Returns the validated value, or throws a 400 with all problems. */
export function validate<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = check(schema, value);
  if (!result.ok) throw validationError(result.details);
  return result.value;
}

export function check<T>(schema: z.ZodType<T>, value: unknown): Validated<T> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  const details = result.error.issues.slice(0, MAX_DETAILS).flatMap((issue) => describeIssue(schema, issue));
  return { ok: false, details: details.slice(0, MAX_DETAILS) };
}

/**
 * Throws a 400 for unknown fields only. For a patch: its other fields are validated after merging. A patch may leave out the field
 * that selects the alternative of a discriminated union, so that the fields of all alternatives are known.
 */
export function rejectUnknownFields(schema: z.ZodType, value: unknown): void {
  const details = (schema.safeParse(value, { reportInput: true }).error?.issues ?? [])
    .flatMap((issue) => (issue.code === "unrecognized_keys" ? [withoutOtherAlternatives(schema, issue)] : []))
    .slice(0, MAX_DETAILS)
    .flatMap((issue) => describeIssue(schema, issue));
  if (details.length > 0) throw validationError(details.slice(0, MAX_DETAILS));
}

function withoutOtherAlternatives(
  root: z.ZodType,
  issue: z.core.$ZodIssueUnrecognizedKeys,
): z.core.$ZodIssueUnrecognizedKeys {
  const known = new Set(alternativesOf(schemaAt(root, issue.path)).flatMap(keysOf));
  return { ...issue, keys: issue.keys.filter((key) => !known.has(key)) };
}

/** `["targets", 1, "credentials"]` → `targets[1].credentials`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else text += (text === "" ? "" : ".") + shorten(String(key), MAX_NAME_CHARACTERS);
  }
  return text;
}

/** Returns the message for an unknown field, parameter, or other name, with the most similar known one. */
export function unknownNameMessage(name: string, known: Iterable<string>, what = "field"): string {
  const nearest = nearestName(name, known);
  return nearest === null ? `unknown ${what}` : `unknown ${what}; did you mean "${nearest}"?`;
}

function describeIssue(schema: z.ZodType, issue: z.core.$ZodIssue): ErrorDetail[] {
  if (issue.code === "unrecognized_keys") {
    const known = knownKeys(schema, issue.path, issue.input);
    return issue.keys.slice(0, MAX_DETAILS).map((key) => ({
      path: formatPath([...issue.path, key]),
      message: unknownNameMessage(key, known),
    }));
  }
  if (issue.code === "invalid_union") {
    const inner = issuesOfAlternative(issue);
    if (inner !== null)
      return inner.flatMap((each) => describeIssue(schema, { ...each, path: [...issue.path, ...each.path] }));
  }
  if (issue.code === "invalid_key") {
    return [{ path: formatPath(issue.path), message: issue.issues[0]?.message ?? "is not a valid name" }];
  }
  return [{ path: formatPath(issue.path), message: describeIssueMessage(issue) }];
}

function describeIssueMessage(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required";
      return `must be ${withArticle(issue.expected)}, not ${describeValue(issue.input)}`;
    case "invalid_value":
      return issue.input === undefined ? "is required" : describeValues(issue.values, issue.input);
    case "invalid_union":
      return describeUnion(issue);
    case "too_small":
      return isCustomMessage(issue.message) ? issue.message : describeBound(issue, "least", issue.minimum);
    case "too_big":
      return isCustomMessage(issue.message) ? issue.message : describeBound(issue, "most", issue.maximum);
    default:
      return issue.message;
  }
}

/** `must be at most 8`, `must have at most 8 entries` */
function describeBound({ origin }: { origin: string }, extreme: string, bound: number | bigint): string {
  const [one, many] = COUNTED[origin] ?? [];
  if (one === undefined || many === undefined) return `must be at ${extreme} ${bound}`;
  return `must have at ${extreme} ${bound} ${Number(bound) === 1 ? one : many}`;
}

function describeValues(values: readonly unknown[], input: unknown): string {
  const nearest = typeof input === "string" ? nearestName(input, values.map(String)) : null;
  const hint = nearest === null || values.length === 1 ? "" : `; did you mean "${nearest}"?`;
  const list = values.map((value) => JSON.stringify(value)).join(", ");
  return `must be ${values.length === 1 ? "" : "one of "}${list}${hint}`;
}

/** Returns the issues of the only alternative of a union that has the type of the value; null if there is none. */
function issuesOfAlternative({ errors }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | null {
  const ofType = errors.filter((issues) => !issues.some(isOfAnotherType));
  const [only = null] = ofType;
  return ofType.length === 1 ? only : null;
}

function isOfAnotherType({ path, code }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}

/** The issue of a discriminated union has the values of the field that selects the alternative. */
function describeUnion(issue: z.core.$ZodIssueInvalidUnion): string {
  const { options, discriminator } = "options" in issue ? issue : {};
  if (options === undefined || discriminator === undefined) return describeAlternatives(issue);
  const { input } = issue;
  const given: unknown =
    typeof input === "object" && input !== null ? Reflect.get(input, discriminator) : undefined;
  const values = options.filter((each) => each !== undefined && each !== null);
  return given === undefined ? "is required" : describeValues(values, given);
}

/** `must be "p95" or a number, not a boolean` */
function describeAlternatives({ errors, input }: z.core.$ZodIssueInvalidUnion): string {
  if (input === undefined) return "is required";
  const names = errors.flatMap(([first]) => {
    if (first?.code === "invalid_type") return withArticle(first.expected);
    return first?.code === "invalid_value" ? first.values.map((value) => JSON.stringify(value)) : [];
  });
  return `must be ${[...new Set(names)].join(" or ")}, not ${describeValue(input)}`;
}

/** Default messages of zod start with a capital letter. Ours do not, because they follow a path. */
function isCustomMessage(message: string): boolean {
  return /^[a-z"]/.test(message);
}

/** What the size of a value counts, by its type. */
const COUNTED: Record<string, readonly [one: string, many: string]> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
};

const ARTICLES: Record<string, string> = {
  int: "a whole number",
  record: "an object",
  object: "an object",
  array: "an array",
};

function withArticle(expected: string): string {
  return ARTICLES[expected] ?? `a ${expected}`;
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a fraction";
  return withArticle(typeof value);
}

/** Returns the field names of the object schema at `path`, looking through defaults, arrays, and other wrappers. */
function knownKeys(root: z.ZodType, path: readonly PropertyKey[], value: unknown): string[] {
  return keysOf(alternativeFor(schemaAt(root, path), value));
}

function schemaAt(root: z.ZodType, path: readonly PropertyKey[]): unknown {
  let schema = unwrapSchema(root);
  for (const key of path) schema = unwrapSchema(childSchema(schema, key));
  return schema;
}

function keysOf(schema: unknown): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}
