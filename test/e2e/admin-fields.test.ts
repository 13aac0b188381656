// Every field of the specification's section 2 and of the contract's section 2 over real HTTP: accepted, returned,
// defaulted, and refused at the right path. One row a field.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  create,
  createChain,
  expectError,
  expectProblemsAt,
  onlyMessage,
  without,
  type Chain,
} from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";

let gatehouse: GatehouseProcess;
let chain: Chain;
let other: Chain;

beforeAll(async () => {
  gatehouse = await startGatehouseProcess();
  chain = await createChain(gatehouse, "one");
  other = await createChain(gatehouse, "other");
});
afterAll(() => gatehouse.stop());

type Fields = Record<string, unknown>;

/** A value that comes back in another form than it was sent. */
class Becomes {
  constructor(
    readonly sent: unknown,
    readonly shown: unknown,
  ) {}
}
/** A value whose fault lies deeper than at the field itself. */
class FaultAt {
  constructor(
    readonly sent: unknown,
    readonly suffix: string,
  ) {}
}
const becomes = (sent: unknown, shown: unknown) => new Becomes(sent, shown);
const faultAt = (sent: unknown, suffix: string) => new FaultAt(sent, suffix);

interface FieldRow {
  readonly field: string;
  /** What it is when not given; absent: it is required. */
  readonly fallback?: unknown;
  readonly accepts: readonly unknown[];
  readonly refuses: readonly unknown[];
}

interface FieldTable {
  readonly what: string;
  /** Where the fields stand in the body: `targets[0].`. */
  readonly prefix: string;
  readonly minimal: () => Fields;
  readonly collection: () => string;
  readonly wrap: (fields: Fields) => Fields;
  readonly unwrap: (record: ApiResponse["body"]) => ApiResponse["body"];
  readonly rows: readonly FieldRow[];
}

const same = <T>(value: T) => value;
const NOT_TEXT = [7, true, {}, [], ["x"]];
const NOT_BOOLEAN = ["true", 1, 0, {}, []];
const NOT_INTEGER = ["1", 1.5, true, {}, [], 1e300];
const NOT_LIST = ["x", 7, true, {}];
const NOT_OBJECT = ["x", 7, true, []];
const NAMES = ["x", "Ünïcödé 名前 🚀", "x".repeat(255), "'; DROP TABLE gateways; --", "<b>&\"'</b>"];
const NOT_NAMES = [...NOT_TEXT, "", "x".repeat(256), "line\nbreak", "tab\t", "\u007f"];
const ID_OF = {
  gateway: (): string => chain.gateway,
  upstream: (): string => chain.upstream,
  service: (): string => chain.service,
  rule: (): string => chain.rule,
  foreignUpstream: (): string => other.upstream,
  foreignService: (): string => other.service,
  foreignRule: (): string => other.rule,
};
const MISSING_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

const gateway: FieldTable = {
  what: "gateway (2.1)",
  prefix: "",
  minimal: () => ({ name: "g" }),
  collection: () => "/gateways",
  wrap: same,
  unwrap: same,
  rows: [
    { field: "name", accepts: NAMES, refuses: [...NOT_NAMES, null] },
    {
      field: "subdomain",
      fallback: null,
      accepts: ["acme", "a", "a-1", "9", "x".repeat(63), becomes("MiXeD", "mixed"), null],
      refuses: [...NOT_TEXT, "", "-a", "a-", "a.b", "a_b", "a b", "é", "x".repeat(64), "a\n"],
    },
    {
      field: "required_plugins",
      fallback: [],
      accepts: [[]],
      refuses: [...NOT_LIST, null, faultAt(["rate_limiter"], "[0]"), faultAt([null], "[0]")],
    },
    { field: "require_api_key", fallback: false, accepts: [true, false], refuses: [...NOT_BOOLEAN, null] },
    { field: "log_bodies", fallback: false, accepts: [true, false], refuses: [...NOT_BOOLEAN, null] },
  ],
};

const LIMITS = { limits: { global: { limit: 1, window: "1s" } } };

const pluginConfiguration: FieldTable = {
  what: "plugin configuration (2.2)",
  prefix: "required_plugins[0].",
  minimal: () => ({ name: "rate_limiter", stage: "pre_request", settings: LIMITS }),
  collection: () => "/gateways",
  wrap: (fields) => ({ name: "g", required_plugins: [fields] }),
  unwrap: (record) => record.required_plugins[0],
  rows: [
    {
      field: "name",
      accepts: ["rate_limiter"],
      refuses: [...NOT_TEXT, null, "", "no such plugin", "not_registered", "x".repeat(65), "Rate_Limiter"],
    },
    {
      field: "stage",
      accepts: ["pre_request"],
      refuses: [...NOT_TEXT, null, "", "PRE_REQUEST", "sometime", "post_request", "pre_response"],
    },
    { field: "enabled", fallback: true, accepts: [true, false], refuses: [...NOT_BOOLEAN, null] },
    {
      field: "priority",
      fallback: 1,
      accepts: [0, 1, -5, 1000],
      refuses: [...NOT_INTEGER, null],
    },
    { field: "settings", accepts: [LIMITS], refuses: [...NOT_OBJECT, null] },
    {
      field: "on_error",
      fallback: "fail",
      accepts: ["fail", "continue"],
      refuses: [...NOT_TEXT, null, "", "ignore"],
    },
  ],
};

