// Writes the records of a document in a transaction, and records each change with the place of its record in the document.
import { credentialRequiredError, GatehouseError, validationError } from "../base/errors.ts";
import { createYielder } from "../base/yield-turns.ts";
import type { Price } from "../model/price.ts";
import { diffRecords, type FieldChange } from "../model/record-diff.ts";
import { timeOfChange, type RecordFields } from "../model/record.ts";
import type { Kind, RecordOf } from "../kinds/kind.ts";
import { KINDS } from "../kinds/kinds.ts";
import type { Transaction } from "../store/store.ts";

/** Kinds whose records documents have; game days are no configuration. */
type DocumentKind = Exclude<Kind, "game_days">;

interface AppliedChange {
  readonly action: "create" | "update" | "delete" | "none";
  /** The name of one record of its kind, or `prices`. */
  readonly resource: string;
  /** Name of the gateway; empty for prices, which belong to no gateway. */
  readonly gateway: string;
  readonly name: string;
  readonly diff: readonly FieldChange[];
  /** The key itself, of an API key that was created without a hash. */
  readonly key?: string;
}

/** A record of the document, to be created or updated. */
interface WantedRecord<K extends DocumentKind> {
  readonly kind: K;
  readonly gateway: string;
  readonly name: string;
  /** Path in the document. */
  readonly place: string;
  /** The stored record; null if there is none. */
  readonly before: RecordOf[K] | null;
  readonly build: (base: RecordFields) => RecordOf[K];
  /** The record as a document contains it, for the comparison. */
  readonly toForm: (record: RecordOf[K]) => object;
  /** The key itself, of a new API key. */
  readonly key?: string | null;
}

/** Random for a new key, so the diff leaves them out. */
const GENERATED_KEY_FIELDS: readonly string[] = ["key_sha256", "prefix"];

export class DocumentWriter {
  readonly changes: AppliedChange[] = [];
  readonly #transaction: Transaction;
  readonly #yieldTurn = createYielder();
  /** Places in the document by record id. */
  readonly #places = new Map<string, string>();

  constructor(transaction: Transaction) {
    this.#transaction = transaction;
  }

  /** Where a record is in the document, to report a problem that only compilation finds. */
  placeOf(id: string): string | undefined {
    return this.#places.get(id);
  }

  /** Inserts a record that is new, or updates one that differs. Returns the stored record. */
  async put<K extends DocumentKind>(wanted: WantedRecord<K>): Promise<RecordOf[K]> {
    const { kind, gateway, name, place, before, build, toForm, key = null } = wanted;
    // Records that do not change need no query, so that the transaction does not yield.
    await this.#yieldTurn();
    const now = new Date().toISOString();
    const base =
      before === null
        ? { id: this.#transaction.newId(), created_at: now, updated_at: now }
        : { id: before.id, created_at: before.created_at, updated_at: timeOfChange(before) };
    const record = await atPlace(place, () => Promise.resolve(build(base)));
    this.#places.set(record.id, place);
    const allChanges = diffRecords(before === null ? null : toForm(before), toForm(record));
    const diff =
      key === null ? allChanges : allChanges.filter(({ path }) => !GENERATED_KEY_FIELDS.includes(path));
    const action = before === null ? "create" : diff.length === 0 ? "none" : "update";
    if (action === "create") await atPlace(place, () => this.#transaction.insert(kind, record));
    if (action === "update") await atPlace(place, () => this.#transaction.update(kind, record));
    const resource = KINDS[kind].resource;
    this.changes.push({ action, resource, gateway, name, diff, ...(key !== null && { key }) });
    return action === "none" && before !== null ? before : record;
  }

  /** Null restores the built-in prices. */
  async putPrices(prices: readonly Price[] | null): Promise<void> {
    const before = await this.#transaction.prices();
    const diff = diffRecords(
      before === null ? null : { prices: before.prices },
      prices === null ? null : { prices },
    );
    const action = pricesAction(before !== null, prices !== null, diff.length > 0);
    if (action !== "none") {
      const updated_at = before === null ? new Date().toISOString() : timeOfChange(before);
      await this.#transaction.setPrices(prices === null ? null : { prices, updated_at });
    }
    this.changes.push({ action, resource: "prices", gateway: "", name: "prices", diff });
  }

  async remove(
    kind: "budgets" | "models" | "rules" | "services" | "mcp_servers" | "upstreams",
    gateway: string,
    id: string,
    name: string,
  ): Promise<void> {
    await this.#transaction.remove(kind, id);
    this.changes.push({ action: "delete", resource: KINDS[kind].resource, gateway, name, diff: [] });
  }

  async removeGateway(id: string, name: string): Promise<void> {
    await this.#transaction.removeGateway(id, true);
    this.changes.push({ action: "delete", resource: "gateway", gateway: name, name, diff: [] });
  }

  async revoke(gateway: string, key: RecordOf["api_keys"]): Promise<void> {
    await this.#transaction.update("api_keys", { ...key, active: false, updated_at: timeOfChange(key) });
    const diff = [{ path: "active", before: true, after: false }];
    this.changes.push({ action: "delete", resource: "api_key", gateway, name: key.name, diff });
  }
}

function pricesAction(existed: boolean, exist: boolean, differ: boolean): AppliedChange["action"] {
  if (existed !== exist) return exist ? "create" : "delete";
  return differ ? "update" : "none";
}

/** Runs `work` and prefixes the field paths of its errors with the place of the record in the document. */
async function atPlace<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isAboutField =
      error instanceof GatehouseError &&
      ["validation_failed", "credential_required", "duplicate"].includes(error.code);
    if (!isAboutField || error.details === undefined) throw error;
    const details = error.details.map(({ path, message }) => ({ path: `${place}.${path}`, message }));
    if (error.code === "validation_failed") throw validationError(details);
    if (error.code === "credential_required") throw credentialRequiredError(details);
    throw new GatehouseError(error.code, `${place}.${error.message}`, { details });
  }
}
