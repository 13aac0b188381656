// The rules of a gateway, compiled for matching: exact paths in one lookup, parameters and prefixes in a walk over the
// segments of the path, however many rules there are.
import type { CompiledRule } from "./compiled-rule.ts";

interface Segment {
  readonly literals: Map<string, Segment>;
  parameter: Segment | null;
  /** Rules whose pattern ends here. */
  readonly complete: CompiledRule[];
  /** Rules whose pattern ends here with `/*`. */
  readonly prefixes: CompiledRule[];
}

/** What a gateway's rules say of a request. */
export type RouteMatch =
  | { readonly rule: CompiledRule }
  /** Methods that would match; empty: no rule has this path. */
  | { readonly rule: null; readonly allowed: readonly string[] };

const NOTHING: RouteMatch = Object.freeze({ rule: null, allowed: Object.freeze([]) });

export class RouteTable {
  /** The keys under which a snapshot lists this gateway; see `routeKeysFor`. */
  readonly keys: readonly string[];
  /** The most literal segments before the first parameter or `*` of any pattern; -1 if all paths are exact. */
  readonly patternDepth: number;
  readonly #exact = new Map<string, CompiledRule[]>();
  readonly #patterns: Segment = newSegment();
  readonly #hasPatterns: boolean;

  /** `rules` in their order of precedence: priority, then number of headers, then age. */
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
    this.#hasPatterns = rules.some((rule) => rule.pathKind !== "exact");
  }

  /** Exact beats parameters, parameters beat prefixes, the longer prefix wins; then the rules' precedence. */
  match(path: string, method: string, headers: Headers): RouteMatch {
    const exact = this.#exact.get(path);
    const best = exact === undefined ? undefined : firstMatching(exact, method, headers);
    if (best !== undefined) return { rule: best };
    if (!this.#hasPatterns) return exact === undefined ? NOTHING : refused(exact, headers);
    const { complete, prefixes } = this.#patternsFor(path);
    // Most requests have found their rule before the prefixes need an order.
    const rule =
      firstMatching(complete, method, headers) ?? firstMatching(longestFirst(prefixes), method, headers);
    if (rule !== undefined) return { rule };
    return refused([...(exact ?? []), ...complete, ...prefixes.flat()], headers);
  }

  /** Every rule whose path fits, in the order in which `match` asks them for method and headers. */
  candidates(path: string): CompiledRule[] {
    const { complete, prefixes } = this.#patternsFor(path);
    return [...(this.#exact.get(path) ?? []), ...complete, ...longestFirst(prefixes)];
  }

  /** Patterns that fit as a whole, by precedence, and prefixes by their depth. */
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
  headers: Headers,
): CompiledRule | undefined {
  for (const rule of rules) if (rule.methods.has(method) && hasHeaders(rule, headers)) return rule;
  return undefined;
}

function hasHeaders(rule: CompiledRule, headers: Headers): boolean {
  return missingHeader(rule, headers) === null;
}

/** The first header that the rule asks for and the request lacks, or has with another value. */
export function missingHeader(rule: CompiledRule, headers: Headers): string | null {
  for (const [name, value] of rule.headers) {
    const given = headers.get(name);
    if (given === null || (value !== "*" && given !== value)) return name;
  }
  return null;
}

function refused(rules: readonly CompiledRule[], headers: Headers): RouteMatch {
  const allowed = new Set<string>();
  for (const rule of rules)
    if (hasHeaders(rule, headers)) for (const method of rule.methods) allowed.add(method);
  return allowed.size === 0 ? NOTHING : { rule: null, allowed: [...allowed] };
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

/** Depth is bounded by the longest pattern, not by the path. `prefixes` gets one list a depth, shallow ones first. */
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