const upstream: FieldTable = {
  what: "upstream (2.3)",
  prefix: "",
  minimal: () => ({ name: "u", targets: [{ provider: "openai" }] }),
  collection: () => `/gateways/${chain.gateway}/upstreams`,
  wrap: same,
  unwrap: same,
  rows: [
    { field: "name", accepts: NAMES, refuses: [...NOT_NAMES, null] },
    {
      field: "algorithm",
      fallback: "round-robin",
      accepts: [
        "round-robin",
        "weighted-round-robin",
        "random",
        "least-connections",
        "lowest-latency",
        "ip-hash",
      ],
      refuses: [...NOT_TEXT, null, "", "round_robin", "Round-Robin", "best"],
    },
    {
      field: "targets",
      accepts: [],
      refuses: [
        ...NOT_LIST,
        null,
        [],
        Array.from({ length: 257 }, () => ({ provider: "openai" })),
        faultAt(["openai"], "[0]"),
        faultAt([{ provider: "openai" }, null], "[1]"),
      ],
    },
    {
      field: "health_checks",
      fallback: { passive: false, threshold: 3, interval: 60 },
      accepts: [
        { passive: true, threshold: 1, interval: 1 },
        becomes({}, { passive: false, threshold: 3, interval: 60 }),
        becomes({ passive: true }, { passive: true, threshold: 3, interval: 60 }),
      ],
      refuses: [
        ...NOT_OBJECT,
        null,
        ...NOT_BOOLEAN.map((value) => faultAt({ passive: value }, ".passive")),
        ...[...NOT_INTEGER, 0, -1].map((value) => faultAt({ threshold: value }, ".threshold")),
        ...[...NOT_INTEGER, 0, -1, "60s"].map((value) => faultAt({ interval: value }, ".interval")),
        faultAt({ pasive: true }, ".pasive"),
      ],
    },
    {
      field: "model_routing",
      fallback: "prefer",
      accepts: ["prefer", "any", "require"],
      refuses: [...NOT_TEXT, null, "", "never"],
    },
    {
      field: "timeouts",
      fallback: { connect: 5000, first_byte: 120_000, idle: 120_000, total: null },
      accepts: [
        { connect: 1, first_byte: 2, idle: 3, total: 4 },
        becomes({ total: 9 }, { connect: 5000, first_byte: 120_000, idle: 120_000, total: 9 }),
      ],
      refuses: [
        ...NOT_OBJECT,
        null,
        ...["connect", "first_byte", "idle", "total"].flatMap((name) =>
          [...NOT_INTEGER, 0, -1].map((value) => faultAt({ [name]: value }, `.${name}`)),
        ),
        faultAt({ conect: 5 }, ".conect"),
      ],
    },
    { field: "max_attempts", fallback: 3, accepts: [1, 3, 10], refuses: [...NOT_INTEGER, null, 0, -1, 1000] },
  ],
};

const HEADERS_REFUSED = [
  ...NOT_OBJECT,
  null,
  ...[7, true, null, {}, []].map((value) => faultAt({ "X-A": value }, ".X-A")),
  faultAt({ "X-A": "line\r\nX-B: break" }, ".X-A"),
  faultAt({ "bad name": "x" }, ".bad name"),
  faultAt({ "X:": "x" }, ".X:"),
  faultAt({ "X-A": "1", "x-a": "2" }, ".x-a"),
];

