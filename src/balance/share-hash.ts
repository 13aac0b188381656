// Whether a subject belongs to a share of all subjects. Equal on all nodes, and monotonic: a larger share contains every subject of a
// smaller one.
import { uniformHash } from "./rendezvous-hash.ts";
import { hashText } from "./text-hash.ts";

/** `purpose` makes shares of different things independent: not always the same subjects get what is new. */
export function isInShare(subject: string, purpose: string, share: number): boolean {
  return uniformHash(hashText(subject), hashText(purpose)) < share;
}
