// Splits a large JSON-RPC message into the fields that the gateway reads, and values that it only passes on. Nothing is parsed: the result
// says where these values are located in the text, so that the event loop parses a few kilobytes of it.
import { isUtf8 } from "node:buffer";
import { hasByteOrderMark, utf8Between } from "../base/byte-search.ts";
import { GatehouseError } from "../base/errors.ts";
import { parseExact } from "../base/exact-json.ts";
import { JsonScanner, MAX_DEPTH } from "../base/json-scanner.ts";
import { elementsAt, isArrayAt, isObjectAt, membersAt, skipSpace, type JsonSpan } from "../base/json-walk.ts";
import { RawJson } from "../base/raw-json.ts";
import { MAX_BATCH } from "./json-rpc.ts";

/** A longer value is passed on as it is, unless it is an object whose members are read. */
const MAX_PARSED_LENGTH = 4096;
/** Of all values that are parsed. Beyond it, short ones are passed on as they are, too. */
const MAX_PARSED_TOTAL = 64 * 1024;
/** Of all objects whose members are read. Messages of the protocol have a few. */
const MAX_MEMBERS = 2000;

/** How the members of objects are read: of the message, then of these fields, then of `_meta`. */
const READ_FIELDS: readonly ReadonlySet<string>[] = [
  new Set(["params", "result", "error"]),
  new Set(["_meta"]),
  new Set(),
];

/** Receivers may disagree on the value of a field that occurs twice, or in another case. */
const scanner = new JsonScanner(["jsonrpc", "id", "method", "params", "result", "error"]);
const PARAMS = 3;
const paramsScanner = new JsonScanner([
  "ref",
  "name",
  "arguments",
  "argument",
  "uri",
  "_meta",
  "cursor",
  "level",
  "context",
  "notifications",
  "requestId",
  "progressToken",
  "protocolVersion",
  "capabilities",
  "clientInfo",
]);
const REF = 0;
const refScanner = new JsonScanner(["type", "name", "uri"]);

type SplitValue =
  | { readonly type: "parsed" | "raw"; readonly start: number; readonly end: number }
  | { readonly type: "object"; readonly members: readonly (readonly [string, SplitValue])[] }
  | { readonly type: "array"; readonly elements: readonly SplitValue[] };

export interface SplitMessage {
  /** Null: those that were given. */
  readonly bytes: Uint8Array | null;
  readonly root: SplitValue;
}

/** Throws a GatehouseError if the bytes are not JSON in UTF-8, are nested too deeply, or contain a field twice, or in another case, that must be unique. */
export function validateMessage(bytes: Uint8Array, isUnique: boolean): void {
  const kind = scanner.scan(bytes);
  if (kind === "invalid") throw new GatehouseError("invalid_json", "The body is not valid JSON in UTF-8.");
  if (kind === "too_deep" || kind === "too_dense")
    throw new GatehouseError("invalid_json", `The body is nested more than ${MAX_DEPTH} levels deep.`);
  if (!isUnique) return;
  if (kind === "object") rejectDuplicates(bytes);
  else
    for (const message of messagesIn(bytes))
      if (scanner.scan(message) === "object") rejectDuplicates(message);
}

/** Visits the messages of a batch, as far as it may be long. */
function* messagesIn(bytes: Uint8Array): Generator<Uint8Array, undefined> {
  const start = skipSpace(bytes, hasByteOrderMark(bytes) ? 3 : 0);
  if (!isArrayAt(bytes, start)) return;
  let count = 0;
  for (const element of elementsAt(bytes, start)) {
    if (++count > MAX_BATCH) return;
    yield bytes.subarray(element.start, element.end);
  }
}

