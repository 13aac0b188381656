// Rejects a rollback that would send a stored secret to another place than since: nobody has to know a secret for a rollback.
import { credentialRequiredError, type ErrorDetail } from "../base/errors.ts";
import { changedDestination, secretAt, secretsOf } from "../model/target-secrets.ts";
import type { Target } from "../model/target.ts";
import type { Upstream } from "../model/upstream.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Row } from "./database.ts";
import { fromRow } from "./tables.ts";

type Destination = Parameters<typeof changedDestination>[0];

export class RollbackDestinations {
  /** Where each target has sent its secrets since the revision, by upstream and target id, without duplicates. */
  readonly #later = new Map<string, Destination[]>();
  readonly #problems: ErrorDetail[] = [];

  /** Adds a state of an upstream after the revision. */
  addLater(row: Row): void {
    // Records were validated before they were written. The secrets need not be decrypted.
    const { targets } = JSON.parse(String(row["body"])) as Pick<Upstream, "targets">;
    for (const target of targets) {
      if (secretsOf(target).length === 0) continue;
      const key = `${String(row["id"])}/${target.id}`;
      const known = this.#later.get(key) ?? [];
      const { provider, base_url, headers, credentials } = target;
      if (known.every((each) => changedDestination(each, target) !== null))
        this.#later.set(key, [...known, { provider, base_url, headers, credentials }]);
    }
  }

  /**
   * Checks an upstream that the rollback restores. All states since count, not only the current one: otherwise a secret could be
   * sent to its former place by deleting the target first, or by giving it a made-up credential.
   */
  check(then: Row, now: Row | null, revision: number, cipher: CredentialCipher): void {
    if (now !== null) this.addLater(now);
    const past = fromRow("upstreams", then, cipher);
    const current = now === null ? null : fromRow("upstreams", now, cipher);
    for (const [index, target] of past.targets.entries()) {
      if (secretsOf(target).length === 0) continue;
      const later = this.#later.get(`${past.id}/${target.id}`) ?? [];
      const field = later.map((each) => changedDestination(each, target)).find((each) => each !== null);
      const active = current?.targets.find(({ id }) => id === target.id);
      if (field === undefined || field === null || (active !== undefined && hasSecretsOf(active, target)))
        continue;
      const message =
        `target ${index + 1} (${target.provider}) of upstream "${past.name}" would send its stored secret to another ${field}; ` +
        `set the ${field} and the secret of revision ${revision} with PUT first, then roll back`;
      this.#problems.push({ path: `upstreams/${past.id}.targets[${index}].${field}`, message });
    }
  }

  rejectProblems(): void {
    if (this.#problems.length > 0) throw credentialRequiredError(this.#problems);
  }
}

/** Whether the active target already sends the same secrets to the same place. */
function hasSecretsOf(active: Target, target: Target): boolean {
  if (changedDestination(active, target) !== null) return false;
  return secretsOf(target).every(({ value, place }) => secretAt(active, place) === value);
}
