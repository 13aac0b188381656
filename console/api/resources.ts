// API paths of a gateway's records, and functions to list, read, and save them.
import { call, get, toQueryString, type ApiResponse } from "./client.ts";
import { copiedId } from "../state/copy.ts";
import type { RequestRecord } from "./item-types.ts";
import type {
  ApiKey,
  ApiKeyList,
  Budget,
  GameDay,
  Plugin,
  PluginList,
  Provider,
  ProviderList,
  RequestList,
  McpServer,
  Rule,
  Service,
  Upstream,
  VirtualModel,
} from "./types.ts";

/** The API's maximum page size. */
const MAX_LIMIT = 1000;
const MAX_PAGE = `limit=${MAX_LIMIT}`;
/** The API's maximum number of ids in a query. */
const MAX_IDS = 100;

interface RecordOf {
  upstreams: Upstream;
  "mcp-servers": McpServer;
  services: Service;
  rules: Rule;
  models: VirtualModel;
  budgets: Budget;
  "game-days": GameDay;
}

export type ChildKind = keyof RecordOf;

/** API path of a gateway's collection, such as `/gateways/0189…/rules`. */
export function collectionPath(gatewayId: string, kind: ChildKind): string {
  return `/gateways/${encodeURIComponent(gatewayId)}/${kind}`;
}

/** The field of a list that has the records. */
function fieldOf(kind: ChildKind): string {
  return kind.replaceAll("-", "_");
}

/** API path of a record; of the collection for a record that does not exist yet. */
export function childPath(
  gatewayId: string,
  kind: ChildKind,
  record: { readonly id: string } | undefined,
): string {
  const collection = collectionPath(gatewayId, kind);
  return record === undefined ? collection : `${collection}/${encodeURIComponent(record.id)}`;
}

/** Reads all records of a collection. */
export async function listChildren<K extends ChildKind>(
  gatewayId: string,
  kind: K,
  signal?: AbortSignal,
): Promise<readonly RecordOf[K][]> {
  const records: RecordOf[K][] = [];
  for (;;) {
    const query = { limit: MAX_LIMIT, offset: records.length };
    const { rows, count } = await listPage<RecordOf[K]>(
      collectionPath(gatewayId, kind),
      fieldOf(kind),
      query,
      signal,
    );
    records.push(...rows);
    if (rows.length === 0 || records.length >= count) return records;
  }
}

export interface ListQuery {
  readonly search: string;
  /** A field, with `-` in front for descending order; empty: oldest first. */
  readonly sort: string;
  readonly limit: number;
  readonly offset: number;
}

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** Number of all matching rows. */
  readonly count: number;
}

/** Reads one page of a list. `kind` is the field of the response that has the records. */
export async function listPage<Row>(
  path: string,
  kind: string,
  query: Partial<ListQuery> & Readonly<Record<string, string | number | undefined>>,
  signal?: AbortSignal,
): Promise<ListPage<Row>> {
  const list = await get<{ readonly count: number } & Readonly<Record<string, unknown>>>(
    `${path}${toQueryString(query)}`,
    signal,
  );
  const rows = list[kind];
  return { rows: Array.isArray(rows) ? rows : [], count: list.count };
}

/** Returns the names (of rules: the paths) of records of a gateway by their ids. */
export async function namesOf(
  gatewayId: string,
  kind: ChildKind,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const unique = [...new Set(ids)];
  const names = new Map<string, string>();
  // A page of keys can refer to more rules than one request may name.
  for (let start = 0; start < unique.length; start += MAX_IDS) {
    const query = { ids: unique.slice(start, start + MAX_IDS).join(), limit: MAX_IDS };
    const { rows } = await listPage<RecordOf[ChildKind]>(
      collectionPath(gatewayId, kind),
      fieldOf(kind),
      query,
      signal,
    );
    for (const row of rows) names.set(row.id, "path" in row ? row.path : row.name);
  }
  return names;
}

/** Reads the record of an edit page. Returns null for the id `new`. */
export async function readChild<K extends ChildKind>(
  gatewayId: string,
  kind: K,
  id: string,
  signal?: AbortSignal,
): Promise<ApiResponse<RecordOf[K]> | null> {
  if (id === "new") return null;
  return call<RecordOf[K]>("GET", `${collectionPath(gatewayId, kind)}/${encodeURIComponent(id)}`, { signal });
}

/** Reads the record that a new one begins as a copy of. Returns null if there is none. */
export async function readCopied<K extends ChildKind>(
  gatewayId: string,
  kind: K,
  id: string,
  signal?: AbortSignal,
): Promise<RecordOf[K] | null> {
  const copied = copiedId(id);
  return copied === null ? null : ((await readChild(gatewayId, kind, copied, signal))?.data ?? null);
}

/** Creates the record if `before` is null, otherwise replaces it. Returns the warnings about it. */
export async function saveChild(
  gatewayId: string,
  kind: ChildKind,
  before: ApiResponse<{ readonly id: string }> | null,
  record: object,
): Promise<NonNullable<Rule["warnings"]>> {
  const collection = collectionPath(gatewayId, kind);
  const { data } =
    before === null
      ? await call<RecordOf[ChildKind]>("POST", collection, { body: record })
      : await call<RecordOf[ChildKind]>("PUT", `${collection}/${before.data.id}`, {
          body: record,
          etag: before.etag,
        });
  return data.warnings ?? [];
}

interface ListedRecord {
  readonly updated_at: string;
  readonly name: string;
}

/** Changes fields of a record, unless it was changed after it was read for the list. */
export async function changeUnchanged(path: string, record: ListedRecord, body: object): Promise<void> {
  await call("PATCH", path, { body, etag: await etagOfUnchanged(path, record) });
}

/** Returns the ETag of a record. Throws if it was changed after it was read for the list. */
export async function etagOfUnchanged(
  path: string,
  { updated_at, name }: ListedRecord,
): Promise<string | null> {
  const { data, etag } = await call<{ readonly updated_at: string }>("GET", path);
  if (data.updated_at !== updated_at)
    throw new Error(`“${name}” was changed meanwhile. The list shows its current state.`);
  return etag;
}

export const KEYS_PATH = "/iam/api-keys";

export async function listKeys(gatewayId: string, signal?: AbortSignal): Promise<readonly ApiKey[]> {
  const path = `${KEYS_PATH}?subject=${encodeURIComponent(gatewayId)}&${MAX_PAGE}`;
  return (await get<ApiKeyList>(path, signal)).api_keys;
}

/** Finds a request in the request log. Returns null if the log does not contain it (any more). */
export async function findRequest(
  gatewayId: string,
  requestId: string,
  signal?: AbortSignal,
): Promise<RequestRecord | null> {
  const path = `/gateways/${encodeURIComponent(gatewayId)}/requests${toQueryString({ request_id: requestId })}`;
  return (await get<RequestList>(path, signal)).requests[0] ?? null;
}

export async function listPlugins(signal?: AbortSignal): Promise<readonly Plugin[]> {
  return (await get<PluginList>(`/plugins?${MAX_PAGE}`, signal)).plugins;
}

export async function listProviders(signal?: AbortSignal): Promise<readonly Provider[]> {
  return (await get<ProviderList>(`/providers?${MAX_PAGE}`, signal)).providers;
}
