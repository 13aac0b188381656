// An MCP server in the form that requests use, with what is derived from its configuration once.
import { sha256 } from "../base/sha256.ts";
import type { RequestCredential } from "../upstream/request-credential.ts";
import type { CompiledMcpServer, CompiledMcpService } from "./compiled.ts";
import { PublicNames } from "./public-names.ts";

const TAG_LENGTH = 12;

export interface McpServerTarget {
  readonly id: string;
  /** Identifies the server, its address and its credential in sessions and caches. Does not tell the id. */
  readonly tag: string;
  readonly name: string;
  readonly prefix: string;
  /** Scheme and host. */
  readonly baseUrl: string;
  /** Path and query of the endpoint. */
  readonly path: string;
  /** Only requests with the same key share connections. */
  readonly poolKey: string;
  /** The configured headers, with names in lower case, and a credential that is a header. */
  readonly headers: Readonly<Record<string, string>>;
  readonly credential: RequestCredential | null;
  readonly timeouts: { readonly connect: number; readonly list: number; readonly call: number };
  readonly pin: "off" | "warn" | "hold";
  /** The header with a client's own credential of the server; null if clients must not send one. */
  readonly authorizationHeader: string | null;
  /** Whether the server's own filter allows a tool, by the name that the server uses. */
  allowsTool(name: string): boolean;
}

interface ServiceTargets {
  readonly servers: readonly McpServerTarget[];
  readonly names: PublicNames<McpServerTarget>;
}

const known = new WeakMap<CompiledMcpService, ServiceTargets>();

export function serviceTargets(service: CompiledMcpService): ServiceTargets {
  let targets = known.get(service);
  if (targets === undefined) {
    const servers = service.servers.map(targetOf);
    targets = { servers, names: new PublicNames(servers, service.usesPrefixes) };
    known.set(service, targets);
  }
  return targets;
}

function targetOf(server: CompiledMcpServer): McpServerTarget {
  const { id, name, prefix, baseUrl, path, poolKey, credential, timeouts, pin, authorizationHeader } = server;
  return {
    id,
    tag: sha256(JSON.stringify([id, poolKey, path])).slice(0, TAG_LENGTH),
    name,
    prefix,
    baseUrl,
    path,
    poolKey,
    headers: Object.fromEntries(server.headers),
    credential,
    timeouts,
    pin,
    authorizationHeader,
    allowsTool: (tool) => offersTool(server, tool),
  };
}

/** Whether the server offers a tool to clients at all. `name` is the one that the server uses. */
function offersTool({ allow, deny }: CompiledMcpServer, name: string): boolean {
  return (allow === null || allow.matches(name)) && (deny === null || !deny.matches(name));
}

/** Returns what the `tools` of API keys are matched against: always with the prefix. */
export function qualifiedName({ prefix }: McpServerTarget, name: string): string {
  return `${prefix}__${name}`;
}
