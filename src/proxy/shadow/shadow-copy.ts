// Copies of an exchange for plugins in shadow mode: what a plugin changes in a copy has no effect on the request.
import { Exchange } from "../exchange.ts";
import { RequestBody } from "../request-body.ts";

/** Copies the request as it is now. Later changes of the original do not change the copy, and vice versa. */
export function copyExchange(original: Exchange): Exchange {
  const { request, snapshot, requestId, clock, startedAt } = original;
  const copy = new Exchange(request, snapshot, requestId, clock, startedAt);
  copy.clientAddress = original.clientAddress;
  copy.apiKey = original.apiKey;
  copy.gateway = original.gateway;
  copy.rule = original.rule;
  copy.endpoint = original.endpoint;
  copy.upload = original.upload;
  copy.body = original.body;
  copy.fields = original.fields;
  copy.sentPath = original.sentPath;
  copy.sentQuery = original.sentQuery;
  copy.sentHeaders = original.sentHeaders === null ? null : { ...original.sentHeaders };
  copy.mcp = original.mcp?.copy() ?? null;
  copy.storedAt = original.storedAt;
  copy.isServedHere = original.isServedHere;
  copy.attempts = original.attempts;
  copy.response = original.response;
  copy.usage = original.usage;
  copy.adopt(original);
  return copy;
}

/** The request as it is at one position of the chain: copied once on the path of the request, and again for each plugin when it runs. */
export class SharedCopy {
  readonly #original: Exchange;
  #kept: Exchange | null = null;
  /** Copies that were reserved and not taken yet. */
  #reserved = 0;

  constructor(original: Exchange) {
    this.#original = original;
  }

  /** Copies the request as it is now, unless another plugin has reserved a copy. Returns a function to call once, which returns the copy. */
  reserve(): () => Exchange {
    const kept = (this.#kept ??= copyExchange(this.#original));
    this.#reserved++;
    // The last plugin gets the copy that the others were made from.
    return () => (--this.#reserved === 0 ? kept : copyExchange(kept));
  }
}

/**
 * Replaces the body of a copy by one with its own bytes. Plugins must modify neither the bytes nor the parsed JSON, but nothing
 * prevents it, and the original is sent to the provider. Call it before a hook runs, off the path of the request.
 */
export function separateBody(copy: Exchange): void {
  const { body } = copy;
  if (body === null) return;
  const { isJson, contentType, isTraced, fields } = body;
  copy.body = RequestBody.withFields(
    { bytes: new Uint8Array(body.bytes), isJson, contentType, isTraced },
    fields,
  );
}
