// What a service says about itself: to a client that begins a session, and to one that asks for the capabilities of the server.
import type { JsonObject } from "../base/json.ts";
import type { ClientContext } from "./client-context.ts";
import type { ConnectedServer, ServerConnector } from "./connect-server.ts";
import { PartInspection, type MergedResult } from "./inspect-parts.ts";
import { objectOf, RpcError, textOf, type RpcRequest } from "./json-rpc.ts";
import {
  META_SERVER_INFO,
  META_UNAVAILABLE,
  NEWEST_SESSION_VERSION,
  RPC,
  SESSION_VERSIONS,
  STATELESS_VERSION,
  type Generation,
} from "./protocol.ts";
import { generationOf } from "./server-link.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { SilentServers } from "./silent-servers.ts";
import { isUnresponsive } from "./unresponsive.ts";
import type { ClientSession } from "./session-seal.ts";
import type { McpServerTarget } from "./server-target.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";

const MAX_INSTRUCTIONS = 16_000;
const GATEWAY_INFO: JsonObject = { name: "gatehouse", version: "1" };

/** Capabilities of clients that servers of the same generation may use. */
const CLIENT_CAPABILITIES = ["sampling", "elicitation", "roots"];

export interface StartedSession extends MergedResult {
  readonly session: ClientSession;
}

interface ConnectParts {
  readonly connector: ServerConnector;
  readonly silences: SilentServers;
  readonly offLoop: OffLoop;
}

interface Connections {
  readonly connected: readonly ConnectedServer[];
  readonly silent: readonly string[];
}

/** Starts a session with every server that has sessions. Rejects with an RpcError if no server responds. */
export async function startSession(
  context: ClientContext,
  request: RpcRequest,
  parts: ConnectParts,
  unixNow: number,
): Promise<StartedSession> {
  const requested = textOf(request.params, "protocolVersion");
  if (requested === null)
    throw new RpcError(RPC.invalidParams, 'initialize needs the text "protocolVersion" in params.');
  const version = SESSION_VERSIONS.includes(requested) ? requested : NEWEST_SESSION_VERSION;
  const connections = await connectAll(context, version, parts, true);
  const { connected } = connections;
  const inspection = PartInspection.begin(context, request, parts.offLoop);
  const servers = connected.map(({ link: { server, version: serverVersion, sessionId } }) => ({
    tag: server.tag,
    version: serverVersion,
    sessionId,
  }));
  const result: JsonObject = {
    protocolVersion: version,
    capabilities: mergedCapabilities(connected, "session"),
    serverInfo: infoOf(context, connected),
    ...(await instructionsOf(context, connected, inspection)),
    ...missing(connections, inspection),
  };
  const session = { version, nonce: "", createdAt: unixNow, servers };
  return { session, result, hasInspectedParts: inspection !== null };
}

/** Responds to server/discover. Rejects with an RpcError if no server responds. */
export async function discoverService(
  context: ClientContext,
  request: RpcRequest,
  parts: ConnectParts,
): Promise<MergedResult> {
  const connections = await connectAll(context, NEWEST_SESSION_VERSION, parts, false);
  const { connected } = connections;
  const inspection = PartInspection.begin(context, request, parts.offLoop);
  const instructions = await instructionsOf(context, connected, inspection);
  const { _meta: meta } = missing(connections, inspection);
  const result: JsonObject = {
    resultType: "complete",
    supportedVersions: [STATELESS_VERSION],
    capabilities: mergedCapabilities(connected, "stateless"),
    ...instructions,
    ttlMs: meta === undefined ? 60_000 : 0,
    cacheScope: "private",
    _meta: { ...meta, [META_SERVER_INFO]: infoOf(context, connected) },
  };
  return { result, hasInspectedParts: inspection !== null };
}

