// Records what one transaction does: every row before and after it, and what other nodes must load because of it.
import type { Row } from "./database.ts";
import type { Kind } from "../kinds/kind.ts";
import type { Change, RevisionKind } from "./store.ts";

/** A record in the log of revisions: its row before and after. Credentials are encrypted, as in the table. */
export interface RowChange {
  readonly kind: RevisionKind;
  readonly id: string;
  /** Null if the record was created. */
  readonly before: Row | null;
  /** Null if the record was deleted. */
  readonly after: Row | null;
}

export class TransactionRecorder {
  readonly #rowChanges = new Map<string, RowChange>();
  readonly #changes = new Map<string, Change>();
  #latest: RowChange | null = null;

  /** One entry per record, in the order in which they were first changed. A record that was created and deleted again is omitted. */
  get rowChanges(): RowChange[] {
    return [...this.#rowChanges.values()].filter(({ before, after }) => before !== null || after !== null);
  }

  get changes(): Change[] {
    return [...this.#changes.values()];
  }

  /** The record that was changed last. A write of several steps is named after it. */
  get latest(): RowChange | null {
    return this.#latest;
  }

  recordRow(kind: RevisionKind, id: string, before: Row | null, after: Row | null): void {
    const key = `${kind}/${id}`;
    const known = this.#rowChanges.get(key);
    const change = { kind, id, before: known === undefined ? before : known.before, after };
    this.#rowChanges.set(key, change);
    this.#latest = change;
  }

  recordChange(kind: Kind, id: string, gatewayId: string): void {
    const change: Change = { gatewayId, apiKeyId: kind === "api_keys" ? id : null };
    this.#changes.set(`${change.gatewayId}/${change.apiKeyId ?? ""}`, change);
  }
}
