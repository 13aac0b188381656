// What refers to what: checked inside the transaction that writes, so that no reference ever dangles.
import { GatehouseError, validationError, type ErrorDetail } from "../base/errors.ts";
import type { Query, Row } from "./database.ts";
import type { Kind, RecordOf } from "./store.ts";

const MAX_NAMED = 20;

/** Refuses a record that refers to something which does not exist or belongs to another gateway (400). */
export async function checkReferences<K extends Kind>(
  query: Query,
  kind: K,
  record: RecordOf[K],
): Promise<void> {
  if (kind === "gateways") return checkSubdomain(query, record as RecordOf["gateways"]);
  const { gateway_id } = record as { gateway_id: string };
  if (kind === "services") {
    const { upstream_id } = record as RecordOf["services"];
    await requireAll(query, "upstreams", gateway_id, [{ path: "upstream_id", id: upstream_id }]);
  } else if (kind === "rules") {
    const { service_id } = record as RecordOf["rules"];
    await requireAll(query, "services", gateway_id, [{ path: "service_id", id: service_id }]);
  } else if (kind === "api_keys") {
    const { policies } = record as RecordOf["api_keys"];
    const references = policies.map((id, index) => ({ path: `policies[${index}]`, id }));
    await requireAll(query, "rules", gateway_id, references);
  }
}

async function checkSubdomain(query: Query, gateway: RecordOf["gateways"]): Promise<void> {
  if (gateway.subdomain === null) return;
  const [taken] = await query("SELECT id, name FROM gateways WHERE subdomain = $1", [gateway.subdomain]);
  if (taken === undefined || taken["id"] === gateway.id) return;
  const message = `"${gateway.subdomain}" is the subdomain of gateway ${describe(taken)}`;
  throw new GatehouseError("duplicate", `subdomain: ${message}`, {
    details: [{ path: "subdomain", message }],
  });
}

async function requireAll(
  query: Query,
  table: "upstreams" | "services" | "rules",
  gatewayId: string,
  references: readonly { path: string; id: string }[],
): Promise<void> {
  const problems: ErrorDetail[] = [];
  for (const { path, id } of references) {
    const [found] = await query(`SELECT gateway_id FROM ${table} WHERE id = $1`, [id]);
    if (found?.["gateway_id"] === gatewayId) continue;
    // One sentence for "does not exist" and "belongs to another gateway": neither can be used here.
    problems.push({ path, message: `there is no ${table.slice(0, -1)} "${id}" in this gateway` });
  }
  if (problems.length > 0) throw validationError(problems);
}

const USERS: Partial<Record<Kind, readonly { kind: Kind; where: string }[]>> = {
  upstreams: [{ kind: "services", where: "upstream_id = $1" }],
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
    { kind: "services", where: "gateway_id = $1" },
    { kind: "rules", where: "gateway_id = $1" },
    { kind: "api_keys", where: "active = 1 AND gateway_id = $1" },
  ],
};

/** Refuses to delete what others use (409), naming them. */
export async function refuseWhileUsed(query: Query, kind: Kind, id: string): Promise<void> {
  const users: ErrorDetail[] = [];
  for (const { kind: table, where } of USERS[kind] ?? []) {
    const rows = await query(`SELECT id, name FROM ${table} WHERE ${where} ORDER BY id LIMIT ${MAX_NAMED}`, [
      id,
    ]);
    for (const row of rows) users.push({ path: table, message: `${singular(table)} ${describe(row)}` });
  }
  if (users.length === 0) return;
  const names = users.slice(0, MAX_NAMED).map((user) => user.message);
  const mend =
    kind === "gateways" ? " Delete them first, or add ?cascade=true." : " Delete or change them first.";
  throw new GatehouseError("in_use", `This ${singular(kind)} is used by ${names.join(", ")}.${mend}`, {
    details: users,
  });
}

function singular(kind: Kind): string {
  return kind === "api_keys" ? "API key" : kind.slice(0, -1);
}

function describe(row: Row): string {
  const name = row["name"];
  return typeof name === "string" ? `"${name}" (${String(row["id"])})` : String(row["id"]);
}
