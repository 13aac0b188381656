// References between records. They are checked inside the transaction that writes, so no reference ever dangles.
import { GatehouseError, validationError, type ErrorDetail } from "../base/errors.ts";
import type { Query, Row } from "./database.ts";
import { activeGameDay } from "./game-days.ts";
import type { Kind, RecordOf } from "./store.ts";

/** Limits how many records an error names. */
const MAX_NAMED = 20;

type ReferenceChecks = { readonly [K in Kind]: (query: Query, record: RecordOf[K]) => Promise<void> };

const CHECKS: ReferenceChecks = {
  gateways: checkSubdomain,
  upstreams: () => Promise.resolve(),
  mcp_servers: () => Promise.resolve(),
  services: async (query, { gateway_id, upstream_id, mcp_server_ids }) => {
    const upstream = upstream_id === null ? [] : [{ path: "upstream_id", id: upstream_id }];
    await requireAll(query, "upstreams", gateway_id, upstream);
    const servers = mcp_server_ids.map((id, index) => ({ path: `mcp_server_ids[${index}]`, id }));
    await requireAll(query, "mcp_servers", gateway_id, servers);
  },
  rules: (query, { gateway_id, service_id }) =>
    requireAll(query, "services", gateway_id, [{ path: "service_id", id: service_id }]),
  models: (query, { gateway_id, targets, canary, mirror }) => {
    const references = targets.map(({ upstream: id }, index) => ({ path: `targets[${index}].upstream`, id }));
    if (canary !== null) references.push({ path: "canary.target.upstream", id: canary.target.upstream });
    if (mirror !== null) references.push({ path: "mirror.target.upstream", id: mirror.target.upstream });
    return requireAll(query, "upstreams", gateway_id, references);
  },
  budgets: checkBudget,
  game_days: checkGameDay,
  api_keys: (query, { gateway_id, policies }) => {
    const references = policies.map((id, index) => ({ path: `policies[${index}]`, id }));
    return requireAll(query, "rules", gateway_id, references);
  },
};

/** Rejects a record that refers to something that does not exist or belongs to another gateway (400). */
export async function checkReferences<K extends Kind>(
  query: Query,
  kind: K,
  record: RecordOf[K],
): Promise<void> {
  const check: ReferenceChecks[K] = CHECKS[kind];
  await check(query, record);
}

