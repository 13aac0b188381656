// Merges the lists of all servers of a service. A server that does not respond in time, whose list does not fit, or whose list a plugin refuses,
// is left out and named in `_meta`.
import { stringifyExact } from "../base/exact-json.ts";
import type { JsonObject } from "../base/json.ts";
import { ownTurn, TurnMeter } from "../base/own-turn.ts";
import { RawJson } from "../base/raw-json.ts";
import { LARGE_BODY_BYTES } from "../off-loop/large-body.ts";
import { bridgeItem, publicNameOf } from "./bridge.ts";
import type { ClientContext } from "./client-context.ts";
import { isOffered, listOf, mayUse, type FederationParts, type ListedServer } from "./federation.ts";
import { PartInspection, type MergedResult } from "./inspect-parts.ts";
import { RpcError, type RpcRequest } from "./json-rpc.ts";
import { RawItem, readItems } from "./list-items.ts";
import { MAX_LIST_BYTES, type ServerList } from "./list-cache.ts";
import { LARGE_MESSAGE_BYTES } from "./parse-message.ts";
import { LISTS, META_UNAVAILABLE, RPC, type ListMethod } from "./protocol.ts";
import { generationOf, type ServerLink } from "./server-link.ts";
import type { McpServerTarget } from "./server-target.ts";

/** Of all servers of a service. The prefixes of names need a little more than one server may list. */
const MAX_MERGED_BYTES = MAX_LIST_BYTES + 1024 * 1024;
const MAX_MERGED_ITEMS = 10_000;

/** Rejects with an RpcError if no server responds, and with the error of a plugin if it refuses the lists of all that do. */
export async function mergeLists(
  context: ClientContext,
  request: RpcRequest,
  method: ListMethod,
  parts: FederationParts,
): Promise<MergedResult> {
  const { servers, client } = context;
  const listed = await Promise.all(servers.map((server) => listOf(context, server, method, parts)));
  const available = listed.filter(({ list }) => list !== null);
  if (available.length === 0 && servers.length > 0)
    throw new RpcError(
      RPC.internalError,
      `No server responded to ${method}: ${servers.map(({ name }) => name).join(", ")}.`,
    );
  const { field } = LISTS[method];
  // Clients that waited for the same pages would get their lists in one turn.
  if (available.some(({ list }) => (list?.bytes ?? 0) > LARGE_MESSAGE_BYTES)) await ownTurn();
  const inspection = PartInspection.begin(context, request, parts.offLoop);
  const { items, left } = await mergedItems(context, available, method, inspection, parts);
  const refusal = inspection?.refusal ?? null;
  if (refusal !== null && left.size === available.length) throw refusal.error;
  const lacking = listed
    .filter(({ list }) => list === null || left.has(list))
    .map(({ server }) => server.name);
  const result: JsonObject = {
    [field]: items,
    ...(lacking.length === 0 ? {} : { _meta: { [META_UNAVAILABLE]: lacking, ...inspection?.meta } }),
    ...(client.generation === "session" ? {} : caching(context, available, lacking.length > 0, parts)),
  };
  return { result, hasInspectedParts: inspection !== null };
}

/**
 * Resolves to the items in the order of their names. A server whose items do not fit beside those before it is left out, and one whose
 * items a plugin refuses.
 */
async function mergedItems(
  context: ClientContext,
  available: readonly ListedServer[],
  method: ListMethod,
  inspection: PartInspection | null,
  parts: FederationParts,
): Promise<{ readonly items: readonly OfferedItem["item"][]; readonly left: ReadonlySet<ServerList> }> {
  const merged: OfferedItem[] = [];
  const left = new Set<ServerList>();
  const isLarge = available.reduce((sum, { list }) => sum + (list?.bytes ?? 0), 0) > LARGE_BODY_BYTES;
  let total = 0;
  for (const { server, list, link } of available) {
    if (list === null || link === null) continue;
    const offered = await itemsFor(context, { server, list, link }, method, parts);
    const { items, bytes } = isLarge ? await written(offered) : { items: offered, bytes: 0 };
    if (total + bytes > MAX_MERGED_BYTES || merged.length + items.length > MAX_MERGED_ITEMS) {
      left.add(list);
      context.observer.silent(server, method);
      continue;
    }
    const needsInspection = inspection !== null && items.length > 0;
    const inspected = needsInspection
      ? await inspectedItems(inspection, server, items, method, parts)
      : items;
    if (inspected === null) {
      left.add(list);
      continue;
    }
    total += bytes;
    for (const item of inspected) merged.push(item);
  }
  merged.sort((one, other) => compareText(one.name, other.name));
  return { items: merged.map(({ item }) => item), left };
}

