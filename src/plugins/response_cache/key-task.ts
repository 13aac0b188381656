// Computes the canonical form of a large body in a worker thread.
import { canonicalJson, type TopLevel } from "./canonical-json.ts";

export function run({ bytes, topLevel }: { bytes: Uint8Array; topLevel: TopLevel }): string | null {
  const canonical = canonicalJson(new TextDecoder().decode(bytes), topLevel);
  return canonical === null ? null : new Bun.CryptoHasher("sha256").update(canonical).digest("base64url");
}