const target: FieldTable = {
  what: "target (2.4)",
  prefix: "targets[0].",
  minimal: () => ({ provider: "openai" }),
  collection: () => `/gateways/${chain.gateway}/upstreams`,
  wrap: (fields) => ({ name: "u", targets: [fields] }),
  unwrap: (record) => record.targets[0],
  rows: [
    {
      field: "provider",
      accepts: ["openai", "anthropic", "google", "perplexity"],
      refuses: [...NOT_NAMES, null, "x".repeat(65)],
    },
    {
      field: "path",
      fallback: null,
      accepts: ["", "/", "/v1/chat/completions", "/v1/%20x", null],
      refuses: [...NOT_TEXT, "v1/chat", "/a b", "/a?b=c", "/a#b", "https://x/y", `/${"x".repeat(2048)}`],
    },
    { field: "weight", fallback: 1, accepts: [0, 1, 50], refuses: [...NOT_INTEGER, null, -1] },
    { field: "priority", fallback: 1, accepts: [0, 1, 7], refuses: [...NOT_INTEGER, null] },
    { field: "default_model", fallback: null, accepts: ["gpt-4o-mini", null], refuses: NOT_NAMES },
    {
      field: "models",
      fallback: [],
      accepts: [[], ["gpt-4o"], ["a", "b/c:d"]],
      refuses: [
        ...NOT_LIST,
        null,
        faultAt([7], "[0]"),
        faultAt(["a", ""], "[1]"),
        faultAt(["a", null], "[1]"),
      ],
    },
    {
      field: "headers",
      fallback: {},
      accepts: [{}, { "anthropic-version": "2023-06-01" }, { "X-Empty": "" }, { "X-A": "ä\ttab" }],
      refuses: HEADERS_REFUSED,
    },
    {
      field: "credentials",
      fallback: null,
      accepts: [
        becomes(
          { header_name: "Authorization", header_value: "Bearer sk-123456789" },
          { header_name: "Authorization", header_value: "Bea***6789" },
        ),
        null,
      ],
      refuses: [
        ...NOT_OBJECT,
        faultAt({ header_value: "x" }, ".header_name"),
        faultAt({ header_name: "x" }, ".header_value"),
        ...[...NOT_TEXT, null, "", "bad name", "X:"].map((value) =>
          faultAt({ header_name: value, header_value: "x" }, ".header_name"),
        ),
        ...[...NOT_TEXT, null, "", "a\nb", "名"].map((value) =>
          faultAt({ header_name: "X", header_value: value }, ".header_value"),
        ),
        faultAt({ header_name: "X", header_value: "x", header: "y" }, ".header"),
      ],
    },
    {
      field: "base_url",
      fallback: null,
      accepts: [
        "https://api.example.com",
        "http://127.0.0.1:11434",
        "http://10.0.0.5:8000/base",
        "http://[::1]:9",
        becomes("https://api.example.com/", "https://api.example.com"),
        null,
      ],
      refuses: [
        ...NOT_TEXT,
        "",
        "api.example.com",
        "ftp://x",
        "file:///etc/passwd",
        "https://user:secret@x",
        "https://x?y=z",
        "https://x#y",
        "https://",
      ],
    },
    {
      field: "format",
      fallback: null,
      accepts: ["openai", "anthropic", null],
      refuses: [...NOT_TEXT, "", "gemini", "OpenAI"],
    },
  ],
};

const service: FieldTable = {
  what: "service (2.5)",
  prefix: "",
  minimal: () => ({ name: "s", upstream_id: chain.upstream }),
  collection: () => `/gateways/${chain.gateway}/services`,
  wrap: same,
  unwrap: same,
  rows: [
    { field: "name", accepts: NAMES, refuses: [...NOT_NAMES, null] },
    {
      field: "upstream_id",
      accepts: [ID_OF.upstream],
      refuses: [
        ...NOT_TEXT,
        null,
        "",
        MISSING_ID,
        "not-an-id",
        ID_OF.foreignUpstream,
        ID_OF.service,
        "x".repeat(65),
      ],
    },
    {
      field: "type",
      fallback: "upstream",
      accepts: ["upstream"],
      refuses: [...NOT_TEXT, null, "", "direct"],
    },
    {
      field: "description",
      fallback: "",
      accepts: ["", "two\nlines", "x".repeat(4096)],
      refuses: [...NOT_TEXT, null, "x".repeat(4097)],
    },
  ],
};

const rule: FieldTable = {
  what: "rule (2.6)",
  prefix: "",
  minimal: () => ({ service_id: chain.service, path: "/x", methods: ["POST"] }),
  collection: () => `/gateways/${chain.gateway}/rules`,
  wrap: same,
  unwrap: same,
  rows: [
    {
      field: "service_id",
      accepts: [ID_OF.service],
      refuses: [...NOT_TEXT, null, "", MISSING_ID, ID_OF.foreignService, ID_OF.upstream],
    },
    {
      field: "path",
      accepts: [
        "/",
        "/v1/chat/completions",
        "/trailing/",
        "/teams/{team}/chat",
        "/{a}/{b}",
        "/v1/*",
        "/*",
        "/a%20b",
        "/apiary",
        "/v1/api",
        "/console2",
        "/healthzz",
      ],
      refuses: [
        ...NOT_TEXT,
        null,
        "",
        "v1/chat",
        "/a b",
        "/a?b",
        "/a#b",
        "/é",
        "/a//b",
        "/a/../b",
        "/./a",
        "/a%2",
        "/*/a",
        "/a*",
        "/a{b}",
        "/{}",
        "/{a}/{a}",
        `/${"x".repeat(2048)}`,
        "https://x/y",
      ],
    },
    {
      field: "methods",
      accepts: [
        ["POST"],
        ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"],
        becomes(["post", "POST", "Get"], ["POST", "GET"]),
      ],
      refuses: [
        ...NOT_LIST,
        null,
        [],
        faultAt(["POST", "BREW"], "[1]"),
        faultAt([""], "[0]"),
        faultAt([7], "[0]"),
        faultAt([null], "[0]"),
      ],
    },
    { field: "strip_path", fallback: false, accepts: [true, false], refuses: [...NOT_BOOLEAN, null] },
    { field: "preserve_host", fallback: false, accepts: [true, false], refuses: [...NOT_BOOLEAN, null] },
    { field: "name", fallback: null, accepts: [...NAMES, null], refuses: NOT_NAMES },
    { field: "priority", fallback: 0, accepts: [0, 5, -5], refuses: [...NOT_INTEGER, null] },
    {
      field: "headers",
      fallback: {},
      accepts: [{}, { "X-Tier": "gold", "X-Any": "*" }],
      refuses: HEADERS_REFUSED,
    },
    { field: "require_api_key", fallback: null, accepts: [true, false, null], refuses: NOT_BOOLEAN },
    {
      field: "response_format",
      fallback: null,
      accepts: ["openai", null],
      refuses: [...NOT_TEXT, "", "anthropic"],
    },
    { field: "active", fallback: true, accepts: [true, false], refuses: [...NOT_BOOLEAN, null] },
  ],
};

