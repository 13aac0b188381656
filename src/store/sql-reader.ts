// Reads with SQL: single records, pages, and whole gateways. The view adds reads that need one consistent revision.
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Database, Parameter, Query, Row } from "./database.ts";
import { listClauses } from "./list-records.ts";
import { readChanges, readVersion } from "./revisions.ts";
import type { GatewayParts, Kind, PartKind, RecordOf, StoredApiKey } from "../kinds/kind.ts";
import { collectParts } from "../kinds/kinds.ts";
import type { Change, ConsistentView, ListQuery, Page, Reader, StoredPrices } from "./store.ts";
import { columnsOf, fromRow, pricesIn } from "./tables.ts";

/** `query` may be that of a transaction. */
type QueriedDatabase = Pick<Database, "query" | "jsonField">;

export class SqlReader implements Reader {
  protected readonly query: Query;
  protected readonly cipher: CredentialCipher;
  protected readonly jsonField: Database["jsonField"];

  constructor({ query, jsonField }: QueriedDatabase, cipher: CredentialCipher) {
    this.query = query;
    this.jsonField = jsonField;
    this.cipher = cipher;
  }

  async get<K extends Kind>(kind: K, id: string): Promise<RecordOf[K] | null> {
    const row = await this.row(kind, id);
    return row === null ? null : fromRow(kind, row, this.cipher);
  }

  async list<K extends Kind>(kind: K, query: ListQuery): Promise<Page<RecordOf[K]>> {
    const clauses = listClauses(kind, query, this.jsonField);
    if (clauses === null) return { records: [], count: 0 };
    const { filter, order, parameters } = clauses;
    const page = `LIMIT $${parameters.length + 1} OFFSET $${parameters.length + 2}`;
    const records = await this.select(kind, `${filter} ${order} ${page}`, [
      ...parameters,
      query.limit,
      query.offset,
    ]);
    const [counted] = await this.query(`SELECT COUNT(*) AS count FROM ${kind} ${filter}`, parameters);
    return { records, count: Number(counted?.["count"]) };
  }

  async gatewayParts(gatewayId: string): Promise<GatewayParts | null> {
    const gateway = await this.get("gateways", gatewayId);
    if (gateway === null) return null;
    return collectParts(gateway, (kind) =>
      this.select(kind, "WHERE gateway_id = $1 ORDER BY id", [gatewayId]),
    );
  }

  protected async pricesRow(): Promise<Row | null> {
    const [row] = await this.query("SELECT body, updated_at FROM prices");
    return row ?? null;
  }

  async prices(): Promise<StoredPrices | null> {
    const row = await this.pricesRow();
    return row === null ? null : pricesIn(row);
  }

  async version(): Promise<string> {
    return (await readVersion(this.query)).version;
  }

  protected async row(kind: Kind, id: string): Promise<Row | null> {
    if (id.includes("\0")) return null; // PostgreSQL rejects this character even in parameters
    const [row] = await this.rows(kind, "WHERE id = $1", [id]);
    return row ?? null;
  }

  protected async rows(kind: Kind, clause: string, parameters: Parameter[] = []): Promise<Row[]> {
    return this.query(`SELECT ${columnsOf(kind).join(", ")} FROM ${kind} ${clause}`, parameters);
  }

  protected async select<K extends Kind>(
    kind: K,
    clause: string,
    parameters: Parameter[] = [],
  ): Promise<RecordOf[K][]> {
    return (await this.rows(kind, clause, parameters)).map((row) => fromRow(kind, row, this.cipher));
  }
}

export class SqlView extends SqlReader implements ConsistentView {
  readonly revision: number;

  constructor(
    query: Query,
    { jsonField }: Pick<Database, "jsonField">,
    cipher: CredentialCipher,
    revision: number,
  ) {
    super({ query, jsonField }, cipher);
    this.revision = revision;
  }

  changesAfter(revision: number): Promise<Change[] | null> {
    return readChanges(this.query, revision, this.revision);
  }

  async allGatewayParts(): Promise<GatewayParts[]> {
    const gateways = await this.select("gateways", "ORDER BY id");
    const grouped = new Map<PartKind, Promise<ReadonlyMap<string, unknown>>>();
    const ofGateway = async <K extends PartKind>(kind: K, id: string) => {
      const records = grouped.get(kind) ?? this.#grouped(kind);
      grouped.set(kind, records);
      return ((await records).get(id) ?? []) as readonly RecordOf[K][];
    };
    const all: GatewayParts[] = [];
    for (const gateway of gateways)
      all.push(await collectParts(gateway, (kind) => ofGateway(kind, gateway.id)));
    return all;
  }

  async allApiKeys(): Promise<StoredApiKey[]> {
    return this.select("api_keys", "ORDER BY id");
  }

  async #grouped(kind: PartKind): Promise<ReadonlyMap<string, unknown>> {
    return Map.groupBy(await this.select(kind, "ORDER BY id"), (record) => record.gateway_id);
  }
}
