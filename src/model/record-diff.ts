// What differs between two versions of a record, field by field, with credentials compared but never shown.
import { READ_ONLY_FIELDS } from "./record.ts";
import { maskSecret } from "./target.ts";
import type { Upstream } from "./upstream.ts";
import { formatPath } from "./validate.ts";

/** Null stands for a field, or a whole record, that was not there. */
export interface FieldChange {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What the server keeps by itself is no change that somebody made. */
const LEFT_OUT: readonly string[] = [...READ_ONLY_FIELDS, "last_used_at"];

/** A credential that can be compared but not read: written out, it is its mask. */
class HiddenCredential {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  isSame(other: unknown): boolean {
    return other instanceof HiddenCredential && other.#secret === this.#secret;
  }

  toJSON(): string {
    return maskSecret(this.#secret);
  }
}

/** An upstream whose credentials may be compared and written out, but show only their masks. */
export function hideCredentials({ targets, ...upstream }: Pick<Upstream, "targets">): object {
  const hidden = targets.map((target) => {
    if (target.credentials === null) return target;
    const { header_name, header_value } = target.credentials;
    return { ...target, credentials: { header_name, header_value: new HiddenCredential(header_value) } };
  });
  return { ...upstream, targets: hidden };
}

export function diffRecords(before: object | null, after: object | null): FieldChange[] {
  return diff([], withoutOwn(before), withoutOwn(after));
}

function withoutOwn(record: object | null): object {
  return Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => !LEFT_OUT.includes(name)));
}

function diff(path: readonly PropertyKey[], before: unknown, after: unknown): FieldChange[] {
  if (before instanceof HiddenCredential && before.isSame(after)) return [];
  const [keysBefore, keysAfter] = [keysOf(before), keysOf(after)];
  if (keysBefore !== null && keysAfter !== null && Array.isArray(before) === Array.isArray(after)) {
    const keys = new Set([...keysAfter, ...keysBefore]);
    const at = (value: unknown, key: PropertyKey) => (value as Record<PropertyKey, unknown>)[key];
    return [...keys].flatMap((key) => diff([...path, key], at(before, key), at(after, key)));
  }
  if ((before ?? null) === (after ?? null)) return [];
  return [{ path: formatPath(path), before: before ?? null, after: after ?? null }];
}

function keysOf(value: unknown): PropertyKey[] | null {
  if (Array.isArray(value)) return [...value.keys()];
  if (typeof value !== "object" || value === null || value instanceof HiddenCredential) return null;
  return Object.keys(value);
}
