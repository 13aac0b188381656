// Warnings about configurations that are legal but probably wrong, and configurations without warnings that resemble them.
import { describe, expect, test } from "bun:test";
import {
  apiKeyRecord,
  budgetRecord,
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  targetRecord,
  upstreamRecord,
} from "../../../test/contract/store-records.ts";
import type { Budget } from "../../model/budget.ts";
import type { Rule } from "../../model/rule.ts";
import type { Target } from "../../model/target.ts";
import type { Upstream } from "../../model/upstream.ts";
import type { StoredApiKey } from "../../kinds/kind.ts";
import { configurationWarnings, warningsAbout, warningsInDocument } from "./configuration-warnings.ts";

interface Sketch {
  readonly rules?: readonly Partial<Rule>[];
  readonly targets?: readonly Partial<Target>[];
  readonly upstream?: Partial<Upstream>;
  readonly budgets?: readonly Partial<Budget>[];
  readonly keys?: readonly Partial<StoredApiKey>[];
}

const ruleId = (index: number) => `rules[${index}]`;

function build({ rules = [], targets = [{}], upstream: fields = {}, budgets = [], keys = [] }: Sketch) {
  const gateway = gatewayRecord();
  const upstream = upstreamRecord(gateway.id, {
    id: "upstreams[0]",
    targets: targets.map((target) => targetRecord(target)),
    ...fields,
  });
  const service = serviceRecord(gateway.id, upstream.id, { id: "services[0]" });
  const parts = {
    gateway,
    upstreams: [upstream],
    mcp_servers: [],
    services: [service],
    rules: rules.map((rule, index) => ruleRecord(gateway.id, service.id, { id: ruleId(index), ...rule })),
    models: [],
    budgets: budgets.map((budget, index) => budgetRecord(gateway.id, { id: `budgets[${index}]`, ...budget })),
  };
  const records = keys.map((key, index) => apiKeyRecord(gateway.id, { id: `api_keys[${index}]`, ...key }));
  return configurationWarnings(parts, records, null);
}

/** Returns one line per warning, as in a document in which the ids are places. */
function warningsIn(sketch: Sketch): string[] {
  return warningsInDocument(build(sketch), (id) => id).map(({ path, message }) => `${path}: ${message}`);
}

const CHAT = { path: "/v1/chat/completions" };
const ANTHROPIC = { provider: "anthropic", path: "/v1/messages" };

