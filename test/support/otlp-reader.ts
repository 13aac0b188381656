// Reads the parts that all OTLP messages have in common: resource, scope and attributes.
import type { MessageShape } from "./protobuf-reader.ts";

export type Attributes = Readonly<Record<string, string | number | readonly string[]>>;

const TEXT_LIST: MessageShape = { 1: ["values", [{ 1: ["stringValue", "text"] }]] };
const VALUE: MessageShape = {
  1: ["stringValue", "text"],
  3: ["intValue", "number"],
  4: ["doubleValue", "double"],
  5: ["arrayValue", TEXT_LIST],
};
export const ATTRIBUTE: MessageShape = { 1: ["key", "text"], 2: ["value", VALUE] };
export const RESOURCE: MessageShape = { 1: ["attributes", [ATTRIBUTE]] };
export const SCOPE: MessageShape = { 1: ["name", "text"], 2: ["version", "text"] };

/** Returns the fields of a message. Rejects unknown fields, because a misspelled one would be ignored. */
export function fields(value: unknown, ...known: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("not an object");
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`unknown fields ${unknown.join(", ")}`);
  return value as Record<string, unknown>;
}

export function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error("not a list");
  return value;
}

export function text(value: unknown, pattern: RegExp): string {
  if (typeof value !== "string" || !pattern.test(value))
    throw new Error(`${JSON.stringify(value)} is not ${pattern}`);
  return value;
}

/** Reads an export of one signal. `names` are the fields with the resources, with their scopes, and with the items of a scope. */
export function readExport<T>(
  body: unknown,
  [resources, scopes, items]: readonly [string, string, string],
  readItem: (item: unknown) => T,
): { resource: Attributes; items: T[] } {
  const read: T[] = [];
  let resource: Attributes = {};
  for (const one of list(fields(body, resources)[resources])) {
    const described = fields(one, "resource", scopes);
    resource = readAttributes(fields(described["resource"], "attributes")["attributes"]);
    for (const each of list(described[scopes])) {
      const inScope = fields(each, "scope", items);
      text(fields(inScope["scope"], "name", "version")["name"], /./);
      read.push(...list(inScope[items]).map(readItem));
    }
  }
  return { resource, items: read };
}

export function readAttributes(value: unknown): Attributes {
  const read: Record<string, string | number | readonly string[]> = {};
  for (const each of list(value)) {
    const { key, value: held } = fields(each, "key", "value");
    const name = text(key, /^[\w.]+$/);
    if (name in read) throw new Error(`${name} is given twice`);
    read[name] = readValue(held);
  }
  return read;
}

function readValue(value: unknown): string | number | readonly string[] {
  const known = ["stringValue", "intValue", "doubleValue", "arrayValue"];
  const { stringValue, intValue, doubleValue, arrayValue } = fields(value, ...known);
  if (arrayValue !== undefined)
    return list(fields(arrayValue, "values")["values"]).map((each) =>
      text(fields(each, "stringValue")["stringValue"], /^/),
    );
  if (doubleValue !== undefined) return Number(doubleValue);
  return intValue === undefined ? text(stringValue, /^/) : Number(text(intValue, /^-?\d+$/));
}