/** Resolves to the items as plugins have changed them; to null if they refuse them. */
async function inspectedItems(
  inspection: PartInspection,
  server: McpServerTarget,
  items: readonly OfferedItem[],
  method: ListMethod,
  { offLoop }: FederationParts,
): Promise<readonly OfferedItem[] | null> {
  const { field, key } = LISTS[method];
  const part = { [field]: items.map(({ item }) => item) };
  const inspected = await inspection.inspect(server, part);
  if (inspected === null) return null;
  if (inspected === part) return items;
  const read = await readItems(inspected[field] ?? [], method, { offLoop, tenant: server.tag });
  return (read?.names ?? []).flatMap((name, index) => {
    const item = read?.items[index];
    if (item === undefined) return [];
    return [{ name, item: item instanceof RawItem ? item.named(key, name, null) : item }];
  });
}

/** Writes items in several turns of the event loop. Those of small pages are parsed, and cannot be moved to a thread. */
async function written(offered: readonly OfferedItem[]): Promise<{ items: OfferedItem[]; bytes: number }> {
  const items: OfferedItem[] = [];
  let [bytes, nextTurnAt] = [0, LARGE_MESSAGE_BYTES];
  for (const { name, item } of offered) {
    const json = item instanceof RawJson ? item : new RawJson(Buffer.from(stringifyExact(item)));
    items.push({ name, item: json });
    bytes += json.byteLength;
    if (json === item || bytes < nextTurnAt) continue;
    nextTurnAt = bytes + LARGE_MESSAGE_BYTES;
    await ownTurn();
  }
  return { items, bytes };
}

function caching(
  { access, links }: ClientContext,
  available: readonly ListedServer[],
  isIncomplete: boolean,
  { clock }: FederationParts,
): JsonObject {
  const now = clock.now();
  const until = Math.min(...available.map(({ list }) => list?.until ?? 0));
  const isShared =
    access === null &&
    available.every(({ server, list }) => list?.isPublic === true && links.credentialOf(server) === null);
  return {
    resultType: "complete",
    ttlMs: isIncomplete || available.length === 0 ? 0 : Math.max(0, Math.floor(until - now)),
    cacheScope: isShared ? "public" : "private",
  };
}

/** Sorted by code units, so that the order is the same everywhere. */
function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

interface OfferedItem {
  /** As the client uses it. */
  readonly name: string;
  readonly item: JsonObject | RawJson;
}

/** Works in several turns of the event loop: a server decides how long its names take to match. */
async function itemsFor(
  context: ClientContext,
  {
    server,
    list,
    link,
  }: { readonly server: McpServerTarget; readonly list: ServerList; readonly link: ServerLink },
  method: ListMethod,
  parts: FederationParts,
): Promise<OfferedItem[]> {
  const bridge = { from: generationOf(link), to: context.client.generation, server, names: context.names };
  const found: OfferedItem[] = [];
  const meter = new TurnMeter();
  for (const [ownName, item] of list.byKey) {
    const turn = meter.add(ownName.length);
    if (turn !== null) await turn;
    if (!mayUse(context, server, method, ownName)) continue;
    if (method === "tools/list" && !isOffered(server, list, ownName, parts.pins)) continue;
    const name = publicNameOf(method, ownName, bridge);
    found.push({ name, item: bridgeItem(method, item, name, bridge) });
  }
  return found;
}
