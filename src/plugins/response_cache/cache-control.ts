// The directives of Cache-Control in a request (RFC 9111, section 5.2.1) that the cache follows.

interface RequestDirectives {
  readonly noStore: boolean;
  readonly noCache: boolean;
  readonly onlyIfCached: boolean;
  /** Null without a limit. */
  readonly maxAgeSeconds: number | null;
}

const NONE: RequestDirectives = { noStore: false, noCache: false, onlyIfCached: false, maxAgeSeconds: null };
const MAX_AGE = /^max-age\s*=\s*"?(\d{1,10})"?$/;

/** A directive that is not known, or is invalid, is ignored. */
export function readDirectives(header: string | null): RequestDirectives {
  if (header === null) return NONE;
  let { noStore, noCache, onlyIfCached, maxAgeSeconds } = NONE;
  for (const part of header.toLowerCase().split(",")) {
    const directive = part.trim();
    if (directive === "no-store") noStore = true;
    else if (directive === "no-cache") noCache = true;
    else if (directive === "only-if-cached") onlyIfCached = true;
    else {
      const [, seconds] = MAX_AGE.exec(directive) ?? [];
      if (seconds !== undefined) maxAgeSeconds = Math.min(maxAgeSeconds ?? Infinity, Number(seconds));
    }
  }
  return { noStore, noCache, onlyIfCached, maxAgeSeconds };
}
