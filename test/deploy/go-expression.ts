// Evaluates the expressions of Go templates: fields, variables, literals, calls and pipelines of the functions below.
import { createHash } from "node:crypto";

export interface Scope {
  readonly dot: unknown;
  readonly root: unknown;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly include: (name: string, dot: unknown) => string;
}

const FUNCTIONS: Record<string, ((...values: never[]) => unknown) | undefined> = {
  quote: (value: unknown) => JSON.stringify(plain(value)),
  toJson: (value: unknown) => JSON.stringify(sorted(value)),
  toYaml: (value: unknown) => Bun.YAML.stringify(value, null, 2).trimEnd(),
  nindent: (spaces: number, text: string) => `\n${text.replace(/^/gm, " ".repeat(spaces))}`,
  sha256sum: (text: string) => createHash("sha256").update(text).digest("hex"),
  trunc: (length: number, text: string) => text.slice(0, length),
  trimSuffix: (suffix: string, text: string) =>
    text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text,
  printf: (format: string, ...values: string[]) =>
    values.reduce((text, value) => text.replace("%s", value), format),
  contains: (part: string, text: string) => text.includes(part),
  default: (fallback: unknown, value: unknown) => (truth(value) ? value : fallback),
  required: (sentence: string, value: unknown) => {
    if (value === undefined || value === null || value === "") throw new Error(sentence);
    return value;
  },
  not: (value: unknown) => !truth(value),
  kindIs: (kind: string, value: unknown) => kind === typeof value,
  int: (value: unknown) => Math.trunc(Number(value ?? 0)),
  add: (...values: number[]) => values.reduce((sum, value) => sum + value, 0),
  div: (value: number, by: number) => Math.trunc(value / by),
};

/** As Go's templates see it: empty texts, lists and maps are false. */
export function truth(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

export function expression(code: string, scope: Scope): unknown {
  const tokens = code.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? [];
  let at = 0;

  const pipeline = (): unknown => {
    let value = command([]);
    while (tokens[at] === "|") {
      at++;
      value = command([value]);
    }
    return value;
  };
  /** A call with its arguments, the piped value last; or a single value. */
  const command = (piped: unknown[]): unknown => {
    const word = tokens[at] ?? "";
    if (!/^[a-z]\w*$/i.test(word) || word === "true" || word === "false") {
      if (piped.length > 0) throw new Error(`${code}: ${word} is no function`);
      return operand();
    }
    at++;
    const values: unknown[] = [];
    while (at < tokens.length && tokens[at] !== "|" && tokens[at] !== ")") values.push(operand());
    values.push(...piped);
    if (word === "include") return scope.include(String(values[0]), values[1]);
    const called = FUNCTIONS[word];
    if (called === undefined) throw new Error(`${code}: the function ${word} is not known here`);
    return called(...(values as never[]));
  };
  const operand = (): unknown => {
    const token = tokens[at++] ?? "";
    if (token === "(") {
      const value = pipeline();
      if (tokens[at++] !== ")") throw new Error(`${code}: a parenthesis is missing`);
      return value;
    }
    if (token.startsWith('"')) return JSON.parse(token);
    if (/^\d+$/.test(token)) return Number(token);
    if (token === "true" || token === "false") return token === "true";
    const [first = "", ...path] = token.split(".");
    if (token === ".") return scope.dot;
    if (first === "") return walk(scope.dot, path, code);
    if (first === "$") return walk(scope.root, path, code);
    if (first in scope.variables) return walk(scope.variables[first], path, code);
    throw new Error(`${code}: ${token} is not known here`);
  };

  const value = pipeline();
  if (at < tokens.length) throw new Error(`${code}: ${tokens[at] ?? ""} is one too many`);
  return value;
}

/** Stricter than Helm: a field that the values do not declare is a mistake of the template. */
function walk(from: unknown, path: readonly string[], code: string): unknown {
  let value = from;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !(name in value))
      throw new Error(`${code}: there is no field ${name}`);
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function plain(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Error("only plain values are quoted");
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, sorted(item)]));
}
