// ETag and preconditions (RFC 9110, section 13): a change meets the very version that its sender has seen, or nothing.
import { GatehouseError } from "../base/errors.ts";
import type { Caller } from "./operation.ts";

/** What tells a version of a record from any other: see `timeOfChange`. */
export interface Versioned {
  readonly updated_at: string;
  readonly last_used_at?: string | null;
}

/** The answer to a read, with its ETag; 304 without a body where the caller has just this. */
export function readResponse(caller: Caller, shown: Versioned): Response {
  return taggedResponse(caller, etagOf(shown), () => Response.json(shown));
}

/** The same for what is no record. */
export function taggedResponse(caller: Caller, etag: string, respond: () => Response): Response {
  const known = caller.headers.get("if-none-match");
  const isKnown = known !== null && names(known, (tag) => withoutWeak(tag) === etag);
  const response = isKnown ? new Response(null, { status: 304 }) : respond();
  response.headers.set("ETag", etag);
  return response;
}

/** A record that was written, with its ETag. `extra` is shown this once and is no part of the version. */
export function recordResponse(
  shown: Versioned,
  {
    extra,
    headers,
    status = 200,
  }: { status?: number; headers?: Record<string, string>; extra?: object } = {},
): Response {
  return Response.json({ ...shown, ...extra }, { status, headers: { ...headers, ETag: etagOf(shown) } });
}

/** To be called in the transaction that changes the record: refuses (412) what was meant for another version of it. */
export function requireMatch(caller: Caller, shown: Versioned): void {
  const wanted = caller.headers.get("if-match");
  const unwanted = caller.headers.get("if-none-match");
  if (wanted === null && unwanted === null) return;
  const etag = etagOf(shown);
  const isThis = (tag: string) => versionOf(tag) === versionOf(etag);
  const refuse = (sentence: string) => {
    throw new GatehouseError("precondition_failed", sentence, { headers: { ETag: etag } });
  };
  if (wanted !== null && !names(wanted, isThis))
    refuse("The record has changed since it was read; nothing was changed. Read it again.");
  if (unwanted !== null && names(unwanted, (tag) => isThis(withoutWeak(tag))))
    refuse("The record is one of those that If-None-Match excludes; nothing was changed.");
}

/**
 * The time of the last change, and behind a dot what changes without a write: a key in use is another representation
 * every few seconds, but still the version that a change was meant for.
 */
function etagOf({ updated_at, last_used_at }: Versioned): string {
  const used = typeof last_used_at === "string" ? `.${shorten(last_used_at)}` : "";
  return `"${shorten(updated_at)}${used}"`;
}

const shorten = (time: string) => Date.parse(time).toString(36);
const versionOf = (tag: string) => tag.replace(/\..*"$/, '"');
const withoutWeak = (tag: string) => tag.replace(/^W\//, "");

/** Whether a field of entity tags names one. `*` is any. A weak tag never stands for a version to be changed. */
function names(field: string, isOne: (tag: string) => boolean): boolean {
  if (field.trim() === "*") return true;
  return [...field.matchAll(/(?:W\/)?"[^"]*"/g)].some(([tag]) => isOne(tag));
}