const apiKey: FieldTable = {
  what: "API key (2.6)",
  prefix: "",
  minimal: () => ({ name: "k", subject: chain.gateway }),
  collection: () => "/iam/api-keys",
  wrap: same,
  unwrap: same,
  rows: [
    { field: "name", accepts: NAMES, refuses: [...NOT_NAMES, null] },
    {
      field: "expires_at",
      fallback: null,
      accepts: [
        becomes("2099-01-31T12:00:00Z", "2099-01-31T12:00:00.000Z"),
        becomes("2099-01-31T12:00:00.123456Z", "2099-01-31T12:00:00.123Z"),
        becomes("2099-01-31T12:00:00+02:00", "2099-01-31T10:00:00.000Z"),
        null,
      ],
      refuses: [...NOT_TEXT, "2020-01-01T00:00:00Z"],
    },
    {
      field: "subject_type",
      fallback: "gateway",
      accepts: ["gateway"],
      refuses: [...NOT_TEXT, null, "", "user"],
    },
    {
      field: "subject",
      accepts: [ID_OF.gateway],
      refuses: [...NOT_TEXT, null, "", MISSING_ID, ID_OF.rule],
    },
    {
      field: "policies",
      fallback: [],
      accepts: [[], [ID_OF.rule]],
      refuses: [
        ...NOT_LIST,
        null,
        faultAt([7], "[0]"),
        faultAt([ID_OF.rule, MISSING_ID], "[1]"),
        faultAt([ID_OF.foreignRule], "[0]"),
        faultAt([ID_OF.service], "[0]"),
      ],
    },
  ],
};

const LIMIT_TYPES = ["global", "per_ip", "per_user", "per_fingerprint"];

const rateLimiter: FieldTable = {
  what: "rate_limiter settings (2.7)",
  prefix: "required_plugins[0].settings.",
  minimal: () => LIMITS,
  collection: () => "/gateways",
  wrap: (settings) => ({
    name: "g",
    required_plugins: [{ name: "rate_limiter", stage: "pre_request", settings }],
  }),
  unwrap: (record) => record.required_plugins[0].settings,
  rows: [
    {
      field: "limits",
      accepts: [
        ...LIMIT_TYPES.map((type) => ({ [type]: { limit: 5, window: "30s" } })),
        ...["1s", "30s", "5m", "1h", "1d", "365d"].map((window) => ({ global: { limit: 1, window } })),
        {
          global: { limit: 1000, window: "1h" },
          per_ip: { limit: 10, window: "1m" },
          per_user: { limit: 20, window: "1m" },
        },
      ],
      refuses: [
        ...NOT_OBJECT,
        null,
        {},
        faultAt({ ...LIMITS.limits, per_key: { limit: 1, window: "1s" } }, ".per_key"),
        faultAt({ global: 5 }, ".global"),
        faultAt({ global: { window: "1s" } }, ".global.limit"),
        faultAt({ global: { limit: 1 } }, ".global.window"),
        faultAt({ global: { limit: 1, window: "1s", burst: 3 } }, ".global.burst"),
        ...LIMIT_TYPES.flatMap((type) => [
          ...[...NOT_INTEGER, null, 0, -1].map((limit) =>
            faultAt({ [type]: { limit, window: "1s" } }, `.${type}.limit`),
          ),
          ...[...NOT_TEXT, null, "", "60", "s", "1w", "1.5m", "-1s", "0s", "1 m", "1M", "1ms", "99999d"].map(
            (window) => faultAt({ [type]: { limit: 1, window } }, `.${type}.window`),
          ),
        ]),
      ],
    },
    {
      field: "actions",
      fallback: undefined,
      accepts: [
        { type: "reject", retry_after: "60" },
        { type: "block" },
        { type: "reject" },
        { retry_after: "1" },
        {},
      ],
      refuses: [
        ...NOT_OBJECT,
        null,
        ...[...NOT_TEXT, null, "", "drop"].map((type) => faultAt({ type }, ".type")),
        ...[...NOT_TEXT, null, "", "soon", "-1", "1.5", "60s"].map((value) =>
          faultAt({ type: "reject", retry_after: value }, ".retry_after"),
        ),
        faultAt({ typ: "reject" }, ".typ"),
      ],
    },
    {
      field: "on_store_failure",
      fallback: undefined,
      accepts: ["local", "open", "closed"],
      refuses: [...NOT_TEXT, null, "", "shut"],
    },
  ],
};

