// Gives budgets of a gateway that have the name of an older one a suffix. Earlier versions accepted any name.
import type { Query } from "./database.ts";

/** Names are at most this long, because a response header contains them. */
const MAX_LENGTH = 64;

interface NamedBudget {
  readonly id: string;
  readonly name: string;
}

/** Returns the new names of budgets by id. `budgets` are all those of a gateway, oldest first. */
export function renamedDuplicates(budgets: readonly NamedBudget[]): ReadonlyMap<string, string> {
  const taken = new Set(budgets.map(({ name }) => name));
  const seen = new Set<string>();
  const renamed = new Map<string, string>();
  for (const { id, name } of budgets) {
    if (seen.has(name)) renamed.set(id, freeName(name, taken));
    seen.add(name);
  }
  return renamed;
}

function freeName(name: string, taken: Set<string>): string {
  for (let number = 2; ; number++) {
    const suffix = `-${number}`;
    const candidate = name.slice(0, MAX_LENGTH - suffix.length) + suffix;
    if (taken.has(candidate)) continue;
    taken.add(candidate);
    return candidate;
  }
}

/** A migration step: renames stored duplicates, without a revision. */
export async function renameStoredDuplicates(query: Query): Promise<void> {
  const gateways = await query(
    `SELECT DISTINCT gateway_id FROM (SELECT gateway_id FROM budgets GROUP BY gateway_id, name HAVING COUNT(*) > 1) d`,
  );
  for (const { gateway_id = null } of gateways) {
    const rows = await query(
      "SELECT id, name, body FROM budgets WHERE gateway_id = $1 ORDER BY created_at, id",
      [gateway_id],
    );
    const budgets = rows.map((row) => ({ id: String(row["id"]), name: String(row["name"]) }));
    const renamed = renamedDuplicates(budgets);
    for (const { id = null, body } of rows) {
      const name = renamed.get(String(id));
      if (name === undefined) continue;
      await query("UPDATE budgets SET name = $1, body = $2 WHERE id = $3", [name, withName(body, name), id]);
    }
  }
}

/** Returns the body of a row with another name. */
export function withName(body: unknown, name: string): string {
  return JSON.stringify({ ...(JSON.parse(String(body)) as object), name });
}