async function connectAll(
  { servers, client, links, signal, observer, gatewayId }: ClientContext,
  version: string,
  { connector, silences }: ConnectParts,
  isClientSession: boolean,
): Promise<Connections> {
  const connect = async (server: McpServerTarget): Promise<ConnectedServer | null> => {
    const credential = links.credentialOf(server);
    const subject = { gatewayId, server, credential };
    try {
      if (silences.isSilent(subject, "connect")) throw new UpstreamError("first_byte_timeout");
      const options = { client, version, credential, signal, gatewayId, isClientSession };
      const connected = await connector.connect(server, options);
      silences.responded(subject, "connect");
      return connected;
    } catch (error) {
      if (isUnresponsive(error)) silences.report(subject, "connect");
      // The server is named in the result.
      observer.silent(server, isClientSession ? "initialize" : "server/discover");
      return null;
    }
  };
  const all = await Promise.all(servers.map(connect));
  const connected = all.filter((each) => each !== null);
  if (connected.length === 0 && servers.length > 0)
    throw new RpcError(
      RPC.internalError,
      `No server responded: ${servers.map(({ name }) => name).join(", ")}.`,
    );
  return { connected, silent: servers.filter((_, index) => all[index] === null).map(({ name }) => name) };
}

function missing(
  { silent }: Connections,
  inspection: PartInspection | null,
): { readonly _meta?: JsonObject } {
  const meta = { ...(silent.length === 0 ? {} : { [META_UNAVAILABLE]: silent }), ...inspection?.meta };
  return Object.keys(meta).length === 0 ? {} : { _meta: meta };
}

/** With one server, the service is that server. */
function infoOf({ names }: ClientContext, connected: readonly ConnectedServer[]): JsonObject {
  const [only] = connected;
  const isPlain = only !== undefined && names.nameFor(only.link.server, "") === "";
  return (isPlain ? only.info : null) ?? GATEWAY_INFO;
}

/** A server whose instructions a plugin refuses is part of the service nevertheless. */
async function instructionsOf(
  { names }: ClientContext,
  connected: readonly ConnectedServer[],
  inspection: PartInspection | null,
): Promise<{ readonly instructions?: string }> {
  const texts: string[] = [];
  for (const { link, instructions: given } of connected) {
    if (given === null || given === "") continue;
    const { server } = link;
    const part = { instructions: given.slice(0, MAX_INSTRUCTIONS) };
    const inspected = inspection === null ? part : await inspection.inspect(server, part);
    const instructions = inspected === null ? null : textOf(inspected, "instructions");
    if (instructions === null) continue;
    const isPlain = names.nameFor(server, "") === "";
    texts.push(isPlain ? instructions : `Tools with the prefix ${server.prefix}__:\n${instructions}`);
  }
  return texts.length === 0 ? {} : { instructions: texts.join("\n\n").slice(0, MAX_INSTRUCTIONS) };
}

/** Advertises what at least one server can do, and what survives the bridge between the generations. */
function mergedCapabilities(connected: readonly ConnectedServer[], generation: Generation): JsonObject {
  const merged: JsonObject = {};
  for (const { capabilities, link } of connected) {
    const isSame = generationOf(link) === generation;
    for (const name of ["tools", "prompts", "resources"]) {
      const offered = objectOf(capabilities, name);
      if (offered === null) continue;
      const known = objectOf(merged, name) ?? {};
      if (offered["listChanged"] === true) known["listChanged"] = true;
      if (name === "resources" && offered["subscribe"] === true && (isSame || generation === "stateless"))
        known["subscribe"] = true;
      merged[name] = known;
    }
    if (objectOf(capabilities, "completions") !== null) merged["completions"] = {};
    if (objectOf(capabilities, "logging") !== null && (isSame || generation === "stateless"))
      merged["logging"] = {};
  }
  return merged;
}

/** Returns what servers of the client's generation get of the capabilities of the client. */
export function forwardedCapabilities(capabilities: JsonObject | null): JsonObject {
  const forwarded: JsonObject = {};
  for (const name of CLIENT_CAPABILITIES) {
    const value = capabilities === null ? null : objectOf(capabilities, name);
    if (value !== null) forwarded[name] = value;
  }
  return forwarded;
}
