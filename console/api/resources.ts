// API paths of a gateway's records, and functions to list, read, and save them.
import { call, get, toQueryString, type ApiResponse } from "./client.ts";
import type { RequestRecord } from "./item-types.ts";
import type {
  ApiKey,
  ApiKeyList,
  Plugin,
  PluginList,
  Provider,
  ProviderList,
  RequestList,
  Rule,
  Service,
  Upstream,
} from "./types.ts";

/** The API's maximum page size. Lists are shown on one page. */
const MAX_PAGE = "limit=1000";

interface RecordOf {
  upstreams: Upstream;
  services: Service;
  rules: Rule;
}

export type ChildKind = keyof RecordOf;

/** API path of a gateway's collection, such as `/gateways/0189…/rules`. */
export function collectionPath(gatewayId: string, kind: ChildKind): string {
  return `/gateways/${encodeURIComponent(gatewayId)}/${kind}`;
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

export async function listChildren<K extends ChildKind>(
  gatewayId: string,
  kind: K,
  signal?: AbortSignal,
): Promise<readonly RecordOf[K][]> {
  const path = `${collectionPath(gatewayId, kind)}?${MAX_PAGE}`;
  return (await get<Readonly<Record<K, readonly RecordOf[K][]>>>(path, signal))[kind];
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
