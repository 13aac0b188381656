// References to the environment in a document: ${NAME}, ${NAME:-default}, and $${ for a literal ${.
import type { ErrorDetail } from "../base/errors.ts";
import { formatPath } from "./validate.ts";

/** A reference to a variable that is not set. */
export interface UnsetVariable {
  readonly path: string;
  readonly name: string;
  readonly hasDefault: boolean;
}

const REFERENCE_OR_ESCAPE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const REFERENCE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** Escapes a literal text, so that a document does not treat it as a reference. */
export function escapeReferences(text: string): string {
  return text.replaceAll("${", () => "$${"); // a function, because `$$` in a replacement string means one `$`
}

/** Returns a copy of a value with `change` applied to every string in it. */
export function mapTexts(
  value: unknown,
  change: (text: string, path: string) => unknown,
  path: readonly PropertyKey[] = [],
): unknown {
  if (typeof value === "string") return change(value, formatPath(path));
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, change, [...path, index]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapTexts(item, change, [...path, key])]),
  );
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
): ResolvedDocument & { readonly unset: UnsetVariable[] } {
  const unset: UnsetVariable[] = [];
  const problems: ErrorDetail[] = [];
  const resolved = mapTexts(document, (text, path) => {
    const replaced = replaceReferences(text, path, problems, (name, fallback) => {
      const value = environment[name] ?? "";
      if (value !== "") return value;
      unset.push({ path, name, hasDefault: fallback !== undefined });
      return fallback ?? "";
    });
    // Escape the whole text: one variable may end with $ and the text after it may start with {.
    return escapeReferences(replaced);
  });
  return { document: resolved, unset, problems };
}

/** Replaces references with their defaults, for a server that cannot read the environment of the client. */
export function applyDefaults(document: unknown): ResolvedDocument {
  const problems: ErrorDetail[] = [];
  const resolved = mapTexts(document, (text, path) =>
    replaceReferences(text, path, problems, (name, fallback) => {
      if (fallback !== undefined) return fallback;
      const message = `refers to \${${name}}, which only gatehouse apply can replace; send the value itself`;
      problems.push({ path, message });
      return "";
    }),
  );
  return { document: resolved, problems };
}

function replaceReferences(
  text: string,
  path: string,
  problems: ErrorDetail[],
  valueOf: (name: string, fallback: string | undefined) => string,
): string {
  if (!text.includes("${")) return text;
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