const LANGUAGES = ["javascript", "python", "php", "sql", "shell", "java", "csharp", "ruby", "html"];

const codeSanitation: FieldTable = {
  what: "code_sanitation settings (2.8)",
  prefix: "required_plugins[0].settings.",
  minimal: () => ({
    languages: [{ language: "javascript", enabled: true }],
    content_to_check: ["body"],
    action: "block",
  }),
  collection: () => "/gateways",
  wrap: (settings) => ({
    name: "g",
    required_plugins: [{ name: "code_sanitation", stage: "pre_request", settings }],
  }),
  unwrap: (record) => record.required_plugins[0].settings,
  rows: [
    {
      field: "languages",
      accepts: [
        ...LANGUAGES.map((language) => [{ language, enabled: true }]),
        LANGUAGES.map((language) => ({ language, enabled: false })),
      ],
      refuses: [
        ...NOT_LIST,
        null,
        faultAt(["javascript"], "[0]"),
        faultAt([{ enabled: true }], "[0].language"),
        ...[...NOT_TEXT, null, "", "cobol", "JavaScript", "c#"].map((language) =>
          faultAt([{ language, enabled: true }], "[0].language"),
        ),
        ...[...NOT_BOOLEAN, null].map((enabled) =>
          faultAt(
            [
              { language: "sql", enabled: true },
              { language: "php", enabled },
            ],
            "[1].enabled",
          ),
        ),
        faultAt([{ language: "sql", enabled: true, strict: true }], "[0].strict"),
      ],
    },
    {
      field: "content_to_check",
      accepts: [["headers"], ["path_and_query"], ["body"], ["headers", "path_and_query", "body"], ["all"]],
      refuses: [...NOT_LIST, null, faultAt(["body", "cookies"], "[1]"), faultAt([7], "[0]")],
    },
    {
      field: "action",
      accepts: ["block", "sanitize"],
      refuses: [...NOT_TEXT, null, "", "reject"],
    },
    {
      field: "status_code",
      fallback: undefined,
      accepts: [400, 403, 422, 451],
      refuses: ["400", 400.5, true, {}, [], null, 99, 600, 1000],
    },
    {
      field: "error_message",
      fallback: undefined,
      accepts: ["no code, please", "ünïcode"],
      refuses: [...NOT_TEXT, null],
    },
    {
      field: "sanitize_char",
      fallback: undefined,
      accepts: ["X", "*", " ", "_"],
      refuses: [...NOT_TEXT, null, "", "XX", "\n"],
    },
  ],
};

const TABLES = [
  gateway,
  pluginConfiguration,
  upstream,
  target,
  service,
  rule,
  apiKey,
  rateLimiter,
  codeSanitation,
];

/** Ids are known only once the process runs: a function stands for its result. */
function resolved(value: unknown): unknown {
  if (typeof value === "function") return (value as () => unknown)();
  return Array.isArray(value) ? value.map(resolved) : value;
}

