// Keys of requests that were seen before, so that an equal body is neither decoded nor hashed again. Holds digests, no bodies.
import { isSameScope, type Scope } from "./scope.ts";

/** Of each of the two generations. An entry takes about 600 bytes. */
const CAPACITY = 2000;
/** Keys of longer scopes are not remembered: a client decides how long a path or the name of a model is. */
const MAX_SCOPE_LENGTH = 2000;

interface KnownKey {
  /** The hash of the canonical body; null if it has none. */
  readonly bodyHash: string | null;
  /** What the key was last computed for, and the key. */
  readonly scope: Scope;
  readonly key: string | null;
}

export class KnownKeys {
  #young = new Map<string, KnownKey>();
  #old = new Map<string, KnownKey>();

  /** Returns undefined if the key is not known. */
  find(digest: string, scope: Scope): string | null | undefined {
    const known = this.#get(digest);
    return known === undefined || !isSameScope(known.scope, scope) ? undefined : known.key;
  }

  /** Returns null if the hash is not known. */
  bodyHash(digest: string): string | null {
    return this.#get(digest)?.bodyHash ?? null;
  }

  /** `scopeLength`: that of its text. */
  set(digest: string, bodyHash: string | null, scope: Scope, scopeLength: number, key: string | null): void {
    if (scopeLength > MAX_SCOPE_LENGTH) return;
    if (this.#young.size >= CAPACITY) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(digest, { bodyHash, scope: copyOf(scope), key });
  }

  #get(digest: string): KnownKey | undefined {
    return this.#young.get(digest) ?? this.#old.get(digest);
  }
}

/** Parts of a request are slices of its header section, and would keep all of it in memory. */
function copyOf(scope: Scope): Scope {
  return {
    ...scope,
    owner: scope.owner === null ? null : copyOfText(scope.owner),
    path: copyOfText(scope.path),
    query: copyOfText(scope.query),
    formatHeaders: copyOfText(scope.formatHeaders),
    variedHeaders: copyOfText(scope.variedHeaders),
    credentials: copyOfText(scope.credentials),
  };
}

function copyOfText(text: string): string {
  return String(JSON.parse(JSON.stringify(text)));
}
