// Names inside a document: duplicates, missing references, and the rules that a policy refers to.
import { describe, expect, test } from "bun:test";
import { linkProblems } from "./document-links.ts";
import { documentSchema } from "./document.ts";
import { ruleLabel, RuleNames } from "./rule-names.ts";
import { validate } from "./validate.ts";

const upstream = (name: string) => ({ name, targets: [{ provider: "openai" }] });
const rule = (fields: object) => ({ service: "s", path: "/a", methods: ["POST"], ...fields });
const whole = { upstreams: [upstream("u")], services: [{ name: "s", upstream: "u" }] };

function problemsOf(...gateways: object[]): Record<string, string> {
  const document = validate(documentSchema, { gateways });
  return Object.fromEntries(linkProblems(document).map(({ path, message }) => [path, message]));
}

describe("linkProblems", () => {
  test("a document with unique names and valid references has none", () => {
    const rules = [
      rule({}),
      rule({ name: "named" }),
      rule({ headers: { "X-Team": "a" } }),
      rule({ methods: ["GET"] }),
    ];
    const api_keys = [{ name: "k", policies: ["named", "POST /a", "POST /a [x-team=a]"] }];
    expect(
      problemsOf({ name: "a", subdomain: "a", ...whole, rules, api_keys }, { name: "b", ...whole }),
    ).toEqual({});
  });

  test("reports duplicate names with their path", () => {
    const twice = <T>(item: T) => [item, item];
    const problems = problemsOf(
      { name: "a", subdomain: "x" },
      {
        name: "a",
        subdomain: "x",
        upstreams: twice(upstream("u")),
        services: twice({ name: "s", upstream: "u" }),
        rules: [
          ...twice(rule({ name: "r" })),
          ...twice(rule({ methods: ["GET", "POST"] })),
          rule({ methods: ["POST", "GET"] }),
        ],
        api_keys: [...twice({ name: "k", key_sha256: "a".repeat(64) }), { name: "k" }],
      },
    );
    expect(Object.keys(problems)).toEqual([
      "gateways[1].name",
      "gateways[1].subdomain",
      "gateways[1].api_keys[1].key_sha256",
      "gateways[1].upstreams[1].name",
      "gateways[1].services[1].name",
      "gateways[1].rules[1].name",
      "gateways[1].rules[3].path",
      "gateways[1].rules[4].path",
      "gateways[1].api_keys[1].name",
      "gateways[1].api_keys[2].name",
    ]);
    expect(problems["gateways[1].name"]).toContain("gateways[0].name");
    expect(problems["gateways[1].rules[3].path"]).toContain("must have names");
  });

  test("reports missing records and suggests similar names", () => {
    const problems = problemsOf({
      name: "a",
      upstreams: [upstream("models")],
      services: [{ name: "chat", upstream: "modells" }],
      rules: [rule({ service: "zzzzzzz" }), rule({ service: "chat", methods: ["GET"] })],
      api_keys: [
        { name: "k", policies: ["/b"] },
        { name: "l", policies: ["/a"], prefix: "gw_abc" },
      ],
    });
    expect(problems["gateways[0].services[0].upstream"]).toContain('did you mean "models"?');
    expect(problems["gateways[0].rules[0].service"]).toContain('no service "zzzzzzz"');
    expect(problems["gateways[0].api_keys[0].policies[0]"]).toContain('no rule "/b"');
    expect(problems["gateways[0].api_keys[1].policies[0]"]).toContain('use "POST /a" or "GET /a"');
    expect(problems["gateways[0].api_keys[1].prefix"]).toContain("key_sha256");
    expect(Object.keys(problems)).toHaveLength(5);
  });

  test("very many missing records are reported, the first ones with a suggestion", () => {
    const indices = [...Array(4000).keys()];
    const upstreams = indices.map((index) => upstream(`upstream-${index}`));
    const services = indices.map((index) => ({ name: `s${index}`, upstream: `upstream_${index}` }));
    const problems = Object.values(problemsOf({ name: "a", upstreams, services }));
    expect(problems).toHaveLength(4000);
    expect(problems[1]).toEndWith(
      'no upstream "upstream_1" in this gateway of the document; did you mean "upstream-1"?',
    );
    expect(problems.at(-1)).toEndWith('no upstream "upstream_3999" in this gateway of the document');
  });

  test("a reference to a record of another gateway is not valid", () => {
    expect(
      problemsOf({ name: "a", ...whole }, { name: "b", services: [{ name: "s", upstream: "u" }] }),
    ).toEqual({
      "gateways[1].services[0].upstream": 'there is no upstream "u" in this gateway of the document',
    });
  });
});

describe("policies", () => {
  const base = { headers: {}, methods: ["POST"] as "POST"[] };
  const plain = { ...base, name: null, path: "/a" };
  const named = { ...base, name: "r", path: "/b" };
  const trap = { ...base, name: "/a", path: "/c" };
  const get = { ...base, name: null, path: "/a", methods: ["GET"] as "GET"[] };

  test("match a name before a label, and a label before a path", () => {
    expect(new RuleNames([plain, named, trap]).matching("/a")).toEqual([trap]);
    expect(new RuleNames([plain, named]).matching("/a")).toEqual([plain]);
    expect(new RuleNames([plain, named]).matching("/b")).toEqual([named]);
    expect(new RuleNames([plain, get]).matching("/a")).toEqual([plain, get]);
    expect(new RuleNames([plain, get]).matching("GET /a")).toEqual([get]);
  });

  test("are exported as the shortest text that refers to one rule only", () => {
    expect(new RuleNames([plain, named]).policyFor(plain)).toBe("/a");
    expect(new RuleNames([plain, named]).policyFor(named)).toBe("r");
    expect(new RuleNames([plain, get]).policyFor(plain)).toBe("POST /a");
    expect(new RuleNames([plain, trap]).policyFor(plain)).toBe("POST /a");
    for (const rules of [
      [plain, get, named, trap],
      [plain, named],
      [trap, plain],
    ])
      for (const rule of rules)
        expect(new RuleNames(rules).matching(new RuleNames(rules).policyFor(rule))).toEqual([rule]);
    expect(ruleLabel({ ...get, headers: { "X-B": "2", "X-A": "*" } })).toBe("GET /a [x-a=*, x-b=2]");
  });
});
