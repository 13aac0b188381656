// Writes with SQL. References are checked in the same transaction, and every step is recorded for the log of revisions.
import { newId } from "../base/ids.ts";
import { CHILD_KINDS, KIND_NAMES, KINDS } from "../kinds/kinds.ts";
import { createYielder } from "../base/yield-turns.ts";
import { removeBlocks } from "./blocks.ts";
import { renamedDuplicates, withName } from "./budget-names.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Database, Parameter, Query, Row } from "./database.ts";
import { rememberGateway } from "./past-gateways.ts";
import { checkReferences, rejectIfUsed } from "./references.ts";
import { toRecordChanges } from "./revisions.ts";
import { asNewVersion, preserveRevocation, readRecordsAt, isSameRow } from "./rollback.ts";
import { RollbackDestinations } from "./rollback-destinations.ts";
import { SqlReader } from "./sql-reader.ts";
import { NO_GATEWAY } from "./store.ts";
import type { Kind, RecordOf } from "../kinds/kind.ts";
import type { Change, RecordChange, StoredPrices, Transaction, UnrestoredKey } from "./store.ts";
import { fromRow, columnsOf, toRow } from "./tables.ts";
import { TransactionRecorder } from "./transaction-recorder.ts";

/** Records are restored in the order of the table of kinds, and deleted in the opposite order. */
const RESTORED = KIND_NAMES.filter((kind) => KINDS[kind].isConfiguration);

export class SqlTransaction extends SqlReader implements Transaction {
  readonly recorder = new TransactionRecorder();
  readonly #keptRevisions: number;
  readonly #createId: () => string;
  readonly #yieldTurn = createYielder();
  /** Rows by kind and id as this transaction last read or wrote them. Saves the second read of a row that is updated. */
  readonly #cachedRows = new Map<string, Row | null>();

  constructor(
    query: Query,
    { jsonField }: Pick<Database, "jsonField">,
    cipher: CredentialCipher,
    keptRevisions: number,
    createId: () => string = newId,
  ) {
    super({ query, jsonField }, cipher);
    this.#keptRevisions = keptRevisions;
    this.#createId = createId;
  }

  newId(): string {
    return this.#createId();
  }

  get changes(): readonly Change[] {
    return this.recorder.changes;
  }

  recordChanges(): readonly RecordChange[] {
    return toRecordChanges(this.recorder.rowChanges, this.cipher);
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
    await rejectIfUsed(this.query, kind, id);
    await this.#deleteRow(kind, row);
  }

  async removeGateway(id: string, cascade: boolean): Promise<void> {
    const gateway = await this.row("gateways", id);
    if (gateway === null) return;
    if (!cascade) await rejectIfUsed(this.query, "gateways", id);
    await removeBlocks(this.query, id, null);
    for (const kind of CHILD_KINDS.toReversed()) {
      // No change per record: other nodes drop these records together with their gateway.
      for (const row of await this.rows(kind, "WHERE gateway_id = $1 ORDER BY id", [id]))
        this.#recordRow(kind, row, null);
      await this.#deleteDependents(kind, `IN (SELECT id FROM ${kind} WHERE gateway_id = $1)`, id);
      await this.query(`DELETE FROM ${kind} WHERE gateway_id = $1`, [id]);
    }
    await rememberGateway(this.query, id, String(gateway["name"]));
    await this.#deleteRow("gateways", gateway);
  }

