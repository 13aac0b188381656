// Migrates a database to the schema of this version: forward only, all steps in one transaction, one node at a time.
import type { Database, Query } from "./database.ts";
import { initialSchema } from "./migrations/0001-initial.ts";
import { addBlocks } from "./migrations/0002-blocks.ts";
import { addUsage } from "./migrations/0003-usage.ts";
import { addRevisionHistory } from "./migrations/0004-revisions.ts";
import { addSealedHeaders } from "./migrations/0005-sealed-headers.ts";
import { separateBlocks } from "./migrations/0006-block-changes.ts";
import { addExactCosts } from "./migrations/0007-exact-costs.ts";
import { addUsageRows } from "./migrations/0008-usage-rows.ts";
import { addAdminTokens } from "./migrations/0009-admin-tokens.ts";
import { addAudit } from "./migrations/0010-audit.ts";
import { addAdminSessions } from "./migrations/0011-admin-sessions.ts";
import { addTraffic } from "./migrations/0012-traffic.ts";
import { addBudgets } from "./migrations/0013-budgets.ts";
import { addSpending } from "./migrations/0014-spending.ts";
import { addModels } from "./migrations/0015-models.ts";
import { addUsagePurpose } from "./migrations/0016-usage-purpose.ts";
import { addGameDays } from "./migrations/0017-game-days.ts";
import { addCanaries } from "./migrations/0018-canaries.ts";
import { addMcp } from "./migrations/0022-mcp.ts";
import { addKeptFigures } from "./migrations/0025-kept-figures.ts";
import { unsetModelRouting } from "./migrations/0026-model-routing.ts";
import { addSpendingSums } from "./migrations/0027-spending-sums.ts";
import { StoreRejected } from "./store.ts";

/** A statement, or a change of rows that SQL cannot express in both databases. */
type Step = string | ((query: Query) => Promise<void>);

/** In order. A released step is never changed; later changes are new steps. */
const MIGRATIONS: readonly ((idType: string, jsonField: Database["jsonField"]) => readonly Step[])[] = [
  initialSchema,
  addBlocks,
  addUsage,
  addRevisionHistory,
  addSealedHeaders,
  separateBlocks,
  addExactCosts,
  addUsageRows,
  addAdminTokens,
  addAudit,
  addAdminSessions,
  addTraffic,
  addBudgets,
  addSpending,
  addModels,
  addUsagePurpose,
  addGameDays,
  addCanaries,
  addMcp,
  addKeptFigures,
  unsetModelRouting,
  addSpendingSums,
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Migrates to `target`; tests create databases of earlier versions. */
export async function migrate(database: Database, target = SCHEMA_VERSION): Promise<void> {
  // An up-to-date database is not locked for writing, so that a node can start while another one writes.
  if ((await schemaVersion(database.query).catch(() => 0)) === SCHEMA_VERSION) return;
  await database.writeTransaction(async (query) => {
    await query(
      "CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)",
    );
    const found = await schemaVersion(query);
    if (found > SCHEMA_VERSION) {
      throw new StoreRejected(
        `The database has schema version ${found}, but this Gatehouse supports versions up to ${SCHEMA_VERSION}. ` +
          "Start the newer Gatehouse that migrated it, or set DATABASE_URL to another database.",
      );
    }
    for (const [index, stepsOf] of MIGRATIONS.entries()) {
      if (index < found || index >= target) continue;
      for (const step of stepsOf(database.idType, database.jsonField))
        await (typeof step === "string" ? query(step) : step(query));
      const appliedAt = new Date().toISOString();
      await query("INSERT INTO schema_versions (version, applied_at) VALUES ($1, $2)", [
        index + 1,
        appliedAt,
      ]);
    }
  });
}

async function schemaVersion(query: Query): Promise<number> {
  const [row] = await query("SELECT MAX(version) AS version FROM schema_versions");
  return Number(row?.["version"] ?? 0);
}