describe.each(TABLES)("$what", (table) => {
  const send = (fields: Fields) => gatehouse.api("POST", table.collection(), table.wrap(fields));

  describe.each(table.rows)("$field", (row) => {
    const place = `${table.prefix}${row.field}`;

    test("is accepted, returned at once and read back", async () => {
      for (const value of row.accepts) {
        const sent = resolved(value instanceof Becomes ? value.sent : value);
        const shown = resolved(value instanceof Becomes ? value.shown : value);
        const created = await send({ ...table.minimal(), [row.field]: sent });
        expect({ sent, status: created.status, error: created.body.error }).toEqual({
          sent,
          status: 201,
          error: undefined,
        });
        expect(table.unwrap(created.body)[row.field]).toEqual(shown);
        const read = await gatehouse.api("GET", `${table.collection()}/${created.body.id}`);
        expect(table.unwrap(read.body)[row.field]).toEqual(shown);
        if (table === gateway) await gatehouse.api("DELETE", `/gateways/${created.body.id}`);
      }
    });

    if ("fallback" in row) {
      test("has its default when it is not given", async () => {
        const created = await send(without(table.minimal(), row.field));
        expect(created.status).toBe(201);
        expect(table.unwrap(created.body)[row.field]).toEqual(row.fallback);
      });
    } else if (row.field !== "settings") {
      test("is required", async () => {
        const answer = await send(without(table.minimal(), row.field));
        expectProblemsAt(answer, place);
        expect(onlyMessage(answer)).toBe("is required");
      });
    }

    test(`is refused at ${place} when it is wrong`, async () => {
      for (const value of row.refuses) {
        const sent = resolved(value instanceof FaultAt ? value.sent : value);
        const expected = value instanceof FaultAt ? place + value.suffix : place;
        const answer = await send({ ...table.minimal(), [row.field]: sent });
        const paths = [...new Set(answer.body.details?.map((detail: { path: string }) => detail.path))];
        expect({ sent, status: answer.status, paths }).toEqual({ sent, status: 400, paths: [expected] });
        expectError(answer, 400, "validation_failed");
      }
    });
  });

  test("an unknown field is refused, naming it and the nearest known one", async () => {
    const known = table.rows[0]!.field;
    const misspelled = `${known.slice(0, -1)}_`;
    const answer = await send({ ...table.minimal(), [misspelled]: "x" });
    expectProblemsAt(answer, table.prefix + misspelled);
    expect(onlyMessage(answer)).toContain(`"${known}"`);
    expectProblemsAt(await send({ ...table.minimal(), zzzzzzzz: 1 }), `${table.prefix}zzzzzzzz`);
  });
});

describe("several faults are all named", () => {
  test("with their places, deep ones too", async () => {
    const answer = await gatehouse.api("POST", `/gateways/${chain.gateway}/upstreams`, {
      targets: [
        { provider: "openai", weight: "heavy" },
        { provider: "openai", wieght: 1 },
      ],
      max_attempts: 0,
    });
    expectError(answer, 400, "validation_failed");
    expect(answer.body.details.map((detail: { path: string }) => detail.path).toSorted()).toEqual([
      "max_attempts",
      "name",
      "targets[0].weight",
      "targets[1].wieght",
    ]);
    expect(answer.body.error).toMatch(/and 3 more/);
  });

  test("of both plugins, each at its own settings", async () => {
    const answer = await gatehouse.api("POST", "/gateways", {
      name: "two faults",
      required_plugins: [
        {
          name: "rate_limiter",
          stage: "pre_request",
          settings: { limits: { global: { limit: 1, window: "1x" } } },
        },
        {
          name: "code_sanitation",
          stage: "pre_request",
          settings: { ...codeSanitation.minimal(), action: "x" },
        },
      ],
    });
    expectProblemsAt(
      answer,
      "required_plugins[0].settings.limits.global.window",
      "required_plugins[1].settings.action",
    );
  });

  test("a known plugin without its settings names what it needs", async () => {
    const answer = await gatehouse.api("POST", "/gateways", {
      name: "no settings",
      required_plugins: [
        { name: "rate_limiter", stage: "pre_request" },
        { name: "code_sanitation", stage: "pre_request" },
      ],
    });
    expectProblemsAt(
      answer,
      "required_plugins[0].settings.limits",
      "required_plugins[1].settings.languages",
      "required_plugins[1].settings.content_to_check",
      "required_plugins[1].settings.action",
    );
  });

  test("a disabled plugin is judged too", async () => {
    const plugin = { name: "rate_limiter", stage: "pre_request", enabled: false, settings: { limits: 1 } };
    const answer = await gatehouse.api("POST", "/gateways", { name: "off", required_plugins: [plugin] });
    expectProblemsAt(answer, "required_plugins[0].settings.limits");
  });

  test("a plugin that is not registered is named with its nearest", async () => {
    const plugin = { name: "rate_limitter", stage: "pre_request" };
    const answer = await gatehouse.api("POST", "/gateways", { name: "x", required_plugins: [plugin] });
    expectProblemsAt(answer, "required_plugins[0].name");
    expect(onlyMessage(answer)).toContain('"rate_limiter"');
  });
});

describe("rules may not claim the reserved prefixes", () => {
  const RESERVED = ["/api", "/console", "/metrics", "/healthz", "/readyz"];

  test.each(RESERVED)("%s, itself and below it", async (prefix) => {
    for (const path of [prefix, `${prefix}/`, `${prefix}/v1/chat`, `${prefix}/*`, `${prefix}/{x}`]) {
      const body = { service_id: chain.service, path, methods: ["POST"] };
      const answer = await gatehouse.api("POST", `/gateways/${chain.gateway}/rules`, body);
      expectProblemsAt(answer, "path");
      expect(onlyMessage(answer)).toContain(prefix);
    }
    const place = `/gateways/${chain.gateway}/rules/${chain.rule}`;
    expectProblemsAt(await gatehouse.api("PATCH", place, { path: prefix }), "path");
  });
});

