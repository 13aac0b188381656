// The fields of gateways, services, rules, and API keys (section 2 of specification and contract).
import { MISSING_ID, useAdminApi, type Chain } from "../support/admin-fixtures.ts";
import {
  becomes,
  NAMES,
  NOT_BOOLEAN,
  NOT_INTEGER,
  NOT_LIST,
  NOT_NAMES,
  NOT_TEXT,
  problemAt,
  REJECTED_HEADERS,
  same,
  testFieldTables,
  type FieldTable,
} from "../support/field-tables.ts";

const admin = useAdminApi();
const NAME_32 = "n".repeat(32);
const idOf = (name: keyof Chain) => (): string => admin.chain[name];
const otherIdOf = (name: keyof Chain) => (): string => admin.other[name];

const gateway: FieldTable = {
  what: "gateway (2.1)",
  prefix: "",
  minimal: () => ({ name: "g" }),
  collection: () => "/gateways",
  wrap: same,
  unwrap: same,
  rows: [
    { field: "name", accepts: NAMES, rejects: [...NOT_NAMES, null] },
    {
      field: "subdomain",
      fallback: null,
      accepts: ["acme", "a", "a-1", "9", "x".repeat(63), becomes("MiXeD", "mixed"), null],
      rejects: [...NOT_TEXT, "", "-a", "a-", "a.b", "a_b", "a b", "é", "x".repeat(64), "a\n"],
    },
    {
      field: "required_plugins",
      fallback: [],
      accepts: [[]],
      rejects: [...NOT_LIST, null, problemAt(["rate_limiter"], "[0]"), problemAt([null], "[0]")],
    },
    { field: "require_api_key", fallback: false, accepts: [true, false], rejects: [...NOT_BOOLEAN, null] },
    { field: "log_bodies", fallback: false, accepts: [true, false], rejects: [...NOT_BOOLEAN, null] },
    {
      field: "error_format",
      fallback: "gatehouse",
      accepts: ["gatehouse", "openai", "anthropic", "auto"],
      rejects: [...NOT_TEXT, null, "", "gemini"],
    },
  ],
};

const service: FieldTable = {
  what: "service (2.5)",
  prefix: "",
  minimal: () => ({ name: "s", upstream_id: admin.chain.upstream }),
  collection: () => `/gateways/${admin.chain.gateway}/services`,
  wrap: same,
  unwrap: same,
  rows: [
    { field: "name", accepts: NAMES, rejects: [...NOT_NAMES, null] },
    {
      field: "upstream_id",
      accepts: [idOf("upstream")],
      rejects: [
        ...NOT_TEXT,
        null,
        "",
        MISSING_ID,
        "not-an-id",
        otherIdOf("upstream"),
        idOf("service"),
        "x".repeat(65),
      ],
    },
    {
      field: "type",
      fallback: "upstream",
      accepts: ["upstream"],
      rejects: [...NOT_TEXT, null, "", "direct"],
    },
    {
      field: "description",
      fallback: "",
      accepts: ["", "two\nlines", "x".repeat(4096)],
      rejects: [...NOT_TEXT, null, "x".repeat(4097)],
    },
  ],
};

