// What one transaction does to records: each as its row was before and is after, and what that changes for nodes.
import type { Row } from "./database.ts";
import type { Change, HistoryKind, Kind } from "./store.ts";

/** A record as it stands in the log of revisions: rows as they are stored, credentials sealed. */
export interface HistoryEntry {
  readonly kind: HistoryKind;
  readonly id: string;
  readonly before: Row | null;
  readonly after: Row | null;
}

export class History {
  readonly #entries = new Map<string, HistoryEntry>();
  readonly #changes = new Map<string, Change>();
  #latest: HistoryEntry | null = null;

  /** The records that differ from what they were, in the order in which they were first touched. */
  get entries(): HistoryEntry[] {
    return [...this.#entries.values()].filter(({ before, after }) => before !== null || after !== null);
  }

  get changes(): Change[] {
    return [...this.#changes.values()];
  }

  /** The record of the last step: what a write with several steps was about. */
  get main(): HistoryEntry | null {
    return this.#latest;
  }

  /** Notes a step; several steps on one record are one entry, from the first row to the last. */
  note(kind: HistoryKind, id: string, before: Row | null, after: Row | null): void {
    const key = `${kind}/${id}`;
    const known = this.#entries.get(key);
    const entry = { kind, id, before: known === undefined ? before : known.before, after };
    this.#entries.set(key, entry);
    this.#latest = entry;
  }

  noteChange(kind: Kind, id: string, gatewayId: string): void {
    const change: Change = {
      gatewayId,
      apiKeyId: kind === "api_keys" ? id : null,
      blockId: kind === "blocks" ? id : null,
    };
    this.#changes.set(`${change.gatewayId}/${change.apiKeyId ?? ""}/${change.blockId ?? ""}`, change);
  }
}
