// ETags and preconditions (RFC 9110, section 13): a change applies to the version that the client has read, or fails.
import { GatehouseError } from "../base/errors.ts";
import type { Reader } from "../store/store.ts";
import type { Caller } from "./operation.ts";

/** The fields that identify a version of a record; `timeOfChange` makes `updated_at` unique for each version. */
export interface Versioned {
  readonly updated_at: string;
  readonly last_used_at?: string | null;
}

/** The response to a read: the record with its ETag, or 304 if the client already has this version. */
export function readResponse(caller: Caller, shown: Versioned): Response {
  return taggedResponse(caller, etagOf(shown), () => Response.json(shown));
}

/** Like `readResponse`, for a response that is not a record. */
export function taggedResponse(caller: Caller, etag: string, respond: () => Response): Response {
  const known = caller.headers.get("if-none-match");
  const isKnown = known !== null && matches(known, (tag) => withoutWeak(tag) === etag);
  const response = isKnown ? new Response(null, { status: 304 }) : respond();
  response.headers.set("ETag", etag);
  return response;
}

interface RecordResponseOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields that no later response shows. They do not affect the ETag. */
  readonly shownOnce?: object | undefined;
}

/** The response to a write: the record with its ETag. */
export function recordResponse(
  shown: Versioned,
  { shownOnce, headers, status = 200 }: RecordResponseOptions = {},
): Response {
  return Response.json({ ...shown, ...shownOnce }, { status, headers: { ...headers, ETag: etagOf(shown) } });
}

/**
 * Throws 412 if If-Match or If-None-Match does not allow a change to this version. Call it in the transaction that
 * changes the record.
 */
export function requireMatch(caller: Caller, shown: Versioned): void {
  requireEtag(caller, etagOf(shown), "record");
}

/** Like `requireMatch`, for the configuration as a whole: its ETag is that of its newest revision and of its export. */
export async function requireConfiguration(caller: Caller, reader: Pick<Reader, "version">): Promise<void> {
  if (caller.headers.has("if-match") || caller.headers.has("if-none-match"))
    requireEtag(caller, `"${await reader.version()}"`, "configuration");
}

function requireEtag(caller: Caller, etag: string, what: string): void {
  const ifMatch = caller.headers.get("if-match");
  const ifNoneMatch = caller.headers.get("if-none-match");
  if (ifMatch === null && ifNoneMatch === null) return;
  const isSameVersion = (tag: string) => versionOf(tag) === versionOf(etag);
  const reject = (message: string) => {
    throw new GatehouseError("precondition_failed", message, { headers: { ETag: etag } });
  };
  if (ifMatch !== null && !matches(ifMatch, isSameVersion))
    reject(`The ${what} is not the version in If-Match. Nothing was changed. Read it again and retry.`);
  if (ifNoneMatch !== null && matches(ifNoneMatch, (tag) => isSameVersion(withoutWeak(tag))))
    reject(`The ${what} is a version in If-None-Match. Nothing was changed.`);
}

/**
 * The ETag is `"<updated_at>.<last_used_at>"`, of an export `"<version>.<hash of the text>"`. Only the part before the dot is compared with If-Match: the use of an API
 * key changes its representation every few seconds, but not the version that a client wants to change.
 */
function etagOf({ updated_at, last_used_at }: Versioned): string {
  const lastUse = typeof last_used_at === "string" ? `.${shorten(last_used_at)}` : "";
  return `"${shorten(updated_at)}${lastUse}"`;
}

const shorten = (time: string) => Date.parse(time).toString(36);
const versionOf = (tag: string) => tag.replace(/\..*"$/, '"');
const withoutWeak = (tag: string) => tag.replace(/^W\//, "");

/** Whether a list of entity tags is `*` or contains a tag that `isOne` accepts. Weak tags keep their `W/` prefix. */
function matches(list: string, isOne: (tag: string) => boolean): boolean {
  if (list.trim() === "*") return true;
  return [...list.matchAll(/(?:W\/)?"[^"]*"/g)].some(([tag]) => isOne(tag));
}
