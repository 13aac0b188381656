// References between records. They are checked inside the transaction that writes, so no reference ever dangles.
import { GatehouseError, validationError, type ErrorDetail } from "../base/errors.ts";
import type { Kind, KindDeclaration, RecordOf, Reference } from "../kinds/kind.ts";
import { CHILD_KINDS, KIND_NAMES, KINDS } from "../kinds/kinds.ts";
import type { Query, Row } from "./database.ts";
import { activeGameDay } from "./game-days.ts";

/** Limits how many records an error names. */
const MAX_NAMED = 20;

/** Checks that a declaration cannot express. */
const CHECKS: { readonly [K in Kind]?: (query: Query, record: RecordOf[K]) => Promise<void> } = {
  budgets: checkBudgetSubject,
  game_days: checkGameDay,
};

/** Rejects a record that refers to something that does not exist or belongs to another gateway (400), or whose unique value is taken (409). */
export async function checkReferences<K extends Kind>(
  query: Query,
  kind: K,
  record: RecordOf[K],
): Promise<void> {
  const { unique, refersTo }: KindDeclaration<K> = KINDS[kind];
  for (const field of Object.keys(unique)) await checkUnique(query, kind, field, record);
  for (const target of KIND_NAMES) {
    const declared = refersTo[target];
    if (declared !== undefined && "gateway_id" in record)
      await requireAll(query, target, record.gateway_id, declared.from(record));
  }
  const check: ((query: Query, record: RecordOf[K]) => Promise<void>) | undefined = CHECKS[kind];
  await check?.(query, record);
}

async function checkUnique(query: Query, kind: Kind, field: string, record: RecordOf[Kind]): Promise<void> {
  const value: unknown = Reflect.get(record, field);
  if (typeof value !== "string") return;
  const isOfGateway = "gateway_id" in record;
  const found = await query(
    `SELECT id, name FROM ${kind} WHERE ${field} = $1${isOfGateway ? " AND gateway_id = $2" : ""}`,
    isOfGateway ? [value, record.gateway_id] : [value],
  );
  const other = found.find((each) => each["id"] !== record.id);
  if (other === undefined) return;
  const message = `"${value}" is already the ${field} of ${KINDS[kind].singular} ${describe(other)}`;
  throw new GatehouseError("duplicate", `${field}: ${message}`, { details: [{ path: field, message }] });
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A name is not checked: a key of that name may be created later. */
async function checkBudgetSubject(
  query: Query,
  { gateway_id, scope, value }: RecordOf["budgets"],
): Promise<void> {
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
  table: Kind,
  gatewayId: string,
  references: readonly Reference[],
): Promise<void> {
  const problems: ErrorDetail[] = [];
  for (const { path, id } of references) {
    const [found] = await query(`SELECT gateway_id FROM ${table} WHERE id = $1`, [id]);
    if (found?.["gateway_id"] === gatewayId) continue;
    // The same message for a missing record and one of another gateway: neither can be used here.
    problems.push({ path, message: `there is no ${KINDS[table].singular} "${id}" in this gateway` });
  }
  if (problems.length > 0) throw validationError(problems);
}

/** Returns the conditions in SQL under which records of a kind refer to the record with the id $1. */
function referrersOf(kind: Kind): { readonly table: Kind; readonly where: string }[] {
  return CHILD_KINDS.flatMap((table) => {
    const { refersTo, usesWhile } = KINDS[table];
    const declared = refersTo[kind];
    const condition = usesWhile === null ? "" : ` AND ${usesWhile}`;
    if (kind === "gateways") return [{ table, where: `gateway_id = $1${condition}` }];
    if (declared === undefined) return [];
    if (declared.column !== null) return [{ table, where: `${declared.column} = $1${condition}` }];
    // Only records of the same gateway can name it; without that condition those of all gateways would be searched.
    const inBody = `gateway_id = (SELECT gateway_id FROM ${kind} WHERE id = $1)${condition} AND body LIKE '%"' || $1 || '"%'`;
    return [{ table, where: inBody }];
  });
}

/** Rejects the deletion of a record that others refer to (409), and names them. */
export async function rejectIfUsed(query: Query, kind: Kind, id: string): Promise<void> {
  const users: ErrorDetail[] = [];
  for (const { table, where } of referrersOf(kind)) {
    const rows = await query(`SELECT id, name FROM ${table} WHERE ${where} ORDER BY id LIMIT ${MAX_NAMED}`, [
      id,
    ]);
    for (const row of rows) users.push({ path: table, message: `${KINDS[table].singular} ${describe(row)}` });
  }
  if (users.length === 0) return;
  const names = users.slice(0, MAX_NAMED).map((user) => user.message);
  const fix =
    kind === "gateways" ? " Delete them first, or add ?cascade=true." : " Delete or change them first.";
  throw new GatehouseError("in_use", `This ${KINDS[kind].singular} is used by ${names.join(", ")}.${fix}`, {
    details: users,
  });
}

function describe(row: Row): string {
  const name = row["name"];
  return typeof name === "string" ? `"${name}" (${String(row["id"])})` : String(row["id"]);
}
