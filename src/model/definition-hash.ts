// Hashes of tool definitions as they are stored: `2.` and two digests, of everything that clients receive and
// of everything but `_meta`. Hashes of earlier versions are the second digest alone.

const MARK = "2.";

export function joinHash(whole: string, withoutMeta: string): string {
  return `${MARK}${whole}.${withoutMeta}`;
}

/** Whether an earlier version stored the hash. */
export function isOldHash(hash: string): boolean {
  return !hash.startsWith(MARK);
}

/** Whether two definitions differ in `_meta` at most. */
export function isSameBesideMeta(left: string, right: string): boolean {
  return left === right || withoutMetaOf(left) === withoutMetaOf(right);
}

/**
 * Whether a stored hash is that of the definition. An earlier version did not know `_meta`: what it approved
 * stays approved.
 */
export function isSameDefinition(stored: string, seen: string): boolean {
  return stored === seen || (isOldHash(stored) && stored !== "" && stored === withoutMetaOf(seen));
}

function withoutMetaOf(hash: string): string {
  return isOldHash(hash) ? hash : hash.slice(hash.indexOf(".", MARK.length) + 1);
}