  async setPrices(prices: StoredPrices | null): Promise<void> {
    await this.#setPricesRow(
      prices === null ? null : { body: JSON.stringify(prices.prices), updated_at: prices.updated_at },
    );
  }

  async rollBackTo(revision: number, gatewayId: string | null = null): Promise<readonly UnrestoredKey[]> {
    const unrestored: UnrestoredKey[] = [];
    const steps: { kind: Kind; now: Row | null; then: Row | null }[] = [];
    const destinations = new RollbackDestinations();
    const records = await readRecordsAt(this.query, revision, this.#keptRevisions, destinations);
    for (const { kind, id, row, latest } of records) {
      if (kind === "prices") {
        if (gatewayId === null) await this.#setPricesRow(row);
        continue;
      }
      const now = await this.row(kind, id);
      if (gatewayId !== null && gatewayOf(kind, row ?? latest ?? now) !== gatewayId) continue;
      let then = row;
      if (row !== null && kind === "api_keys") then = preserveRevocation(row, now ?? latest, unrestored);
      if (row !== null && kind === "models") then = asNewVersion(row, now, latest);
      if (isSameRow(kind, now, then)) continue;
      steps.push({ kind, now, then });
      if (then !== null) destinations.check(kind, then, now, revision, this.cipher);
    }
    destinations.rejectProblems();
    const stepsOf = (kind: Kind) => steps.filter((step) => step.kind === kind);
    const removed = (kind: Kind) =>
      stepsOf(kind).flatMap(({ now, then }) => (then === null && now !== null ? [now] : []));
    // Unique values are released first, because another record may have taken them since: key hashes and subdomains.
    for (const row of removed("api_keys")) await this.#deleteRow("api_keys", row);
    for (const { now, then } of stepsOf("gateways")) {
      if (now?.["subdomain"] === then?.["subdomain"]) continue;
      await this.query("UPDATE gateways SET subdomain = NULL WHERE id = $1", [now?.["id"] ?? null]);
    }
    // The other gateways stay as they are, so one of them may have the subdomain now.
    for (const { then } of gatewayId === null ? [] : stepsOf("gateways"))
      if (then !== null)
        await checkReferences(this.query, "gateways", fromRow("gateways", then, this.cipher));
    for (const kind of RESTORED) {
      for (const { now, then } of stepsOf(kind)) {
        if (then !== null && now === null) await this.#insertRow(kind, then);
        else if (then !== null && now !== null) await this.#updateRow(kind, now, then);
      }
    }
    for (const kind of RESTORED.toReversed())
      if (kind !== "gateways" && kind !== "api_keys")
        for (const row of removed(kind)) await this.#deleteRow(kind, row);
    await this.#renameDuplicates(
      stepsOf("budgets").map(({ now, then }) => gatewayOf("budgets", then ?? now)),
    );
    for (const row of removed("gateways")) await this.removeGateway(String(row["id"]), true);
    return unrestored;
  }

  /** Budgets of versions that accepted any name may be restored. */
  async #renameDuplicates(gatewayIds: readonly string[]): Promise<void> {
    for (const gatewayId of new Set(gatewayIds)) {
      const rows = await this.rows("budgets", "WHERE gateway_id = $1 ORDER BY created_at, id", [gatewayId]);
      const budgets = rows.map((row) => ({ id: String(row["id"]), name: String(row["name"]), row }));
      const renamed = renamedDuplicates(budgets);
      for (const { id, row } of budgets) {
        const name = renamed.get(id);
        if (name !== undefined)
          await this.#updateRow("budgets", row, { ...row, name, body: withName(row["body"], name) });
      }
    }
  }

  async #setPricesRow(row: Row | null): Promise<void> {
    const before = await this.pricesRow();
    if (before?.["body"] === row?.["body"] && before?.["updated_at"] === row?.["updated_at"]) return;
    await this.query("DELETE FROM prices");
    if (row !== null) {
      const values = [row["body"] ?? null, row["updated_at"] ?? null];
      await this.query("INSERT INTO prices (one, body, updated_at) VALUES (1, $1, $2)", values);
    }
    this.recorder.recordRow("prices", "prices", before, row);
    this.recorder.recordChange("gateways", NO_GATEWAY, NO_GATEWAY);
  }

  protected override async row(kind: Kind, id: string): Promise<Row | null> {
    const known = this.#cachedRows.get(`${kind}/${id}`);
    if (known !== undefined) return known;
    const row = await super.row(kind, id);
    this.#cachedRows.set(`${kind}/${id}`, row);
    return row;
  }

  protected override async rows(kind: Kind, clause: string, parameters: Parameter[] = []): Promise<Row[]> {
    await this.#yieldTurn();
    return super.rows(kind, clause, parameters);
  }

  async #insertRow(kind: Kind, row: Row): Promise<void> {
    await this.#yieldTurn();
    const columns = columnsOf(kind);
    const places = columns.map((_, index) => `$${index + 1}`).join(", ");
    await this.query(
      `INSERT INTO ${kind} (${columns.join(", ")}) VALUES (${places})`,
      columns.map((column) => row[column] ?? null),
    );
    this.#recordRow(kind, null, row);
    this.#recordChange(kind, row);
  }

  async #updateRow(kind: Kind, before: Row, row: Row): Promise<void> {
    await this.#yieldTurn();
    const columns = columnsOf(kind);
    const assignments = columns.map((column, index) => `${column} = $${index + 1}`).join(", ");
    await this.query(
      `UPDATE ${kind} SET ${assignments} WHERE id = $1`,
      columns.map((column) => row[column] ?? null),
    );
    this.#recordRow(kind, before, row);
    this.#recordChange(kind, row);
  }

  async #deleteRow(kind: Kind, row: Row): Promise<void> {
    await this.#yieldTurn();
    await this.query(`DELETE FROM ${kind} WHERE id = $1`, [row["id"] ?? null]);
    await this.#deleteDependents(kind, "= $1", String(row["id"]));
    this.#recordRow(kind, row, null);
    this.#recordChange(kind, row);
  }

  /** `condition` is that of the id of the record. */
  async #deleteDependents(kind: Kind, condition: string, parameter: string): Promise<void> {
    for (const { table, column } of KINDS[kind].dependents)
      await this.query(`DELETE FROM ${table} WHERE ${column} ${condition}`, [parameter]);
  }

  #recordRow(kind: Kind, before: Row | null, after: Row | null): void {
    const id = String((after ?? before)?.["id"]);
    this.#cachedRows.set(`${kind}/${id}`, after);
    this.recorder.recordRow(kind, id, before, after);
  }

  #recordChange(kind: Kind, { id, gateway_id }: Row): void {
    this.recorder.recordChange(kind, String(id), String(gateway_id ?? id));
  }
}

function gatewayOf(kind: Kind, row: Row | null): string {
  return String(row?.[KINDS[kind].parent === "installation" ? "id" : "gateway_id"]);
}