describe("rules and the paths of their targets", () => {
  test("a prefix rule whose target has a full path", () => {
    const full = { path: "/v1/chat/completions" };
    expect(warningsIn({ rules: [{ path: "/v1/*" }], targets: [full] })).toEqual([
      "rules[0].path: all requests that match /v1/* are sent to /v1/chat/completions of openai, whatever their path; leave out the path of the target, or give the rule an exact path",
    ]);
    for (const path of [null, ""]) expect(warningsIn({ rules: [{}], targets: [{ path }] })).toEqual([]);
    expect(warningsIn({ rules: [{ path: "/chat" }], targets: [full] })).toEqual([]);
    expect(warningsIn({ rules: [{ active: false }], targets: [full] })).toEqual([]);
  });

  test("strip_path that appends to an endpoint", () => {
    const rules = [{ path: "/llm/*", strip_path: true }];
    expect(warningsIn({ rules, targets: [{ path: "/v1/chat/completions" }] })).toEqual([
      "rules[0].strip_path: strip_path of the rule /llm/* appends the rest of the path to /v1/chat/completions, which is a complete path; leave out the path of the target",
    ]);
    for (const path of [null, "", "/v1"]) expect(warningsIn({ rules, targets: [{ path }] })).toEqual([]);
    const files = [{ path: "/files/*", strip_path: true }];
    expect(warningsIn({ rules: files, targets: [{ path: "/v1/files" }] })).toEqual([]);
  });

  test("strip_path that removes what the provider needs", () => {
    const targets = [{ path: "" }];
    expect(warningsIn({ rules: [{ path: "/v1/*", strip_path: true }], targets })).toEqual([
      "rules[0].strip_path: strip_path of the rule /v1/* removes /v1, with which paths of openai start; set strip_path to false",
    ]);
    expect(warningsIn({ rules: [{ path: "/openai/*", strip_path: true }], targets })).toEqual([]);
    const own = [{ path: "", base_url: "https://models.example.com/v1" }];
    expect(warningsIn({ rules: [{ path: "/v1/*", strip_path: true }], targets: own })).toEqual([]);
  });

  test("strip_path that leaves no path", () => {
    const rules = [{ path: "/chat", strip_path: true }];
    expect(warningsIn({ rules, targets: [{ path: "" }] })).toEqual([
      "rules[0].strip_path: strip_path of the rule /chat removes the whole path: requests are sent to https://api.openai.com without one; leave out the path of the target",
    ]);
    const complete = { path: "", base_url: "https://models.example.com/v1/chat/completions" };
    expect(warningsIn({ rules, targets: [complete] })).toEqual([]);
    expect(warningsIn({ rules, targets: [{ path: null }] })).toEqual([]);
  });

  test("a target of another format than the path of the rule", () => {
    expect(warningsIn({ rules: [CHAT], targets: [{}, ANTHROPIC] })).toEqual([
      'rules[0].response_format: clients of /v1/chat/completions expect the format openai and get responses in the format anthropic from anthropic; leave out the path of the target, or set response_format to "request"',
    ]);
    const openai = { path: "/v1/chat/completions" };
    expect(warningsIn({ rules: [{ path: "/v1/messages" }], targets: [openai] })).toHaveLength(1);
    for (const response_format of ["request", "openai", "anthropic"] as const)
      expect(warningsIn({ rules: [{ ...CHAT, response_format }], targets: [ANTHROPIC] })).toEqual([]);
    expect(warningsIn({ rules: [CHAT], targets: [{ ...ANTHROPIC, path: null }] })).toEqual([]);
    expect(warningsIn({ rules: [CHAT], targets: [{ ...ANTHROPIC, path: "" }] })).toEqual([]);
    expect(warningsIn({ rules: [{ path: "/chat" }], targets: [openai, ANTHROPIC] })).toEqual([]);
    expect(warningsIn({ rules: [CHAT], targets: [{}, { ...ANTHROPIC, weight: 0 }] })).toEqual([]);
  });

  test("an operation that no target has", () => {
    const rules = [{ path: "/v1/embeddings" }];
    expect(warningsIn({ rules, targets: [{ provider: "anthropic" }] })).toEqual([
      'rules[0].path: no target supports the operation "embeddings" (providers: anthropic)',
    ]);
    expect(warningsIn({ rules, targets: [{ provider: "anthropic" }, {}] })).toEqual([]);
    for (const path of ["/v1/messages", "/v1/chat/completions", "/v1/models", "/v1/messages/count_tokens"])
      for (const provider of ["openai", "anthropic", "google"])
        expect(warningsIn({ rules: [{ path }], targets: [{ provider }] })).toEqual([]);
  });

  test("operations that are missing, or have no effect", () => {
    const list = { path: "/v1/files/*", methods: ["GET" as const, "DELETE" as const] };
    expect(warningsIn({ rules: [{ ...list, path: "/v1/files" }] })).toEqual([
      'rules[0].operations: requests to /v1/files are rejected unless operations contains "files"',
    ]);
    expect(warningsIn({ rules: [{ ...list, path: "/v1/files", operations: ["files"] }] })).toEqual([]);
    expect(warningsIn({ rules: [{ path: "/v1/fine_tuning/jobs/*" }] })).toEqual([
      'rules[0].operations: requests to /v1/fine_tuning/jobs/* are rejected unless operations contains "fine_tuning"',
    ]);
    // Files are uploaded and read without it.
    expect(warningsIn({ rules: [list, { path: "/v1/files" }] })).toEqual([]);
    expect(warningsIn({ rules: [{ operations: ["files"] }], targets: [{ path: "" }] })).toEqual([
      "rules[0].operations: operations of the rule /v1/* has no effect: all targets have a path, where the rule allows all operations",
    ]);
  });
});

describe("rules beside each other", () => {
  test("a rule that no request reaches", () => {
    expect(warningsIn({ rules: [{ name: "a" }, { name: "b" }] })).toEqual([
      'rules[1].path: no request reaches this rule: "a" matches the same requests and comes first',
    ]);
    const parameters = [{ path: "/{a}/chat", methods: ["*" as const] }, { path: "/{b}/chat" }];
    expect(warningsIn({ rules: parameters })).toHaveLength(1);
    const value = { "X-Team": "a" };
    const prioritized = [{ headers: value, priority: 1 }, { headers: { "x-team": "*" } }];
    expect(warningsIn({ rules: prioritized })).toEqual([
      expect.stringMatching(/^rules\[0\]\.path: no request/),
    ]);
    for (const other of [{ methods: ["GET" as const] }, { headers: value }, { active: false }, CHAT])
      expect(warningsIn({ rules: [{}, other] })).toEqual([]);
  });

  test("a chat path without POST", () => {
    expect(warningsIn({ rules: [{ ...CHAT, methods: ["GET"] }] })).toEqual([
      "rules[0].methods: requests to /v1/chat/completions have the method POST, which no rule for this path matches",
    ]);
    expect(warningsIn({ rules: [{ ...CHAT, methods: ["GET"] }, CHAT] })).toEqual([]);
    expect(warningsIn({ rules: [{ ...CHAT, methods: ["GET"] }, { path: "/v1/*" }] })).toEqual([]);
    for (const path of ["/v1/models", "/chat"])
      expect(warningsIn({ rules: [{ path, methods: ["GET"] }] })).toEqual([]);
  });
});

