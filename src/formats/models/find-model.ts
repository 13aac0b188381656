// Finds the row of a table of models for a name. Tables of models are data: what they say is never derived
// from a version number.

export interface ModelRow {
  /** In lower case, without the provider. Names of snapshots, deployments and variants begin with them. */
  readonly names: readonly string[];
  /** Keys of MODEL_SOURCES. */
  readonly sources: readonly string[];
}

/**
 * Begins what may follow the name of a model: a date, a variant (`-2026-03-05`, `:free`, `@001`). A dot
 * begins another version.
 */
const ENDS = new Set(["-", ":", "@"]);
/** Of models that a customer has fine-tuned: ft:gpt-4.1-mini:acme::id. */
const FINE_TUNED = "ft:";

/** Routers put the provider before the name: openai/gpt-5.4. */
export function hasVendorPrefix(name: string): boolean {
  return name.includes("/");
}

/** Returns the name without a router's prefix for the provider, in lower case. */
export function bareModelName(name: string): string {
  const bare = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  return bare.startsWith(FINE_TUNED) ? bare.slice(FINE_TUNED.length) : bare;
}

/** Returns the row with the longest name that the given name begins with; null if there is none. */
export function findModel<Row extends ModelRow>(rows: readonly Row[], name: string): Row | null {
  const bare = bareModelName(name);
  let found: Row | null = null;
  let length = 0;
  for (const row of rows)
    for (const each of row.names) {
      if (each.length <= length || !isNamed(bare, each)) continue;
      found = row;
      length = each.length;
    }
  return found;
}

function isNamed(name: string, model: string): boolean {
  return name.startsWith(model) && (name.length === model.length || ENDS.has(name.charAt(model.length)));
}
