// Writes over SQL, with the references checked where no other write can come between, and every step noted.
import { createYielder } from "../base/yield-turns.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Parameter, Query, Row } from "./database.ts";
import { History } from "./history.ts";
import { checkReferences, refuseWhileUsed } from "./references.ts";
import { keepEnded, recordsAt, sameRow } from "./restore.ts";
import { SqlReader } from "./sql-reader.ts";
import { NO_GATEWAY } from "./store.ts";
import type { Change, Kind, KeptKey, RecordOf, StoredPrices, Transaction } from "./store.ts";
import { columnsOf, toRow } from "./tables.ts";

/** Whoever is referred to comes first. */
const KINDS_IN_ORDER: readonly Kind[] = ["gateways", "upstreams", "services", "rules", "api_keys"];

export class SqlTransaction extends SqlReader implements Transaction {
  readonly history = new History();
  readonly #keptRevisions: number;
  readonly #turn = createYielder();
  /** Rows by kind and id as this transaction last saw them: what is read to be changed is not read twice. */
  readonly #seen = new Map<string, Row | null>();

  constructor(query: Query, cipher: CredentialCipher, keptRevisions: number) {
    super(query, cipher);
    this.#keptRevisions = keptRevisions;
  }

  get changes(): readonly Change[] {
    return this.history.changes;
  }

  async insert<K extends Kind>(kind: K, record: RecordOf[K]): Promise<void> {
    await checkReferences(this.query, kind, record);
    await this.#insertRow(kind, toRow(kind, record, this.cipher));
  }

  async update<K extends Kind>(kind: K, record: RecordOf[K]): Promise<void> {
    await checkReferences(this.query, kind, record);
    const before = await this.row(kind, record.id);
    if (before !== null) await this.#updateRow(kind, before, toRow(kind, record, this.cipher));
  }

  async remove(kind: Exclude<Kind, "gateways">, id: string): Promise<void> {
    const row = await this.row(kind, id);
    if (row === null) return;
    await refuseWhileUsed(this.query, kind, id);
    await this.#deleteRow(kind, row);
  }

  async removeGateway(id: string, cascade: boolean): Promise<void> {
    const gateway = await this.row("gateways", id);
    if (gateway === null) return;
    if (!cascade) await refuseWhileUsed(this.query, "gateways", id);
    for (const kind of ["blocks", "api_keys", "rules", "services", "upstreams"] as const) {
      // They go with their gateway: for other nodes that is one change, however many they are.
      for (const row of await this.rows(kind, "WHERE gateway_id = $1 ORDER BY id", [id]))
        this.#note(kind, row, null);
      await this.query(`DELETE FROM ${kind} WHERE gateway_id = $1`, [id]);
    }
    await this.query("DELETE FROM usage_totals WHERE gateway_id = $1", [id]);
    await this.#deleteRow("gateways", gateway);
  }

  async setPrices(prices: StoredPrices | null): Promise<void> {
    await this.#setPricesRow(
      prices === null ? null : { body: JSON.stringify(prices.prices), updated_at: prices.updated_at },
    );
  }

  async restore(revision: number): Promise<readonly KeptKey[]> {
    const kept: KeptKey[] = [];
    const steps: { kind: Kind; now: Row | null; then: Row | null }[] = [];
    for (const { kind, id, row, latest } of await recordsAt(this.query, revision, this.#keptRevisions)) {
      if (kind === "prices") {
        await this.#setPricesRow(row);
        continue;
      }
      const now = await this.row(kind, id);
      const then = kind === "api_keys" && row !== null ? keepEnded(row, now ?? latest, kept) : row;
      if (!sameRow(kind, now, then)) steps.push({ kind, now, then });
    }
    const stepsOf = (kind: Kind) => steps.filter((step) => step.kind === kind);
    const removed = (kind: Kind) =>
      stepsOf(kind).flatMap(({ now, then }) => (then === null && now !== null ? [now] : []));
    // What must be unique is let go first: it may have moved to another record since.
    for (const row of removed("api_keys")) await this.#deleteRow("api_keys", row);
    for (const { now, then } of stepsOf("gateways")) {
      if (now?.["subdomain"] === then?.["subdomain"]) continue;
      await this.query("UPDATE gateways SET subdomain = NULL WHERE id = $1", [now?.["id"] ?? null]);
    }
    for (const kind of KINDS_IN_ORDER) {
      for (const { now, then } of stepsOf(kind)) {
        if (then !== null && now === null) await this.#insertRow(kind, then);
        else if (then !== null && now !== null) await this.#updateRow(kind, now, then);
      }
    }
    for (const kind of ["rules", "services", "upstreams"] as const)
      for (const row of removed(kind)) await this.#deleteRow(kind, row);
    for (const row of removed("gateways")) await this.removeGateway(String(row["id"]), true);
    return kept;
  }

  async #setPricesRow(row: Row | null): Promise<void> {
    const before = await this.pricesRow();
    if (before?.["body"] === row?.["body"] && before?.["updated_at"] === row?.["updated_at"]) return;
    await this.query("DELETE FROM prices");
    if (row !== null) {
      const values = [row["body"] ?? null, row["updated_at"] ?? null];
      await this.query("INSERT INTO prices (one, body, updated_at) VALUES (1, $1, $2)", values);
    }
    this.history.note("prices", "prices", before, row);
    this.history.noteChange("gateways", NO_GATEWAY, NO_GATEWAY);
  }

  protected override async row(kind: Kind, id: string): Promise<Row | null> {
    const known = this.#seen.get(`${kind}/${id}`);
    if (known !== undefined) return known;
    const row = await super.row(kind, id);
    this.#seen.set(`${kind}/${id}`, row);
    return row;
  }

  protected override async rows(kind: Kind, clause: string, parameters: Parameter[] = []): Promise<Row[]> {
    await this.#turn();
    return super.rows(kind, clause, parameters);
  }

  async #insertRow(kind: Kind, row: Row): Promise<void> {
    await this.#turn();
    const columns = columnsOf(kind);
    const places = columns.map((_, index) => `$${index + 1}`).join(", ");
    await this.query(
      `INSERT INTO ${kind} (${columns.join(", ")}) VALUES (${places})`,
      columns.map((column) => row[column] ?? null),
    );
    this.#note(kind, null, row);
    this.#noteChange(kind, row);
  }

  async #updateRow(kind: Kind, before: Row, row: Row): Promise<void> {
    await this.#turn();
    const columns = columnsOf(kind);
    const assignments = columns.map((column, index) => `${column} = $${index + 1}`).join(", ");
    await this.query(
      `UPDATE ${kind} SET ${assignments} WHERE id = $1`,
      columns.map((column) => row[column] ?? null),
    );
    this.#note(kind, before, row);
    this.#noteChange(kind, row);
  }

  async #deleteRow(kind: Kind, row: Row): Promise<void> {
    await this.#turn();
    await this.query(`DELETE FROM ${kind} WHERE id = $1`, [row["id"] ?? null]);
    this.#note(kind, row, null);
    this.#noteChange(kind, row);
  }

  #note(kind: Kind, before: Row | null, after: Row | null): void {
    const id = String((after ?? before)?.["id"]);
    this.#seen.set(`${kind}/${id}`, after);
    this.history.note(kind, id, before, after);
  }

  #noteChange(kind: Kind, { id, gateway_id }: Row): void {
    this.history.noteChange(kind, String(id), String(gateway_id ?? id));
  }
}