async function checkSubdomain(query: Query, { id, subdomain }: RecordOf["gateways"]): Promise<void> {
  if (subdomain === null) return;
  const [taken] = await query("SELECT id, name FROM gateways WHERE subdomain = $1", [subdomain]);
  if (taken === undefined || taken["id"] === id) return;
  const message = `"${subdomain}" is already the subdomain of gateway ${describe(taken)}`;
  throw new GatehouseError("duplicate", `subdomain: ${message}`, {
    details: [{ path: "subdomain", message }],
  });
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A name is not checked: a key of that name may be created later. */
async function checkBudget(query: Query, { id, gateway_id, ...budget }: RecordOf["budgets"]): Promise<void> {
  const { name, scope, value } = budget;
  const taken = await query("SELECT id, name FROM budgets WHERE gateway_id = $1 AND name = $2", [
    gateway_id,
    name,
  ]);
  const other = taken.find((each) => each["id"] !== id);
  if (other !== undefined) {
    const message = `"${name}" is already the name of budget ${describe(other)}`;
    throw new GatehouseError("duplicate", `name: ${message}`, { details: [{ path: "name", message }] });
  }
  if (scope === "api_key" && value !== null && UUID.test(value))
    await requireAll(query, "api_keys", gateway_id, [{ path: "value", id: value }]);
}

/** Only while it is enabled: what a game day refers to may be deleted, and stopping it must always be possible. */
async function checkGameDay(query: Query, record: RecordOf["game_days"]): Promise<void> {
  const { id, gateway_id, enabled, match, faults } = record;
  if (!enabled) return;
  const listed = (path: string, ids: readonly string[]) =>
    ids.map((each, index) => ({ path: `${path}[${index}]`, id: each }));
  await requireAll(query, "rules", gateway_id, listed("match.rules", match.rules));
  await requireAll(query, "api_keys", gateway_id, listed("match.keys", match.keys));
  const problems: ErrorDetail[] = [];
  for (const { path, id: target } of faults.flatMap(({ target_ids }, index) =>
    listed(`faults[${index}].target_ids`, target_ids),
  )) {
    const [found] = await query(
      `SELECT id FROM upstreams WHERE gateway_id = $1 AND body LIKE '%"id":' || $2 || '%'`,
      [gateway_id, JSON.stringify(target).replaceAll(/[%_]/g, "")],
    );
    if (found === undefined)
      problems.push({ path, message: `there is no target "${target}" in this gateway` });
  }
  if (problems.length > 0) throw validationError(problems);
  const active = await activeGameDay(query, gateway_id, id, Date.now());
  if (active !== null)
    throw new GatehouseError(
      "game_day_active",
      `The game day ${describe(active)} of this gateway has not ended. Stop or delete it first.`,
    );
}

async function requireAll(
  query: Query,
  table: "upstreams" | "mcp_servers" | "services" | "rules" | "api_keys",
  gatewayId: string,
  references: readonly { path: string; id: string }[],
): Promise<void> {
  const problems: ErrorDetail[] = [];
  for (const { path, id } of references) {
    const [found] = await query(`SELECT gateway_id FROM ${table} WHERE id = $1`, [id]);
    if (found?.["gateway_id"] === gatewayId) continue;
    // The same message for a missing record and one of another gateway: neither can be used here.
    problems.push({ path, message: `there is no ${singular(table)} "${id}" in this gateway` });
  }
  if (problems.length > 0) throw validationError(problems);
}

/** The records that can refer to a record of each kind, with the condition that they do. */
const REFERRERS: Partial<Record<Kind, readonly { kind: Kind; where: string }[]>> = {
  upstreams: [
    { kind: "services", where: "upstream_id = $1" },
    {
      kind: "models",
      where: `gateway_id = (SELECT gateway_id FROM upstreams WHERE id = $1) AND body LIKE '%"' || $1 || '"%'`,
    },
  ],
  mcp_servers: [
    {
      kind: "services",
      where: `gateway_id = (SELECT gateway_id FROM mcp_servers WHERE id = $1) AND body LIKE '%"' || $1 || '"%'`,
    },
  ],
  services: [{ kind: "rules", where: "service_id = $1" }],
  // A revoked key no longer needs its rules: its record stays, but does not keep them from being deleted. Only keys of
  // the rule's own gateway can name it; without that condition 100,000 keys elsewhere would all be searched.
  rules: [
    {
      kind: "api_keys",
      where: `gateway_id = (SELECT gateway_id FROM rules WHERE id = $1) AND active = 1 AND body LIKE '%"' || $1 || '"%'`,
    },
  ],
  gateways: [
    { kind: "upstreams", where: "gateway_id = $1" },
    { kind: "mcp_servers", where: "gateway_id = $1" },
    { kind: "services", where: "gateway_id = $1" },
    { kind: "rules", where: "gateway_id = $1" },
    { kind: "models", where: "gateway_id = $1" },
    { kind: "budgets", where: "gateway_id = $1" },
    { kind: "game_days", where: "gateway_id = $1" },
    { kind: "api_keys", where: "active = 1 AND gateway_id = $1" },
  ],
};

/** Rejects the deletion of a record that others refer to (409), and names them. */
export async function rejectIfUsed(query: Query, kind: Kind, id: string): Promise<void> {
  const users: ErrorDetail[] = [];
  for (const { kind: table, where } of REFERRERS[kind] ?? []) {
    const rows = await query(`SELECT id, name FROM ${table} WHERE ${where} ORDER BY id LIMIT ${MAX_NAMED}`, [
      id,
    ]);
    for (const row of rows) users.push({ path: table, message: `${singular(table)} ${describe(row)}` });
  }
  if (users.length === 0) return;
  const names = users.slice(0, MAX_NAMED).map((user) => user.message);
  const fix =
    kind === "gateways" ? " Delete them first, or add ?cascade=true." : " Delete or change them first.";
  throw new GatehouseError("in_use", `This ${singular(kind)} is used by ${names.join(", ")}.${fix}`, {
    details: users,
  });
}

function singular(kind: Kind): string {
  if (kind === "models") return "virtual model";
  if (kind === "game_days") return "game day";
  if (kind === "mcp_servers") return "MCP server";
  return kind === "api_keys" ? "API key" : kind.slice(0, -1);
}

function describe(row: Row): string {
  const name = row["name"];
  return typeof name === "string" ? `"${name}" (${String(row["id"])})` : String(row["id"]);
}
