// Complete, valid records for tests of the store, with text that a wrong column type or encoding would corrupt.
import { SQL } from "bun";
import { join } from "node:path";
import { hashApiKey, newApiKey, newId } from "../../src/base/ids.ts";
import type { Budget } from "../../src/model/budget.ts";
import type { GameDay } from "../../src/model/game-day.ts";
import type { Gateway } from "../../src/model/gateway.ts";
import type { McpServer } from "../../src/model/mcp-server.ts";
import type { Rule } from "../../src/model/rule.ts";
import type { Service } from "../../src/model/service.ts";
import type { Target } from "../../src/model/target.ts";
import type { Upstream } from "../../src/model/upstream.ts";
import type { VirtualModel } from "../../src/model/virtual-model.ts";
import type { Block } from "../../src/store/blocks.ts";
import type { StoredApiKey } from "../../src/kinds/kind.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

export const ENCRYPTION_SECRET = "the encryption secret of the store's tests";
export const AWKWARD_TEXT = "gåte 🜁 \u2028 'one' \"two\" \\x41 \\ %_ $1 ; -- 日本語 \u00a0 \ufeff";

function times(): { created_at: string; updated_at: string } {
  const now = new Date().toISOString();
  return { created_at: now, updated_at: now };
}

export function gatewayRecord(fields: Partial<Gateway> = {}): Gateway {
  return {
    id: newId(),
    name: "a gateway",
    subdomain: null,
    required_plugins: [],
    require_api_key: false,
    log_bodies: false,
    error_format: "gatehouse",
    cors: null,
    trust_user_header: false,
    prices: [],
    jwt_issuers: [],
    ...times(),
    ...fields,
  };
}

export function targetRecord(fields: Partial<Target> = {}): Target {
  return {
    id: newId(),
    provider: "openai",
    path: null,
    weight: 1,
    priority: 1,
    default_model: null,
    models: [],
    headers: {},
    credentials: null,
    base_url: null,
    format: null,
    ...fields,
  };
}

export function upstreamRecord(gateway_id: string, fields: Partial<Upstream> = {}): Upstream {
  return {
    id: newId(),
    gateway_id,
    name: "an upstream",
    targets: [targetRecord()],
    algorithm: "round-robin",
    health_checks: { passive: false, threshold: 3, interval: 60 },
    model_routing: null,
    timeouts: { connect: 5000, first_byte: 120_000, first_content: null, idle: 120_000, total: null },
    commit: null,
    hedge: null,
    on_cancel: "settle",
    max_attempts: 3,
    ...times(),
    ...fields,
  };
}

export function mcpServerRecord(gateway_id: string, fields: Partial<McpServer> = {}): McpServer {
  const id = newId();
  return {
    id,
    gateway_id,
    name: `server-${id}`,
    url: "https://mcp.example.com/mcp",
    headers: {},
    credentials: null,
    forward_authorization: false,
    tools: { allow: null, deny: [] },
    prefix: null,
    pin: "warn",
    timeouts: { connect: 5000, list: 5000, call: 120_000 },
    enabled: true,
    ...times(),
    ...fields,
  };
}

export function serviceRecord(
  gateway_id: string,
  upstream_id: string | null,
  fields: Partial<Service> = {},
): Service {
  return {
    id: newId(),
    gateway_id,
    name: "a service",
    upstream_id,
    mcp_server_ids: [],
    type: "upstream",
    virtual_models: "own",
    description: "",
    ...times(),
    ...fields,
  };
}

export function ruleRecord(gateway_id: string, service_id: string, fields: Partial<Rule> = {}): Rule {
  return {
    id: newId(),
    gateway_id,
    name: null,
    service_id,
    path: "/v1/*",
    methods: ["POST"],
    operations: [],
    unguarded: [],
    strip_path: false,
    preserve_host: false,
    priority: 0,
    headers: {},
    require_api_key: null,
    response_format: null,
    error_format: null,
    active: true,
    ...times(),
    ...fields,
  };
}

export function apiKeyRecord(gateway_id: string, fields: Partial<StoredApiKey> = {}): StoredApiKey {
  const key = newApiKey();
  return {
    id: newId(),
    gateway_id,
    name: "a key",
    subject_type: "gateway",
    subject: gateway_id,
    policies: [],
    expires_at: null,
    labels: {},
    models: null,
    tools: null,
    hash: hashApiKey(key),
    prefix: key.slice(0, 9),
    active: true,
    last_used_at: null,
    ...times(),
    ...fields,
  };
}

export function blockRecord(gateway_id: string, fields: Partial<Block> = {}): Block {
  const id = newId();
  return {
    id,
    gateway_id,
    name: `${gateway_id}/rate_limiter/0:per_user:${id}`,
    type: "per_user",
    subject: `id:${id}`,
    counter_key: `${gateway_id}/rate_limiter/0:per_user:id:${id}`,
    created_at: times().created_at,
    expires_at: null,
    ...fields,
  };
}

/** Returns the URL of a SQLite database in a temporary directory that is removed when the tests end. */
export function temporarySqliteUrl(): string {
  return `sqlite://${join(temporaryDirectory("gatehouse-store-"), "gatehouse.db")}`;
}

/** Runs SQL on the database directly, bypassing the store. */
export async function withSql<T>(url: string, work: (sql: SQL) => Promise<T>): Promise<T> {
  const sql = url.startsWith("sqlite:")
    ? new SQL({ adapter: "sqlite", filename: url.slice("sqlite://".length) })
    : new SQL(url, { max: 1 });
  try {
    return await work(sql);
  } finally {
    await sql.close();
  }
}

export function virtualModelRecord(
  gateway_id: string,
  upstream_id: string,
  fields: Partial<VirtualModel> = {},
): VirtualModel {
  return {
    id: newId(),
    gateway_id,
    name: "a model",
    aliases: [],
    targets: [{ upstream: upstream_id, model: null, weight: 1 }],
    canary: null,
    mirror: null,
    strategy: "weighted",
    fallback: [],
    fallback_on: ["unavailable", "rate_limited", "context"],
    sticky: false,
    visible: true,
    ...times(),
    ...fields,
  };
}

/** Has ended, so that any number of them may exist. */
export function gameDayRecord(gateway_id: string, fields: Partial<GameDay> = {}): GameDay {
  return {
    id: newId(),
    gateway_id,
    name: "a game day",
    enabled: true,
    starts_at: "2026-01-01T00:00:00.000Z",
    ends_at: "2026-01-01T01:00:00.000Z",
    match: { rules: [], keys: [], labels: {}, models: [], headers: {}, share: 1 },
    max_requests: null,
    faults: [
      {
        type: "refuse",
        ms: null,
        status: null,
        retry_after: null,
        after_events: 0,
        target_ids: [],
        attempts: null,
        share: 1,
      },
    ],
    abort_if: null,
    expect: { success_ratio: null, failover_ratio: null, p99_ms: null, min_requests: 1 },
    isolated: true,
    ...times(),
    ...fields,
  };
}

export function budgetRecord(gateway_id: string, fields: Partial<Budget> = {}): Budget {
  return {
    id: newId(),
    gateway_id,
    name: "a budget",
    unit: "usd",
    amount: "12.50",
    period: "month",
    timezone: "Europe/Berlin",
    scope: "gateway",
    label: null,
    value: null,
    each: false,
    models: null,
    mode: "enforce",
    warn_at: [0.8],
    on_unknown_price: "refuse",
    on_store_failure: null,
    webhook: null,
    ...times(),
    ...fields,
  };
}
