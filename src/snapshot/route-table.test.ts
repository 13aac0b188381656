// The route table against a naive implementation, with random rules and requests, and the documented examples.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  upstreamRecord,
} from "../../test/contract/store-records.ts";
import { compileContext } from "../../test/support/compile-context.ts";
import type { Rule } from "../model/rule.ts";
import { pathPatternProblem } from "../model/rule-path.ts";
import { compileGateway } from "./compile.ts";
import { patternDepthOf, routeKeyOf, routeKeysFor, type RouteTable } from "./route-table.ts";
import { runs } from "../../test/support/long-form.ts";

type RuleSketch = Pick<Rule, "path"> & Partial<Pick<Rule, "methods" | "priority" | "headers" | "active">>;

/** Returns the table of a gateway with these rules, oldest first. The id of a rule is its position in the list. */
function tableOf(sketches: readonly RuleSketch[]): RouteTable {
  const gateway = gatewayRecord();
  const upstream = upstreamRecord(gateway.id);
  const service = serviceRecord(gateway.id, upstream.id);
  const rules = sketches.map((sketch, age) =>
    ruleRecord(gateway.id, service.id, { ...sketch, id: idOf(age) }),
  );
  // Shuffled: the result must not depend on the order in which the store returns rules.
  rules.sort((a, b) => (Bun.hash(a.id) < Bun.hash(b.id) ? -1 : 1));
  const parts = {
    gateway,
    upstreams: [upstream],
    mcp_servers: [],
    services: [service],
    rules,
    models: [],
    budgets: [],
    game_days: [],
  };
  return compileGateway(parts, compileContext()).routes;
}

const idOf = (age: number) => String(age).padStart(4, "0");

function servedBy(
  rules: readonly RuleSketch[],
  path: string,
  { method = "POST", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): string | null {
  const { rule } = tableOf(rules).match(path, method, new Headers(headers));
  return rule === null ? null : (rules[Number(rule.id)]?.path ?? null);
}

describe("RouteTable, compared with a naive implementation", () => {
  const segment = fc.constantFrom("v1", "chat", "teams", "a", "V1");
  const patternSegment = fc.oneof(
    { weight: 3, arbitrary: segment },
    { weight: 2, arbitrary: fc.constantFrom("{p}", "{q}", "{r}") },
  );
  const pattern = fc
    .tuple(fc.array(patternSegment, { maxLength: 3 }), fc.constantFrom("", "/", "/*"))
    .map(([segments, end]) => `/${segments.join("/")}${end}`.replace("//", "/"))
    .filter((path) => pathPatternProblem(path) === null);
  const headers = fc.dictionary(fc.constantFrom("x-one", "x-two"), fc.constantFrom("*", "1", "2"));
  const rule = fc.record({
    path: pattern,
    methods: fc.uniqueArray(fc.constantFrom("GET" as const, "POST" as const), { minLength: 1 }),
    priority: fc.integer({ min: 0, max: 2 }),
    headers,
    active: fc.constantFrom(true, true, true, false),
  });
  const path = fc
    .tuple(fc.array(fc.oneof(segment, fc.constant("")), { maxLength: 4 }), fc.constantFrom("", "/"))
    .map(([segments, end]) => `/${segments.join("/")}${end}`);
  const requestHeaders = fc.dictionary(fc.constantFrom("x-one", "x-two"), fc.constantFrom("1", "2"));

  const hasPath = (sketch: RuleSketch, requested: string) => {
    const literal = sketch.path.replace(/\/\*$/, "").replaceAll(/\{\w+\}/g, "[^/]+");
    return new RegExp(`^${literal}${sketch.path.endsWith("/*") ? "(?:/.*)?" : ""}$`).test(requested);
  };
  const hasHeaders = (sketch: RuleSketch, given: Record<string, string>) =>
    Object.entries(sketch.headers ?? {}).every(([name, value]) =>
      value === "*" ? name in given : given[name] === value,
    );
  const kindOf = ({ path: text }: RuleSketch) => (text.endsWith("/*") ? 2 : text.includes("{") ? 1 : 0);
  const prefixLength = (sketch: RuleSketch) => (kindOf(sketch) === 2 ? sketch.path.split("/").length : 0);

  test("selects by exact path, parameters, longer prefix, priority, more headers, then age", () => {
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 12 }),
        path,
        fc.constantFrom("GET", "POST"),
        requestHeaders,
        (rules, requested, method, given) => {
          const onPath = rules
            .map((sketch, age) => ({ ...sketch, age }))
            .filter((each) => each.active && hasPath(each, requested) && hasHeaders(each, given));
          const [best] = onPath
            .filter((each) => (each.methods as string[]).includes(method))
            .sort(
              (a, b) =>
                kindOf(a) - kindOf(b) ||
                prefixLength(b) - prefixLength(a) ||
                a.priority - b.priority ||
                Object.keys(b.headers).length - Object.keys(a.headers).length ||
                a.age - b.age,
            );
          const match = tableOf(rules).match(requested, method, new Headers(given));
          if (best !== undefined) {
            expect(match.rule?.id).toBe(idOf(best.age));
            return;
          }
          if (match.rule !== null) throw new Error(`${match.rule.rule.path} serves ${requested}`);
          expect(match.allowed.toSorted()).toEqual(
            [...new Set(onPath.flatMap((each) => each.methods))].sort(),
          );
        },
      ),
      { numRuns: runs({ short: 600, long: 3000 }) },
    );
  }, 60_000);

  test("lists a gateway under a key of every request that one of its rules matches", () => {
    fc.assert(
      fc.property(rule, path, fc.nat({ max: 3 }), (sketch, requested, deeper) => {
        fc.pre(hasPath(sketch, requested));
        const depth = patternDepthOf(sketch.path);
        for (const method of sketch.methods) {
          const key = routeKeyOf(sketch.path, method);
          // Patterns of other gateways may be deeper.
          expect(routeKeysFor(requested, method, depth + deeper)).toContain(key);
        }
      }),
      { numRuns: runs({ short: 200, long: 1000 }) },
    );
  });
});

