// The fields of upstreams and targets (section 2 of specification and contract).
import { useAdminApi } from "../support/admin-fixtures.ts";
import {
  becomes,
  NAMES,
  NOT_BOOLEAN,
  NOT_INTEGER,
  NOT_LIST,
  NOT_NAMES,
  NOT_OBJECT,
  NOT_TEXT,
  problemAt,
  REJECTED_HEADERS,
  same,
  testFieldTables,
  type FieldTable,
} from "../support/field-tables.ts";

const admin = useAdminApi();

const upstream: FieldTable = {
  what: "upstream (2.3)",
  prefix: "",
  minimal: () => ({ name: "u", targets: [{ provider: "openai" }] }),
  collection: () => `/gateways/${admin.chain.gateway}/upstreams`,
  wrap: same,
  unwrap: same,
  rows: [
    { field: "name", accepts: NAMES, rejects: [...NOT_NAMES, null] },
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
      rejects: [...NOT_TEXT, null, "", "round_robin", "Round-Robin", "best"],
    },
    {
      field: "targets",
      accepts: [],
      rejects: [
        ...NOT_LIST,
        null,
        [],
        Array.from({ length: 257 }, () => ({ provider: "openai" })),
        problemAt(["openai"], "[0]"),
        problemAt([{ provider: "openai" }, null], "[1]"),
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
      rejects: [
        ...NOT_OBJECT,
        null,
        ...NOT_BOOLEAN.map((value) => problemAt({ passive: value }, ".passive")),
        ...[...NOT_INTEGER, 0, -1].map((value) => problemAt({ threshold: value }, ".threshold")),
        ...[...NOT_INTEGER, 0, -1, "60s"].map((value) => problemAt({ interval: value }, ".interval")),
        problemAt({ pasive: true }, ".pasive"),
      ],
    },
    {
      field: "model_routing",
      fallback: null,
      accepts: [null, "prefer", "any", "require"],
      rejects: [...NOT_TEXT, "", "never"],
    },
    {
      field: "timeouts",
      fallback: { connect: 5000, first_byte: 120_000, first_content: null, idle: 120_000, total: null },
      accepts: [
        { connect: 1, first_byte: 2, first_content: 5, idle: 3, total: 4 },
        becomes(
          { total: 9 },
          { connect: 5000, first_byte: 120_000, first_content: null, idle: 120_000, total: 9 },
        ),
      ],
      rejects: [
        ...NOT_OBJECT,
        null,
        ...["connect", "first_byte", "first_content", "idle", "total"].flatMap((name) =>
          [...NOT_INTEGER, 0, -1].map((value) => problemAt({ [name]: value }, `.${name}`)),
        ),
        problemAt({ conect: 5 }, ".conect"),
      ],
    },
    {
      field: "on_cancel",
      fallback: "settle",
      accepts: ["settle", "drain"],
      rejects: [...NOT_TEXT, null, "", "stop"],
    },
    {
      field: "commit",
      fallback: null,
      accepts: [
        null,
        { max_ms: 0, max_bytes: 0 },
        { max_ms: 60_000, max_bytes: 1_048_576 },
        becomes({}, { max_ms: 1500, max_bytes: 16_384 }),
      ],
      rejects: [
        ...NOT_OBJECT,
        ...["max_ms", "max_bytes"].flatMap((name) =>
          [...NOT_INTEGER, null, -1, 10_000_000].map((value) => problemAt({ [name]: value }, `.${name}`)),
        ),
        problemAt({ max: 5 }, ".max"),
      ],
    },
    {
      field: "hedge",
      fallback: null,
      accepts: [
        null,
        { after: 1, budget: 1 },
        { after: "p95", budget: 0.5 },
        becomes({}, { after: "p95", budget: 0.05 }),
        becomes({ after: 200 }, { after: 200, budget: 0.05 }),
      ],
      rejects: [
        ...NOT_OBJECT,
        ...[null, "p99", "200", 0, -1, 1.5, 100_000_000].map((value) =>
          problemAt({ after: value }, ".after"),
        ),
        ...[null, "0.05", 0, -0.1, 1.1].map((value) => problemAt({ budget: value }, ".budget")),
        problemAt({ delay: 5 }, ".delay"),
      ],
    },
    { field: "max_attempts", fallback: 3, accepts: [1, 3, 10], rejects: [...NOT_INTEGER, null, 0, -1, 1000] },
  ],
};

const target: FieldTable = {
  what: "target (2.4)",
  prefix: "targets[0].",
  minimal: () => ({ provider: "openai" }),
  collection: () => `/gateways/${admin.chain.gateway}/upstreams`,
  wrap: (fields) => ({ name: "u", targets: [fields] }),
  unwrap: (record) => record.targets[0],
  rows: [
    {
      field: "provider",
      accepts: ["openai", "anthropic", "google", "perplexity"],
      rejects: [...NOT_NAMES, null, "x".repeat(65)],
    },
    {
      field: "path",
      fallback: null,
      accepts: ["", "/", "/v1/chat/completions", "/v1/%20x", null],
      rejects: [...NOT_TEXT, "v1/chat", "/a b", "/a?b=c", "/a#b", "https://x/y", `/${"x".repeat(2048)}`],
    },
    { field: "weight", fallback: 1, accepts: [0, 1, 50], rejects: [...NOT_INTEGER, null, -1] },
    { field: "priority", fallback: 1, accepts: [0, 1, 7], rejects: [...NOT_INTEGER, null] },
    { field: "default_model", fallback: null, accepts: ["gpt-4o-mini", null], rejects: NOT_NAMES },
    {
      field: "models",
      fallback: [],
      accepts: [[], ["gpt-4o"], ["a", "b/c:d"]],
      rejects: [
        ...NOT_LIST,
        null,
        problemAt([7], "[0]"),
        problemAt(["a", ""], "[1]"),
        problemAt(["a", null], "[1]"),
      ],
    },
    {
      field: "headers",
      fallback: {},
      accepts: [{}, { "anthropic-version": "2023-06-01" }, { "X-Empty": "" }, { "X-A": "ä\ttab" }],
      rejects: REJECTED_HEADERS,
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
      rejects: [
        ...NOT_OBJECT,
        problemAt({ header_value: "x" }, ".header_name"),
        problemAt({ header_name: "x" }, ".header_value"),
        ...[...NOT_TEXT, null, "", "bad name", "X:"].map((value) =>
          problemAt({ header_name: value, header_value: "x" }, ".header_name"),
        ),
        ...[...NOT_TEXT, null, "", "a\nb", "名"].map((value) =>
          problemAt({ header_name: "X", header_value: value }, ".header_value"),
        ),
        problemAt({ header_name: "X", header_value: "x", header: "y" }, ".header"),
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
      rejects: [
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
      accepts: ["openai", "anthropic", "responses", "gemini", null],
      rejects: [...NOT_TEXT, "", "cohere", "OpenAI"],
    },
  ],
};

testFieldTables(admin, [upstream, target]);
