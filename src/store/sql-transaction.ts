// Writes over SQL, with the references checked where no other write can come between.
import { checkReferences, refuseWhileUsed } from "./references.ts";
import { SqlReader } from "./sql-reader.ts";
import { NO_GATEWAY } from "./store.ts";
import type { Change, Kind, RecordOf, StoredPrices, Transaction } from "./store.ts";
import { columnsOf, toRow } from "./tables.ts";

export class SqlTransaction extends SqlReader implements Transaction {
  change: Change | null = null;

  async insert<K extends Kind>(kind: K, record: RecordOf[K]): Promise<void> {
    await checkReferences(this.query, kind, record);
    const columns = columnsOf(kind);
    const places = columns.map((_, index) => `$${index + 1}`).join(", ");
    const values = toRow(kind, record, this.cipher);
    await this.query(`INSERT INTO ${kind} (${columns.join(", ")}) VALUES (${places})`, values);
    this.#changed(kind, record);
  }

  async update<K extends Kind>(kind: K, record: RecordOf[K]): Promise<void> {
    await checkReferences(this.query, kind, record);
    const columns = columnsOf(kind);
    const assignments = columns.map((column, index) => `${column} = $${index + 1}`).join(", ");
    const values = toRow(kind, record, this.cipher);
    await this.query(`UPDATE ${kind} SET ${assignments} WHERE id = $1`, values);
    this.#changed(kind, record);
  }

  async remove(kind: Exclude<Kind, "gateways">, id: string): Promise<void> {
    const record = await this.get(kind, id);
    if (record === null) return;
    await refuseWhileUsed(this.query, kind, id);
    await this.query(`DELETE FROM ${kind} WHERE id = $1`, [id]);
    this.#changed(kind, record);
  }

  async removeGateway(id: string, cascade: boolean): Promise<void> {
    if (!cascade) await refuseWhileUsed(this.query, "gateways", id);
    for (const kind of ["blocks", "api_keys", "rules", "services", "upstreams"]) {
      await this.query(`DELETE FROM ${kind} WHERE gateway_id = $1`, [id]);
    }
    await this.query("DELETE FROM usage_totals WHERE gateway_id = $1", [id]);
    await this.query("DELETE FROM gateways WHERE id = $1", [id]);
    this.change = { gatewayId: id, apiKeyId: null, blockId: null };
  }

  async setPrices(prices: StoredPrices | null): Promise<void> {
    await this.query("DELETE FROM prices");
    if (prices !== null) {
      const row = [JSON.stringify(prices.prices), prices.updated_at];
      await this.query("INSERT INTO prices (one, body, updated_at) VALUES (1, $1, $2)", row);
    }
    this.change = { gatewayId: NO_GATEWAY, apiKeyId: null, blockId: null };
  }

  #changed(kind: Kind, record: { id: string; gateway_id?: string }): void {
    const gatewayId = record.gateway_id ?? record.id;
    this.change = {
      gatewayId,
      apiKeyId: kind === "api_keys" ? record.id : null,
      blockId: kind === "blocks" ? record.id : null,
    };
  }
}
