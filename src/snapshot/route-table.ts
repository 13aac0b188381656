// The rules of a gateway, compiled for matching. An exact path takes one lookup; parameters and prefixes take a walk
// over the segments of the path. Neither depends on the number of rules.
import type { ReadableFields } from "../base/readable-fields.ts";
import type { CompiledRule } from "./compiled-rule.ts";

interface Segment {
  readonly literals: Map<string, Segment>;
  parameter: Segment | null;
  /** Rules whose pattern ends here. */
  readonly complete: CompiledRule[];
  /** Rules whose pattern ends here with `/*`. */
  readonly prefixes: CompiledRule[];
}

/** The result of matching a request against the rules of a gateway. */
type RouteMatch =
  | { readonly rule: CompiledRule }
  /** The methods that would match; empty if no rule has this path. */
  | { readonly rule: null; readonly allowed: readonly string[] };

const NO_MATCH: RouteMatch = Object.freeze({ rule: null, allowed: Object.freeze([]) });

export class RouteTable {
  /** The keys under which a snapshot lists this gateway; see `routeKeysFor`. */
  readonly keys: readonly string[];
  /** The most literal segments before the first parameter or `*` of any pattern; -1 if all paths are exact. */
  readonly patternDepth: number;
  readonly #exact = new Map<string, CompiledRule[]>();
  readonly #patterns: Segment = newSegment();