describe("link-local and metadata addresses are refused", () => {
  test.each([
    "http://169.254.169.254",
    "http://169.254.169.254/latest/meta-data",
    "http://169.254.0.1:8080",
    "https://169.254.255.255",
    "http://169.254.169.254.",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://0251.0376.0251.0376",
    "http://[fe80::1]",
    "http://[febf::1]:80",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]",
    "http://[fd00:ec2::254]",
    "http://100.100.100.200",
    "http://metadata.google.internal",
    "http://METADATA.google.internal.",
    "http://metadata",
  ])("%s", async (base_url) => {
    const body = { name: "u", targets: [{ provider: "openai" }, { provider: "openai", base_url }] };
    const answer = await gatehouse.api("POST", `/gateways/${chain.gateway}/upstreams`, body);
    expectProblemsAt(answer, "targets[1].base_url");
    expect(onlyMessage(answer)).toMatch(/link-local or metadata/);
    const place = `/gateways/${chain.gateway}/upstreams/${chain.upstream}`;
    expectProblemsAt(await gatehouse.api("PATCH", place, { targets: body.targets }), "targets[1].base_url");
  });
});

describe("any other provider name is accepted with a base_url", () => {
  test("and without one it is refused, saying so", async () => {
    const collection = `/gateways/${chain.gateway}/upstreams`;
    const unaddressed = await gatehouse.api("POST", collection, {
      name: "u",
      targets: [{ provider: "my-own" }],
    });
    expectProblemsAt(unaddressed, "targets[0].base_url");
    expect(onlyMessage(unaddressed)).toContain("my-own");
    const own = { provider: "my-own", base_url: "http://127.0.0.1:9", format: "anthropic" };
    const created = await create(gatehouse, collection, { name: "u", targets: [own] });
    expect(created.targets[0]).toMatchObject(own);
  });
});

describe("a reference to something that does not exist, or belongs to another gateway, is 400 naming it", () => {
  test.each([
    ["services", "upstream_id", ID_OF.foreignUpstream],
    ["services", "upstream_id", (): string => MISSING_ID],
    ["rules", "service_id", ID_OF.foreignService],
    ["rules", "service_id", (): string => MISSING_ID],
  ] as const)("%s.%s at creation, PUT and PATCH", async (kind, field, value) => {
    const table = kind === "services" ? service : rule;
    const body = { ...table.minimal(), [field]: value() };
    const record = await create(gatehouse, table.collection(), table.minimal());
    for (const [method, path] of [
      ["POST", table.collection()],
      ["PUT", `${table.collection()}/${record.id}`],
      ["PATCH", `${table.collection()}/${record.id}`],
    ] as const) {
      const answer = await gatehouse.api(method, path, body);
      expectProblemsAt(answer, field);
      expect(onlyMessage(answer)).toContain(value());
    }
    const after = await gatehouse.api("GET", `${table.collection()}/${record.id}`);
    expect(after.body[field]).toBe(record[field]);
  });
});

