// The differences between two versions of a record, field by field. Secrets are compared but never shown.
import { READ_ONLY_FIELDS } from "./record.ts";
import { mapSecrets } from "./target-secrets.ts";
import { maskSecret } from "./secret-mask.ts";
import type { Target } from "./target.ts";
import { formatPath } from "./validate.ts";
import { maskWebhook } from "./webhook-mask.ts";

/** `before` or `after` is null if the field, or the whole record, does not exist. */
export interface FieldChange {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
  /** The values are masks of a secret. They may be equal, although the secret changed. */
  readonly secret?: true;
}

/** Fields that the server updates by itself are not part of a change. */
const IGNORED_FIELDS: readonly string[] = [...READ_ONLY_FIELDS, "last_used_at"];

/** A secret that can be compared but not read: JSON shows its mask. */
class HiddenSecret {
  readonly #secret: string;
  readonly #mask: (secret: string) => string;

  constructor(secret: string, mask: (secret: string) => string = maskSecret) {
    this.#secret = secret;
    this.#mask = mask;
  }

  isSame(other: unknown): boolean {
    return other instanceof HiddenSecret && other.#secret === this.#secret;
  }

  toJSON(): string {
    return this.#mask(this.#secret);
  }
}

/** Returns an MCP server or a target whose secrets can be compared, but show only their masks. */
export function hideOwnSecrets(record: Pick<Target, "credentials" | "headers">): object {
  return { ...record, ...mapSecrets(record, (value) => new HiddenSecret(value)) };
}

/** Returns an upstream whose secrets can be compared, but show only their masks. */
export function hideSecrets({
  targets,
  ...upstream
}: {
  readonly targets: readonly Pick<Target, "credentials" | "headers">[];
}): object {
  return { ...upstream, targets: targets.map(hideOwnSecrets) };
}

/** Returns a budget whose webhook can be compared, but shows only its mask. */
export function hideWebhook(budget: { readonly webhook: string | null }): object {
  const { webhook } = budget;
  return { ...budget, webhook: webhook === null ? null : new HiddenSecret(webhook, maskWebhook) };
}

export function diffRecords(before: object | null, after: object | null): FieldChange[] {
  return diff([], withoutIgnored(before), withoutIgnored(after));
}

function withoutIgnored(record: object | null): object {
  return Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => !IGNORED_FIELDS.includes(name)));
}

function diff(path: readonly PropertyKey[], before: unknown, after: unknown): FieldChange[] {
  if (before instanceof HiddenSecret && before.isSame(after)) return [];
  const [itemsBefore, itemsAfter] = [itemsOf(before), itemsOf(after)];
  if (itemsBefore !== null && itemsAfter !== null && Array.isArray(before) === Array.isArray(after)) {
    const keys = new Set([...itemsAfter.keys(), ...itemsBefore.keys()]);
    return [...keys].flatMap((key) => diff([...path, key], itemsBefore.get(key), itemsAfter.get(key)));
  }
  if ((before ?? null) === (after ?? null)) return [];
  const isSecret = before instanceof HiddenSecret || after instanceof HiddenSecret;
  return [
    {
      path: formatPath(path),
      before: before ?? null,
      after: after ?? null,
      ...(isSecret && { secret: true }),
    },
  ];
}

/** Returns the items of an array or object by index or name; null for any other value. */
function itemsOf(value: unknown): ReadonlyMap<PropertyKey, unknown> | null {
  if (Array.isArray(value)) return new Map<PropertyKey, unknown>(value.entries());
  if (typeof value !== "object" || value === null || value instanceof HiddenSecret) return null;
  return new Map<PropertyKey, unknown>(Object.entries(value));
}
