// Everything but the body that a response depends on. Its parts are compared one by one: that costs less than joining them for every request.
import type { ReadonlyHeaders } from "../../sdk/index.ts";

export interface Scope {
  readonly gateway: string;
  /** Whose requests may get the same response: the kind of the owner, and its name; null for everyone. */
  readonly isolation: "gateway" | "user" | "key" | "label";
  readonly owner: string | null;
  readonly rule: string;
  readonly format: string;
  readonly operation: string | null;
  readonly path: string;
  readonly query: string;
  readonly models: readonly (string | null)[];
  /** Those of the format, those that the settings name, and those of the client's own account at the provider. */
  readonly formatHeaders: string;
  readonly variedHeaders: string;
  readonly credentials: string;
}

export function isSameScope(a: Scope, b: Scope): boolean {
  return (
    a.owner === b.owner &&
    a.isolation === b.isolation &&
    a.gateway === b.gateway &&
    a.rule === b.rule &&
    a.format === b.format &&
    a.operation === b.operation &&
    a.path === b.path &&
    a.query === b.query &&
    a.formatHeaders === b.formatHeaders &&
    a.variedHeaders === b.variedHeaders &&
    a.credentials === b.credentials &&
    hasSameModels(a.models, b.models)
  );
}

function hasSameModels(a: Scope["models"], b: Scope["models"]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** Returns a text that no two scopes share. */
export function scopeText(scope: Scope): string {
  const { gateway, isolation, owner, rule, format, operation, path, query, models } = scope;
  const partition = owner === null ? isolation : `${isolation} ${owner}`;
  const parts = [gateway, partition, rule, format, operation, path, query].map(field).join("");
  const { formatHeaders, variedHeaders, credentials } = scope;
  return `${parts}${models.length};${models.map(field).join("")}${formatHeaders}${variedHeaders}${credentials}`;
}

/** Returns a value with its length, so that no two lists of values are equal when they are joined. */
export function field(value: string | null): string {
  return value === null ? "-," : `${value.length}:${value},`;
}

/** Returns the number of headers and all of them, in the order of their names. */
export function fieldsOf(headers: ReadonlyHeaders): string {
  let texts: string[] | null = null;
  for (const [name, value] of headers.entries()) (texts ??= []).push(field(name) + field(value));
  // Most requests have none.
  return texts === null ? "0;" : `${texts.length};${texts.sort().join("")}`;
}
