// The fields of plugin configurations, and the settings of the built-in plugins (section 2 of specification and contract).
import { useAdminApi } from "../support/admin-fixtures.ts";
import {
  NOT_BOOLEAN,
  NOT_INTEGER,
  NOT_LIST,
  NOT_OBJECT,
  NOT_TEXT,
  problemAt,
  testFieldTables,
  type FieldTable,
} from "../support/field-tables.ts";

const admin = useAdminApi();

const LIMITS = { limits: { global: { limit: 1, window: "1s" } } };
const LIMIT_TYPES = [
  "global",
  "per_ip",
  "per_user",
  "per_fingerprint",
  "per_key",
  "per_model",
  "per_label:team",
];
const LANGUAGES = ["javascript", "python", "php", "sql", "shell", "java", "csharp", "ruby", "html"];

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
      rejects: [...NOT_TEXT, null, "", "no such plugin", "not_registered", "x".repeat(65), "Rate_Limiter"],
    },
    {
      field: "stage",
      accepts: ["pre_request"],
      rejects: [...NOT_TEXT, null, "", "PRE_REQUEST", "sometime", "post_request", "pre_response"],
    },
    { field: "enabled", fallback: true, accepts: [true, false], rejects: [...NOT_BOOLEAN, null] },
    {
      field: "priority",
      fallback: 1,
      accepts: [0, 1, -5, 1000],
      rejects: [...NOT_INTEGER, null],
    },
    { field: "settings", accepts: [LIMITS], rejects: [...NOT_OBJECT, null] },
    {
      field: "on_error",
      fallback: "fail",
      accepts: ["fail", "continue"],
      rejects: [...NOT_TEXT, null, "", "ignore"],
    },
    {
      field: "mode",
      fallback: "enforce",
      accepts: ["enforce", "shadow"],
      rejects: [...NOT_TEXT, null, "", "SHADOW", "off"],
    },
    {
      field: "isolation",
      fallback: "inline",
      accepts: ["inline"],
      rejects: [...NOT_TEXT, null, "", "thread", "PROCESS"],
    },
    { field: "sample", fallback: 1, accepts: [0, 0.01, 1], rejects: ["1", true, null, -0.1, 1.1] },
  ],
};

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
      rejects: [
        ...NOT_OBJECT,
        null,
        {},
        problemAt({ ...LIMITS.limits, per_country: { limit: 1, window: "1s" } }, ".per_country"),
        problemAt({ global: 5 }, ".global"),
        problemAt({ global: { window: "1s" } }, ".global.limit"),
        problemAt({ global: { limit: 1 } }, ".global.window"),
        problemAt({ global: { limit: 1, window: "1s", burst: 3 } }, ".global.burst"),
        ...LIMIT_TYPES.flatMap((type) => [
          ...[...NOT_INTEGER, null, 0, -1].map((limit) =>
            problemAt({ [type]: { limit, window: "1s" } }, `.${type}.limit`),
          ),
          ...[...NOT_TEXT, null, "", "60", "s", "1w", "1.5m", "-1s", "0s", "1 m", "1M", "1ms", "99999d"].map(
            (window) => problemAt({ [type]: { limit: 1, window } }, `.${type}.window`),
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
      rejects: [
        ...NOT_OBJECT,
        null,
        ...[...NOT_TEXT, null, "", "drop"].map((type) => problemAt({ type }, ".type")),
        ...[...NOT_TEXT, null, "", "soon", "-1", "1.5", "60s"].map((value) =>
          problemAt({ type: "reject", retry_after: value }, ".retry_after"),
        ),
        problemAt({ typ: "reject" }, ".typ"),
      ],
    },
    {
      field: "on_store_failure",
      fallback: undefined,
      accepts: ["local", "open", "closed"],
      rejects: [...NOT_TEXT, null, "", "shut"],
    },
  ],
};

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
      rejects: [
        ...NOT_LIST,
        null,
        problemAt(["javascript"], "[0]"),
        problemAt([{ enabled: true }], "[0].language"),
        ...[...NOT_TEXT, null, "", "cobol", "JavaScript", "c#"].map((language) =>
          problemAt([{ language, enabled: true }], "[0].language"),
        ),
        ...[...NOT_BOOLEAN, null].map((enabled) =>
          problemAt(
            [
              { language: "sql", enabled: true },
              { language: "php", enabled },
            ],
            "[1].enabled",
          ),
        ),
        problemAt([{ language: "sql", enabled: true, strict: true }], "[0].strict"),
      ],
    },
    {
      field: "content_to_check",
      accepts: [["headers"], ["path_and_query"], ["body"], ["headers", "path_and_query", "body"], ["all"]],
      rejects: [...NOT_LIST, null, problemAt(["body", "cookies"], "[1]"), problemAt([7], "[0]")],
    },
    {
      field: "action",
      accepts: ["block", "sanitize"],
      rejects: [...NOT_TEXT, null, "", "reject"],
    },
    {
      field: "status_code",
      fallback: undefined,
      accepts: [400, 403, 422, 451],
      rejects: ["400", 400.5, true, {}, [], null, 99, 600, 1000],
    },
    {
      field: "error_message",
      fallback: undefined,
      accepts: ["no code, please", "ünïcode"],
      rejects: [...NOT_TEXT, null],
    },
    {
      field: "sanitize_char",
      fallback: undefined,
      accepts: ["X", "*", " ", "_"],
      rejects: [...NOT_TEXT, null, "", "XX", "\n"],
    },
  ],
};

