// Where the stored objects are that a request names.
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";

/** A target, or any target with a `path`: these get and return the provider's own ids. */
export type StoredAt = CompiledTarget | "with_path";

export function isStoredAt(storedAt: StoredAt, target: CompiledTarget | undefined): boolean {
  return storedAt === "with_path" ? target?.endpoints === null : target?.id === storedAt.id;
}
