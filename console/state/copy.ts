// Values of a new record that begins as a copy of another one: `?copy=<id>` in the address of its form.
import { route } from "./router.tsx";

/** At any depth: the targets of an upstream have ids too. */
const READ_ONLY = ["id", "gateway_id", "created_at", "updated_at", "warnings"];
const MASK = "***";

/** Returns the id of the record to copy; null if the form is about a stored record or begins empty. */
export function copiedId(id: string): string | null {
  return id === "new" ? route.peek().search.get("copy") : null;
}

/** Returns the fields of a copy. Secrets are masked in what the API returns, so they are left empty. */
export function copyOf<T extends object>(record: T, name: string): T & { readonly name: string } {
  return { ...(withoutOwnValues(record) as T), name: `${name} copy` };
}

/** Whether a copy of the record lacks something. */
export function hasSecrets(record: object): boolean {
  return JSON.stringify(record).includes(MASK);
}

function withoutOwnValues(value: unknown): unknown {
  if (typeof value === "string") return value.includes(MASK) ? "" : value;
  if (Array.isArray(value)) return value.map(withoutOwnValues);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([field]) => !READ_ONLY.includes(field));
  return Object.fromEntries(fields.map(([field, each]) => [field, withoutOwnValues(each)]));
}
