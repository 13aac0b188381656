// Keys of requests that were seen before, so that an equal body is neither decoded nor hashed again. Holds digests, no bodies.

/** Of each of the two generations. An entry takes about 400 bytes. */
const CAPACITY = 2000;

interface KnownKey {
  /** The hash of the canonical body; null if it has none. */
  readonly bodyHash: string | null;
  /** What the key was last computed for, and the key. */
  readonly scope: string;
  readonly key: string | null;
}

export class KnownKeys {
  #young = new Map<string, KnownKey>();
  #old = new Map<string, KnownKey>();

  /** Returns undefined if the key is not known. */
  find(digest: string, scope: string): string | null | undefined {
    const known = this.#get(digest);
    return known === undefined || known.scope !== scope ? undefined : known.key;
  }

  /** Returns null if the hash is not known. */
  bodyHash(digest: string): string | null {
    return this.#get(digest)?.bodyHash ?? null;
  }

  set(digest: string, bodyHash: string | null, scope: string, key: string | null): void {
    if (this.#young.size >= CAPACITY) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(digest, { bodyHash, scope, key });
  }

  #get(digest: string): KnownKey | undefined {
    return this.#young.get(digest) ?? this.#old.get(digest);
  }
}
