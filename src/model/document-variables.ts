// References to the environment in a document: ${NAME}, ${NAME:-default}, and $${ for a literal ${.
import type { ErrorDetail } from "../base/errors.ts";
import { formatPath } from "./validate.ts";

/** A reference whose variable is not set. */
export interface UnsetVariable {
  readonly path: string;
  readonly name: string;
  readonly hasDefault: boolean;
}

const MARK = /\$\$\{|\$\{([^}]*)(\}?)/g;
const REFERENCE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** The text of a value that a document holds as it is. */
export function escapeReferences(text: string): string {
  return text.replaceAll("${", () => "$${"); // a function: in a replacement text $$ would be one $
}

/** Applies a function to every text of a value. */
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

/**
 * Puts variables in. What is left is a document without references, still with `$${` for a literal `${`. A variable
 * that is set to nothing counts as unset: that is what compose files and CI systems make of one they do not know.
 */
export function resolveVariables(
  document: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly document: unknown; readonly unset: UnsetVariable[]; readonly faults: ErrorDetail[] } {
  const unset: UnsetVariable[] = [];
  const problems: ErrorDetail[] = [];
  const resolved = mapTexts(document, (text, path) => {
    const put = replaceMarks(text, path, problems, (name, fallback) => {
      const value = environment[name] ?? "";
      if (value !== "") return value;
      unset.push({ path, name, hasDefault: fallback !== undefined });
      return fallback ?? "";
    });
    // As a whole: one variable may end with $ and the next begin with {.
    return escapeReferences(put);
  });
  return { document: resolved, unset, faults: problems };
}

/** For whoever has no environment to look into: defaults hold, and a reference without one is a fault. */
export function settleReferences(document: unknown): {
  readonly document: unknown;
  readonly faults: ErrorDetail[];
} {
  const problems: ErrorDetail[] = [];
  const settled = mapTexts(document, (text, path) =>
    replaceMarks(text, path, problems, (name, fallback) => {
      if (fallback !== undefined) return fallback;
      const message = `refers to \${${name}}, which gatehouse apply puts in; here the value itself is needed`;
      problems.push({ path, message });
      return "";
    }),
  );
  return { document: settled, faults: problems };
}

function replaceMarks(
  text: string,
  path: string,
  problems: ErrorDetail[],
  put: (name: string, fallback: string | undefined) => string,
): string {
  if (!text.includes("${")) return text;
  return text.replaceAll(MARK, (mark: string, inside: string | undefined, end: string | undefined) => {
    if (inside === undefined) return "${";
    const [, name, fallback] = (end === "}" ? REFERENCE.exec(inside) : null) ?? [];
    if (name !== undefined && fallback?.includes("${") !== true) return put(name, fallback);
    const message = `has "${mark.slice(0, 40)}", which is no reference like \${NAME} or \${NAME:-default}; a literal \${ is written $\${`;
    problems.push({ path, message });
    return "";
  });
}
