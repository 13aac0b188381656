// The items of lists of servers: parsed ones of a small page, and those of a large page, of which only names and hashes are known.
import type { JsonObject } from "../base/json.ts";
import { isParsedObject, RawJson } from "../base/raw-json.ts";
import { LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { textOf } from "./json-rpc.ts";
import type * as listItemsTask from "./list-items-task.ts";
import type { RawItems } from "./split-items.ts";
import { LISTS, type Generation, type ListMethod } from "./protocol.ts";
import { definitionHash, headerArguments, type HeaderArgument } from "./tool-definition.ts";

const TASK = new URL("./list-items-task.ts", import.meta.url);

const END = Buffer.from("}");

/** Memory of an item of a large page beside its bytes. */
const ITEM_BYTES = 512;

/** An item of a large page, as its text. */
export class RawItem {
  readonly headers: readonly HeaderArgument[];
  /** The members without the name or URI, each after a comma: for a client of the server's generation, and of the other one. */
  readonly #members: Uint8Array;
  readonly #bridged: Readonly<Record<Generation, Uint8Array>>;

  constructor(
    members: Uint8Array,
    bridged: Readonly<Record<Generation, Uint8Array>>,
    headers: readonly HeaderArgument[],
  ) {
    this.#members = members;
    this.#bridged = bridged;
    this.headers = headers;
  }

  /** Returns the item with another name or URI. `to` is the generation of a client that differs from that of the server, or null. */
  named(key: string, name: string, to: Generation | null): RawJson {
    const members = to === null ? this.#members : this.#bridged[to];
    const start = Buffer.from(`{${JSON.stringify(key)}:${JSON.stringify(name)}`);
    return new RawJson(start, members, END);
  }
}

export type ListItem = JsonObject | RawItem;

export interface NamedItems {
  readonly names: readonly string[];
  readonly items: readonly ListItem[];
  /** The hashes of definitions of tools; empty for other lists. */
  readonly hashes: readonly string[];
  /** How many items there are, those without a name included. */
  readonly count: number;
  /** Bytes of memory that the items take, if they are bytes; null if they are parsed. */
  readonly memory: number | null;
}

/** Returns the items that have a name. Returns null if the value is no list. Rejects if it has too many items. */
export async function readItems(
  value: unknown,
  method: ListMethod,
  { offLoop, tenant }: { readonly offLoop: OffLoop; readonly tenant: string },
): Promise<NamedItems | null> {
  if (value instanceof RawJson) {
    if (!value.isArray) return null;
    const { bytes } = value;
    const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS, tenant };
    // Nothing else reads the page.
    const options =
      bytes.buffer instanceof ArrayBuffer ? { ...limits, moved: new Uint8Array(bytes.buffer) } : limits;
    return fromRawItems(await offLoop.run<typeof listItemsTask>(TASK, { bytes, method }, options));
  }
  return Array.isArray(value) ? parsedItems(value, method) : null;
}

function parsedItems(values: readonly unknown[], method: ListMethod): NamedItems {
  const names: string[] = [];
  const items: JsonObject[] = [];
  const hashes: string[] = [];
  for (const item of values) {
    const name = isParsedObject(item) ? textOf(item, LISTS[method].key) : null;
    if (name === null || !isParsedObject(item)) continue;
    names.push(name);
    items.push(item);
    if (method === "tools/list") hashes.push(definitionHash(item));
  }
  return { names, items, hashes, count: values.length, memory: null };
}

export function fromRawItems(raw: RawItems): NamedItems {
  const { names, hashes, headers, count, members, session, stateless, ends } = raw;
  const items = names.map((_, index) => {
    const own = part(members, ends[0], index);
    const bridged = {
      session: session === null ? own : part(session, ends[1], index),
      stateless: stateless === null ? own : part(stateless, ends[2], index),
    };
    return new RawItem(own, bridged, headers[index] ?? []);
  });
  const memory = [members, session, stateless].reduce((sum, each) => sum + (each?.byteLength ?? 0), 0);
  return { names, items, hashes, count, memory: memory + names.length * ITEM_BYTES };
}

function part(bytes: Uint8Array, ends: Int32Array, index: number): Uint8Array {
  return bytes.subarray(ends[index - 1] ?? 0, ends[index]);
}

/** Returns the header arguments of a tool. */
export function headersOf(item: ListItem): readonly HeaderArgument[] {
  return item instanceof RawItem ? item.headers : headerArguments(item);
}
