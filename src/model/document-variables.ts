// References to the environment in a document: ${NAME}, ${NAME:-default}, and $${ for a literal ${.
import type { ErrorDetail } from "../base/errors.ts";
import { convertVariable, type SettingsSchemaOf } from "./document-types.ts";
import { formatPath } from "./validate.ts";

/** A reference to a variable that is not set. */
export interface UnsetVariable {
  readonly path: string;
  readonly name: string;
  readonly hasDefault: boolean;
}

const REFERENCE_OR_ESCAPE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const ONLY_REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}$/;
const REFERENCE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** Escapes a literal text, so that a document does not treat it as a reference. */
export function escapeReferences(text: string): string {
  return text.replaceAll("${", () => "$${"); // a function, because `$$` in a replacement string means one `$`
}

/**
 * Returns a copy of a value with `change` applied to every string in it. `start` is the place of the value. The keys that `change` gets
 * are valid during the call only.
 */
export function mapTexts(
  value: unknown,
  change: (text: string, keys: readonly PropertyKey[]) => unknown,
  start: readonly PropertyKey[] = [],
): unknown {
  const keys = [...start];
  const at = (key: PropertyKey, item: unknown) => {
    keys.push(key);
    const mapped = map(item);
    keys.pop();
    return mapped;
  };
  const map = (each: unknown): unknown => {
    if (typeof each === "string") return change(each, keys);
    if (Array.isArray(each)) return each.map((item, index) => at(index, item));
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, item]) => [key, at(key, item)]));
  };
  return map(value);
}

/** A document without references. */
interface ResolvedDocument {
  readonly document: unknown;
  readonly problems: ErrorDetail[];
}

/**
 * Replaces references with the values of variables. The result still has `$${` for a literal `${`. An empty variable
 * counts as unset, because compose files and CI systems set a variable without a value to "".
 */
export function resolveVariables(
  document: unknown,
  environment: Readonly<Record<string, string | undefined>>,
  settingsOf: SettingsSchemaOf = () => undefined,
): ResolvedDocument & { readonly unset: UnsetVariable[] } {
  const unset: UnsetVariable[] = [];
  const problems: ErrorDetail[] = [];
  const resolved = mapTexts(document, (text, keys) => {
    if (!text.includes("${")) return text;
    const path = formatPath(keys);
    const [, onlyName = null, onlyDefault] = ONLY_REFERENCE.exec(text) ?? [];
    const replaced = replaceReferences(text, path, problems, (name, fallback) => {
      const value = environment[name] ?? "";
      if (value !== "") return value;
      unset.push({ path, name, hasDefault: fallback !== undefined });
      return fallback ?? "";
    });
    const isSet = (environment[onlyName ?? ""] ?? "") !== "";
    if (onlyName !== null && (isSet || onlyDefault !== undefined)) {
      const converted = convertVariable(replaced, keys, document, settingsOf, describe(onlyName, !isSet));
      if ("problem" in converted) problems.push({ path, message: converted.problem });
      else if (typeof converted.value !== "string") return converted.value;
    }
    // Escape the whole text: one variable may end with $ and the text after it may start with {.
    return escapeReferences(replaced);
  });
  return { document: resolved, unset, problems };
}

/** Replaces references with their defaults, for a server that cannot read the environment of the client. */
export function applyDefaults(
  document: unknown,
  settingsOf: SettingsSchemaOf = () => undefined,
): ResolvedDocument {
  return applyDefaultsAt([], document, document, settingsOf);
}

/** Like `applyDefaults`, but for one value of the document. */
export function applyDefaultsAt(
  place: readonly PropertyKey[],
  value: unknown,
  document: unknown,
  settingsOf: SettingsSchemaOf,
): ResolvedDocument {
  const problems: ErrorDetail[] = [];
  const resolve = (text: string, keys: readonly PropertyKey[]) => {
    if (!text.includes("${")) return text;
    const path = formatPath(keys);
    const replaced = replaceReferences(text, path, problems, (name, fallback) => {
      if (fallback !== undefined) return fallback;
      const message = `refers to \${${name}}, which only gatehouse apply can replace; send the value itself`;
      problems.push({ path, message });
      return "";
    });
    const [, name = null, fallback] = ONLY_REFERENCE.exec(text) ?? [];
    if (name === null || fallback === undefined) return replaced;
    const converted = convertVariable(replaced, keys, document, settingsOf, describe(name, true));
    if ("value" in converted) return converted.value;
    problems.push({ path, message: converted.problem });
    return replaced;
  };
  return { document: mapTexts(value, resolve, place), problems };
}

function describe(name: string, isDefault: boolean): string {
  return `${isDefault ? "the default of " : ""}\${${name}}`;
}

function replaceReferences(
  text: string,
  path: string,
  problems: ErrorDetail[],
  valueOf: (name: string, fallback: string | undefined) => string,
): string {
  return text.replaceAll(
    REFERENCE_OR_ESCAPE,
    (match: string, inside: string | undefined, end: string | undefined) => {
      if (inside === undefined) return "${";
      const [, name, fallback] = (end === "}" ? REFERENCE.exec(inside) : null) ?? [];
      if (name !== undefined && fallback?.includes("${") !== true) return valueOf(name, fallback);
      const message = `has "${match.slice(0, 40)}", which is not a reference such as \${NAME} or \${NAME:-default}; write $\${ for a literal \${`;
      problems.push({ path, message });
      return "";
    },
  );
}
