// Splits a large page of a list into its items without creating objects for what is in them. Runs in a worker thread.
import { utf8Between } from "../base/byte-search.ts";
import type { JsonObject } from "../base/json.ts";
import { elementsAt, isObjectAt, membersAt } from "../base/json-walk.ts";
import { LISTS, type ListMethod } from "./protocol.ts";
import { definitionHash, headerArguments, type HeaderArgument } from "./tool-definition.ts";

/** Of all pages of a list, those without a name included. */
export const MAX_ITEMS = 5000;

/** Fields of a tool that a client of one generation cannot understand in a definition for the other one. */
const EXECUTION = "execution";
const OUTPUT_SCHEMA = "outputSchema";

/** The items of a page as they leave the worker thread: a few large arrays, because each object takes time to be copied. */
export interface RawItems {
  readonly names: readonly string[];
  readonly hashes: readonly string[];
  readonly headers: readonly (readonly HeaderArgument[])[];
  readonly count: number;
  /** The members of all items. */
  readonly members: Uint8Array;
  /** As they are for clients of another generation than the server; null where they do not differ. */
  readonly session: Uint8Array | null;
  readonly stateless: Uint8Array | null;
  /** Where the members of each item end, in each of these three. */
  readonly ends: readonly [members: Int32Array, session: Int32Array, stateless: Int32Array];
}

const MAX_HEADERS = 1000;

/** Runs in a worker thread. Throws an Error if there are too many items. */
export function splitItems(bytes: Uint8Array, method: ListMethod): RawItems {
  const { key } = LISTS[method];
  const isTools = method === "tools/list";
  const names: string[] = [];
  const hashes: string[] = [];
  const headers: (readonly HeaderArgument[])[] = [];
  const all = { members: new TextList(), session: new TextList(), stateless: new TextList() };
  let headerCount = 0;
  let count = 0;
  for (const { start, end } of elementsAt(bytes, 0)) {
    if (++count > MAX_ITEMS) throw new Error(`the list has more than ${MAX_ITEMS} items`);
    if (!isObjectAt(bytes, start)) continue;
    // Clients get the tool that is hashed: a text with equal keys, or digits that JavaScript rounds, has several readings.
    const definition = isTools ? (JSON.parse(utf8Between(bytes, start, end)) as JsonObject) : null;
    const read = readMembers(definition === null ? textsAt(bytes, start) : textsOf(definition), key);
    if (read === null) continue;
    names.push(read.name);
    all.members.push(read.members);
    all.session.push(isTools ? read.forSession : read.members);
    all.stateless.push(isTools ? read.forStateless : read.members);
    if (definition === null) continue;
    hashes.push(definitionHash(definition));
    const found = headerArguments(definition);
    headerCount += found.length;
    if (headerCount > MAX_HEADERS)
      throw new Error(`the tools have more than ${MAX_HEADERS} header arguments`);
    headers.push(found);
  }
  const members = all.members.joined();
  const other = (list: TextList) => (list.equals(all.members) ? null : list.joined());
  const ends = [all.members.ends(), all.session.ends(), all.stateless.ends()] as const;
  const [session, stateless] = [other(all.session), other(all.stateless)];
  return { names, hashes, headers, count, members, session, stateless, ends };
}

interface ReadMembers {
  readonly name: string;
  readonly members: string;
  readonly forSession: string;
  readonly forStateless: string;
}

/** Returns the JSON of each member of the object at `start`. Of members that occur twice, the last one counts, as for JSON.parse. */
function textsAt(bytes: Uint8Array, start: number): Map<string, string> {
  const last = new Map<string, string>();
  for (const member of membersAt(bytes, start)) {
    last.delete(member.key);
    last.set(member.key, utf8Between(bytes, member.start, member.end));
  }
  return last;
}

function textsOf(definition: JsonObject): Map<string, string> {
  return new Map(Object.entries(definition).map(([key, value]) => [key, JSON.stringify(value)]));
}

/** Returns null if the object with these members has no name. */
function readMembers(last: Map<string, string>, key: string): ReadMembers | null {
  const name = stringOf(last.get(key));
  if (name === null) return null;
  last.delete(key);
  const written = [...last].map(([each, value]) => [each, `,${JSON.stringify(each)}:${value}`] as const);
  const without = (field: string) => written.map(([each, member]) => (each === field ? "" : member)).join("");
  const members = without(key);
  const schema = last.get(OUTPUT_SCHEMA);
  const isObject = schema === undefined || !schema.startsWith("{") || typeOfSchema(schema) === "object";
  return {
    name,
    members,
    forSession: isObject ? members : without(OUTPUT_SCHEMA),
    forStateless: last.has(EXECUTION) ? without(EXECUTION) : members,
  };
}

function stringOf(json: string | undefined): string | null {
  return json?.startsWith('"') === true ? String(JSON.parse(json)) : null;
}

function typeOfSchema(schema: string): string | null {
  const bytes = Buffer.from(schema);
  let type: string | null = null;
  for (const { key, start, end } of membersAt(bytes, 0))
    if (key === "type") type = stringOf(utf8Between(bytes, start, end));
  return type;
}

/** Texts that are sent from the thread as one. */
class TextList {
  readonly #texts: string[] = [];

  push(text: string): void {
    this.#texts.push(text);
  }

  ends(): Int32Array {
    let end = 0;
    return Int32Array.from(this.#texts, (text) => (end += Buffer.byteLength(text)));
  }

  joined(): Uint8Array {
    return new TextEncoder().encode(this.#texts.join(""));
  }

  equals(other: TextList): boolean {
    return this.#texts.every((text, index) => text === other.#texts[index]);
  }
}
