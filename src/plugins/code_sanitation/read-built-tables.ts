// Reads tables that were computed at build time.
import { readFileSync } from "node:fs";
import type { BuiltTable } from "./built-tables.ts";

/** Returns the content of a table; null if there is none, or if it was computed from something else. */
export function readBuiltTable(
  table: BuiltTable | null | undefined,
  names: readonly string[],
): Uint8Array | null {
  if (table === null || table === undefined || table.hash !== hashOfNames(names)) return null;
  return readFileSync(table.file);
}

export function hashOfNames(names: readonly string[]): string {
  return Bun.hash(names.join("\n")).toString(36);
}
