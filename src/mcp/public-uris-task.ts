// Replaces the URIs of resources in a large result in a worker thread.
import { withPrefixedUris, type UriField } from "./prefixed-uris.ts";

interface Input {
  readonly field: UriField;
  /** A JSON array. */
  readonly bytes: Uint8Array;
  readonly prefix: string;
}

export function run({ field, bytes, prefix }: Input): Uint8Array {
  const list: unknown = JSON.parse(new TextDecoder().decode(bytes));
  const changed = withPrefixedUris(field, Array.isArray(list) ? list : [], prefix);
  return new TextEncoder().encode(JSON.stringify(changed));
}
