// The user of a request, as budgets and token limits count it.
import type { CompiledApiKey } from "../snapshot/compile.ts";
import type { Exchange } from "./exchange.ts";

/** In place of the API key of a user without one. A trusted id has an empty place: a client must not use it by naming it in the body. */
const ANONYMOUS = "anonymous";

/** Returns the user of a token, else X-User-ID, else the `user` of the body; empty if there is none. */
export function userIdOf({ request, fields, apiKey }: Exchange): string {
  if (apiKey !== null && apiKey.user !== null) return apiKey.user;
  const header = request.headers.get("x-user-id") ?? "";
  return header === "" ? (fields.user ?? "") : header;
}

/** Whether the request names its user in X-User-ID, and the gateway trusts this header. */
export function hasTrustedUser({ request, gateway }: Exchange): boolean {
  return gateway?.gateway.trust_user_header === true && (request.headers.get("x-user-id") ?? "") !== "";
}

/**
 * A user is the pair of API key and user id, because any client can send any id. If the gateway trusts the header, the id alone.
 */
export function userKeyOf(exchange: Exchange): string {
  const { apiKey } = exchange;
  const userId = userIdOf(exchange);
  if (hasTrustedUser(exchange)) return `/${userId}`;
  if (apiKey !== null && userId === "") return keyWithoutUser(apiKey);
  return `${apiKey?.id ?? ANONYMOUS}/${userId}`;
}

/** Most requests name no user. Maps find the same string faster than an equal one that has to be hashed. */
const keysWithoutUser = new WeakMap<CompiledApiKey, string>();

function keyWithoutUser(apiKey: CompiledApiKey): string {
  let key = keysWithoutUser.get(apiKey);
  if (key === undefined) keysWithoutUser.set(apiKey, (key = `${apiKey.id}/`));
  return key;
}
