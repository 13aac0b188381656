// Hashes a text to 32 bits, equal on every node: target ids, and the client's address for `ip-hash`.

/** FNV-1a. Its weak distribution is sufficient, because rendezvous hashing mixes it further. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
