// The reasons why a rule does not serve, by hand; that the right one serves is the route table's to test.
import { describe, expect, test } from "bun:test";
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

/** By id, which is the rule's place in the list. */
function explained(
  sketches: readonly Partial<Rule>[],
  asked: { path: string; method?: string; headers?: Record<string, string> },
): ExplainedRule[] {
  const gateway = gatewayRecord();
  const upstream = upstreamRecord(gateway.id);
  const service = serviceRecord(gateway.id, upstream.id);
  const rules = sketches.map((sketch, age) =>
    ruleRecord(gateway.id, service.id, { methods: ["POST"], ...sketch, id: `r${age}` }),
  );
  const parts = { gateway, upstreams: [upstream], services: [service], rules };
  const compiled = compileGateway(parts, compileContext());
  const exchange = exchangeFor(explainRequestSchema.parse(asked), EMPTY_SNAPSHOT);
  const { rule } = compiled.routes.match(exchange.path, exchange.method, exchange.request.headers);
  return explainRules(exchange, compiled, rule, null);
}

function reasons(...words: Parameters<typeof explained>): Record<string, string> {
  return Object.fromEntries(explained(...words).map(({ id, reason }) => [id, reason]));
}

describe("the first difference", () => {
  test("activity, path, method and headers, in that order", () => {
    const sketches: Partial<Rule>[] = [
      { path: "/a", active: false },
      { path: "/b", methods: ["GET"] },
      { path: "/a", methods: ["GET", "PUT"], headers: { "x-team": "red" } },
      { path: "/a", headers: { "X-Team": "red" } },
      { path: "/a/*", headers: { "x-other": "*" } },
      { path: "/*" },
    ];
    expect(reasons(sketches, { path: "/a?q=1", headers: { "x-team": "blue" } })).toEqual({
      r0: "the rule is not active",
      r1: "the path /a does not fit",
      r2: "POST is not among its methods, GET, PUT",
      r3: 'the header x-team is not "red"',
      r4: "the header x-other is missing",
      r5: "it serves this request",
    });
  });

  test("the kind of path, the length of a prefix, priority, headers, age", () => {
    const why = (serving: Partial<Rule>, other: Partial<Rule>, headers: Record<string, string> = {}) => {
      const [first, second] = explained([serving, other], { path: "/a/b", headers });
      expect(first).toMatchObject({ id: "r0", matched: true });
      expect(second?.matched).toBe(false);
      return second?.reason.replace(/^.* serves before it: /, "");
    };
    expect(why({ path: "/a/b" }, { path: "/a/{x}" })).toBe("an exact path beats a path with parameters");
    expect(why({ path: "/a/{x}" }, { path: "/a/*" })).toBe("a path with parameters beats a prefix");
    expect(why({ path: "/a/*" }, { path: "/*" })).toBe("its prefix is longer");
    expect(why({ path: "/a/b" }, { path: "/a/b", priority: 3 })).toBe("its priority 0 comes before 3");
    const headers = { "x-team": "red" };
    expect(why({ path: "/a/b", headers }, { path: "/a/b" }, headers)).toBe(
      "it asks for more headers, 1 against 0",
    );
    expect(why({ path: "/a/b" }, { path: "/a/b" })).toBe("it is older");
  });

  test("the one that serves is named by its name, else by its path", () => {
    const named = [{ path: "/a", name: "chat rule" }, { path: "/*" }];
    expect(reasons(named, { path: "/a" })["r1"]).toStartWith('the rule "chat rule" (r0) serves before it');
    const unnamed = [{ path: "/a" }, { path: "/*" }];
    expect(reasons(unnamed, { path: "/a" })["r1"]).toStartWith("the rule /a (r0) serves before it");
  });
});

test("of many rules 200 are told, those that fit first", () => {
  const sketches = Array.from({ length: 500 }, (_, index) => ({ path: index === 499 ? "/*" : `/p${index}` }));
  const told = explained(sketches, { path: "/p450" });
  expect(told).toHaveLength(200);
  expect(told.slice(0, 2).map(({ id, matched }) => [id, matched])).toEqual([
    ["r450", true],
    ["r499", false],
  ]);
  const fitting = Array.from({ length: 500 }, () => ({ path: "/p" }));
  expect(explained(fitting, { path: "/p" })).toHaveLength(200);
});
