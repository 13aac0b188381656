// Definitions of tools: their hash, by which a change is noticed, and the arguments that they want repeated in header fields.
import { stringifyExact } from "../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { sha256 } from "../base/sha256.ts";
import { joinHash } from "../model/definition-hash.ts";
import { headerText, readHeaderText } from "./header-text.ts";
import { objectOf } from "./json-rpc.ts";

/** More arguments of a tool are not repeated. */
const MAX_HEADERS = 64;
/** Deeper schemas are not searched for header fields. */
const MAX_DEPTH = 16;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/**
 * Returns the same hash for every order of keys. Of `_meta` it has a part of its own: some servers put times
 * and ids there.
 */
export function definitionHash(definition: JsonObject): string {
  const content = Object.entries(definition).filter(([key]) => key !== "_meta");
  const withoutMeta = hashOf(Object.fromEntries(content));
  const hasMeta = Object.hasOwn(definition, "_meta");
  return joinHash(hasMeta ? hashOf(definition) : withoutMeta, withoutMeta);
}

/** Numbers that JavaScript rounds are delivered as they were received, so that their digits count, too. */
function hashOf(value: JsonObject): string {
  const exact = stringifyExact(value);
  const canonical = canonicalJson(value);
  return sha256(exact === JSON.stringify(value) ? canonical : `${canonical} ${exact}`);
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${members.join(",")}}`;
}

/** An argument that is repeated in the header field `Mcp-Param-<name>`. */
export interface HeaderArgument {
  readonly path: readonly string[];
  /** In lower case. */
  readonly header: string;
  readonly isNumber: boolean;
}

/** Reads `x-mcp-header` in the schema of a tool. Only properties that are always at the same place can have it. */
export function headerArguments(definition: JsonObject): HeaderArgument[] {
  const found: HeaderArgument[] = [];
  collect(objectOf(definition, "inputSchema"), [], found);
  return found;
}

function collect(schema: JsonObject | null, path: readonly string[], found: HeaderArgument[]): void {
  if (schema === null || path.length > MAX_DEPTH || found.length >= MAX_HEADERS) return;
  const name = schema["x-mcp-header"];
  if (path.length > 0 && typeof name === "string" && TOKEN.test(name)) {
    const isNumber = schema["type"] === "integer" || schema["type"] === "number";
    found.push({ path, header: `mcp-param-${name.toLowerCase()}`, isNumber });
  }
  const properties = objectOf(schema, "properties") ?? {};
  for (const key of Object.keys(properties)) collect(objectOf(properties, key), [...path, key], found);
}

/** An argument of a call that a header field repeats; the text is null if the call has no such argument. */
export interface RepeatedArgument extends HeaderArgument {
  readonly text: string | null;
}

export function readArguments(
  found: readonly HeaderArgument[],
  callArguments: JsonObject,
): RepeatedArgument[] {
  return found.map((argument) => ({ ...argument, text: argumentText(callArguments, argument.path) }));
}

/** Returns the header fields for the arguments of a call. */
export function headersForArguments(repeated: readonly RepeatedArgument[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { text, header } of repeated) if (text !== null) headers[header] = headerText(text);
  return headers;
}

/** Returns what differs between header fields and arguments; null if nothing does. */
export function headerMismatch(
  repeated: readonly RepeatedArgument[],
  header: (name: string) => string | null,
): string | null {
  for (const { path, header: name, isNumber, text } of repeated) {
    if (text === null) continue;
    const value = header(name);
    if (value === null)
      return `The header ${name} is missing. It must repeat the argument ${path.join(".")}.`;
    const read = readHeaderText(value);
    if (read === null) return `The header ${name} is not valid Base64.`;
    const isEqual = isNumber && DECIMAL.test(read) ? Number(read) === Number(text) : read === text;
    if (!isEqual) return `The header ${name} differs from the argument ${path.join(".")}.`;
  }
  return null;
}

function argumentText(callArguments: JsonObject, path: readonly string[]): string | null {
  let value: unknown = callArguments;
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || (Number.isInteger(value) && !Number.isSafeInteger(value))) return null;
  return String(value);
}
