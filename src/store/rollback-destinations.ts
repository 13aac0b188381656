// Rejects a rollback that would send a stored secret to another place than since: no one has to know a secret for a rollback.
import { credentialRequiredError, type ErrorDetail } from "../base/errors.ts";
import type { Kind, RecordOf } from "../kinds/kind.ts";
import { KINDS } from "../kinds/kinds.ts";
import { changedDestination, secretAt, secretsOf, type SecretDestination } from "../model/target-secrets.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Row } from "./database.ts";
import { DESTINATION_KINDS } from "./record-secrets.ts";
import { MCP_SERVERS } from "./sealed-targets.ts";
import type { RevisionKind } from "./store.ts";
import { fromRow } from "./tables.ts";

/** A target or an MCP server in a row. */
interface Holder {
  /** The same in all rows of the record. */
  readonly key: string;
  /** For error messages. */
  readonly path: string;
  readonly label: string;
  readonly destination: SecretDestination;
}

export class RollbackDestinations {
  /** Where each target or server has sent its secrets since the revision, by the key of its holder, without duplicates. */
  readonly #later = new Map<string, SecretDestination[]>();
  readonly #problems: ErrorDetail[] = [];

  /** Adds a state of a record after the revision. */
  addLater(kind: RevisionKind, row: Row): void {
    if (!hasDestinations(kind)) return;
    // Records were validated before they were written. The secrets need not be decrypted.
    const record = { ...(JSON.parse(String(row["body"])) as object), id: String(row["id"]) };
    for (const { key, destination } of holdersIn(kind, record as RecordOf[Kind])) {
      if (secretsOf(destination).length === 0) continue;
      const known = this.#later.get(key) ?? [];
      if (known.every((each) => changedDestination(each, destination) !== null))
        this.#later.set(key, [...known, destination]);
    }
  }

  /**
   * Checks a record that the rollback restores. All states since count, not only the current one: otherwise a secret could be
   * sent to its former place by deleting the target first, or by giving it a made-up credential.
   */
  check(kind: RevisionKind, then: Row, now: Row | null, revision: number, cipher: CredentialCipher): void {
    if (!hasDestinations(kind)) return;
    if (now !== null) this.addLater(kind, now);
    const past = fromRow(kind, then, cipher);
    const current = now === null ? [] : holdersIn(kind, fromRow(kind, now, cipher));
    for (const { key, path, label, destination } of holdersIn(kind, past)) {
      if (secretsOf(destination).length === 0) continue;
      const later = this.#later.get(key) ?? [];
      const field = later.map((each) => changedDestination(each, destination)).find((each) => each !== null);
      const active = current.find((each) => each.key === key)?.destination;
      if (
        field === undefined ||
        field === null ||
        (active !== undefined && hasSecretsOf(active, destination))
      )
        continue;
      const message =
        `${label} would send its stored secret to another ${field}; ` +
        `set the ${field} and the secret of revision ${revision} with PUT first, then roll back`;
      this.#problems.push({ path: `${path}.${field}`, message });
    }
  }

  rejectProblems(): void {
    if (this.#problems.length > 0) throw credentialRequiredError(this.#problems);
  }
}

function hasDestinations(kind: RevisionKind): kind is Kind {
  return DESTINATION_KINDS.some((each) => each === kind);
}

function holdersIn(kind: Kind, record: RecordOf[Kind]): Holder[] {
  const path = `${kind}/${record.id}`;
  const described = `${KINDS[kind].singular} "${record.name ?? record.id}"`;
  // The declaration of the kind says which of them the record is.
  if (KINDS[kind].secrets === "server") {
    const destination = record as RecordOf["mcp_servers"];
    return [{ key: `${MCP_SERVERS}/${record.id}`, path, label: described, destination }];
  }
  return (record as RecordOf["upstreams"]).targets.map((target, index) => ({
    key: `${record.id}/${target.id}`,
    path: `${path}.targets[${index}]`,
    label: `target ${index + 1} (${target.provider}) of ${described}`,
    destination: target,
  }));
}

/** Whether the active target already sends the same secrets to the same place. */
function hasSecretsOf(active: SecretDestination, past: SecretDestination): boolean {
  if (changedDestination(active, past) !== null) return false;
  return secretsOf(past).every(({ value, place }) => secretAt(active, place) === value);
}