const rule: FieldTable = {
  what: "rule (2.6)",
  prefix: "",
  minimal: () => ({ service_id: admin.chain.service, path: "/x", methods: ["POST"] }),
  collection: () => `/gateways/${admin.chain.gateway}/rules`,
  wrap: same,
  unwrap: same,
  rows: [
    {
      field: "service_id",
      accepts: [idOf("service")],
      rejects: [...NOT_TEXT, null, "", MISSING_ID, otherIdOf("service"), idOf("upstream")],
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
      rejects: [
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
      rejects: [
        ...NOT_LIST,
        null,
        [],
        problemAt(["POST", "BREW"], "[1]"),
        problemAt([""], "[0]"),
        problemAt([7], "[0]"),
        problemAt([null], "[0]"),
      ],
    },
    { field: "strip_path", fallback: false, accepts: [true, false], rejects: [...NOT_BOOLEAN, null] },
    { field: "preserve_host", fallback: false, accepts: [true, false], rejects: [...NOT_BOOLEAN, null] },
    { field: "name", fallback: null, accepts: [...NAMES, null], rejects: NOT_NAMES },
    { field: "priority", fallback: 0, accepts: [0, 5, -5], rejects: [...NOT_INTEGER, null] },
    {
      field: "headers",
      fallback: {},
      accepts: [{}, { "X-Tier": "gold", "X-Any": "*" }],
      rejects: REJECTED_HEADERS,
    },
    { field: "require_api_key", fallback: null, accepts: [true, false, null], rejects: NOT_BOOLEAN },
    {
      field: "response_format",
      fallback: null,
      accepts: ["openai", null],
      rejects: [...NOT_TEXT, "", "anthropic"],
    },
    {
      field: "error_format",
      fallback: null,
      accepts: ["gatehouse", "openai", "anthropic", "auto", null],
      rejects: [...NOT_TEXT, "", "gemini"],
    },
    { field: "active", fallback: true, accepts: [true, false], rejects: [...NOT_BOOLEAN, null] },
  ],
};

const apiKey: FieldTable = {
  what: "API key (2.6)",
  prefix: "",
  minimal: () => ({ name: "k", subject: admin.chain.gateway }),
  collection: () => "/iam/api-keys",
  wrap: same,
  unwrap: same,
  rows: [
    { field: "name", accepts: NAMES, rejects: [...NOT_NAMES, null] },
    {
      field: "expires_at",
      fallback: null,
      accepts: [
        becomes("2099-01-31T12:00:00Z", "2099-01-31T12:00:00.000Z"),
        becomes("2099-01-31T12:00:00.123456Z", "2099-01-31T12:00:00.123Z"),
        becomes("2099-01-31T12:00:00+02:00", "2099-01-31T10:00:00.000Z"),
        null,
      ],
      rejects: [...NOT_TEXT, "2020-01-01T00:00:00Z"],
    },
    {
      field: "subject_type",
      fallback: "gateway",
      accepts: ["gateway"],
      rejects: [...NOT_TEXT, null, "", "user"],
    },
    {
      field: "subject",
      accepts: [idOf("gateway")],
      rejects: [...NOT_TEXT, null, "", MISSING_ID, idOf("rule")],
    },
    {
      field: "policies",
      fallback: [],
      accepts: [[], [idOf("rule")]],
      rejects: [
        ...NOT_LIST,
        null,
        problemAt([7], "[0]"),
        problemAt([idOf("rule"), MISSING_ID], "[1]"),
        problemAt([otherIdOf("rule")], "[0]"),
        problemAt([idOf("service")], "[0]"),
      ],
    },
    {
      field: "labels",
      fallback: {},
      accepts: [
        {},
        { team: "search" },
        { "a-b_c9": "Ünicode, 日本語", [NAME_32]: "x".repeat(128) },
        { constructor: "x" },
        Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`label${index}`, "x"])),
      ],
      rejects: [
        "team",
        7,
        null,
        ["team"],
        Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`label${index}`, "x"])),
        problemAt({ Team: "x" }, ".Team"),
        problemAt({ [`${NAME_32}x`]: "x" }, `.${NAME_32}x`),
        problemAt({ team: "" }, ".team"),
        problemAt({ team: 7 }, ".team"),
        problemAt({ team: "x".repeat(129) }, ".team"),
        problemAt({ team: "a\nb" }, ".team"),
        problemAt({ team: "\ud800" }, ".team"),
      ],
    },
    {
      field: "models",
      fallback: null,
      accepts: [null, ["gpt-4o"], ["gpt-*", "claude-3", "*"], becomes(["m", "m"], ["m"])],
      rejects: [
        "gpt-4o",
        7,
        {},
        [],
        problemAt([7], "[0]"),
        problemAt(["m", ""], "[1]"),
        problemAt(["*-mini"], "[0]"),
        problemAt(["gpt-**"], "[0]"),
        problemAt(["x".repeat(256)], "[0]"),
      ],
    },
  ],
};

testFieldTables(admin, [gateway, service, rule, apiKey]);