  /** `rules` must be in order of precedence: priority, then number of headers, then age. */
  constructor(rules: readonly CompiledRule[]) {
    const keys = new Set<string>();
    let depth = -1;
    for (const rule of rules) {
      const { path } = rule.rule;
      for (const method of rule.methods) keys.add(routeKeyOf(path, method));
      depth = Math.max(depth, patternDepthOf(path));
      if (rule.pathKind === "exact") this.#exact.set(path, [...(this.#exact.get(path) ?? []), rule]);
      else addPattern(this.#patterns, rule);
    }
    this.keys = [...keys];
    this.patternDepth = depth;
  }

  /** Exact paths win over parameters, parameters over prefixes, longer prefixes over shorter ones; then precedence. */
  match(path: string, method: string, headers: ReadableFields): RouteMatch {
    const exact = this.#exact.get(path);
    const best = exact === undefined ? undefined : firstMatching(exact, method, headers);
    if (best !== undefined) return { rule: best };
    if (this.patternDepth < 0) return exact === undefined ? NO_MATCH : withOtherMethod(exact, headers);
    const { complete, prefixes } = this.#patternsFor(path);
    // Most requests match before the prefixes are needed, so these are sorted only then.
    const rule =
      firstMatching(complete, method, headers) ?? firstMatching(longestFirst(prefixes), method, headers);
    if (rule !== undefined) return { rule };
    return withOtherMethod([...(exact ?? []), ...complete, ...prefixes.flat()], headers);
  }

  /** Every rule whose path matches, in the order in which `match` checks their methods and headers. */
  candidates(path: string): CompiledRule[] {
    const { complete, prefixes } = this.#patternsFor(path);
    return [...(this.#exact.get(path) ?? []), ...complete, ...longestFirst(prefixes)];
  }

  /** Patterns that match the whole path, by precedence, and prefixes, by depth. */
  #patternsFor(path: string): { complete: CompiledRule[]; prefixes: CompiledRule[][] } {
    const complete: CompiledRule[] = [];
    const prefixes: CompiledRule[][] = [];
    collect(this.#patterns, path.split("/"), 1, complete, prefixes);
    return { complete: complete.sort(byPrecedence), prefixes };
  }
}

function longestFirst(prefixes: readonly CompiledRule[][]): CompiledRule[] {
  return prefixes.toReversed().flatMap((level) => level?.sort(byPrecedence) ?? []);
}

function byPrecedence(a: CompiledRule, b: CompiledRule): number {
  return a.precedence - b.precedence;
}

function firstMatching(
  rules: readonly CompiledRule[],
  method: string,
  headers: ReadableFields,
): CompiledRule | undefined {
  for (const rule of rules) if (rule.methods.has(method) && hasHeaders(rule, headers)) return rule;
  return undefined;
}

function hasHeaders(rule: CompiledRule, headers: ReadableFields): boolean {
  return missingHeader(rule, headers) === null;
}

/** Returns the first header that the rule requires and that is missing from the request or has another value. */
export function missingHeader(rule: CompiledRule, headers: ReadableFields): string | null {
  for (const [name, value] of rule.headers) {
    const given = headers.get(name);
    if (given === null || (value !== "*" && given !== value)) return name;
  }
  return null;
}

/** The result for a request whose method does not match: the methods of the rules that match otherwise. */
function withOtherMethod(rules: readonly CompiledRule[], headers: ReadableFields): RouteMatch {
  const allowed = new Set<string>();
  for (const rule of rules)
    if (hasHeaders(rule, headers)) for (const method of rule.methods) allowed.add(method);
  return allowed.size === 0 ? NO_MATCH : { rule: null, allowed: [...allowed] };
}

function newSegment(): Segment {
  return { literals: new Map(), parameter: null, complete: [], prefixes: [] };
}

function addPattern(root: Segment, rule: CompiledRule): void {
  const segments = rule.rule.path.slice(1).split("/");
  if (rule.pathKind === "prefix") segments.pop();
  let at = root;
  for (const segment of segments) {
    if (segment.startsWith("{")) at = at.parameter ??= newSegment();
    else {
      const next = at.literals.get(segment) ?? newSegment();
      at.literals.set(segment, next);
      at = next;
    }
  }
  (rule.pathKind === "prefix" ? at.prefixes : at.complete).push(rule);
}

/**
 * Collects the rules that match from `depth` on. The recursion is as deep as the longest pattern, however long the path
 * is. `prefixes` receives one list per depth, shallow ones first.
 */
function collect(
  at: Segment,
  path: readonly string[],
  depth: number,
  complete: CompiledRule[],
  prefixes: CompiledRule[][],
): void {
  if (at.prefixes.length > 0) (prefixes[depth] ??= []).push(...at.prefixes);
  const segment = path[depth];
  if (segment === undefined) {
    complete.push(...at.complete);
    return;
  }
  const literal = at.literals.get(segment);
  if (literal !== undefined) collect(literal, path, depth + 1, complete, prefixes);
  if (at.parameter !== null && segment !== "") collect(at.parameter, path, depth + 1, complete, prefixes);
}

const WILDCARD = /\/(?:\{|\*$)/;

/**
 * The key under which a snapshot lists the gateways that have a rule with this path and method: the whole path of an
 * exact rule, otherwise the literal segments before the first parameter or `*`.
 */
export function routeKeyOf(pattern: string, method: string): string {
  const wildcardAt = pattern.search(WILDCARD);
  return wildcardAt < 0 ? `${method}=${pattern}` : `${method}^${pattern.slice(0, wildcardAt)}`;
}

/** The number of literal segments before the first parameter or `*`; -1 for an exact path. */
export function patternDepthOf(pattern: string): number {
  const wildcardAt = pattern.search(WILDCARD);
  return wildcardAt < 0 ? -1 : pattern.slice(0, wildcardAt).split("/").length - 1;
}

/**
 * Every key under which a rule that matches this request can be listed. `patternDepth` is that of the deepest pattern:
 * without it, a path of thousands of segments would lead to as many keys.
 */
export function routeKeysFor(path: string, method: string, patternDepth: number): string[] {
  const keys = [`${method}=${path}`];
  if (patternDepth >= 0) keys.push(`${method}^`);
  for (let depth = 1, end = 0; depth <= patternDepth && end >= 0 && path !== "/"; depth++) {
    end = path.indexOf("/", end + 1);
    keys.push(`${method}^${end < 0 ? path : path.slice(0, end)}`);
  }
  return keys;
}
