// What plugins change in a request: the state of the request before and after a hook, and the difference.
import type { Exchange } from "./exchange.ts";
import { forwardedHeaders } from "./header-filter.ts";
import type { PluginParts } from "./plugin-call.ts";

export interface RequestState {
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** Returns what would be sent to the provider now. */
export function stateOf(
  exchange: Pick<Exchange, "sentPath" | "sentQuery" | "sentHeaders" | "body" | "request">,
  { ownCredentials }: Pick<PluginParts, "ownCredentials">,
): RequestState {
  const { sentPath, sentQuery, sentHeaders, body, request } = exchange;
  const headers = { ...(sentHeaders ?? forwardedHeaders(request.headers, ownCredentials)) };
  return { path: sentPath, query: sentQuery, headers, body: body?.bytes ?? null };
}

/** Returns the names of what differs. */
export function changesSince(before: RequestState, after: RequestState): string[] {
  const changes: string[] = [];
  if (after.path !== before.path) changes.push("the path");
  if (after.query !== before.query) changes.push("the query");
  for (const name of new Set([...Object.keys(before.headers), ...Object.keys(after.headers)]))
    if (before.headers[name] !== after.headers[name]) changes.push(`the header ${name}`);
  if (after.body !== before.body && !Bun.deepEquals(after.body, before.body)) changes.push("the body");
  return changes;
}