const responseCache: FieldTable = {
  what: "response_cache settings",
  prefix: "required_plugins[0].settings.",
  minimal: () => ({}),
  collection: () => "/gateways",
  wrap: (settings) => ({
    name: "g",
    required_plugins: [{ name: "response_cache", stage: "pre_request", settings }],
  }),
  unwrap: (record) => record.required_plugins[0].settings,
  rows: [
    {
      field: "ttl",
      fallback: undefined,
      accepts: ["1s", "10m", "1h", "30d"],
      rejects: [...NOT_TEXT, null, "", "0s", "31d", "60", "1w"],
    },
    {
      field: "isolation",
      fallback: undefined,
      accepts: ["key", "user", "gateway", "label:team"],
      rejects: [...NOT_TEXT, null, "", "label:", "label:Team", "all"],
    },
    {
      field: "vary",
      fallback: undefined,
      accepts: [[], ["X-Tenant", "accept-language"]],
      rejects: [...NOT_LIST, null, problemAt([""], "[0]"), problemAt(["a b"], "[0]")],
    },
    {
      field: "ignore",
      fallback: undefined,
      accepts: [[], ["user", "metadata"]],
      rejects: [...NOT_LIST, null, problemAt(["messages"], "[0]"), problemAt(["x".repeat(65)], "[0]")],
    },
    {
      field: "max_entry_bytes",
      fallback: undefined,
      accepts: [1024, 4_194_304],
      rejects: [...NOT_INTEGER, null, 1023, 4_194_305],
    },
    {
      field: "max_bytes",
      fallback: undefined,
      accepts: [65_536, 17_179_869_184],
      rejects: [...NOT_INTEGER, null, 65_535, 17_179_869_185],
    },
    { field: "coalesce", fallback: undefined, accepts: [true, false], rejects: [...NOT_BOOLEAN, null] },
  ],
};

/** A table of settings of a plugin that is the only one of a gateway. */
function settingsTable(name: string, minimal: FieldTable["minimal"], rows: FieldTable["rows"]): FieldTable {
  return {
    what: `${name} settings`,
    prefix: "required_plugins[0].settings.",
    minimal,
    collection: () => "/gateways",
    wrap: (settings) => ({ name: "g", required_plugins: [{ name, stage: "pre_request", settings }] }),
    unwrap: (record) => record.required_plugins[0].settings,
    rows,
  };
}

const BLOCKING: FieldTable["rows"] = [
  {
    field: "status_code",
    fallback: undefined,
    accepts: [400, 403, 599],
    rejects: [...NOT_INTEGER, null, 399, 600],
  },
  {
    field: "error_message",
    fallback: undefined,
    accepts: ["No.", "x".repeat(1000)],
    rejects: [...NOT_TEXT, null, "", "x".repeat(1001)],
  },
];

const PII_TYPES = ["email", "phone", "credit_card", "iban", "us_ssn", "ip", "secret"];
const custom = (fields: object) => [{ name: "employee_id", pattern: "EMP-[0-9]{6}", ...fields }];

const piiMask = settingsTable("pii_mask", () => ({}), [
  {
    field: "types",
    fallback: undefined,
    accepts: [[], ...PII_TYPES.map((type) => [type]), PII_TYPES],
    rejects: [...NOT_LIST, null, ["ip", "ip"], problemAt(["ip", "name"], "[1]"), problemAt([7], "[0]")],
  },
  {
    field: "custom",
    fallback: undefined,
    accepts: [
      [],
      custom({}),
      custom({ name: "x".repeat(32), pattern: "\\b(a|b)+[^c]?\\b" }),
      custom({ pattern: "(?i)^a\\Bb$|(?-i:c)" }),
    ],
    rejects: [
      ...NOT_LIST,
      null,
      [...custom({}), ...custom({})],
      Array.from({ length: 21 }, (_, index) => ({ name: `n${index}`, pattern: "a" })),
      problemAt(["a"], "[0]"),
      problemAt([{ pattern: "a" }], "[0].name"),
      problemAt([{ name: "a" }], "[0].pattern"),
      problemAt(custom({ flags: "i" }), "[0].flags"),
      ...[...NOT_TEXT, null, "", "Name", "1a", "a-b", "x".repeat(33), "email"].map((name) =>
        problemAt(custom({ name }), "[0].name"),
      ),
      ...[...NOT_TEXT, null, "(", "(?=x)", "(a)\\1", "a*", "^", "\\-", "(?i)a)|(b", "a(?i)b"].map((pattern) =>
        problemAt(custom({ pattern }), "[0].pattern"),
      ),
    ],
  },
  {
    field: "action",
    fallback: undefined,
    accepts: ["mask", "block", "tag"],
    rejects: [...NOT_TEXT, null, "", "MASK", "redact"],
  },
  {
    field: "roles",
    fallback: undefined,
    accepts: [["user"], ["system", "developer", "user", "assistant", "tool", "other"]],
    rejects: [...NOT_LIST, null, [], problemAt(["user", "admin"], "[1]")],
  },
  ...BLOCKING,
]);

