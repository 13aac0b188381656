// The reasons why a rule does not serve a request. route-table.test.ts checks that the right rule serves.
import { describe, expect, test } from "bun:test";
import { systemClock } from "../base/clock.ts";
import {
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  upstreamRecord,
} from "../../test/contract/store-records.ts";
import { compileContext } from "../../test/support/compile-context.ts";
import { explainRequestSchema, type ExplainedRule } from "../model/explanation.ts";
import type { Rule } from "../model/rule.ts";
import { compileGateway } from "../snapshot/compile.ts";
import { EMPTY_SNAPSHOT } from "../snapshot/snapshot.ts";
import { exchangeFor } from "./explain-request.ts";
import { explainRules } from "./explain-rules.ts";

/** Rule ids are `r0`, `r1`, … in the order of the list. */
function explained(
  sketches: readonly Partial<Rule>[],
  request: { path: string; method?: string; headers?: Record<string, string> },
): ExplainedRule[] {
  const gateway = gatewayRecord();
  const upstream = upstreamRecord(gateway.id);
  const service = serviceRecord(gateway.id, upstream.id);
  const rules = sketches.map((sketch, age) =>
    ruleRecord(gateway.id, service.id, { methods: ["POST"], ...sketch, id: `r${age}` }),
  );
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
  const compiled = compileGateway(parts, compileContext());
  const exchange = exchangeFor(explainRequestSchema.parse(request), EMPTY_SNAPSHOT, systemClock);
  const { rule } = compiled.routes.match(exchange.path, exchange.method, exchange.request.headers);
  return explainRules(exchange, compiled, rule, null);
}

function reasons(...parameters: Parameters<typeof explained>): Record<string, string> {
  return Object.fromEntries(explained(...parameters).map(({ id, reason }) => [id, reason]));
}

describe("the reason is the first difference", () => {
  test("in active state, path, method and headers", () => {
    const sketches: Partial<Rule>[] = [
      { path: "/a", active: false },
      { path: "/b", methods: ["GET"] },
      { path: "/a", methods: ["GET", "PUT"], headers: { "x-team": "red" } },
      { path: "/a", headers: { "X-Team": "red" } },
      { path: "/a/*", headers: { "x-other": "*" } },
      { path: "/*" },
    ];
    expect(reasons(sketches, { path: "/a?q=1", headers: { "x-team": "blue" } })).toEqual({
      r0: "rule is inactive",
      r1: "path /a does not match",
      r2: "method POST does not match; the rule has GET, PUT",
      r3: 'header x-team is not "red"',
      r4: "header x-other is missing",
      r5: "serves this request",
    });
  });

  test("in kind of path, prefix length, priority, headers and age", () => {
    const why = (serving: Partial<Rule>, other: Partial<Rule>, headers: Record<string, string> = {}) => {
      const [first, second] = explained([serving, other], { path: "/a/b", headers });
      expect(first).toMatchObject({ id: "r0", matched: true });
      expect(second?.matched).toBe(false);
      return second?.reason.replace(/^.* takes precedence: /, "");
    };
    expect(why({ path: "/a/b" }, { path: "/a/{x}" })).toBe("an exact path beats a path with parameters");
    expect(why({ path: "/a/{x}" }, { path: "/a/*" })).toBe("a path with parameters beats a prefix");
    expect(why({ path: "/a/*" }, { path: "/*" })).toBe("its prefix is longer");
    expect(why({ path: "/a/b" }, { path: "/a/b", priority: 3 })).toBe("its priority 0 is before 3");
    const headers = { "x-team": "red" };
    expect(why({ path: "/a/b", headers }, { path: "/a/b" }, headers)).toBe(
      "it requires more headers (1 instead of 0)",
    );
    expect(why({ path: "/a/b" }, { path: "/a/b" })).toBe("it is older");
  });

  test("the serving rule is identified by its name, else by its path", () => {
    const named = [{ path: "/a", name: "chat rule" }, { path: "/*" }];
    expect(reasons(named, { path: "/a" })["r1"]).toStartWith('rule "chat rule" (r0) takes precedence');
    const unnamed = [{ path: "/a" }, { path: "/*" }];
    expect(reasons(unnamed, { path: "/a" })["r1"]).toStartWith("rule /a (r0) takes precedence");
  });
});

test("lists at most 200 rules, those whose path matches first", () => {
  const sketches = Array.from({ length: 500 }, (_, index) => ({ path: index === 499 ? "/*" : `/p${index}` }));
  const listed = explained(sketches, { path: "/p450" });
  expect(listed).toHaveLength(200);
  expect(listed.slice(0, 2).map(({ id, matched }) => [id, matched])).toEqual([
    ["r450", true],
    ["r499", false],
  ]);
  const matching = Array.from({ length: 500 }, () => ({ path: "/p" }));
  expect(explained(matching, { path: "/p" })).toHaveLength(200);
});
