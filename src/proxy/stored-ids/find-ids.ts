// Finds the ids of stored objects in a request body. Runs on the event loop and in worker threads.
import { indexOfBytes } from "../../base/byte-search.ts";
import { GatehouseError } from "../../base/errors.ts";
import { JsonStringSplicer } from "../../base/json-string-splicer.ts";
import type { Operation } from "../../formats/operations.ts";
import { idsInRequest } from "../../formats/stored-ids.ts";

/** More than any real request has. Opening an id takes a few microseconds. */
const MAX_IDS = 1000;

export interface FoundId {
  readonly id: string;
  /** The place of the string in the body, with quotes. */
  readonly start: number;
  readonly end: number;
  /** What the id names and whether it must be a sealed one: ID, RESPONSE_ID, CITED_ID or OPTIONAL_ID. */
  readonly kind: string;
}

export interface SearchedBody {
  readonly bytes: Uint8Array;
  readonly operation: Operation;
}

/** Whether the body may contain ids. Costs a search for a few bytes. */
export function mayContainIds({ bytes, operation }: SearchedBody): boolean {
  const contains = (text: Uint8Array) => indexOfBytes(bytes, text, 0) >= 0;
  return (
    idsInRequest(operation)?.marks.some(({ hint, texts }) => contains(hint) && texts.some(contains)) === true
  );
}

/** Throws a GatehouseError if there are too many, or if not all of the body can be searched. */
export function findIds({ bytes, operation }: SearchedBody): FoundId[] {
  const ids = idsInRequest(operation);
  if (ids === null) return [];
  const found: FoundId[] = [];
  const splicer = new JsonStringSplicer(
    ids.part,
    (id, kind, start, end) => {
      found.push({ id, start, end, kind });
      if (found.length > MAX_IDS)
        throw new GatehouseError(
          "bad_request",
          `The body refers to more than ${MAX_IDS} stored objects. Split the request.`,
        );
      return null;
    },
    bytes.byteLength,
  );
  splicer.push(bytes);
  // Bodies with a JSON content type have been checked before; others may be JSON, too.
  if (splicer.isTooDeep)
    throw new GatehouseError("invalid_json", "The body is nested too deeply to be searched for ids.");
  return found;
}
