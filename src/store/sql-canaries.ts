// The results of canaries by node, in the database: nodes decide together whether to switch a canary off.
import type { Database } from "./database.ts";

export interface CanaryStore {
  /** Stores the counts of this node, a text that the store does not read, and resolves to those of the other nodes for the same version of the virtual model. */
  exchangeCounts(
    about: { readonly modelId: string; readonly version: string; readonly node: string },
    counts: string,
    unixMs: number,
  ): Promise<string[]>;
}

/** Counts of nodes that have not written for so long are removed. */
const KEPT_MS = 60 * 60 * 1000;

type Use = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

export class SqlCanaries implements CanaryStore {
  readonly #use: Use;

  constructor(use: Use) {
    this.#use = use;
  }

  exchangeCounts(
    { modelId, version, node }: { modelId: string; version: string; node: string },
    counts: string,
    unixMs: number,
  ): Promise<string[]> {
    return this.#use((database) =>
      database.writeTransaction(async (query) => {
        await query("DELETE FROM canary_counts WHERE updated_at < $1", [unixMs - KEPT_MS]);
        await query(
          `INSERT INTO canary_counts (model_id, node, version, counts, updated_at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (model_id, node) DO UPDATE SET version = $3, counts = $4, updated_at = $5`,
          [modelId, node, version, counts, unixMs],
        );
        const rows = await query(
          "SELECT counts FROM canary_counts WHERE model_id = $1 AND node <> $2 AND version = $3",
          [modelId, node, version],
        );
        return rows.map((row) => String(row["counts"]));
      }),
    );
  }
}
