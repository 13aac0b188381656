// Creates databases of earlier schema versions with records in them, so that the next start migrates them.
import { openDatabase } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import type { Budget } from "../../src/model/budget.ts";
import type { Gateway } from "../../src/model/gateway.ts";
import { temporarySqliteUrl, withSql } from "./store-records.ts";

/**
 * Returns the last version in which budgets could have the name of another one and webhooks were stored in
 * plain text.
 */
async function versionBeforeUniqueBudgets(): Promise<number> {
  for (let version = 19; ; version++) {
    const database = openDatabase(temporarySqliteUrl());
    await migrate(database, version);
    const tables = await database.query("SELECT name FROM sqlite_master WHERE name = 'past_gateways'");
    await database.close();
    if (tables.length > 0) return version - 1;
  }
}

/** Writes a gateway and its budgets as that version did, in one revision. */
export async function writeOldBudgets(
  url: string,
  gateway: Gateway,
  budgets: readonly Budget[],
): Promise<void> {
  const database = openDatabase(url);
  await migrate(database, await versionBeforeUniqueBudgets());
  await database.close();
  await withSql(url, async (sql) => {
    const { id, name, subdomain, created_at, updated_at, ...fields } = gateway;
    await sql.unsafe(
      "INSERT INTO gateways (id, name, subdomain, body, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)",
      [id, name, subdomain, JSON.stringify({ name, subdomain, ...fields }), created_at, updated_at],
    );
    const rows = budgets.map(({ id, gateway_id, created_at, updated_at, ...body }) => ({
      ...{ id, gateway_id, name: body.name, body: JSON.stringify(body), created_at, updated_at },
    }));
    for (const row of rows)
      await sql.unsafe(
        "INSERT INTO budgets (id, gateway_id, name, body, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)",
        Object.values(row),
      );
    const records = rows.map((after) => ({ kind: "budgets", id: after.id, before: null, after }));
    await sql.unsafe("UPDATE configuration SET revision = 1");
    await sql.unsafe(
      "INSERT INTO revisions (number, gateway_id, created_at, action, records) VALUES (1, $1, $2, 'apply', $3)",
      [id, gateway.created_at, JSON.stringify(records)],
    );
  });
}
