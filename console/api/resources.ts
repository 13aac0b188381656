// The records of a gateway by kind: where they are, and how their lists are read.
import { call, get, type Answer } from "./client.ts";
import type {
  ApiKey,
  ApiKeyList,
  Plugin,
  PluginList,
  Provider,
  ProviderList,
  Rule,
  RuleList,
  Service,
  ServiceList,
  Upstream,
  UpstreamList,
} from "./types.ts";

/** More than this on one page would help nobody; the API hands out no more at once. */
const ALL = "limit=1000";

interface ListOf {
  upstreams: UpstreamList;
  services: ServiceList;
  rules: RuleList;
}

interface RecordOf {
  upstreams: Upstream;
  services: Service;
  rules: Rule;
}

export type ChildKind = keyof RecordOf;

export function collectionPath(gatewayId: string, kind: ChildKind): string {
  return `/gateways/${encodeURIComponent(gatewayId)}/${kind}`;
}

export async function listChildren<K extends ChildKind>(
  gatewayId: string,
  kind: K,
  signal?: AbortSignal,
): Promise<readonly RecordOf[K][]> {
  const list = await get<ListOf[K]>(`${collectionPath(gatewayId, kind)}?${ALL}`, signal);
  return (list as unknown as Record<K, readonly RecordOf[K][]>)[kind];
}

/** The record of an edit page; null for one that is yet to be made. */
export async function readChild<K extends ChildKind>(
  gatewayId: string,
  kind: K,
  id: string,
  signal?: AbortSignal,
): Promise<Answer<RecordOf[K]> | null> {
  if (id === "new") return null;
  return call<RecordOf[K]>("GET", `${collectionPath(gatewayId, kind)}/${encodeURIComponent(id)}`, { signal });
}

/** Makes the record where there was none, replaces it otherwise. */
export async function saveChild(
  gatewayId: string,
  kind: ChildKind,
  before: Answer<{ readonly id: string }> | null,
  record: object,
): Promise<void> {
  const collection = collectionPath(gatewayId, kind);
  if (before === null) await call("POST", collection, { body: record });
  else await call("PUT", `${collection}/${before.data.id}`, { body: record, etag: before.etag });
}

export const KEYS = "/iam/api-keys";

export async function listKeys(gatewayId: string, signal?: AbortSignal): Promise<readonly ApiKey[]> {
  const path = `${KEYS}?subject=${encodeURIComponent(gatewayId)}&${ALL}`;
  return (await get<ApiKeyList>(path, signal)).api_keys;
}

export async function listPlugins(signal?: AbortSignal): Promise<readonly Plugin[]> {
  return (await get<PluginList>(`/plugins?${ALL}`, signal)).plugins;
}

export async function listProviders(signal?: AbortSignal): Promise<readonly Provider[]> {
  return (await get<ProviderList>(`/providers?${ALL}`, signal)).providers;
}