/** The scanner has scanned these bytes. */
function rejectDuplicates(bytes: Uint8Array): void {
  rejectAmbiguous(scanner, "");
  const params = objectIn(bytes, scanner, PARAMS);
  if (params === null || paramsScanner.scan(params) !== "object") return;
  rejectAmbiguous(paramsScanner, "params.");
  const ref = objectIn(params, paramsScanner, REF);
  if (ref !== null && refScanner.scan(ref) === "object") rejectAmbiguous(refScanner, "params.ref.");
}

function objectIn(bytes: Uint8Array, scanned: JsonScanner, field: number): Uint8Array | null {
  const start = scanned.startOf(field);
  return start < 0 ? null : bytes.subarray(start, scanned.endOf(field));
}

/** Servers that ignore case take a variant for the field, and of several the last one. */
function rejectAmbiguous({ duplicate, variant }: JsonScanner, path: string): void {
  if (duplicate !== null)
    throw new GatehouseError(
      "invalid_json",
      `The body contains the field "${path}${duplicate}" of JSON-RPC or MCP twice. Send it once.`,
    );
  if (variant !== null)
    throw new GatehouseError(
      "invalid_json",
      `The body contains a field that differs from "${path}${variant}" of JSON-RPC or MCP only in upper and lower case. Send it as "${variant}".`,
    );
}

/** Throws as `validateMessage` does, and if the message has too many fields. */
export function splitMessage(bytes: Uint8Array, isUnique: boolean): SplitMessage {
  // Servers may send bytes that are not UTF-8. Clients may not, because other servers could read another text in them.
  const isKept = isUnique || isUtf8(bytes);
  const valid = isKept ? bytes : Buffer.from(new TextDecoder().decode(bytes));
  validateMessage(valid, isUnique);
  return { bytes: isKept ? null : valid, root: new Splitter(valid).split() };
}

class Splitter {
  readonly #bytes: Uint8Array;
  #parsedLength = 0;
  #memberCount = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  split(): SplitValue {
    const bytes = this.#bytes;
    const start = skipSpace(bytes, hasByteOrderMark(bytes) ? 3 : 0);
    if (!isArrayAt(bytes, start)) return this.#object({ start, end: bytes.byteLength }, 0);
    const elements: SplitValue[] = [];
    for (const element of elementsAt(bytes, start)) {
      elements.push(this.#object(element, 0));
      // A longer batch is rejected.
      if (elements.length > MAX_BATCH) break;
    }
    return { type: "array", elements };
  }

  #object(span: JsonSpan, level: number): SplitValue {
    if (!isObjectAt(this.#bytes, span.start)) return this.#value(span);
    const read = READ_FIELDS[level];
    const members: [string, SplitValue][] = [];
    for (const member of membersAt(this.#bytes, span.start)) {
      if (++this.#memberCount > MAX_MEMBERS)
        throw new GatehouseError("invalid_json", `The message has more than ${MAX_MEMBERS} fields.`);
      const isRead = read?.has(member.key) === true;
      members.push([member.key, isRead ? this.#object(member, level + 1) : this.#value(member)]);
    }
    return { type: "object", members };
  }

  #value({ start, end }: JsonSpan): SplitValue {
    const length = end - start;
    const isParsed = length <= MAX_PARSED_LENGTH && this.#parsedLength + length <= MAX_PARSED_TOTAL;
    if (isParsed) this.#parsedLength += length;
    return { type: isParsed ? "parsed" : "raw", start, end };
  }
}

/** Returns the message with raw values in place of large ones. Of members with the same name, the last one counts, as for JSON.parse. */
export function joinMessage(bytes: Uint8Array, root: SplitValue): unknown {
  const join = (value: SplitValue): unknown => {
    switch (value.type) {
      case "parsed":
        return parseExact(utf8Between(bytes, value.start, value.end));
      case "raw":
        return new RawJson(bytes.subarray(value.start, value.end));
      case "array":
        return value.elements.map(join);
      case "object":
        return Object.fromEntries(value.members.map(([key, member]) => [key, join(member)]));
    }
  };
  return join(root);
}
