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

testFieldTables(admin, [pluginConfiguration, rateLimiter, codeSanitation]);
