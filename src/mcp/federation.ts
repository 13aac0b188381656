// The lists of the servers of a service, and what of them clients are offered.
import type { ClientContext } from "./client-context.ts";
import { headersOf, RawItem } from "./list-items.ts";
import type { ListCache, ServerList } from "./list-cache.ts";
import { LISTS, type ListMethod } from "./protocol.ts";
import { ServerProtocolError, type ServerCallParts } from "./server-call.ts";
import { sendObserved } from "./observe-request.ts";
import type { Reconnects } from "./reconnects.ts";
import type { ServerLink } from "./server-link.ts";
import type { McpServerTarget } from "./server-target.ts";
import type { Silence, SilentServers } from "./silent-servers.ts";
import type { HeaderArgument } from "./tool-definition.ts";
import { isUnresponsive, ServerSilentError } from "./unresponsive.ts";
import type { ListedTools, ToolPins } from "./tool-pins.ts";
import { withTimeout } from "../base/with-timeout.ts";

export interface FederationParts extends ServerCallParts {
  readonly lists: ListCache;
  readonly pins: ToolPins;
  readonly silences: SilentServers;
  readonly reconnects: Reconnects;
}

export interface ListedServer {
  readonly server: McpServerTarget;
  /** Null if the server did not respond. */
  readonly list: ServerList | null;
  readonly link: ServerLink | null;
}

let requestCount = 0;
const processId = crypto.randomUUID().slice(0, 8);

/** Returns an id for a request of the gateway, which no other node uses in the same session. */
export function ownRequestId(): string {
  return `gatehouse-${processId}-${++requestCount}`;
}

export function mayUse(
  { access }: ClientContext,
  server: McpServerTarget,
  method: ListMethod,
  name: string,
): boolean {
  return access === null || access.mayUse({ server, name, isUri: LISTS[method].key !== "name" });
}

/** Whether the server's record and its pins let clients have the tool. */
export function isOffered(
  server: McpServerTarget,
  { hashes }: ServerList,
  name: string,
  pins: ToolPins,
): boolean {
  if (!server.allowsTool(name)) return false;
  return server.pin !== "hold" || !pins.isWithheld(server, name, hashes.get(name) ?? "");
}

export async function listOf(
  context: ClientContext,
  server: McpServerTarget,
  method: ListMethod,
  parts: FederationParts,
): Promise<ListedServer> {
  try {
    const { list, link } = await serverList(context, server, method, parts, false);
    return { server, list, link };
  } catch {
    // The server is named in the result.
    context.observer.silent(server, method);
    return { server, list: null, link: null };
  }
}

/** Resolves within the server's timeout for lists, also if the server has to be connected first. */
async function serverList(
  context: ClientContext,
  server: McpServerTarget,
  method: ListMethod,
  parts: FederationParts,
  isMissing: boolean,
): Promise<{ readonly list: ServerList; readonly link: ServerLink }> {
  const { links, client, gatewayId, observer } = context;
  const subject = { gatewayId, server, credential: links.credentialOf(server) };
  /** Null: the server has responded. */
  let waitsFor: Silence | null = "connect";
  if (parts.silences.isSilent(subject, method))
    throw new ServerProtocolError("the server was silent; it is asked again in the background");
  const aborted = new AbortController();
  const fetchPage = (cursor: string | null) =>
    links.use(server, (link) =>
      sendObserved(
        observer,
        link,
        {
          id: ownRequestId(),
          method,
          params: cursor === null ? {} : { cursor },
          headers: {},
          client,
          timeoutMs: server.timeouts.list,
          signal: aborted.signal,
          onEvent: null,
        },
        parts,
      ),
    );
  const work = async () => {
    const link = await links.linkTo(server);
    waitsFor = method;
    const list = await parts.lists.get(links.listOwner(server), method, fetchPage, isMissing);
    waitsFor = null;
    parts.silences.responded(subject, "connect");
    parts.silences.responded(subject, method);
    observer.listed(server, method, list);
    if (method === "tools/list" && server.pin !== "off")
      await parts.pins.observe(gatewayId, server, seenTools(list));
    return { list, link };
  };
  const timeout = () => {
    aborted.abort();
    return new ServerSilentError(`the server sent no list within ${server.timeouts.list} ms`);
  };
  try {
    return await withTimeout(server.timeouts.list, work(), timeout, parts.clock);
  } catch (error) {
    if (waitsFor !== null && isUnresponsive(error)) parts.silences.report(subject, waitsFor);
    throw error;
  }
}

/** Built once per list. */
const seen = new WeakMap<ServerList, ListedTools>();

function seenTools(list: ServerList): ListedTools {
  let listed = seen.get(list);
  if (listed === undefined) {
    const tools = [...list.byKey].map(([name, item]) => ({
      name,
      hash: list.hashes.get(name) ?? "",
      // Only a definition that has changed is written to the store.
      get definition() {
        return item instanceof RawItem ? item.named("name", name, null).text : item;
      },
    }));
    listed = { tools, memory: list.memory };
    seen.set(list, listed);
  }
  return listed;
}

/**
 * Finds a tool that the client may use. Returns null for a tool that does not exist and for one that the client may not use, after
 * the same steps, so that it cannot find out which.
 */
export async function findTool(
  context: ClientContext,
  publicName: string,
  parts: FederationParts,
): Promise<{
  readonly server: McpServerTarget;
  readonly name: string;
  /** The arguments that are repeated in header fields. */
  readonly repeated: readonly HeaderArgument[];
} | null> {
  const found = context.names.find(publicName);
  if (found === null) return null;
  const { server, name } = found;
  // A server that the client may not use is to it as one that does not exist.
  if (context.access?.mayUseServer(server) === false) return null;
  for (const isMissing of [false, true]) {
    const { list } = await serverList(context, server, "tools/list", parts, isMissing);
    const item = list.byKey.get(name);
    const isAllowed = mayUse(context, server, "tools/list", name);
    if (item !== undefined && isAllowed && isOffered(server, list, name, parts.pins))
      return { server, name, repeated: headersOf(item) };
  }
  return null;
}