test("a request has one key if all paths are exact, and no more keys than the deepest pattern has segments", () => {
  expect(routeKeysFor("/v1/chat", "POST", -1)).toEqual(["POST=/v1/chat"]);
  expect(routeKeysFor("/v1/chat/", "GET", 2)).toEqual(["GET=/v1/chat/", "GET^", "GET^/v1", "GET^/v1/chat"]);
  expect(routeKeysFor("/", "GET", 2)).toEqual(["GET=/", "GET^"]);
  expect(routeKeysFor("/a".repeat(8000), "GET", 3)).toHaveLength(5);
});

describe("RouteTable", () => {
  test("matches exact paths, parameter segments, and prefixes", () => {
    const rules = [{ path: "/v1/chat" }, { path: "/teams/{team}/chat" }, { path: "/v1/*" }];
    expect(servedBy(rules, "/v1/chat")).toBe("/v1/chat");
    expect(servedBy(rules, "/teams/red/chat")).toBe("/teams/{team}/chat");
    expect(servedBy(rules, "/teams/red/blue/chat")).toBeNull();
    expect(servedBy(rules, "/teams//chat")).toBeNull();
    expect(servedBy(rules, "/v1/other/thing")).toBe("/v1/*");
  });

  test("/v1/* matches /v1 and every path below it, but not /v1beta", () => {
    const rules = [{ path: "/v1/*" }];
    for (const path of ["/v1", "/v1/", "/v1/a", "/v1/a/b/c", "/v1//"])
      expect(servedBy(rules, path)).toBe("/v1/*");
    for (const path of ["/v1beta", "/v", "/", "/V1", "/v1beta/a"]) expect(servedBy(rules, path)).toBeNull();
  });

  test("a trailing slash is significant in other patterns", () => {
    const rules = [{ path: "/chat" }, { path: "/teams/{team}" }, { path: "/slash/" }];
    expect(servedBy(rules, "/chat/")).toBeNull();
    expect(servedBy(rules, "/teams/red/")).toBeNull();
    expect(servedBy(rules, "/teams/")).toBeNull();
    expect(servedBy(rules, "/slash")).toBeNull();
    expect(servedBy(rules, "/slash/")).toBe("/slash/");
  });

  test("skips a rule whose method or headers do not match, even if its path matches better", () => {
    const rules = [
      { path: "/v1/chat", methods: ["GET" as const] },
      { path: "/v1/{what}", headers: { "x-beta": "1" } },
      { path: "/v1/*" },
    ];
    expect(servedBy(rules, "/v1/chat")).toBe("/v1/*");
    expect(servedBy(rules, "/v1/chat", { headers: { "X-Beta": "1" } })).toBe("/v1/{what}");
    expect(servedBy(rules, "/v1/chat", { method: "GET" })).toBe("/v1/chat");
  });
});