describe("provider credentials", () => {
  const collection = () => `/gateways/${chain.gateway}/upstreams`;
  const withSecrets = (...secrets: readonly string[]) =>
    create(gatehouse, collection(), {
      name: "secrets",
      targets: secrets.map((header_value) => ({
        provider: "openai",
        credentials: { header_name: "Authorization", header_value },
      })),
    });
  const place = (record: { id: string }) => `${collection()}/${record.id}`;
  const valuesOf = (record: ApiResponse["body"]): string[] =>
    record.targets.map((each: ApiResponse["body"]) => each.credentials?.header_value ?? null);

  test.each([
    ["Bearer sk-abcdefghijklmnop", "Bea***mnop"],
    ["twelve-chars", "twe***hars"],
    ["eleven-char", "***"],
    ["x", "***"],
  ])("%s comes back masked as %s, wherever it is shown", async (secret, mask) => {
    const created = await withSecrets(secret);
    expect(valuesOf(created)).toEqual([mask]);
    expect(valuesOf((await gatehouse.api("GET", place(created))).body)).toEqual([mask]);
    const { upstreams } = (await gatehouse.api("GET", `${collection()}?limit=1000`)).body;
    const listed = upstreams.find((each: { id: string }) => each.id === created.id);
    expect(valuesOf(listed)).toEqual([mask]);
    expect(valuesOf((await gatehouse.api("PUT", place(created), created)).body)).toEqual([mask]);
    expect(valuesOf((await gatehouse.api("PATCH", place(created), { name: "n" })).body)).toEqual([mask]);
  });

  // What is stored shows in what a masked value may stand for: a mask that fits no stored credential is refused.
  test("a masked value sent back unchanged keeps the stored one: PUT and PATCH, with target ids", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa", "Bearer sk-second-bbbb");
    const [first, second] = created.targets;
    for (const method of ["PUT", "PATCH"] as const) {
      const swapped = { name: "swapped", targets: [second, first] };
      const answer = await gatehouse.api(method, place(created), swapped);
      expect(answer.status).toBe(200);
      expect(valuesOf(answer.body)).toEqual(["Bea***bbbb", "Bea***aaaa"]);
      expect(answer.body.targets.map((each: { id: string }) => each.id)).toEqual([second.id, first.id]);
    }
  });

  test("a masked value sent back unchanged keeps the stored one: PUT and PATCH, without target ids", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa", "short");
    const anonymous = created.targets.map((each: ApiResponse["body"]) => without(each, "id"));
    for (const method of ["PUT", "PATCH"] as const) {
      const answer = await gatehouse.api(method, place(created), { name: "n", targets: anonymous });
      expect(answer.status).toBe(200);
      expect(valuesOf(answer.body)).toEqual(["Bea***aaaa", "***"]);
    }
  });

  test("a masked value that stands for nothing stored is refused, at creation and later", async () => {
    const masked = (header_value: string) => ({
      provider: "openai",
      credentials: { header_name: "Authorization", header_value },
    });
    for (const mask of ["***", "Bea***zzzz"]) {
      const body = { name: "n", targets: [masked(mask)] };
      const path = "targets[0].credentials.header_value";
      expectProblemsAt(await gatehouse.api("POST", collection(), body), path);
      const created = await withSecrets("Bearer sk-first-aaaa");
      expectProblemsAt(await gatehouse.api("PUT", place(created), body), path);
      expectProblemsAt(await gatehouse.api("PATCH", place(created), { targets: body.targets }), path);
      expect(valuesOf((await gatehouse.api("GET", place(created))).body)).toEqual(["Bea***aaaa"]);
    }
  });

  test("a new value replaces the stored one, and the target keeps its id", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa");
    const [before] = created.targets;
    const fresh = { ...before, credentials: { ...before.credentials, header_value: "Bearer sk-fresh-cccc" } };
    const answer = await gatehouse.api("PATCH", place(created), { targets: [fresh] });
    expect(valuesOf(answer.body)).toEqual(["Bea***cccc"]);
    expect(answer.body.targets[0].id).toBe(before.id);
  });

  test("the header's name can change while the masked value stays", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa");
    const [before] = created.targets;
    const renamed = { ...before, credentials: { ...before.credentials, header_name: "api-key" } };
    const answer = await gatehouse.api("PUT", place(created), { name: "n", targets: [renamed] });
    expect(answer.body.targets[0].credentials).toEqual({
      header_name: "api-key",
      header_value: "Bea***aaaa",
    });
  });

  test("a target without credentials loses those it had", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa");
    const { id, provider } = created.targets[0];
    const answer = await gatehouse.api("PUT", place(created), { name: "n", targets: [{ id, provider }] });
    expect(answer.body.targets[0].credentials).toBeNull();
    const mask = [{ ...created.targets[0], id }];
    expectProblemsAt(
      await gatehouse.api("PATCH", place(created), { targets: mask }),
      "targets[0].credentials.header_value",
    );
  });

  test("targets have ids of their own; one given twice is refused", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa", "Bearer sk-second-bbbb");
    const [first, second] = created.targets;
    expect(first.id).not.toBe(second.id);
    const twice = { targets: [first, { ...second, id: first.id }] };
    const answer = await gatehouse.api("PATCH", place(created), twice);
    expectError(answer, 400, "validation_failed");
    expect(answer.body.details).toContainEqual({ path: "targets[1].id", message: "is given twice" });
  });

  test("the database holds no credential in the clear", async () => {
    await withSecrets("Bearer sk-find-me-in-the-file");
    for (const name of ["gatehouse.db", "gatehouse.db-wal"]) {
      const file = Bun.file(`${gatehouse.dataDir}/${name}`);
      if (!(await file.exists())) continue;
      expect(Buffer.from(await file.arrayBuffer()).includes("sk-find-me-in-the-file")).toBe(false);
    }
  });

  test("only the SHA-256 of an API key is stored", async () => {
    const { key } = await create(gatehouse, "/iam/api-keys", { name: "hashed", subject: chain.gateway });
    const hash = new Bun.CryptoHasher("sha256").update(key).digest("base64url");
    let hashFound = false;
    for (const name of ["gatehouse.db", "gatehouse.db-wal"]) {
      const file = Bun.file(`${gatehouse.dataDir}/${name}`);
      if (!(await file.exists())) continue;
      const bytes = Buffer.from(await file.arrayBuffer());
      expect(bytes.includes(key)).toBe(false);
      hashFound ||= bytes.includes(hash);
    }
    expect(hashFound).toBe(true);
  });
});