const toolRule = (fields: object = {}) => [{ tool: "shell", source: "called", action: "deny", ...fields }];

const toolPolicy = settingsTable("tool_policy", () => ({ rules: toolRule() }), [
  {
    field: "rules",
    accepts: [
      ...["offered", "called", "result"].map((source) => toolRule({ source })),
      toolRule({ tool: "x".repeat(128), action: "allow" }),
      toolRule({ source: "offered", action: "strip" }),
      toolRule({ source: "result", action: "strip", tool: "read_*" }),
      toolRule({ when: true }),
      toolRule({ when: { type: "object", properties: { command: { type: "string" } } } }),
    ],
    rejects: [
      ...NOT_LIST,
      null,
      [],
      Array.from({ length: 101 }, () => toolRule()[0]),
      problemAt(["shell"], "[0]"),
      problemAt([{ source: "called", action: "deny" }], "[0].tool"),
      problemAt([{ tool: "shell", action: "deny" }], "[0].source"),
      problemAt([{ tool: "shell", source: "called" }], "[0].action"),
      problemAt(toolRule({ until: {} }), "[0].until"),
      ...[...NOT_TEXT, null, "", "x".repeat(129)].map((tool) => problemAt(toolRule({ tool }), "[0].tool")),
      ...[...NOT_TEXT, null, "", "asked"].map((source) => problemAt(toolRule({ source }), "[0].source")),
      ...[...NOT_TEXT, null, "", "block"].map((action) => problemAt(toolRule({ action }), "[0].action")),
      // A response without its call would be incomplete.
      problemAt(toolRule({ action: "strip" }), "[0].action"),
      ...[7, "x", [], null, { type: "text" }, { $ref: "#/a" }, { properties: 7 }, { pattern: "(?i)a" }].map(
        (when) => problemAt(toolRule({ when }), "[0].when"),
      ),
    ],
  },
  {
    field: "default",
    fallback: undefined,
    accepts: ["allow", "deny"],
    rejects: [...NOT_TEXT, null, "", "strip"],
  },
]);

const judge = (fields: object = {}) => ({ service: "judges", model: "small", ...fields });

const promptGuard = settingsTable("prompt_guard", () => ({}), [
  { field: "threshold", fallback: undefined, accepts: [1, 100], rejects: [...NOT_INTEGER, null, 0, 101] },
  {
    field: "action",
    fallback: undefined,
    accepts: ["block", "tag"],
    rejects: [...NOT_TEXT, null, "", "mask"],
  },
  {
    field: "sources",
    fallback: undefined,
    accepts: [["user"], ["tool"], ["document"], ["user", "tool", "document"]],
    rejects: [...NOT_LIST, null, [], ["user", "user"], problemAt(["user", "system"], "[1]")],
  },
  {
    field: "exclude",
    fallback: undefined,
    accepts: [[], ["keep_secret", "hex_payload"]],
    rejects: [...NOT_LIST, null, ["keep_secret", "keep_secret"], problemAt(["unknown"], "[0]")],
  },
  {
    field: "judge",
    fallback: undefined,
    accepts: [
      null,
      judge(),
      ...[100, 10_000].map((timeout_ms) => judge({ timeout_ms })),
      ...[0, 100].map((ask_from) => judge({ ask_from })),
      ...["heuristics", "block"].map((on_error) => judge({ on_error })),
    ],
    rejects: [
      ...NOT_OBJECT,
      problemAt({ model: "small" }, ".service"),
      problemAt({ service: "judges" }, ".model"),
      problemAt(judge({ prompt: "x" }), ".prompt"),
      ...["service", "model"].flatMap((field) =>
        [...NOT_TEXT, null, "", "x".repeat(256)].map((value) =>
          problemAt(judge({ [field]: value }), `.${field}`),
        ),
      ),
      ...[...NOT_INTEGER, null, 99, 10_001].map((value) =>
        problemAt(judge({ timeout_ms: value }), ".timeout_ms"),
      ),
      ...[...NOT_INTEGER, null, -1, 101].map((value) => problemAt(judge({ ask_from: value }), ".ask_from")),
      ...[...NOT_TEXT, null, "", "open"].map((value) => problemAt(judge({ on_error: value }), ".on_error")),
    ],
  },
  ...BLOCKING,
]);

testFieldTables(admin, [
  pluginConfiguration,
  rateLimiter,
  codeSanitation,
  responseCache,
  piiMask,
  toolPolicy,
  promptGuard,
]);
