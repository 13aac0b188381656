// Replaces the ids of stored objects in a target's response by sealed ids, in whole bodies and in event streams. All other
// bytes stay as they are.
import { JsonStringSplicer, type JsonPart } from "../../base/json-string-splicer.ts";
import { BATCH_URL } from "../../formats/stored-ids.ts";
import type { IdOwner, IdSeal } from "./id-seal.ts";

const MAX_HELD_BYTES = 2048;
const MAX_REMEMBERED = 64;
const LINE_FEED = 0x0a;
const DATA = Buffer.from("data:");

const BATCH_RESULTS = /^https?:\/\/[^/]+(?:\/.*)?(\/messages\/batches\/)([^/]+)(\/results)$/;

/** Passes the bytes of a response on, with the ids replaced. */
export interface IdSplicer {
  push(bytes: Uint8Array): Uint8Array;
  /** Returns the bytes that were held back. */
  end(): Uint8Array;
}

/** Seals the ids in one response. */
export class ResponseIds {
  readonly #part: JsonPart;
  readonly #idSeal: IdSeal;
  readonly #owner: IdOwner;
  readonly #targetTag: string;
  /** The URL of the request as the client knows it, without a query. */
  readonly #requestUrl: string;
  /** The ids of a stream are the same in every event. */
  readonly #sealed = new Map<string, string | null>();

  constructor(part: JsonPart, idSeal: IdSeal, owner: IdOwner, targetTag: string, requestUrl: string) {
    this.#part = part;
    this.#idSeal = idSeal;
    this.#owner = owner;
    this.#targetTag = targetTag;
    this.#requestUrl = requestUrl;
  }

  splicer(isStream: boolean): IdSplicer {
    const json = new JsonStringSplicer(
      this.#part,
      (value, kind) => (kind === BATCH_URL ? this.#ownUrl(value) : this.#seal(value)),
      MAX_HELD_BYTES,
    );
    return isStream ? new EventSplicer(json) : json;
  }

  spliceWhole(body: Uint8Array, isStream: boolean): Uint8Array {
    const splicer = this.splicer(isStream);
    const spliced = splicer.push(body);
    const held = splicer.end();
    return held.byteLength === 0 ? spliced : Buffer.concat([spliced, held]);
  }

  #seal(id: string): string | null {
    let sealed = this.#sealed.get(id);
    if (sealed === undefined) {
      if (this.#sealed.size >= MAX_REMEMBERED) this.#sealed.clear();
      sealed = this.#idSeal.seal(id, this.#targetTag, this.#owner);
      this.#sealed.set(id, sealed);
    }
    return sealed;
  }

  /** Clients read the results of a batch at this URL, with their API key of the gateway. */
  #ownUrl(url: string): string | null {
    const [, before = "", id = "", after = ""] = BATCH_RESULTS.exec(url) ?? [];
    const sealed = id === "" ? null : this.#seal(id);
    const api = this.#requestUrl.lastIndexOf("/messages/batches");
    return sealed === null ? null : this.#requestUrl.slice(0, api) + before + sealed + after;
  }
}

/** Splices the JSON in the data lines of an event stream. */
class EventSplicer implements IdSplicer {
  readonly #json: JsonStringSplicer;
  /** The number of bytes of the current line that match `data:`; -1 if the line is of another kind. */
  #matched = 0;

  constructor(json: JsonStringSplicer) {
    this.#json = json;
  }

  push(bytes: Uint8Array): Uint8Array {
    const pieces: Uint8Array[] = [];
    /** The index of the first byte that is not in `pieces`. */
    let from = 0;
    for (let at = 0; at < bytes.length;) {
      const lineFeed = bytes.indexOf(LINE_FEED, at);
      const end = lineFeed < 0 ? bytes.length : lineFeed;
      const start = this.#skipName(bytes, at, end);
      if (start < end) {
        const json = bytes.subarray(start, end);
        const spliced = this.#json.push(json);
        if (spliced !== json) {
          pieces.push(bytes.subarray(from, start), spliced);
          from = end;
        }
      }
      if (lineFeed >= 0) {
        const held = this.#json.end();
        if (held.length > 0) pieces.push(held);
        this.#matched = 0;
        this.#json.reset();
      }
      at = end + 1;
    }
    if (pieces.length === 0) return bytes;
    pieces.push(bytes.subarray(from));
    return Buffer.concat(pieces);
  }

  end(): Uint8Array {
    return this.#json.end();
  }

  /** Returns where the JSON of a data line begins, or `end` if there is none. */
  #skipName(bytes: Uint8Array, start: number, end: number): number {
    let at = start;
    while (at < end && this.#matched >= 0 && this.#matched < DATA.length) {
      this.#matched = bytes[at] === DATA[this.#matched] ? this.#matched + 1 : -1;
      at++;
    }
    return this.#matched === DATA.length ? at : end;
  }
}
