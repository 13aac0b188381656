// Copies of an exchange for plugins in shadow mode: what a plugin changes in a copy has no effect on the request.
import { Exchange } from "../exchange.ts";
import { RequestBody } from "../request-body.ts";

/** Copies the request as it is now. Later changes of the original do not change the copy, and vice versa. */
export function copyExchange(original: Exchange): Exchange {
  const { request, snapshot, requestId, clock, startedAt } = original;
  const copy = new Exchange(request, snapshot, requestId, clock, startedAt, original);
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

/**
 * Returns a body that has its own JSON and, unless the bytes are shared, its own bytes. Plugins must modify neither of them, but nothing
 * prevents it, and the original is sent to the provider.
 */
export function copyBody(original: RequestBody, sharesBytes: boolean): RequestBody {
  const { isJson, contentType, isTraced, fields } = original;
  const bytes = sharesBytes ? original.bytes : new Uint8Array(original.bytes);
  return RequestBody.withFields({ bytes, isJson, contentType, isTraced }, fields);
}
