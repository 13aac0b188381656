// The lists of each server: all pages of tools, prompts, and resources, kept for a short time. Concurrent requests for the
// same list share one request to the server.
import type { Clock } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import { toError } from "../base/to-error.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { OffLoopError } from "../off-loop/off-loop-error.ts";
import { ClientCache, type CacheOwner } from "./client-cache.ts";
import { MAX_NAME_LENGTH } from "./item-access.ts";
import { textOf, type RpcResponse } from "./json-rpc.ts";
import { readItems, type ListItem, type NamedItems } from "./list-items.ts";
import { MAX_ITEMS } from "./split-items.ts";
import { LISTS, RPC, type ListMethod } from "./protocol.ts";
import { ServerProtocolError } from "./server-call.ts";

/** A list of a server that says nothing about caching. Short, because another node may receive the notification of a change. */
const DEFAULT_TTL_MS = 10_000;
const MAX_TTL_MS = 5 * 60_000;
/** A name that is missing may be new. The list is then fetched again, at most this often. */
const REFRESH_MS = 2000;
const MAX_PAGES = 100;
export const MAX_LIST_BYTES = 16 * 1024 * 1024;
/** Bytes of parsed JSON in memory for each byte of its text. */
const MEMORY_PER_BYTE = 4;

/** Names the lists that a client sees of a server, and who they are kept for. */
export interface ListOwner {
  readonly key: string;
  readonly owner: CacheOwner;
}

export interface ServerList {
  /** By name or URI. */
  readonly byKey: ReadonlyMap<string, ListItem>;
  /** The hashes of definitions of tools, by name; empty for other lists. */
  readonly hashes: ReadonlyMap<string, string>;
  readonly fetchedAt: number;
  readonly until: number;
  /** Whether the server allows sharing the list between clients. */
  readonly isPublic: boolean;
  /** The bytes of its pages. */
  readonly bytes: number;
  /** The bytes that it takes in memory. */
  readonly memory: number;
}

/** Requests one page; `cursor` is null for the first one. */
type FetchPage = (cursor: string | null) => Promise<RpcResponse | null>;

export class ListCache {
  readonly #clock: Clock;
  readonly #offLoop: OffLoop;
  readonly #lists: ClientCache<ServerList>;
  readonly #pending = new Map<string, Promise<ServerList>>();

  constructor(clock: Clock, offLoop: OffLoop) {
    this.#clock = clock;
    this.#offLoop = offLoop;
    this.#lists = new ClientCache(clock);
  }

  /** Rejects with the error of the server, or with a ServerProtocolError. */
  async get(
    { key, owner }: ListOwner,
    method: ListMethod,
    fetchPage: FetchPage,
    isMissing: boolean,
  ): Promise<ServerList> {
    const listKey = `${method} ${key}`;
    const known = this.#lists.get(owner, listKey);
    const now = this.#clock.now();
    if (known !== undefined && (!isMissing || known.fetchedAt + REFRESH_MS > now)) return known;
    // Another client may have sent the same credential.
    const pendingKey = JSON.stringify([owner.client, listKey]);
    const pending = this.#pending.get(pendingKey);
    if (pending !== undefined) return pending;
    const fetched = this.#fetch(method, fetchPage, owner.gatewayId);
    this.#pending.set(pendingKey, fetched);
    try {
      const list = await fetched;
      this.#lists.set(owner, listKey, list, list.memory, list.until);
      return list;
    } finally {
      this.#pending.delete(pendingKey);
    }
  }

  /** The server has reported that a list has changed. */
  invalidate({ key, owner }: ListOwner, capability: string): void {
    for (const [method, list] of Object.entries(LISTS))
      if (list.capability === capability) this.#lists.delete(owner, `${method} ${key}`);
  }

  async #fetch(method: ListMethod, fetchPage: FetchPage, tenant: string): Promise<ServerList> {
    const { field } = LISTS[method];
    const byKey = new Map<string, ListItem>();
    const hashes = new Map<string, string>();
    const cursors = new Set<string>();
    let cursor: string | null = null;
    let ttlMs = DEFAULT_TTL_MS;
    let isPublic = true;
    let [bytes, memory, count] = [0, 0, 0];
    for (let page = 0; page < MAX_PAGES; page++) {
      const response = await fetchPage(cursor);
      const result = pageResult(response);
      bytes += response?.bytes ?? 0;
      const read = await this.#items(result[field] ?? [], method, tenant);
      memory += read.memory ?? (response?.bytes ?? 0) * MEMORY_PER_BYTE;
      count += read.count;
      // Items without a name count, too: they take as long to read.
      if (count > MAX_ITEMS || bytes > MAX_LIST_BYTES)
        throw new ServerProtocolError(
          `${method} returned more than ${MAX_ITEMS} items or ${MAX_LIST_BYTES} bytes`,
        );
      for (const [index, name] of read.names.entries()) {
        const item = read.items[index];
        // Of two with the same name, the first one counts.
        if (item === undefined || byKey.has(name) || name.length > MAX_NAME_LENGTH) continue;
        byKey.set(name, item);
        if (method === "tools/list") hashes.set(name, read.hashes[index] ?? "");
      }
      if (typeof result["ttlMs"] === "number") ttlMs = Math.min(Math.max(result["ttlMs"], 0), MAX_TTL_MS);
      isPublic &&= result["cacheScope"] === "public";
      cursor = textOf(result, "nextCursor");
      // A cursor that repeats would never end.
      if (cursor === null || cursors.has(cursor)) break;
      cursors.add(cursor);
    }
    const fetchedAt = this.#clock.now();
    return { byKey, hashes, fetchedAt, until: fetchedAt + ttlMs, isPublic, bytes, memory };
  }

  async #items(value: unknown, method: ListMethod, tenant: string): Promise<NamedItems> {
    let items: NamedItems | null;
    try {
      items = await readItems(value, method, { offLoop: this.#offLoop, tenant });
    } catch (error) {
      if (error instanceof OffLoopError) throw error;
      throw new ServerProtocolError(`${method} could not be read: ${toError(error).message}`);
    }
    if (items === null) throw new ServerProtocolError(`${method} returned no list of ${LISTS[method].field}`);
    return items;
  }
}

/** A server without the method has an empty list. */
function pageResult(response: RpcResponse | null): JsonObject {
  if (response === null) throw new ServerProtocolError("the server sent no response");
  if (response.result !== null) return response.result;
  if (response.error?.code === RPC.methodNotFound) return {};
  throw new ServerProtocolError(`the server responded with error ${response.error?.code ?? 0}`);
}