describe("upstreams and API keys", () => {
  test("an upstream whose targets get no requests", () => {
    expect(warningsIn({ targets: [{ weight: 0 }, { weight: 0 }] })).toEqual([
      "upstreams[0].targets: no target gets requests, because all have the weight 0; give one of them a higher weight",
    ]);
    expect(warningsIn({ targets: [{ weight: 0 }, {}] })).toEqual([]);
  });

  test("a key that can reach no rule", () => {
    const none = "api_keys[0].policies: the key can reach no rule: the gateway has no active rule";
    expect(warningsIn({ keys: [{}] })).toEqual([none]);
    expect(warningsIn({ rules: [{ active: false }], keys: [{}] })).toEqual([none]);
    const rules = [{}, { path: "/old/*", active: false }];
    expect(warningsIn({ rules, keys: [{ policies: [ruleId(1)] }] })).toEqual([
      "api_keys[0].policies: the key can reach no rule: none of these rules is active and matches requests",
    ]);
    expect(warningsIn({ rules, keys: [{ policies: [ruleId(1), ruleId(0)] }, {}] })).toEqual([]);
  });

  test("a model of a key that no target serves", () => {
    const sketch = (target: Partial<Target>, model_routing: Upstream["model_routing"] = "prefer") => ({
      rules: [{}],
      targets: [{ models: ["gpt-4o"], ...target }],
      upstream: { model_routing },
      keys: [{ models: ["gpt-4o", "gpt-9", "gpt-4*", "o9*"] }],
    });
    const unserved = [
      'api_keys[0].models[1]: no target that the key can reach serves "gpt-9"',
      'api_keys[0].models[3]: no target that the key can reach serves "o9*"',
    ];
    expect(warningsIn(sketch({}))).toEqual(unserved);
    expect(warningsIn(sketch({ models: [] }))).toEqual([]);
    // The default model replaces one that the target does not serve, except where routing requires that it does.
    expect(warningsIn(sketch({ default_model: "gpt-4o" }))).toEqual([]);
    expect(warningsIn(sketch({ default_model: "gpt-4o" }, "require"))).toEqual(unserved);
    expect(warningsIn(sketch({ default_model: "gpt-4o" }, null))).toEqual(unserved);
    expect(warningsIn(sketch({ default_model: "gpt-4o", path: "" }, null))).toEqual([]);
    expect(warningsIn(sketch({ default_model: "other" }))).toEqual(unserved);
  });
});

test("a warning about several records is reported for each of them", () => {
  const warnings = build({ rules: [{}], targets: [{}, { path: "/v1/responses" }] });
  const paths = (id: string) => warningsAbout(id, warnings).map(({ path }) => path);
  expect(paths("rules[0]")).toEqual(["path"]);
  expect(paths("services[0]")).toEqual(["upstream_id"]);
  expect(paths("upstreams[0]")).toEqual(["targets[1].path"]);
  expect(paths("another record")).toEqual([]);
  // A document that does not contain the rule reports the next record that it contains, with its field names.
  const inDocument = warningsInDocument(warnings, (id) => (id.startsWith("services") ? id : undefined));
  expect(inDocument.map(({ path }) => path)).toEqual(["services[0].upstream"]);
});

test("at most 100 warnings are listed, and the number of the others", () => {
  const rules = Array.from({ length: 150 }, (_, index) => ({ path: `/${index}/*` }));
  const listed = warningsIn({ rules, targets: [{ path: "/v1/chat/completions" }] });
  expect(listed).toHaveLength(101);
  expect(listed.at(-1)).toBe(": 50 more warnings are not shown");
});

test("a budget that rejects everything, and a webhook that is never called", () => {
  const budgets = [
    { amount: "0" },
    { amount: "0", mode: "warn" as const },
    { webhook: "https://hooks.example.com", warn_at: [] },
    { webhook: "https://hooks.example.com" },
  ];
  expect(warningsIn({ rules: [{}], budgets })).toEqual([
    "budgets[0].amount: the amount is 0, so that all requests that cost something are rejected",
    "budgets[2].webhook: the webhook is never called, because warn_at is empty",
  ]);
});
